package audit

import (
	"fmt"
)

// A copy with a letter changed here and there has other words, but most of its
// five-letter windows are those of the case.
const (
	nearWindow  = 5
	nearMin     = 12   // windows of the literal
	nearLong    = 20   // windows that are enough for any field
	nearShare   = 0.75 // of the literal's windows
	nearFar     = 0.6  // of those of a long literal
	nearFarMin  = 40   // windows that make it long
	nearFloor   = 0.35 // from which words are compared one by one
	nearOfField = 0.5  // of the field's windows, for a short literal
)

var ruleNear = rule{
	class: "leak.near",
	about: "A string is a copy of a case's text with a few letters changed.",
	fix:   "remove the text of the case; a general rule needs none",
	file: func(f *file) []Finding {
		if f.added == 0 || f.a.cases.empty() {
			return nil
		}
		f.read()
		var found []Finding
		for _, s := range f.texts {
			for _, p := range s.news() {
				if p.num || len(p.text) < nearMin+nearWindow-1 {
					continue
				}
				if c := f.a.near(p.text); c != nil {
					severity := Invalid
					if s.kind == commentKind {
						severity = Review
					}
					finding := f.at(p.line, severity, fmt.Sprintf("the text is nearly that of case %s", c.id))
					finding.Case = c.id
					found = append(found, finding)
				}
			}
		}
		return found
	},
}
