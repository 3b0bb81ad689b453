package audit

import (
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// codePieces are the strings and numbers of the added code.
func (f *file) codePieces() []piece {
	var list []piece
	for i, t := range f.tokens {
		switch t.kind {
		case stringKind:
			list = append(list, piece{text: t.value(), line: t.line, tok: i})
		case numberKind:
			if n, ok := number(t.text); ok {
				list = append(list, piece{text: n, line: t.line, tok: i, num: true})
			} else {
				list = append(list, piece{text: t.text, line: t.line, tok: i})
			}
		}
	}
	return list
}

// value is a string token with its ordinary escapes resolved.
func (t token) value() string {
	if t.raw {
		return t.text
	}
	return unescape(t.text, false)
}

func (f *file) commentPieces() []piece {
	var list []piece
	for i, t := range f.tokens {
		if t.kind == commentKind {
			list = append(list, piece{text: t.text, line: t.line, tok: i})
		}
	}
	return list
}

// prosePieces are the added lines of a file of prose.
func (f *file) prosePieces() []piece {
	if !f.family.prose {
		return nil
	}
	var list []piece
	for i, line := range f.lines {
		if f.isAdded[i] && line != "" {
			list = append(list, piece{text: line, line: i + 1, tok: i})
		}
	}
	return list
}

// summedPieces are the code pieces with constant expressions by their value.
func (f *file) summedPieces() []piece {
	var list []piece
	next := 0
	for _, p := range f.codePieces() {
		for next < len(f.spans) && f.spans[next].to <= p.tok {
			next++
		}
		if next < len(f.spans) && p.tok >= f.spans[next].from {
			span := f.spans[next]
			if n := len(list); n > 0 && list[n-1].tok == span.from {
				continue // a later operand of the same expression
			}
			p.text, p.num, p.tok, p.turned = span.value, true, span.from, true
		}
		list = append(list, p)
	}
	return list
}

// chainGap is how many bytes of source may lie between pieces that are joined.
const chainGap = 24

// joinedPieces runs together neighbouring strings that only operators of
// concatenation part.
func (f *file) joinedPieces() []piece {
	var list []piece
	var b strings.Builder
	start, last, count := -1, -1, 0
	flush := func() {
		if count > 1 {
			list = append(list, piece{text: b.String(), line: f.tokens[start].line, tok: start, gap: true, turned: true, chained: true})
		}
		b.Reset()
		start, count = -1, 0
	}
	for i, t := range f.tokens {
		if t.kind != stringKind {
			continue
		}
		if start >= 0 && !f.joins(last, i) {
			flush()
		}
		if start < 0 {
			start = i
		}
		b.WriteString(t.value())
		last = i
		count++
	}
	flush()
	return list
}

// joins says whether the strings at two token indexes belong together: what
// lies between may only be operators, and no list that ends and goes on.
func (f *file) joins(i, j int) bool {
	if f.tokens[j].line-f.tokens[i].line > 2 || f.tokens[j].pos-f.tokens[i].end > 2*chainGap {
		return false
	}
	closed := false
	for _, t := range f.tokens[i+1 : j] {
		switch {
		case t.kind == commentKind:
		case t.kind == identKind && (t.text == "concat" || t.text == "join"):
		case t.kind != punctKind || !strings.Contains("+.&,()[]|~\\<", t.text):
			return false
		case t.text == ")" || t.text == "]":
			closed = true
		case t.text == "," && closed:
			return false
		}
	}
	return true
}

// A number of longNumber digits and more may be the bytes of a text; one of
// more than maxNumber is read by nobody.
const (
	longNumber = 12
	maxNumber  = 1 << 16
)

// numberTexts reads one number as the bytes of a text, the highest first and
// the lowest first.
func numberTexts(text string) []string {
	text = strings.TrimRight(strings.ReplaceAll(text, "_", ""), "nLuUl")
	if len(text) < longNumber || len(text) > maxNumber {
		return nil
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return nil
	}
	data, room := n.Bytes(), maxInflated
	var list []string
	for range 2 {
		if text, ok := textOf(data, &room); ok {
			list = append(list, text)
		}
		data = slices.Clone(data)
		slices.Reverse(data)
	}
	return list
}

// codeRuns reads four or more numbers in a row as characters, and a long one
// as the bytes of a text.
func (f *file) codeRuns() []piece {
	var list []piece
	var run []rune
	line, tok := 0, 0
	flush := func() {
		if len(run) >= 4 {
			list = append(list, piece{text: codeText(run), line: line, tok: tok, gap: true, turned: true, chained: true})
		}
		run = run[:0]
	}
	for i, t := range f.tokens {
		switch {
		case t.kind == numberKind:
			c, ok := characterCode(t.text)
			if !ok {
				flush()
				for _, text := range numberTexts(t.text) {
					list = append(list, piece{text: text, line: t.line, tok: i, gap: true, turned: true, chained: true})
				}
				continue
			}
			if len(run) == 0 {
				line, tok = t.line, i
			}
			run = append(run, c)
		case t.kind == identKind && !codeWords[strings.ToLower(t.text)], t.kind == stringKind,
			t.kind == punctKind && !strings.Contains(",+()[]&.{}:<>", t.text):
			flush()
		}
	}
	flush()
	return list
}

// codeText reads codes as the bytes of UTF-8 if they are that, as characters
// otherwise.
func codeText(run []rune) string {
	bytes := make([]byte, len(run))
	for i, r := range run {
		if r > 0xff {
			return string(run)
		}
		bytes[i] = byte(r)
	}
	if utf8.Valid(bytes) {
		return string(bytes)
	}
	return string(run)
}

// codeWords are the names that stand between character codes.
var codeWords = map[string]bool{
	"chr": true, "char": true, "fromcharcode": true, "fromcodepoint": true, "byte": true, "bytes": true, "string": true,
	"u8": true, "as": true, "rune": true, "character": true, "tochars": true, "x": true, "uint8": true, "concat": true, "join": true, "wchar_t": true,
}

// maxCode is the last letter of extended Latin.
const maxCode = 0x24f

// characterCode reads a number as a printable character.
func characterCode(text string) (rune, bool) {
	n, ok := number(text)
	if !ok || len(n) > 3 {
		return 0, false
	}
	v := rune(0)
	for _, c := range []byte(n) {
		if !isDigit(c) {
			return 0, false
		}
		v = v*10 + rune(c-'0')
	}
	return v, v >= 32 && v <= maxCode && v != 127 || v == '\t' || v == '\n'
}
