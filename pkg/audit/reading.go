package audit

import (
	"strings"
	"unicode/utf8"
)

// how says by which reading a piece of text was seen.
type how uint8

const (
	plain    how = iota // as it stands, ordinary escapes resolved
	encoded             // peeled of escapes, base64, hex, percent, HTML, UTF-16
	backward            // reversed
	rotated             // rot13
	codes               // character codes
	joined              // neighbouring literals run together
	summed              // constant expressions by their value
)

var howNames = [...]string{"as it stands", "decoded", "reversed", "rotated by 13", "as character codes", "joined from pieces", "as a constant expression"}

// piece is one literal, comment or line of prose in one reading.
type piece struct {
	text string
	line int
	tok  int  // index of the token or line that it comes from
	gap  bool // nothing runs on into it
	num  bool // text is one canonical number
	// turned says that the reading changed the text; in a reading that is not
	// plain the other pieces are there only to be run over.
	turned bool
}

// placed is one atom of a stream.
type placed struct {
	id    int32 // of the case vocabulary, or -1
	line  int32
	gap   bool // nothing runs on into it
	first bool // of its literal
}

// stream is the text of one kind in one reading, in the order of the source.
type stream struct {
	kind  kind // stringKind for all code, commentKind, proseKind
	how   how
	atoms []placed
}

// literalStream holds the strings of a file in one reading.
type literalStream struct {
	kind   kind
	how    how
	pieces []piece
}

// news lists the pieces that other readings do not have.
func (s literalStream) news() []piece {
	if s.how == plain {
		return s.pieces
	}
	var list []piece
	for _, p := range s.pieces {
		if p.turned {
			list = append(list, p)
		}
	}
	return list
}

// lineID is an atom of the case vocabulary on a line.
type lineID struct{ line, id int32 }

// read makes the streams of a file, once.
func (f *file) read() {
	if f.streams != nil || f.added == 0 {
		return
	}
	f.streams = []stream{}
	code, comments := f.codePieces(), f.commentPieces()
	f.readKind(stringKind, code)
	f.readKind(commentKind, comments)
	f.readKind(proseKind, f.prosePieces())
	chains := f.joinedPieces()
	f.addStream(stringKind, joined, chains)
	f.addStream(stringKind, encoded, f.through(chains, f.a.budget.peel))
	characters := f.codeRuns()
	f.addStream(stringKind, codes, characters)
	f.addStream(stringKind, encoded, f.through(characters, f.a.budget.peel))
	if len(f.spans) > 0 {
		f.addStream(stringKind, summed, f.summedPieces())
	}
	f.indexLines()
	f.indexRows()
	f.indexNames()
	f.indexWords()
}

// indexNames lists, a line, the case atoms that its identifiers spell.
func (f *file) indexNames() {
	f.names = map[int32][]int32{}
	for _, t := range f.tokens {
		if t.kind != identKind {
			continue
		}
		for _, x := range atoms(t.text) {
			if id := f.a.cases.id(x.text); id >= 0 {
				f.names[int32(t.line)] = append(f.names[int32(t.line)], id)
			}
		}
	}
}

// indexWords counts the words of a shell's lines with its literals: there a
// word needs no quotes.
func (f *file) indexWords() {
	if !f.family.words {
		return
	}
	for line, ids := range f.names {
		if f.perLine[line] == nil {
			f.perLine[line] = map[int32]int{}
		}
		for _, id := range ids {
			f.perLine[line][id]++
		}
	}
	f.names = map[int32][]int32{}
}

// readKind adds the plain reading of pieces and those that undo an encoding,
// a reversal, a rotation, or one of these after another.
func (f *file) readKind(k kind, plainPieces []piece) {
	f.addStream(k, plain, plainPieces)
	peel := f.a.budget.peel
	f.addStream(k, encoded, f.through(plainPieces, peel))
	for _, way := range []struct {
		how  how
		turn func(string) string
	}{{backward, reverse}, {rotated, rot13}} {
		turned := func(s string) (string, bool) {
			t := way.turn(s)
			return t, t != s && f.a.budget.decode(len(t))
		}
		f.addStream(k, way.how, f.through(plainPieces, turned))
		f.addStream(k, encoded, f.through(plainPieces, both(turned, peel)))
		f.addStream(k, encoded, f.through(plainPieces, both(peel, turned)))
	}
}

