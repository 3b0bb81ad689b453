package audit

var ruleZeroWidth = rule{
	class: "hidden.zero-width",
	about: "A character without width can carry a message or make two names look alike.",
	fix:   "delete the character",
	file: func(f *file) []Finding {
		// The joiner and the emoji selector are part of ordinary emoji.
		return f.eachRune(Review, "a character without width (U+%04X)", func(r rune) bool {
			return hidden(r) && !bidi(r) && r != 0x200d && r != 0xfe0f
		})
	},
}
