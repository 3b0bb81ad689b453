package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// scores gives cases of the names k000, k001 … with these scores.
func scores(values ...float64) []ledger.CaseScore {
	out := make([]ledger.CaseScore, len(values))
	for i, v := range values {
		out[i] = ledger.CaseScore{ID: fmt.Sprintf("k%03d", i), Score: v}
	}
	return out
}

// hits gives n cases of which those from first on, count of them, are right.
func hits(n, first, count int) []ledger.CaseScore {
	values := make([]float64, n)
	for i := first; i < first+count; i++ {
		values[i] = 1
	}
	return scores(values...)
}

func TestJudge(t *testing.T) {
	base := hits(20, 0, 10)
	for _, c := range []struct {
		name      string
		rule      Rule
		candidate []ledger.CaseScore
		want      Verdict
	}{
		{"equal", NonInferior, base, Verdict{Pass: true, Tally: Tally{0, 0, 20}}},
		{"at the margin", NonInferior, hits(20, 0, 7), Verdict{Pass: true, Tally: Tally{0, 3, 17}}},
		{"beyond the margin", NonInferior, hits(20, 0, 6), Verdict{Tally: Tally{0, 4, 16}}},
		{"wins make up for losses", NonInferior, hits(20, 5, 10), Verdict{Pass: true, Tally: Tally{5, 5, 10}}},
		{"improve, equal", Improve, base, Verdict{Tally: Tally{0, 0, 20}}},
		{"improve, below the margin", Improve, hits(20, 0, 12), Verdict{Tally: Tally{2, 0, 18}}},
		{"improve, at the margin", Improve, hits(20, 0, 13), Verdict{Pass: true, Tally: Tally{3, 0, 17}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Plan{Rule: c.rule, Margin: 3, Direction: contract.Higher}
			got, err := p.Judge([]Result{{"base", base}}, c.candidate)
			if err != nil {
				t.Fatal(err)
			}
			if got.Pass != c.want.Pass || got.Tally != c.want.Tally || got.Reference != "base" {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			p.Direction = contract.Lower
			flipped, err := p.Judge([]Result{{"base", negate(base)}}, negate(c.candidate))
			if err != nil || flipped.Pass != got.Pass || flipped.Tally != got.Tally {
				t.Errorf("the same where lower is better: %+v, %v", flipped, err)
			}
		})
	}
}

func negate(cases []ledger.CaseScore) []ledger.CaseScore {
	out := slices.Clone(cases)
	for i := range out {
		out[i].Score = -out[i].Score
	}
	return out
}

// TestBestNotLatest: every keep loses as much as the margin allows; measured
// against the latest one the chain would never end.
func TestBestNotLatest(t *testing.T) {
	p := Plan{Rule: NonInferior, Margin: 3, Direction: contract.Higher}
	kept := []Result{{"c0", hits(50, 0, 40)}}
	for i := 1; i <= 10; i++ {
		candidate := hits(50, 0, 40-3*i)
		v, err := p.Judge(kept, candidate)
		if err != nil {
			t.Fatal(err)
		}
		if v.Pass != (i == 1) || v.Reference != "c0" {
			t.Fatalf("step %d: %+v", i, v)
		}
		if v.Pass {
			kept = append(kept, Result{fmt.Sprintf("c%d", i), candidate})
		}
	}
	kept = append(kept, Result{"better", hits(50, 0, 45)}, Result{"as good", hits(50, 5, 45)}, Result{"latest", hits(50, 0, 43)})
	if v, err := p.Judge(kept, hits(50, 0, 41)); err != nil || v.Pass || v.Reference != "better" {
		t.Errorf("against the best kept commit: %+v, %v", v, err)
	}
}

func TestJudgeWorkloads(t *testing.T) {
	base := scores(100, 200, 0.3)
	for _, c := range []struct {
		name      string
		rule      Rule
		candidate []ledger.CaseScore
		pass      bool
	}{
		{"equal", NonInferior, base, true},
		{"each within its margin", NonInferior, scores(110, 220, 0.33), true},
		{"one beyond", NonInferior, scores(1, 1, 0.331), false},
		{"gains do not make up", NonInferior, scores(1, 221, 0.1), false},
		{"improve, equal", Improve, base, false},
		{"improve, each", Improve, scores(90, 180, 0.27), true},
		{"improve, all but one", Improve, scores(90, 181, 0.27), false},
	} {
		p := Plan{Rule: c.rule, Margin: 0.1, Direction: contract.Lower, Workloads: true}
		if v, err := p.Judge([]Result{{"base", base}}, c.candidate); err != nil || v.Pass != c.pass {
			t.Errorf("%s: %+v, %v, want pass %v", c.name, v, err, c.pass)
		}
	}
	p := Plan{Rule: Improve, Margin: 0.1, Direction: contract.Lower, Workloads: true}
	if v, err := p.Judge([]Result{{"base", scores(0, 0)}}, scores(0, 0)); err != nil || v.Pass {
		t.Errorf("nothing is no improvement of nothing: %+v, %v", v, err)
	}
}

// damaged lists scores that nothing can be compared with.
func damaged() map[string][]ledger.CaseScore {
	twice := hits(20, 0, 10)
	twice[3].ID = twice[4].ID
	other := hits(20, 0, 10)
	other[19].ID = "canary"
	return map[string][]ledger.CaseScore{
		"none":      nil,
		"NaN":       append(hits(19, 0, 10), ledger.CaseScore{ID: "canary", Score: math.NaN()}),
		"infinite":  append(hits(19, 0, 10), ledger.CaseScore{ID: "canary", Score: math.Inf(1)}),
		"too few":   hits(19, 0, 10),
		"too many":  hits(21, 0, 10),
		"twice":     twice,
		"different": other,
	}
}

func TestDamagedScores(t *testing.T) {
	p := Plan{Rule: NonInferior, Margin: 19, Direction: contract.Higher}
	base := hits(20, 0, 10)
	for name, cases := range damaged() {
		v, err := p.Judge([]Result{{"base", base}}, cases)
		if err != nil || v.Pass || v.Reason == "" || v.Tally != (Tally{}) {
			t.Errorf("%s: candidate: %+v, %v, want a fail with a reason", name, v, err)
		}
		_, kept := p.Judge([]Result{{"base", base}, {"kept", cases}}, base)
		if kept == nil || !strings.Contains(kept.Error(), "kept") {
			t.Errorf("%s: kept result: error %v, want one that names the commit", name, kept)
		}
		f, err := p.Final(base, cases)
		if err != nil || f.Pass || f.P != 1 {
			t.Errorf("%s: best commit in the final: %+v, %v, want a fail", name, f, err)
		}
		for _, text := range []string{v.Reason, f.Reason, fmt.Sprint(kept)} {
			if strings.Contains(text, "canary") || strings.Contains(text, "k0") {
				t.Errorf("%s: %q names a case", name, text)
			}
		}
	}
	if _, err := p.Judge(nil, base); err == nil {
		t.Error("a gate without any kept result answers")
	}
	if _, err := p.Final(nil, base); err == nil {
		t.Error("a final without a baseline answers")
	}
}

func TestFinal(t *testing.T) {
	for _, c := range []struct {
		name string
		base []ledger.CaseScore
		best []ledger.CaseScore
		pass bool
		p    float64
	}{
		{"five wins", hits(20, 0, 5), hits(20, 0, 10), true, 1. / 32},
		{"four wins", hits(20, 0, 5), hits(20, 0, 9), false, 1. / 16},
		{"no difference", hits(20, 0, 5), hits(20, 0, 5), false, 1},
		{"worse", hits(20, 0, 5), hits(20, 0, 2), false, 1},
		{"13 wins, 2 losses", hits(20, 0, 2), hits(20, 2, 13), true, 0.003692626953125},
	} {
		p := Plan{Direction: contract.Higher}
		v, err := p.Final(c.base, c.best)
		if err != nil {
			t.Fatal(err)
		}
		if near(t, c.name+": p", v.P, c.p, 1e-15); v.Pass != c.pass {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	p := Plan{Direction: contract.Lower, Workloads: true}
	for want, best := range map[bool][]ledger.CaseScore{true: scores(9, 19), false: scores(1, 20)} {
		if v, err := p.Final(scores(10, 20), best); err != nil || v.Pass != want {
			t.Errorf("workloads: %+v, %v, want pass %v", v, err, want)
		}
	}
}

// TestAttack plays an author who knows nothing: random answers, all that pass
// are combined by majority. The mean gain over the true score of one half must
// stay within the bound that is printed, and the attack must be one.
func TestAttack(t *testing.T) {
	const cases, queries, runs = 100, 16, 100
	random := rand.New(rand.NewPCG(11, 12))
	for _, rule := range []Rule{NonInferior, Improve} {
		p := Plan{Queries: queries, Rule: rule, Margin: float64(DefaultMargin(cases)), Direction: contract.Higher}
		gain, bound, practical := 0.0, 0.0, 0.0
		for range runs {
			g, u := attack(t, p, cases, random)
			b := Inform(cases, u)
			gain, bound, practical = gain+g/runs, bound+b.Optimism/runs, practical+b.Practical/runs
		}
		t.Logf("%s: mean gain %.3f, bound %.3f, closed form of the attack %.3f", rule, gain, bound, practical)
		if gain > bound {
			t.Errorf("%s: mean gain %.3f is above the bound %.3f", rule, gain, bound)
		}
		if gain < 0.02 {
			t.Errorf("%s: mean gain %.3f: this is no attack", rule, gain)
		}
	}
}

// attack spends the budget and gives what the combined candidate gains.
func attack(t *testing.T, p Plan, cases int, random *rand.Rand) (gain float64, u Use) {
	t.Helper()
	guess := func() []ledger.CaseScore {
		values := make([]float64, cases)
		for i := range values {
			values[i] = float64(random.IntN(2))
		}
		return scores(values...)
	}
	u = Use{Budget: p.Queries, Charged: 1}
	kept := []Result{{"baseline", guess()}}
	votes := make([]int, cases)
	for !u.Exhausted() {
		u.Charged++
		candidate := guess()
		v, err := p.Judge(kept, candidate)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Pass {
			continue
		}
		u.Passes++
		kept = append(kept, Result{fmt.Sprint(u.Charged), candidate})
		for i, c := range candidate {
			votes[i] += 2*int(c.Score) - 1
		}
	}
	right := 0.0
	for _, v := range votes {
		switch {
		case v > 0:
			right++
		case v == 0:
			right += .5
		}
	}
	return right/float64(cases) - .5, u
}
