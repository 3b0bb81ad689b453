package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// confusable maps letters that look like, or are written for, Latin ones.
var confusable = map[rune]string{
	'а': "a", 'е': "e", 'о': "o", 'р': "p", 'с': "c", 'у': "y", 'х': "x", 'і': "i", 'ѕ': "s", 'ј': "j",
	'ԁ': "d", 'һ': "h", 'ӏ': "l", 'в': "b", 'к': "k", 'м': "m", 'н': "h", 'т': "t", 'г': "r", 'п': "n",
	'ԛ': "q", 'ԝ': "w", 'ѵ': "v", 'ґ': "r", 'α': "a", 'ο': "o", 'ν': "v", 'ρ': "p", 'ι': "i", 'κ': "k",
	'τ': "t", 'υ': "u", 'γ': "y", 'χ': "x", 'η': "n", 'ω': "w", 'ϲ': "c", 'ϳ': "j", 'ı': "i", 'ɑ': "a",
	'ɡ': "g", 'ɩ': "i", 'ʋ': "v", 'ʏ': "y", 'ł': "l", 'đ': "d", 'ø': "o", 'ß': "ss", 'æ': "ae", 'œ': "oe",
	'þ': "th", 'ð': "d", 'ħ': "h", 'ŧ': "t", 'ŋ': "n",
}

// homoglyph says that a Greek or Cyrillic letter passes for a Latin one.
func homoglyph(r rune) bool {
	_, ok := confusable[unicode.ToLower(r)]
	return ok && r > 0x36f && r < 0x530
}

// hidden says that a rune has no width of its own.
func hidden(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x180b && r <= 0x180e:
		return true
	}
	return r == 0xfeff || r == 0x00ad || r == 0x034f || r == 0x061c || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0
}

// tagRune says that a rune is an invisible copy of an ASCII character.
func tagRune(r rune) bool { return r >= 0xe0020 && r <= 0xe007e }

// bidi says that a rune reorders the text around it.
func bidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// fold brings text to the form in which it is compared: compatibility
// decomposed, without marks and hidden characters, tag characters as the ASCII
// that they copy, look-alikes as Latin, lower case.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case tagRune(r):
			b.WriteRune(unicode.ToLower(r - 0xe0000))
			continue
		case r == utf8.RuneError, hidden(r), unicode.Is(unicode.Mn, r):
			continue
		}
		r = unicode.ToLower(r)
		if c, ok := confusable[r]; ok {
			b.WriteString(c)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// squeeze keeps the letters and digits of folded text.
func squeeze(s string) string {
	if isASCII(s) {
		b := make([]byte, 0, len(s))
		for i := range len(s) {
			if c := s[i]; isLetter(c) {
				b = append(b, c|0x20)
			} else if isDigit(c) {
				b = append(b, c)
			}
		}
		return string(b)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, fold(s))
}
