package ledger

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
)

// Line is one line of a journal as it stands.
type Line struct {
	Event Event
	// Text is the line itself, newline included, and Hash its hash: the prev of
	// the next line.
	Text []byte
	Hash string
	// Segment names the line's segment, Number counts its lines from 1, and UpTo
	// is what stands in it up to the line's end.
	Segment string
	Number  int
	UpTo    []byte
}

// Entry gives the entry's line in the results, newline included, of a line that
// finalizes an attempt: the bytes of the entry as they stand in the journal.
func (l Line) Entry() []byte {
	const lead, tail = dataKey + `{"entry":`, "}}\n"
	_, rest, _ := bytes.Cut(l.Text, []byte(lead))
	rest = bytes.TrimSuffix(rest, []byte(tail))
	return append(rest[:len(rest):len(rest)], '\n')
}

// Lines reads a journal from its segments, keyed by name, and checks every
// line's form and its place in the chain. It ends with the first error, which
// is a *CorruptError.
func Lines(segments map[string][]byte) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if err := Segments(slices.Collect(maps.Keys(segments))); err != nil {
			yield(Line{}, err)
			return
		}
		Stream(func(next func([]byte, error) bool) {
			for i := range len(segments) {
				if !next(segments[Segment(i)], nil) {
					return
				}
			}
		})(yield)
	}
}

// Stream is Lines for segments that come in their order, one after the other, or
// an error, which is given on. They are decoded ahead and side by side, a few at
// a time, so that a journal is never in memory as a whole.
func Stream(segments iter.Seq2[[]byte, error]) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		done := make(chan struct{})
		parts := ahead(segments, done)
		defer func() {
			close(done)
			for read := range parts { // until nobody reads on
				<-read
			}
		}()
		place := placing{head: ZeroHash}
		for read := range parts {
			p := <-read
			for _, l := range p.lines {
				if err := place.next(l); err != nil {
					yield(Line{}, &CorruptError{Segment: l.Segment, Line: l.Number, Why: err.Error()})
					return
				}
				if !yield(l, nil) {
					return
				}
			}
			if p.err != nil {
				yield(Line{}, p.err)
				return
			}
		}
	}
}

// Decode reads the lines of one segment, and checks their form but not their
// place in the chain. An error is a *CorruptError.
func Decode(name string, data []byte) ([]Line, error) {
	p := parse(&strict{met: map[string]string{}}, name, data)
	return p.lines, p.err
}

// Segments checks that these are the names of a whole journal's segments: none is
// missing or misnamed. An error is a *CorruptError.
func Segments(names []string) error {
	if len(names) == 0 {
		return &CorruptError{Segment: Segment(0), Why: "the journal is empty"}
	}
	want := make(map[string]bool, len(names))
	for i := range names {
		want[Segment(i)] = true
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !want[name] {
			return &CorruptError{Segment: name, Why: fmt.Sprintf("is none of the %d segments from %s on: one is missing or misnamed", len(names), Segment(0))}
		}
	}
	return nil
}

// part is what was read of one segment: its lines up to the first that is
// wrong, and what is wrong with that.
type part struct {
	name  string
	lines []Line
	err   error
}

// ahead decodes the segments in their order, as many at a time as there are
// processors, until done.
func ahead(segments iter.Seq2[[]byte, error], done <-chan struct{}) <-chan chan part {
	most := runtime.GOMAXPROCS(0)
	waiting, decoders := make(chan chan part, 8*most), make(chan *strict, most)
	for range most {
		decoders <- &strict{met: map[string]string{}}
	}
	go func() {
		defer close(waiting)
		n := 0
		for data, err := range segments {
			name, read := Segment(n), make(chan part, 1)
			select {
			case waiting <- read:
			case <-done:
				return
			}
			if err != nil {
				read <- part{err: err}
				return
			}
			go func() {
				decoder := <-decoders
				p := parse(decoder, name, data)
				decoders <- decoder
				read <- p
			}()
			n++
		}
	}()
	return waiting
}

// minLine is less than any event takes in bytes: a hash and a time alone are that
// long. Where there are more line ends, they end nothing that is worth room.
const minLine = 80

// parse reads the lines of one segment.
func parse(decoder *strict, name string, data []byte) part {
	p := part{name: name}
	if len(data) == 0 {
		p.err = &CorruptError{Segment: name, Why: "the segment is empty"}
		return p
	}
	p.lines = make([]Line, 0, min(bytes.Count(data, []byte("\n")), len(data)/minLine)+1)
	n, end := 0, 0
	for text := range bytes.Lines(data) {
		if len(text) > MaxLine {
			p.err = p.bad(n, "%d bytes, at most %d fit one line", len(text), MaxLine)
			return p
		}
		if text[len(text)-1] != '\n' {
			p.err = p.bad(n, "the line has no end")
			return p
		}
		e, err := decoder.parse(text)
		if err != nil {
			p.err = p.bad(n, "%v", err)
			return p
		}
		n, end = n+1, end+len(text)
		p.lines = append(p.lines, Line{Event: e, Text: text, Hash: Hash(text), Segment: name, Number: n, UpTo: data[:end:end]})
	}
	return p
}

// bad is an error about the line behind the first n.
func (p *part) bad(n int, format string, args ...any) error {
	return &CorruptError{Segment: p.name, Line: n + 1, Why: fmt.Sprintf(format, args...)}
}

// placing knows what the next line of a journal must say of its place.
type placing struct {
	seq         int
	head        string
	first, last Event
}

// next checks the place of a line.
func (p *placing) next(l Line) error {
	e := l.Event
	switch {
	case e.Seq != p.seq:
		return fmt.Errorf("seq %d, want %d", e.Seq, p.seq)
	case e.Prev != p.head:
		return fmt.Errorf("prev is %s, the line before has %s", e.Prev, p.head)
	case Segment(e.Iteration) != l.Segment:
		return fmt.Errorf("iteration %d belongs to %s", e.Iteration, Segment(e.Iteration))
	case p.seq > 0:
		if err := fits(p.first, p.last, e); err != nil {
			return err
		}
	default:
		p.first = e
	}
	p.seq, p.head, p.last = p.seq+1, l.Hash, e
	return nil
}
