package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// folderSize is how many attempts share a folder. Each has files of its own, so
// that what git stores and hashes of a commit is the open attempt and two short
// folders above it, however long the run is.
const folderSize = 100

// Folder gives the place of an attempt's files below the folder of their kind.
func Folder(iteration int) string {
	shelf := strconv.Itoa(iteration / folderSize)
	return "000"[min(len(shelf), 3):] + shelf + "/" + strconv.Itoa(iteration)
}

// Segment gives the name of the journal segment that iteration belongs to,
// below the run's folder.
func Segment(iteration int) string { return "journal/" + Folder(iteration) + ".jsonl" }

// Results gives the name of the file with the entry of iteration, below the run's
// folder.
func Results(iteration int) string { return "results/" + Folder(iteration) + ".json" }

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

// ReadResults reads the results from their files, keyed by name, and compares
// them with the journal that they are a projection of. An error is a
// *CorruptError.
func ReadResults(files map[string][]byte, journal []Event) ([]Entry, error) {
	entries, made := []Entry{}, map[string]bool{}
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
		if err := Projected(name, files[name], text); err != nil {
			return nil, err
		}
		entries, made[name] = append(entries, f.Entry), true
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !made[name] {
			return nil, Unprojected(name)
		}
	}
	return entries, nil
}

// Projected compares a file of the results with the line that the journal makes
// of it. An error is a *CorruptError.
func Projected(name string, is, want []byte) error {
	switch {
	case is == nil:
		return &CorruptError{Segment: name, Why: "is missing: the journal finalized this attempt"}
	case !bytes.Equal(is, want):
		return &CorruptError{Segment: name, Line: 1, Why: "differs from the journal's finalized event"}
	}
	return nil
}

// Unprojected is the error of a file of the results that no finalized event makes.
func Unprojected(name string) error {
	return &CorruptError{Segment: name, Why: "the journal finalized no such attempt"}
}
