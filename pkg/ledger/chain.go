package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// SegmentSize is the number of attempts whose events stand in one segment.
const SegmentSize = 100

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
	if len(segments) == 0 {
		return Chain{}, &CorruptError{Segment: Segment(0), Why: "the journal is empty"}
	}
	names := make(map[string]bool, len(segments))
	for i := range len(segments) {
		names[Segment(i*SegmentSize)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(segments)) {
		if !names[name] {
			return Chain{}, &CorruptError{Segment: name, Why: fmt.Sprintf("is none of the %d segments from %s on: one is missing or misnamed", len(segments), Segment(0))}
		}
	}
	chain := Chain{Head: ZeroHash}
	for i, part := range parseAll(segments) {
		if err := chain.join(i, part); err != nil {
			return Chain{}, err
		}
	}
	return chain, nil
}

// part is what was read of one segment: its lines up to the first that is
// wrong, and what is wrong with that.
type part struct {
	name   string
	events []Event
	hashes []string
	err    error
}

// bad is an error about the line behind the first n.
func (p *part) bad(n int, format string, args ...any) error {
	return &CorruptError{Segment: p.name, Line: n + 1, Why: fmt.Sprintf(format, args...)}
}

// parseAll reads the lines of all segments, several segments at a time: a long
// journal is little but decoding.
func parseAll(segments map[string][]byte) []part {
	parts := make([]part, len(segments))
	var working sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range parts {
		p := &parts[i]
		p.name = Segment(i * SegmentSize)
		free <- struct{}{}
		working.Go(func() {
			p.parse(segments[p.name])
			<-free
		})
	}
	working.Wait()
	return parts
}

func (p *part) parse(data []byte) {
	if len(data) == 0 {
		p.err = &CorruptError{Segment: p.name, Why: "the segment is empty"}
		return
	}
	decoder := strict{met: map[string]string{}}
	for n, text := range splitLines(data) {
		if len(text) > MaxLine {
			p.err = p.bad(n, "%d bytes, at most %d fit one line", len(text), MaxLine)
			return
		}
		if text[len(text)-1] != '\n' {
			p.err = p.bad(n, "the line has no end")
			return
		}
		e, err := decoder.parse(text)
		if err != nil {
			p.err = p.bad(n, "%v", err)
			return
		}
		p.events, p.hashes = append(p.events, e), append(p.hashes, Hash(text))
	}
}

// join appends the segment with the given index to the chain.
func (c *Chain) join(index int, p part) error {
	for n, e := range p.events {
		if e.Seq != len(c.Events) {
			return p.bad(n, "seq %d, want %d", e.Seq, len(c.Events))
		}
		if e.Prev != c.Head {
			return p.bad(n, "prev is %s, the line before has %s", e.Prev, c.Head)
		}
		if e.Iteration/SegmentSize != index {
			return p.bad(n, "iteration %d belongs to %s", e.Iteration, Segment(e.Iteration))
		}
		if err := c.fits(e); err != nil {
			return p.bad(n, "%v", err)
		}
		c.Events, c.Head = append(c.Events, e), p.hashes[n]
	}
	return p.err
}

// fits checks run and iteration of an event against those before it.
func (c *Chain) fits(e Event) error {
	if len(c.Events) == 0 {
		return nil
	}
	first, last := c.Events[0], c.Events[len(c.Events)-1]
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
		if err := c.fits(e); err != nil {
			return Chain{}, nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Data.Kind(), err)
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
	want := map[string][]byte{}
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
		name := Results(f.Entry.Iteration)
		want[name] = append(want[name], text...)
		entries = append(entries, f.Entry)
	}
	for _, name := range slices.Sorted(maps.Keys(segments)) {
		if _, ok := want[name]; !ok {
			return nil, &CorruptError{Segment: name, Why: "the journal knows no attempt of this segment"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !bytes.Equal(segments[name], want[name]) {
			line := 1 + strings.Count(string(want[name][:differ(segments[name], want[name])]), "\n")
			return nil, &CorruptError{Segment: name, Line: line, Why: "differs from the journal's finalized event"}
		}
	}
	return entries, nil
}

// splitLines cuts data behind every newline; a rest without one is a line too.
func splitLines(data []byte) [][]byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}
