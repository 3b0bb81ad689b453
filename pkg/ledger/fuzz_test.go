package ledger_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// What is read is what would be written.
func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(sealedLine))
	segments, _ := threeSegments(f)
	for _, data := range segments {
		for _, line := range bytes.SplitAfter(data, []byte("\n")) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := ledger.ParseEvent(text)
		if err != nil {
			return
		}
		if again, err := e.Format(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q is written as %q (%v)", text, again, err)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	line, err := ledger.FormatEntry(entry(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	if line, err = ledger.FormatEntry(ledger.Entry{}); err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := ledger.ParseEntry(text)
		if err != nil {
			return
		}
		if again, err := ledger.FormatEntry(e); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q is written as %q (%v)", text, again, err)
		}
	})
}

// A journal that is read can be written again from its events alone, and one
// that is refused is refused with a place.
func FuzzReadJournal(f *testing.F) {
	segments, _ := threeSegments(f)
	f.Add(segments[ledger.Segment(0)], segments[ledger.Segment(1)])
	f.Add([]byte(sealedLine), []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		in := map[string][]byte{ledger.Segment(0): first}
		if len(second) > 0 {
			in[ledger.Segment(1)] = second
		}
		chain, err := ledger.ReadJournal(in)
		var c *ledger.CorruptError
		if err != nil {
			if !errors.As(err, &c) {
				t.Errorf("%v is no *CorruptError", err)
			}
			return
		}
		_, text, err := ledger.Chain{}.Append(chain.Events...)
		if err != nil || !bytes.Equal(text, append(bytes.Clone(first), second...)) {
			t.Errorf("%q, %q is written as %q (%v)", first, second, text, err)
		}
	})
}
