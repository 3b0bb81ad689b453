package audit

var ruleZeroWidth = rule{
	class: "hidden.zero-width",
	about: "A character without width can carry a message or make two names look alike.",
	fix:   "delete the character",
	file: func(f *file) []Finding {
		if found := f.hiddenRuns(); found != nil {
			return found
		}
		// The joiner and the emoji selector are part of ordinary emoji.
		return f.eachRune(Review, "a character without width (U+%04X)", func(r rune) bool {
			return hidden(r) && !bidi(r) && r != 0x200d && r != 0xfe0f
		})
	},
}

// hiddenRun is how many characters without width in a row no script and no
// emoji needs: they are the bits of a message.
const hiddenRun = 8

// hiddenRuns finds the lines with such a row.
func (f *file) hiddenRuns() []Finding {
	var found []Finding
	for i, line := range f.lines {
		if !f.isAdded[i] || isASCII(line) {
			continue
		}
		n := 0
		for _, r := range line {
			if n++; !hidden(r) {
				n = 0
			}
			if n == hiddenRun {
				found = append(found, f.at(i+1, Invalid, "many characters without width in a row"))
				break
			}
		}
	}
	return found
}
