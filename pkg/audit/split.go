package audit

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// minSplit is the shortest field that is looked for across pieces.
const minSplit = 5

// splitPiece is a string, or a row of character codes, that may be one piece
// of a text.
type splitPiece struct {
	text           string
	line, pos, end int
}

// splitLiterals finds fields that only the concatenation of neighbouring
// pieces holds, with a word of the field cut between two of them. The pieces
// may be encoded one by one.
func (f *file) splitLiterals(best map[runKey]run) {
	list := f.splitPieces()
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].line-list[j-1].line <= 2 && list[j].pos-list[j-1].end <= chainGap {
			j++
		}
		if j-i > 1 {
			f.splitChain(list[i:j], joined, best)
			for _, turn := range splitTurns {
				if turned, ok := turnPieces(list[i:j], turn); ok && f.a.budget.decode(len(list[i:j])*8) {
					f.splitChain(turned, encoded, best)
				}
			}
		}
		i = j
	}
}

// splitTurns are the readings of pieces that are encoded one by one.
var splitTurns = []func(string) string{
	peelShort, reverse, rot13,
	func(s string) string { return peelShort(reverse(s)) },
	func(s string) string { return reverse(peelShort(s)) },
	func(s string) string { return peelShort(rot13(s)) },
	func(s string) string { return rot13(peelShort(s)) },
}

func turnPieces(chain []splitPiece, turn func(string) string) (turned []splitPiece, changed bool) {
	turned = append(turned, chain...)
	for i := range turned {
		t := turn(turned[i].text)
		changed = changed || t != turned[i].text
		turned[i].text = t
	}
	return turned, changed
}

// splitPieces lists the strings and the rows of two or more character codes.
func (f *file) splitPieces() []splitPiece {
	var list []splitPiece
	var codes []rune
	first := token{}
	flush := func(end int) {
		if len(codes) > 1 {
			list = append(list, splitPiece{codeText(codes), first.line, first.pos, end})
		}
		codes = codes[:0]
	}
	last := 0
	for _, t := range f.tokens {
		c, ok := rune(0), false
		if t.kind == numberKind {
			c, ok = characterCode(t.text)
		}
		switch {
		case ok:
			if len(codes) == 0 {
				first = t
			}
			codes = append(codes, c)
			last = t.end
		case t.kind != punctKind || t.text != ",":
			flush(last)
			if t.kind == stringKind {
				list = append(list, splitPiece{t.value(), t.line, t.pos, t.end})
			}
		}
	}
	flush(last)
	return list
}

// peelShort decodes a piece of any length as a whole: what it means is decided
// by the field that the pieces make together.
func peelShort(s string) string {
	for range decodeDepth {
		t := peelShortOnce(s)
		if t == s {
			break
		}
		s = t
	}
	return s
}

func peelShortOnce(s string) string {
	s = narrow(unhtml(unpercent(unescape(s, true))))
	if data, err := hex.DecodeString(s); err == nil && readable(data) {
		return narrow(string(data))
	}
	if data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "=")); err == nil && len(data) > 0 && readable(data) {
		return narrow(string(data))
	}
	return s
}

// readable accepts text without control characters, NUL of wide text apart.
func readable(data []byte) bool {
	for _, c := range data {
		if c < 0x20 && c != 0 && c != '\t' && c != '\n' {
			return false
		}
	}
	return utf8.Valid(data)
}

// splitChain looks for fields in one chain of pieces.
func (f *file) splitChain(chain []splitPiece, h how, best map[runKey]run) {
	var b strings.Builder
	starts := make([]int, len(chain))
	for i, p := range chain {
		starts[i] = b.Len()
		b.WriteString(squeeze(p.text))
	}
	text := b.String()
	piece := 0
	for at := 0; at+minSplit <= len(text); at++ {
		for piece+1 < len(chain) && starts[piece+1] <= at {
			piece++
		}
		fields := f.a.cases.prefix[text[at:at+minSplit]]
		if !f.a.budget.spend(1 + len(fields)) {
			return
		}
		for _, fd := range fields {
			if strings.HasPrefix(text[at:], fd.squeezed) {
				f.splitField(fd, chain, starts, piece, at+len(fd.squeezed), h, best)
			}
		}
	}
}

// splitField keeps a field that begins in one piece and ends in a later one.
func (f *file) splitField(fd *field, chain []splitPiece, starts []int, first, end int, h how, best map[runKey]run) {
	last := first
	for last+1 < len(chain) && starts[last+1] < end {
		last++
	}
	if last == first || !cutsWord(fd, chain[first:last+1]) || fd.shared {
		return
	}
	r := run{field: fd, n: len(fd.ids), bits: fd.raw, line: chain[first].line, kind: stringKind, how: h, whole: true, words: fd.words}
	r.origin = f.a.novel.ofTight(fd.squeezed)
	f.keep(best, r)
}

// cutsWord says that a word of the field stands in none of the pieces.
func cutsWord(fd *field, pieces []splitPiece) bool {
	have := map[string]bool{}
	for _, p := range pieces {
		for _, a := range atoms(p.text) {
			have[a.text] = true
		}
	}
	for _, a := range fd.atoms {
		if len(a.text) >= 3 && !have[a.text] {
			return true
		}
	}
	return false
}
