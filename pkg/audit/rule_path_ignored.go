package audit

var ruleIgnored = rule{
	class: "path.ignored",
	about: "The baseline ignores this path, so status, review and clean checkouts do not show it: a forced file there is hidden by design.",
	fix:   "take the file out (git rm --cached PATH)",
	tree: func(t *tree) []Finding {
		var ignore *ignoreRules
		return t.each(func(c change) (string, bool) {
			if !c.isNew() {
				return "", false
			}
			if ignore == nil {
				ignore = t.a.ignoreRules()
			}
			return "the baseline's .gitignore names this path", ignore.match(c.path)
		})
	},
}
