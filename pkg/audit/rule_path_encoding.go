package audit

var ruleEncoding = rule{
	class: "path.encoding",
	about: "Bytes that are no valid UTF-8 or UTF-16 read differently in every program, so the audit may see another text than the interpreter.",
	fix:   "save the file as UTF-8",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			if t.texts[c.path] != badEncoding || !c.isNew() && t.a.blob(c.from.ID).kind == badEncoding {
				return "", false
			}
			return "the file is not valid UTF-8", true
		})
	},
}
