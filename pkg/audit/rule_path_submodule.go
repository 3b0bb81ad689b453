package audit

var ruleSubmodule = rule{
	class: "path.submodule",
	about: "A submodule is a reference to content that is not in the commit, so it cannot be audited.",
	fix:   "take the submodule out; copy what is needed as plain files",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "a submodule is added or changed", c.to.Mode == "160000"
		})
	},
}