// both applies two transforms, each of which must change something.
func both(first, second func(string) (string, bool)) func(string) (string, bool) {
	return func(s string) (string, bool) {
		t, ok := first(s)
		if !ok {
			return s, false
		}
		return second(t)
	}
}

// around is how many unchanged pieces beside a changed one a reading keeps, so
// that runs go on over them.
const around = 8

// through transforms the pieces that the transform changes and keeps those
// around them; nil if none changes.
func (f *file) through(list []piece, transform func(string) (string, bool)) []piece {
	var out []piece
	kept := 0 // of list, all before are taken or dropped
	for i, p := range list {
		if p.num || len(p.text) < 4 {
			continue
		}
		t, ok := transform(p.text)
		if !ok {
			continue
		}
		from, gap := max(kept, i-around), len(out) > 0 && i-around > kept+around
		if len(out) > 0 {
			end := min(i, kept+around)
			out = append(out, list[kept:end]...)
			from = max(from, end)
		}
		start := len(out)
		out = append(out, list[from:i]...)
		p.text, p.turned = t, true
		out = append(out, p)
		if gap {
			out[start].gap = true
		}
		kept = i + 1
	}
	if out != nil {
		out = append(out, list[kept:min(len(list), kept+around)]...)
	}
	return out
}

// maxDistance is how many lines may lie between pieces of one run.
const maxDistance = 3

func (f *file) addStream(k kind, h how, list []piece) {
	if len(list) == 0 {
		return
	}
	s := stream{kind: k, how: h}
	last := 0
	for _, p := range list {
		gap := p.gap || p.line-last > maxDistance
		last = p.line
		if p.num {
			s.atoms = append(s.atoms, placed{f.a.cases.id(p.text), int32(p.line), gap, true})
			continue
		}
		first := true
		for _, x := range atoms(p.text) {
			s.atoms = append(s.atoms, placed{f.a.cases.id(x.text), int32(p.line), gap, first})
			gap, first = false, false
		}
	}
	f.streams = append(f.streams, s)
	f.texts = append(f.texts, literalStream{k, h, list})
	if k == stringKind && h != summed {
		f.literals = append(f.literals, literalStream{k, h, list})
	}
}

// indexLines counts, a line, the case atoms as they stand, and the most of each
// that any reading but that of comments shows.
func (f *file) indexLines() {
	f.plainLine, f.perLine = map[lineID]int{}, map[int32]map[int32]int{}
	for _, s := range f.streams {
		counts := map[lineID]int{}
		for _, p := range s.atoms {
			if p.id >= 0 {
				counts[lineID{p.line, p.id}]++
			}
		}
		for at, n := range counts {
			if s.how == plain {
				f.plainLine[at] += n
			}
			if s.kind == commentKind {
				continue
			}
			if f.perLine[at.line] == nil {
				f.perLine[at.line] = map[int32]int{}
			}
			f.perLine[at.line][at.id] = max(f.perLine[at.line][at.id], n)
		}
	}
}

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
			list = append(list, piece{text: b.String(), line: f.tokens[start].line, tok: start, gap: true, turned: true})
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

// codeRuns reads four or more numbers in a row as characters.
func (f *file) codeRuns() []piece {
	var list []piece
	var run []rune
	line, tok := 0, 0
	flush := func() {
		if len(run) >= 4 {
			list = append(list, piece{text: codeText(run), line: line, tok: tok, gap: true, turned: true})
		}
		run = run[:0]
	}
	for i, t := range f.tokens {
		switch {
		case t.kind == numberKind:
			c, ok := characterCode(t.text)
			if !ok {
				flush()
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
