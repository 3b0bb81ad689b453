package audit

import ()

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
	// chained says that the text comes from several places, the line is that
	// of the first.
	chained bool
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
	chain bool // its pieces span lines
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
	f.streams, f.foreign = []stream{}, map[int32]float64{}
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
			} else if f.family.words {
				f.addForeign(x, int32(t.line))
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
	f.addStream(k, rotated, f.through(plainPieces, func(s string) (string, bool) {
		return rot13(reverse(s)), f.a.budget.decode(len(s))
	}))
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

// addStream turns pieces into atoms, and keeps them for the rules on text.
func (f *file) addStream(k kind, h how, list []piece) {
	if len(list) == 0 {
		return
	}
	s := stream{kind: k, how: h, chain: list[0].chained}
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
			id := f.a.cases.id(x.text)
			if id < 0 && k == stringKind && h == plain {
				f.addForeign(x, int32(p.line))
			}
			s.atoms = append(s.atoms, placed{id, int32(p.line), gap, first})
			gap, first = false, false
		}
	}
	f.streams = append(f.streams, s)
	f.texts = append(f.texts, literalStream{k, h, list})
	if k == stringKind && h != summed {
		f.literals = append(f.literals, literalStream{k, h, list})
	}
}

// addForeign notes a rare word that is in no case.
func (f *file) addForeign(x atom, line int32) {
	if b := f.a.info.atom(x); b >= rareBits && !f.a.novel.known(x.text) {
		f.foreign[line] += b
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
