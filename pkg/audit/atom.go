package audit

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// atom is the unit of comparison: a folded word or a canonical number.
type atom struct {
	text string
	num  bool
}

// atoms splits text into words and numbers. Digits make a number, with a
// fraction if one follows; letters and digits together make a word; an
// apostrophe inside a word is dropped; a character of a script that does not
// part words is a word by itself.
func atoms(text string) []atom {
	list := make([]atom, 0, len(text)/6+1)
	eachAtom(text, func(word string, num bool) { list = append(list, atom{word, num}) })
	return list
}

// eachAtom shows the atoms of a text.
func eachAtom(text string, show func(word string, num bool)) {
	text = fold(text)
	for i := 0; i < len(text); {
		r, n := runeAt(text, i)
		switch {
		case !wordRune(r):
			i += n
		case ideograph(r):
			show(text[i:i+n], false)
			i += n
		default:
			end, digits := wordEnd(text, i)
			show(canonicalWord(text[i:end], digits), digits)
			i = end
		}
	}
}

func canonicalWord(s string, digits bool) string {
	if !digits {
		if strings.IndexByte(s, '\'') >= 0 {
			s = strings.ReplaceAll(s, "'", "")
		}
		return s
	}
	if n, ok := decimal(s); ok {
		s = n
	}
	return s
}

// wordEnd finds the end of the word or number that begins at i.
func wordEnd(text string, i int) (end int, digits bool) {
	digits = true
	for end = i; end < len(text); {
		if c := text[end]; c < utf8.RuneSelf && wordByte[c] {
			digits = digits && isDigit(c)
			end++
			continue
		}
		r, n := runeAt(text, end)
		if r == '\'' && end > i {
			if next, _ := runeAt(text, end+1); !wordRune(next) || ideograph(next) {
				break
			}
			digits = false
		} else if !wordRune(r) || ideograph(r) {
			break
		} else if r < '0' || r > '9' {
			digits = false
		}
		end += n
	}
	if digits {
		end = fractionEnd(text, end)
	}
	return end, digits
}

// fractionEnd extends a number over a fraction that no letter follows.
func fractionEnd(text string, end int) int {
	if end+1 >= len(text) || text[end] != '.' || !isDigit(text[end+1]) {
		return end
	}
	k := end + 1
	for k < len(text) && isDigit(text[k]) {
		k++
	}
	if r, _ := runeAt(text, k); wordRune(r) {
		return end
	}
	return k
}

// wordByte holds the letters and digits of folded ASCII text.
var wordByte = func() (set [utf8.RuneSelf]bool) {
	for c := range set {
		set[c] = c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
	}
	return set
}()

// runeAt decodes the rune at i; it is 0 past the end.
func runeAt(s string, i int) (rune, int) {
	if i >= len(s) {
		return 0, 1
	}
	if c := s[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s[i:])
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func ideograph(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// decimal gives the canonical form of decimal digits with an optional
// fraction.
func decimal(s string) (string, bool) {
	if t := strings.TrimLeft(s, "0"); !strings.Contains(t, ".") {
		if t == "" {
			return "0", true
		}
		return t, true
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return "", false
	}
	return canonical(v), true
}

// canonical writes a number so that equal numbers have equal atoms.
func canonical(v float64) string {
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 12, 64)
}

// number reads a number of source code: any base, digit separators, type
// suffixes, exponents.
func number(s string) (string, bool) {
	s = strings.ToLower(s)
	if strings.ContainsAny(s, "_'") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "_", ""), "'", "")
	}
	if len(s) > 1 && s[0] == '0' && strings.IndexByte("xob", s[1]) >= 0 {
		t := s
		if s[1] != 'x' {
			t = strings.TrimRight(s, "uliszn")
		} else {
			t = strings.TrimRight(s, "uln")
		}
		v, err := strconv.ParseUint(t, 0, 64)
		return strconv.FormatUint(v, 10), err == nil
	}
	for _, suffix := range []string{"usize", "isize", "u64", "i64", "u32", "i32", "f64", "f32", "u16", "i16", "u8", "i8"} {
		if t, ok := strings.CutSuffix(s, suffix); ok && t != "" {
			s = t
			break
		}
	}
	s = strings.TrimRight(s, "ulnfdsmzi")
	if s == "" {
		return "", false
	}
	if !strings.ContainsAny(s, ".e") {
		for i := range len(s) {
			if !isDigit(s[i]) {
				return "", false
			}
		}
		return decimal(s)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return "", false
	}
	return canonical(v), true
}
