package verify

import (
	"slices"

	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// gated derives what an event says of the gate and the final test. The answers
// themselves, and what is sealed of them, only the keys can recompute.
func (c *checker) gated(run *journal.Run, i int, e ledger.Event) {
	if n := len(c.charged); n > 0 && c.charged[n-1] == i-1 && e.Data.Kind() != ledger.KindStarted {
		c.bad(lawGate, c.at(i-1), "charges a query, and the pass is not claimed with it")
	}
	switch d := e.Data.(type) {
	case *ledger.GateCharged:
		c.charged = append(c.charged, i)
	case *ledger.GateResult:
		c.sealedSize(i, d.Sealed)
	case *ledger.FinalResult:
		if d.Answer == ledger.Interrupted {
			c.gaveUp(run, i, "ends the final test")
			return
		}
		c.count.finals++
		if d.Answer == ledger.Pass && (d.Wins <= d.Losses || d.P > 0.05 && !gate.PlanOf(run.Contract.Contract).Workloads) {
			c.bad(lawGate, c.at(i), "passes the final test with %d wins, %d losses and p %g", d.Wins, d.Losses, d.P)
		}
	}
}

// chargedApart checks that no commit of the state branch ends between a query
// and the claim of its pass.
func (c *checker) chargedApart() {
	for _, p := range c.points {
		if _, apart := slices.BinarySearch(c.charged, p.lines-1); apart {
			c.bad(lawGate, c.at(p.lines-1), "charges a query in another commit than the one that claims its pass")
		}
	}
}

// sealedSize checks that the results of all queries are sealed in one size,
// which then tells nothing.
func (c *checker) sealedSize(i int, sealed string) {
	if c.size == 0 {
		c.size = len(sealed)
	}
	if len(sealed) != c.size {
		c.bad(lawGate, c.at(i), "seals its results in %d characters, the ones before in %d", len(sealed), c.size)
	}
}

// gaveUp checks that a pass was lost often enough to be given up.
func (c *checker) gaveUp(run *journal.Run, i int, what string) {
	if run.Open != nil && run.Open.Lost < journal.MaxLostAttempt && run.Retries < journal.MaxLostRun {
		c.bad(lawDecisions, c.at(i), "%s after %d lost passes, %d may be launched again", what, run.Open.Lost+1, journal.MaxLostAttempt)
	}
}

// saysGate says how much was checked of the gate.
func (c *checker) saysGate() {
	c.chargedApart()
	if c.sealed.Gate == nil && c.sealed.Splits.Final == "" {
		c.say(lawGate, "the contract has none: nothing was sealed from the author")
		return
	}
	use := c.Run.Use()
	c.say(lawGate, "%d of %d queries, each charged with its pass, and %d final tests; their values are known by signature only", use.Used(), use.Budget, c.count.finals)
}
