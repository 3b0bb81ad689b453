package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// attempts is a journal of n plain attempts, in its segments.
func attempts(tb testing.TB, n int) (map[string][]byte, ledger.Chain) {
	var data []ledger.Data
	var iterations []int
	for i := range n {
		rejected := entry(i)
		data = append(data, &ledger.Prepared{Head: head(true)},
			&ledger.Committed{Head: head(false), Tree: sha(i), Commits: []string{sha(i)}, Missing: []string{}},
			&ledger.Started{Head: head(false), Stage: ledger.Development, Repetitions: 1},
			&ledger.Evaluated{Head: head(false), Evaluation: ledger.Evaluation{
				Launches:     []ledger.Launch{{Kind: ledger.Build}, {Kind: ledger.Measure}, {Kind: ledger.Score}},
				Measurements: []ledger.Measurement{{Metrics: map[string]float64{"accuracy": 0.75}}},
			}},
			&ledger.Decided{Head: head(false), Status: ledger.Discard}, &ledger.RolledBack{Head: head(false), Commit: sha(i)},
			&ledger.Finalized{Entry: rejected}, &ledger.Published{Commit: sha(i)})
		for range 8 {
			iterations = append(iterations, i)
		}
	}
	return journal(tb, data, iterations)
}

// The cost of one more event must not grow with the journal.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		_, chain := attempts(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := chain
			for b.Loop() {
				var err error
				if c, _, err = c.Append(ledger.Event{Time: start, Run: "speedup", Iteration: n, Data: &ledger.Started{Head: head(false)}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The records of 10,000 attempts are read in well under two seconds.
func BenchmarkRead(b *testing.B) {
	segments, chain := attempts(b, 10_000)
	bytes := 0
	for _, data := range segments {
		bytes += len(data)
	}
	b.SetBytes(int64(bytes))
	for b.Loop() {
		got, err := ledger.ReadJournal(segments)
		if err != nil || got.Head != chain.Head {
			b.Fatal(err)
		}
	}
}

// Ten times the journal must not cost ten times as much an event; a hundred
// times is what a quadratic reader or writer would show.
func TestCostIsFlat(t *testing.T) {
	took := func(n int) time.Duration {
		best := time.Hour
		for range 3 {
			begin := time.Now()
			segments, _ := attempts(t, n)
			if _, err := ledger.ReadJournal(segments); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(begin))
		}
		return best / time.Duration(n)
	}
	small, large := took(30), took(300)
	if large > 5*small {
		t.Errorf("an attempt costs %s among 30 and %s among 300", small, large)
	}
}
