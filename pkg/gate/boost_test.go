package gate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// TestBoosting plays an author who knows nothing of the cases: every candidate
// answers at random, and at last he answers each case as most of those that
// passed did. The true score of whatever he does is one half; what the gate's
// cases say of it beyond that is what he got out of the gate.
func TestBoosting(t *testing.T) {
	const cases, queries, runs = 100, 16, 400
	for _, rule := range []Rule{NonInferior, Improve} {
		p := Plan{Queries: queries, Rule: rule, Margin: float64(DefaultMargin(cases)), Direction: contract.Higher}
		beyond, gained, bound := 0, 0.0, 0.0
		for run := range runs {
			gain, use := boost(t, p, cases, rand.New(rand.NewPCG(uint64(run), 7)))
			limit := Inform(cases, use).Optimism
			gained, bound = gained+gain/runs, bound+limit/runs
			if gain > limit {
				beyond++
			}
		}
		if beyond > runs/20 {
			t.Errorf("%s: %d of %d runs gain more than the bound, at most 5 %% may", rule, beyond, runs)
		}
		if gained > bound || rule == NonInferior && gained < 0.02 {
			t.Errorf("%s: mean gain %.3f, bound %.3f; an attack that gains nothing tests nothing", rule, gained, bound)
		}
		t.Logf("%s: mean gain %.3f within %.3f", rule, gained, bound)
	}
}

// boost attacks one gate with its whole budget, and gives what the last answer
// scores there beyond one half.
func boost(t *testing.T, p Plan, cases int, r *rand.Rand) (gain float64, use Use) {
	t.Helper()
	answers := func() []ledger.CaseScore {
		out := make([]ledger.CaseScore, cases)
		for i := range out {
			out[i] = ledger.CaseScore{ID: fmt.Sprintf("%03d", i), Score: float64(r.IntN(2))}
		}
		return out
	}
	kept := []Result{{Commit: "baseline", Cases: answers()}}
	passed := [][]ledger.CaseScore{}
	use = Use{Budget: p.Queries, Charged: 1}
	for !use.Exhausted() {
		use.Charged++
		candidate := answers()
		v, err := p.Judge(kept, candidate)
		if err != nil {
			t.Fatal(err)
		}
		if v.Pass {
			use.Passes++
			kept = append(kept, Result{Commit: fmt.Sprint(use.Charged), Cases: candidate})
			passed = append(passed, candidate)
		}
	}
	right := 0.0
	for i := range cases {
		votes := r.Float64() - 0.5 // breaks ties
		for _, c := range passed {
			votes += 2*c[i].Score - 1
		}
		if votes > 0 {
			right++
		}
	}
	return right/float64(cases) - 0.5, use
}
