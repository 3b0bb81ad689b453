package audit

var ruleSymlink = rule{
	class: "path.symlink",
	about: "A symbolic link can point at answers, at the other arm or out of the sandbox, and its target can change after the audit.",
	fix:   "replace the link by a regular file",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "a symbolic link is added or changed", c.to.Mode == "120000"
		})
	},
}
