package audit

var ruleBinary = rule{
	class: "path.binary",
	about: "A file with NUL bytes or many control characters is not text, so nobody can read what it brings in.",
	fix:   "commit the source instead of the binary file",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "the file is binary: it holds NUL bytes, or many control characters", t.texts[c.path] == notText
		})
	},
}
