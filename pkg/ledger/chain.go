package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// SegmentSize is the number of attempts whose events stand in one segment. A
// commit holds its segment anew, so that git stores and hashes half a segment
// for every commit of a run: a tenth of the bytes with 10 attempts of what it is
// with 100, and the folder, which is held anew as well, has no more than 1,000
// names after 10,000 attempts.
const SegmentSize = 10

// Segment gives the name of the journal segment that iteration belongs to,
// below the run's folder; Results gives that of the results segment.
func Segment(iteration int) string { return fmt.Sprintf("journal/%03d.jsonl", iteration/SegmentSize) }

// Results gives the name of the results segment that iteration belongs to.
func Results(iteration int) string { return fmt.Sprintf("results/%03d.jsonl", iteration/SegmentSize) }

// CorruptError is a record that cannot be what this program wrote. It is never
// repaired: a person must look.
type CorruptError struct {
	// Segment is the file's name below the run's folder, Line counts from 1;
	// 0 means the file as a whole.
	Segment string
	Line    int
	Why     string
}

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Segment, e.Why)
	}
	return fmt.Sprintf("%s:%d: %s", e.Segment, e.Line, e.Why)
}

// Chain is a journal that has been read and found whole.
type Chain struct {
	Events []Event
	// Head is the hash of the last line: the prev of the next one.
	Head string
}

// ReadJournal reads a journal from its segments, keyed by name, and checks
// every line's form and its place in the chain. An error is a *CorruptError.
func ReadJournal(segments map[string][]byte) (Chain, error) {
	var chain Chain
	for l, err := range Lines(segments) {
		if err != nil {
			return Chain{}, err
		}
		chain.Events, chain.Head = append(chain.Events, l.Event), l.Hash
	}
	return chain, nil
}

// fits checks run and iteration of an event against the first and the last of
// those before it.
func fits(first, last, e Event) error {
	switch {
	case e.Run != first.Run:
		return fmt.Errorf("run %q, the journal is of %q", e.Run, first.Run)
	case e.Iteration < last.Iteration:
		return fmt.Errorf("iteration %d after iteration %d", e.Iteration, last.Iteration)
	}
	return nil
}

// Append gives the lines of more events for the run, chained to c, and the
// chain that holds them. The two chains share memory: go on with one of them.
func (c Chain) Append(events ...Event) (Chain, []byte, error) {
	if c.Head == "" {
		c.Head = ZeroHash
	}
	var out bytes.Buffer
	for _, e := range events {
		e.Seq, e.Prev = len(c.Events), c.Head
		text, err := e.Format()
		if err != nil {
			return Chain{}, nil, err
		}
		// What is kept is what a reader would read.
		if e, err = ParseEvent(text); err != nil {
			return Chain{}, nil, fmt.Errorf("event %d: %w", len(c.Events), err)
		}
		if n := len(c.Events); n > 0 {
			if err := fits(c.Events[0], c.Events[n-1], e); err != nil {
				return Chain{}, nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Data.Kind(), err)
			}
		}
		c.Events = append(c.Events, e)
		c.Head = Hash(text)
		out.Write(text)
	}
	return c, out.Bytes(), nil
}

// ReadResults reads the results from their segments, keyed by name, and
// compares them with the journal that they are a projection of. An error is a
// *CorruptError.
func ReadResults(segments map[string][]byte, journal []Event) ([]Entry, error) {
	p := Projection{Segments: segments}
	var entries []Entry
	for _, e := range journal {
		f, ok := e.Data.(*Finalized)
		if !ok {
			continue
		}
		text, err := FormatEntry(f.Entry)
		if err != nil {
			return nil, err
		}
		p.Add(f.Entry.Iteration, text)
		entries = append(entries, f.Entry)
	}
	if err := p.End(); err != nil {
		return nil, err
	}
	return entries, nil
}

// Projection compares results with the entries of a journal, one at a time.
type Projection struct {
	// Segments are the results, keyed by the names of their segments.
	Segments map[string][]byte

	at map[string]*position
}

// position is how far a segment agrees with the journal.
type position struct{ lines, bytes, wrong int }

// Add compares the next entry, given by its iteration and its line.
func (p *Projection) Add(iteration int, text []byte) {
	name := Results(iteration)
	if p.at == nil {
		p.at = map[string]*position{}
	}
	at := p.at[name]
	if at == nil {
		at = &position{}
		p.at[name] = at
	}
	at.lines++
	if at.wrong > 0 {
		return
	}
	if !bytes.HasPrefix(p.Segments[name][at.bytes:], text) {
		at.wrong = at.lines
		return
	}
	at.bytes += len(text)
}

// End says what is wrong with the results, once every entry was added. An error
// is a *CorruptError.
func (p *Projection) End() error {
	for _, name := range slices.Sorted(maps.Keys(p.Segments)) {
		if p.at[name] == nil {
			return &CorruptError{Segment: name, Why: "the journal knows no attempt of this segment"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.at)) {
		at := p.at[name]
		if at.wrong == 0 && at.bytes < len(p.Segments[name]) {
			at.wrong = at.lines + 1
		}
		if at.wrong > 0 {
			return &CorruptError{Segment: name, Line: at.wrong, Why: "differs from the journal's finalized event"}
		}
	}
	return nil
}

// splitLines cuts data behind every newline; a rest without one is a line too.
func splitLines(data []byte) [][]byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}
