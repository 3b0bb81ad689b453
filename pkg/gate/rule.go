package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/paired"
)

// Result is what a kept commit scored in the gate, case by case.
type Result struct {
	Commit string             `json:"commit"`
	Cases  []ledger.CaseScore `json:"cases"`
}

// Tally counts the cases in which a candidate does better, worse and equally.
type Tally struct {
	Wins   int `json:"wins"`
	Losses int `json:"losses"`
	Ties   int `json:"ties"`
}

// Verdict is the gate's answer. Only Pass may be shown before the run is
// closed; the rest belongs into the sealed record.
type Verdict struct {
	Pass bool `json:"pass"`
	// Reference is the kept commit that was compared with.
	Reference string `json:"reference"`
	Tally
	Reason string `json:"reason"`
}

// Judge compares a candidate with the best of the kept results. A candidate
// whose scores are missing or damaged fails. An error says that the kept
// results are unfit; it names commits and never a case.
func (p Plan) Judge(kept []Result, candidate []ledger.CaseScore) (Verdict, error) {
	best, err := p.best(kept)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Reference: best.Commit}
	pairs, err := compare(best.Cases, candidate)
	if err != nil {
		v.Reason = err.Error()
		return v, nil
	}
	v.Tally = p.tally(pairs)
	if p.Workloads {
		v.Pass, v.Reason = p.everyWorkload(pairs)
		return v, nil
	}
	gain := v.Wins - v.Losses
	v.Pass = float64(-gain) <= p.Margin
	if p.Rule == Improve {
		v.Pass = float64(gain) >= p.Margin
	}
	v.Reason = fmt.Sprintf("%s: %d wins, %d losses, margin %v", p.Rule, v.Wins, v.Losses, p.Margin)
	return v, nil
}

// best is the kept result with the best mean, the earliest among equals. Its
// cases are sorted.
func (p Plan) best(kept []Result) (Result, error) {
	var best Result
	top := 0.0
	for i, k := range kept {
		cases, err := sorted(k.Cases)
		if err != nil {
			return Result{}, fmt.Errorf("gate: result of %.12s: %w", k.Commit, err)
		}
		if i > 0 {
			if _, err := match(best.Cases, cases); err != nil {
				return Result{}, fmt.Errorf("gate: results of %.12s and %.12s: %w", best.Commit, k.Commit, err)
			}
		}
		if mean := p.mean(cases); i == 0 || mean > top {
			best, top = Result{k.Commit, cases}, mean
		}
	}
	if best.Cases == nil {
		return Result{}, errors.New("gate: no kept commit has a result, not even the baseline")
	}
	return best, nil
}

// mean is the mean score of sorted cases, negated where lower is better.
func (p Plan) mean(cases []ledger.CaseScore) float64 {
	sum := 0.0
	for _, c := range cases {
		sum += c.Score / float64(len(cases))
	}
	if p.Direction == contract.Lower {
		return -sum
	}
	return sum
}

// sorted gives the cases in the order of their IDs and refuses those that
// nothing can be compared with.
func sorted(cases []ledger.CaseScore) ([]ledger.CaseScore, error) {
	if len(cases) == 0 {
		return nil, errors.New("there are no results of cases")
	}
	out := slices.SortedFunc(slices.Values(cases), func(a, b ledger.CaseScore) int { return cmp.Compare(a.ID, b.ID) })
	for i, c := range out {
		if math.IsNaN(c.Score) || math.IsInf(c.Score, 0) {
			return nil, errors.New("a score is not a finite number")
		}
		if i > 0 && out[i-1].ID == c.ID {
			return nil, errors.New("two results are about the same case")
		}
	}
	return out, nil
}

// pair holds one case's scores by reference and candidate.
type pair struct{ reference, candidate float64 }

// compare sorts the candidate's cases and matches them with sorted ones.
func compare(reference, candidate []ledger.CaseScore) ([]pair, error) {
	cases, err := sorted(candidate)
	if err != nil {
		return nil, err
	}
	return match(reference, cases)
}

// match brings the sorted scores of two commits together.
func match(reference, candidate []ledger.CaseScore) ([]pair, error) {
	if len(candidate) != len(reference) {
		return nil, fmt.Errorf("%d results for %d cases", len(candidate), len(reference))
	}
	out := make([]pair, len(reference))
	for i, r := range reference {
		if r.ID != candidate[i].ID {
			return nil, errors.New("the results are about different cases")
		}
		out[i] = pair{r.Score, candidate[i].Score}
	}
	return out, nil
}

// gain is by how much the candidate is better.
func (p Plan) gain(c pair) float64 {
	if p.Direction == contract.Lower {
		return c.reference - c.candidate
	}
	return c.candidate - c.reference
}

func (p Plan) tally(pairs []pair) Tally {
	var t Tally
	for _, c := range pairs {
		switch gain := p.gain(c); {
		case gain > 0:
			t.Wins++
		case gain < 0:
			t.Losses++
		default:
			t.Ties++
		}
	}
	return t
}

// tolerance forgives the last binary digits of a difference of decimal values,
// relative to the larger one.
const tolerance = 1e-12

// everyWorkload applies rule and margin to each workload by itself.
func (p Plan) everyWorkload(pairs []pair) (pass bool, reason string) {
	failed := 0
	for _, c := range pairs {
		slack := tolerance * max(math.Abs(c.reference), math.Abs(c.candidate))
		gain, margin := p.gain(c), p.Margin*math.Abs(c.reference)
		if p.Rule == Improve && !(gain > 0 && gain+slack >= margin) || p.Rule != Improve && gain+slack < -margin {
			failed++
		}
	}
	return failed == 0, fmt.Sprintf("%s: %d of %d workloads fail, margin %v", p.Rule, failed, len(pairs), p.Margin)
}

// FinalVerdict is the answer of the final test.
type FinalVerdict struct {
	Pass bool `json:"pass"`
	Tally
	// P is the sign test's, 1 where there was none: for workloads and for a
	// best commit without a result.
	P      float64 `json:"p"`
	Reason string  `json:"reason"`
}

// Final compares the best kept commit with the baseline on the final split:
// the exact one-sided sign test must give p <= 0.05; of workloads every one
// must be better. A best commit without a sound result fails; an error says
// that the baseline has none.
func (p Plan) Final(baseline, best []ledger.CaseScore) (FinalVerdict, error) {
	reference, err := sorted(baseline)
	if err != nil {
		return FinalVerdict{}, fmt.Errorf("final: result of the baseline: %w", err)
	}
	v := FinalVerdict{P: 1}
	pairs, err := compare(reference, best)
	if err != nil {
		v.Reason = err.Error()
		return v, nil
	}
	v.Tally = p.tally(pairs)
	if p.Workloads {
		v.Pass = v.Wins == len(pairs)
		v.Reason = fmt.Sprintf("%d of %d workloads are better", v.Wins, len(pairs))
		return v, nil
	}
	sign, err := paired.Sign(v.Wins, v.Losses)
	if err != nil {
		return FinalVerdict{}, fmt.Errorf("final: %w", err)
	}
	v.P, v.Pass = sign.P, sign.P <= level
	v.Reason = fmt.Sprintf("sign test: %d wins, %d losses, p = %.3g", v.Wins, v.Losses, v.P)
	return v, nil
}
