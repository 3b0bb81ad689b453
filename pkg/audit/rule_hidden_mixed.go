package audit

import (
	"strings"
	"unicode"
)

var ruleMixedScript = rule{
	class: "hidden.mixed-script",
	about: "A word of Latin letters with a Greek or Cyrillic look-alike among them is another word than it seems.",
	fix:   "write the word in one script",
	file: func(f *file) []Finding {
		var found []Finding
		for i, line := range f.lines {
			if !f.isAdded[i] || isASCII(line) {
				continue
			}
			line = escapeText.ReplaceAllString(line, " ")
			for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				if mixedScript(word) {
					found = append(found, f.at(i+1, Invalid, "a word mixes Latin letters with look-alikes of another script"))
					break
				}
			}
		}
		return found
	},
}

// escapeText is an escape, whose letters belong to no word.
var escapeText = expr(`\\(?:[xuU][0-9a-fA-F]+|.)`)

// mixedScript wants two Latin letters and only look-alikes beside them: Δt and
// μs are ordinary.
func mixedScript(word string) bool {
	latin, alike := 0, 0
	for _, r := range word {
		switch {
		case r < 0x80 && unicode.IsLetter(r):
			latin++
		case homoglyph(r):
			alike++
		case unicode.In(r, unicode.Greek, unicode.Cyrillic):
			return false
		}
	}
	return latin > 0 && alike > 0 && latin+alike > 2
}
