package journal_test

import (
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// FuzzFold adds events at random, right ones and spoilt ones, and looks at the
// run after each. Nothing may panic, what Apply takes Fold takes too, and the
// invariants hold.
func FuzzFold(f *testing.F) {
	for _, stage := range stages {
		k := newClerk(terms())
		stage.reach(k)
		f.Add(seed(k))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 300)]
		k := newClerk(terms())
		for len(script) > 1 {
			kind, spoil := kinds[int(script[0])%len(kinds)], script[1]
			script = script[2:]
			next := k.again()
			if next.add(spoilt(next.event(kind), spoil)) != nil {
				continue // refused: the run before it goes on
			}
			k = next
			look(t, k, spoil)
		}
	})
}

// seed is a script that makes the same kinds of events.
func seed(k *clerk) (script []byte) {
	for _, e := range k.events[1:] {
		for i, kind := range kinds {
			if kind == e.Data.Kind() {
				script = append(script, byte(i), 0)
			}
		}
	}
	return script
}

// spoilt changes one thing in an event, or nothing.
func spoilt(d ledger.Data, how byte) ledger.Data {
	switch d := d.(type) {
	case *ledger.Prepared:
		d.Lease = []string{"A", "B", ""}[how%3]
	case *ledger.Committed:
		d.Candidate = id(int(how % 8))
		d.Tree = []string{"B", "G", "X", "Y"}[how%4]
		d.Audit.Verdict = []string{"pass", "review", "invalid"}[how%3]
	case *ledger.Evaluated:
		if how%4 == 1 {
			d.Measurements = nil
		}
	case *ledger.Decided:
		if how%2 == 1 {
			d.Status = []ledger.Status{ledger.Keep, ledger.Discard, ledger.Crash, ledger.Timeout, ledger.Invalid, ""}[how/2%6]
		}
	case *ledger.RolledBack:
		d.Commit, d.Swept = id(int(how%8)), []string{id(int(how / 8 % 8))}[:how%2]
	case *ledger.Superseded:
		d.Tip, d.Tree = id(int(how%8)), []string{"B", "G", "X", "Y"}[how%4]
		if how%2 == 1 {
			d.Restore, d.Of = id(9), ptr(int(how)%4-1)
		}
	case *ledger.Finalized:
		if how%16 == 1 {
			d.Entry.Iteration++
		}
	}
	return d
}

// look asks a run everything.
func look(t *testing.T, k *clerk, how byte) {
	t.Helper()
	g := on("B", "X", "SB", "G", "Y<0", "SB<4+3", "X", "B", "Y", "SB")
	for tip := -1; tip < len(g); tip++ {
		w := journal.World{Now: start.Add(time.Duration(how) * time.Second), Outcome: how%2 == 1, Gone: []string{"", "gone"}[how%2]}
		if tip >= 0 {
			if err := k.run.Look(&w, g, id(tip)); err != nil {
				t.Fatal(err)
			}
		}
		if step := k.run.Next(w); step.Do == "" {
			t.Fatalf("no next step: %+v", k.run)
		}
	}
	for i := range g {
		if v, ok := k.run.Verdict(id(i)); ok && (v.Status == "" || v.Iteration >= len(k.run.Entries)) {
			t.Fatalf("%s: %+v", id(i), v)
		}
	}
	r := k.run
	if r.Opened != nil && (r.Incumbent.Commit == "" || r.Incumbent.Measurement == nil) || len(r.History) < len(r.Entries) {
		t.Fatalf("%+v", r)
	}
	for i, e := range r.Entries {
		if e.Iteration != i {
			t.Fatalf("entry %d is of iteration %d", i, e.Iteration)
		}
	}
}
