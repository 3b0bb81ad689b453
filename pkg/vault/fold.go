package vault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold is the normal form of a case's input: Unicode's NFKC, lower case,
// without characters that only steer how text is shown, every run of white
// space one space and none at the ends. What is not UTF-8, and what would be
// empty, stays as it is.
func Fold(data []byte) string {
	text := string(data)
	if !utf8.Valid(data) {
		return text
	}
	if folded := strings.Join(strings.Fields(foldText(text)), " "); folded != "" {
		return folded
	}
	return text
}

// foldText folds all but white space. Lower case may undo the composition of
// characters, hence the second time.
func foldText(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	visible := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(text))
	return norm.NFKC.String(visible)
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
