package audit

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape resolves the escapes of a string literal that ordinary code writes:
// named ones and those of characters outside ASCII. Escapes that spell a plain
// ASCII letter or digit by its number stay as they are unless all is set:
// nobody writes them but to hide something.
func unescape(s string, all bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, n, numeric := escape(s[i:])
		if all && s[i+1] == 'x' && n == 4 && r >= utf8.RuneSelf {
			b.WriteByte(byte(r)) // a byte of UTF-8, or else of Latin-1
		} else if numeric && !all && r < utf8.RuneSelf && wordRune(r) {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteRune(r)
		}
		i += n
	}
	return asText(b.String())
}

// asText reads bytes that are no UTF-8 as Latin-1.
func asText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return latin1([]byte(s))
}

// escape reads one escape: \n, \x41, \u0041, \U00000041, \u{41}, \101. It
// returns the rune, the length in bytes and whether it is given by number.
func escape(s string) (r rune, n int, numeric bool) {
	switch c := s[1]; c {
	case 'n', 'r', 't':
		return map[byte]rune{'n': '\n', 'r': '\r', 't': '\t'}[c], 2, false
	case 'x', 'u', 'U':
		r, n, ok := numericEscape(s, c)
		if ok && utf16.IsSurrogate(r) && len(s) > n+1 && s[n] == '\\' && s[n+1] == 'u' {
			if low, m, ok := numericEscape(s[n:], 'u'); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				return utf16.DecodeRune(r, low), n + m, true
			}
		}
		if ok {
			return r, n, true
		}
	default:
		if c >= '0' && c <= '7' {
			k := 2
			for k < len(s) && k < 4 && s[k] >= '0' && s[k] <= '7' {
				k++
			}
			v, _ := strconv.ParseUint(s[1:k], 8, 32)
			return rune(v), k, k > 2
		}
	}
	r, n = utf8.DecodeRuneInString(s[1:])
	return r, n + 1, false
}

func numericEscape(s string, c byte) (rune, int, bool) {
	if len(s) > 2 && s[2] == '{' {
		k := strings.IndexByte(s[:min(len(s), 12)], '}')
		if k < 0 {
			return 0, 0, false
		}
		v, err := strconv.ParseUint(s[3:k], 16, 21)
		return rune(v), k + 1, err == nil
	}
	n := map[byte]int{'x': 4, 'u': 6, 'U': 10}[c]
	if len(s) < n {
		return 0, 0, false
	}
	v, err := strconv.ParseUint(s[2:n], 16, 21)
	return rune(v), n, err == nil
}

// decodeDepth is how many encodings are peeled off one literal.
const decodeDepth = 3

// peel gives what a literal holds besides itself, peeled of escapes, percent,
// HTML, base64, base 85, hex and compression, in place; ok is false if there is
// nothing.
func (b *budget) peel(s string) (text string, ok bool) {
	for range decodeDepth {
		if b.decoded < 0 {
			break
		}
		t := decodeOnce(s)
		if t == s || !b.decode(len(t)) {
			break
		}
		s, ok = t, true
	}
	return s, ok
}

// decodeOnce replaces every part of s that is the encoding of text by the text.
func decodeOnce(s string) string {
	if text, ok := decode85(s); ok {
		return text
	}
	if strings.IndexByte(s, '\\') >= 0 {
		s = unescape(s, true)
	}
	if strings.IndexByte(s, '%') >= 0 {
		s = unpercent(s)
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = unhtml(s)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = narrow(s)
	}
	return decodeCodes(decodeWords(s))
}

// codeList is four or more character codes in a text.
var codeList = expr(`\b(?:0x)?[0-9a-fA-F]{2,3}(?:[,;\s|/:-]+(?:0x)?[0-9a-fA-F]{2,3}\b){3,}`)

// decodeCodes reads lists of decimal or hexadecimal character codes.
func decodeCodes(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= '0' && r <= '9' }) < 0 {
		return s
	}
	return codeList.ReplaceAllStringFunc(s, func(list string) string {
		words := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",;|/:- \t", r) })
		for _, base := range []int{10, 16} {
			if text, ok := codesIn(words, base); ok {
				return text
			}
		}
		return list
	})
}

func codesIn(words []string, base int) (string, bool) {
	var b strings.Builder
	for _, w := range words {
		w = strings.TrimSpace(w)
		if strings.HasPrefix(w, "0x") {
			w, base = w[2:], 16
		}
		v, err := strconv.ParseUint(w, base, 8)
		if err != nil || v < 32 || v > 126 {
			return "", false
		}
		b.WriteByte(byte(v))
	}
	return b.String(), true
}

