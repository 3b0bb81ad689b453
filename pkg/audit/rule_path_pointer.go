package audit

var rulePointer = rule{
	class: "path.lfs-pointer",
	about: "A large-file pointer stands for content that is not in the repository, so it cannot be audited.",
	fix:   "commit the file itself, or leave it out",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "the file is a large-file pointer", t.texts[c.path] == lfsPointer
		})
	},
}
