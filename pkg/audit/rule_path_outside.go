package audit

var ruleOutside = rule{
	class: "path.outside-writable",
	about: "The contract names the paths that a candidate may change. Every other path is part of what is measured, not of what is tried.",
	fix:   "take the file out of the change, or ask the maintainer for a new run that lists it as writable",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "the path is not writable in this run", !t.a.in.Scope.Writable(c.path) && !t.a.in.Scope.Frozen(c.path)
		})
	},
}

// each reports every change for which check has something to say.
func (t *tree) each(check func(change) (message string, bad bool)) []Finding {
	var found []Finding
	for _, c := range t.changes {
		if message, bad := check(c); bad {
			found = append(found, Finding{Severity: Invalid, Path: c.path, Message: message})
		}
	}
	return found
}