// decodeWords decodes the maximal words over the base64 alphabet that are hex
// or base64 of printable text, as it is or compressed.
func decodeWords(s string) string {
	var b strings.Builder
	done, room := 0, maxInflated
	for i := 0; i < len(s); {
		if !base64Byte(s[i]) {
			i++
			continue
		}
		k := i
		for k < len(s) && base64Byte(s[k]) {
			k++
		}
		word := s[i:k]
		for k < len(s) && k < i+len(word)+2 && s[k] == '=' {
			k++
		}
		if text, ok := decodeWord(word, &room); ok {
			b.WriteString(s[done:i])
			b.WriteString(text)
			done = k
		}
		i = k
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

func base64Byte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '+' || c == '/' || c == '-' || c == '_'
}

// decodeWord decodes one word. Text as short as four characters counts: that
// it means anything is for the cases to say.
func decodeWord(word string, room *int) (string, bool) {
	if text, ok := decodeHex(word, room); ok {
		return text, true
	}
	if len(word) < 6 || len(word)%4 == 1 {
		return "", false
	}
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err := code.DecodeString(word); err == nil {
			return textOf(data, room)
		}
	}
	return "", false
}

func decodeHex(word string, room *int) (string, bool) {
	word = strings.TrimPrefix(strings.TrimPrefix(word, "0x"), "0X")
	if len(word) < 8 || len(word)%2 != 0 {
		return "", false
	}
	data, err := hex.DecodeString(word)
	if err != nil {
		return "", false
	}
	return textOf(data, room)
}

// printable accepts bytes that are text of at least four characters, also as
// 16-bit units.
func printable(data []byte) (string, bool) {
	text := string(data)
	if strings.IndexByte(text, 0) >= 0 {
		text = narrow(text)
	}
	if !utf8.ValidString(text) {
		text = wideTags(data)
	}
	if len(text) < 4 {
		return "", false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && !hidden(r) && !tagRune(r) && r != '\n' && r != '\t' && r != '\r' {
			return "", false
		}
	}
	return text, true
}

// wideTags reads 16-bit units that are mostly invisible copies of ASCII, "" if
// they are not.
func wideTags(data []byte) string {
	for _, bigEndian := range []bool{false, true} {
		if text, ok := fromUTF16(data, bigEndian); ok && 2*strings.Count(fold(text), "")-2 > len([]rune(text)) && strings.ContainsFunc(text, tagRune) {
			return text
		}
	}
	return ""
}

// narrow reads text whose every second byte is NUL as 16-bit units.
func narrow(s string) string {
	if len(s)%2 == 1 {
		s = strings.TrimSuffix(s, "\x00")
	}
	big, little := 0, 0
	for i := range len(s) {
		if s[i] == 0 && i%2 == 0 {
			big++
		} else if s[i] == 0 {
			little++
		}
	}
	if text, ok := fromUTF16([]byte(s), big > little); ok && max(big, little)*3 >= len(s) {
		return strings.TrimPrefix(text, "\ufeff")
	}
	return strings.ReplaceAll(s, "\x00", "")
}

// unpercent decodes %41, byte by byte.
func unpercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	if t := b.String(); utf8.ValidString(t) {
		return t
	}
	return s
}

// named are the HTML entities that stand for what separates or quotes words.
var named = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&nbsp;", " ",
	"&Tab;", "\t", "&NewLine;", "\n", "&comma;", ",", "&period;", ".", "&colon;", ":", "&sol;", "/", "&lowbar;", "_", "&num;", "#")

// unhtml decodes numeric entities and the commonest named ones.
func unhtml(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if r, n, ok := entity(s[i:]); ok {
			b.WriteRune(r)
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return named.Replace(b.String())
}

// entity reads &#65; or &#x41; and gives its length.
func entity(s string) (rune, int, bool) {
	if !strings.HasPrefix(s, "&#") {
		return 0, 0, false
	}
	digits, base := 2, 10
	if len(s) > 2 && s[2]|0x20 == 'x' {
		digits, base = 3, 16
	}
	k := digits
	for k < len(s) && k < digits+8 && (isDigit(s[k]) || base == 16 && s[k]|0x20 >= 'a' && s[k]|0x20 <= 'f') {
		k++
	}
	v, err := strconv.ParseUint(s[digits:k], base, 21)
	if err != nil {
		return 0, 0, false
	}
	if k < len(s) && s[k] == ';' {
		k++
	}
	return rune(v), k, true
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}
