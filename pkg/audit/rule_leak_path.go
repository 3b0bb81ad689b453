package audit

import "strings"

var rulePathText = rule{
	class: "leak.path",
	about: "New files or folders are called after the text of cases: a listing of names is a table too.",
	fix:   "name the files after what they hold",
	tree: func(t *tree) []Finding {
		var paths []string
		for _, c := range t.changes {
			if c.isNew() {
				paths = append(paths, c.path)
			}
		}
		if len(paths) == 0 || len(paths) > maxFiles || t.a.cases == nil || t.a.cases.empty() {
			return nil
		}
		// The names are weighed as the lines of one file of data would be.
		list := newFile(t.a, change{path: "names.csv"}, "", strings.Join(paths, "\n"))
		var found []Finding
		for _, f := range t.a.weighRuns(list) {
			if f.Severity == Invalid && f.Line <= len(paths) {
				found = append(found, Finding{Severity: Invalid, Path: paths[f.Line-1], Case: f.Case,
					Message: "the name of the file is text of case " + f.Case})
			}
		}
		return found
	},
}
