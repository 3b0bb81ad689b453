package audit

import "fmt"

var ruleBidi = rule{
	class: "hidden.control",
	about: "Characters that reorder text, or invisible copies of ASCII, show people another text than programs read.",
	fix:   "delete the character",
	file: func(f *file) []Finding {
		return f.eachRune(Invalid, "an invisible control or tag character (U+%04X)", func(r rune) bool { return bidi(r) || tagRune(r) })
	},
}

// eachRune reports, once a line, the first rune of an added line that is bad.
func (f *file) eachRune(severity Severity, message string, bad func(rune) bool) []Finding {
	var found []Finding
	for i, line := range f.lines {
		if !f.isAdded[i] || isASCII(line) {
			continue
		}
		for _, r := range line {
			if bad(r) {
				found = append(found, f.at(i+1, severity, fmt.Sprintf(message, r)))
				break
			}
		}
	}
	return found
}
