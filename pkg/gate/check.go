package gate

import (
	"fmt"
	"math"
)

// Code names the reason of a refusal.
type Code string

// The codes of refusals.
const (
	TooFewCases    Code = "too-few-cases"
	TooManyQueries Code = "too-many-queries"
	TooFewQueries  Code = "too-few-queries"
	TooManyResults Code = "too-many-outcomes"
	ScoreVisible   Code = "score-visible"
	FailureVisible Code = "failure-visible"
	BadMargin      Code = "bad-margin"
	BadPlan        Code = "bad-plan"
	Unbound        Code = "unbound"
	NoCaseResults  Code = "no-case-results"
	SharedCase     Code = "shared-case"
	ReusedCase     Code = "reused-case"
	ReusedFinal    Code = "reused-final"
	FinalTooSmall  Code = "final-too-small"
	Changed        Code = "changed"
)

// Refusal is why a plan cannot be sealed.
type Refusal struct {
	Code   Code   `json:"code"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

func (r Refusal) Error() string { return r.Reason }

const (
	minCases     = 8
	minWorkloads = 2
	thinCases    = 30
	weakOptimism = 0.25
	level        = 0.05 // of the final test, and of every bound
)

// Check gives everything that stands against sealing the plan, in a fixed
// order; nil where nothing does.
func Check(p Plan, f Facts) []Refusal {
	var out []Refusal
	for _, rule := range []func(Plan, Facts) []Refusal{
		checkPlan, checkCases, checkBudget, checkMargin, checkVisible, checkShared, checkReused, checkFinal,
	} {
		out = append(out, rule(p, f)...)
	}
	return out
}

// CheckFinal gives what stands against a final test of a run without a gate.
func CheckFinal(p Plan, f Facts) []Refusal {
	return append(append(checkShared(p, f), checkReused(p, f)...), checkFinal(p, f)...)
}

func refuse(code Code, fix, reason string, args ...any) []Refusal {
	return []Refusal{{code, fmt.Sprintf(reason, args...), fix}}
}

func checkPlan(p Plan, f Facts) []Refusal {
	var out []Refusal
	if p.Rule != NonInferior && p.Rule != Improve {
		out = append(out, refuse(BadPlan, "write rule: non_inferior or rule: improve", "gate: rule %q is not known", p.Rule)...)
	}
	if p.Source != User && p.Source != Untouched && p.Source != Generated {
		out = append(out, refuse(BadPlan, "write cases: user, untouched-split or generated", "gate: source of cases %q is not known", p.Source)...)
	}
	if p.Direction != "higher" && p.Direction != "lower" {
		out = append(out, refuse(BadPlan, "write direction: higher or direction: lower", "gate: direction %q is not known", p.Direction)...)
	}
	if p.Duration <= 0 {
		out = append(out, refuse(BadPlan, "set seconds to what the slowest honest candidate needs, and a half more",
			"gate: without a fixed time the time of an answer tells more than its bit")...)
	}
	if f.Inputs == "" || f.Answers == "" {
		out = append(out, refuse(Unbound, "seal the split and commit both bundles to the default branch",
			"gate: the digest of the sealed inputs or answers is missing")...)
	}
	return out
}

func checkCases(p Plan, f Facts) []Refusal {
	switch {
	case !f.PerCase:
		return refuse(NoCaseResults, "let the scorer print cases, each with its score, and extract: json",
			"gate: the scorer gives no result for each case, so wins and losses cannot be counted")
	case p.Workloads && f.Cases < minWorkloads:
		return refuse(TooFewCases, "bring at least 2 workloads that development does not hold",
			"gate: %d workloads, at least %d are needed", f.Cases, minWorkloads)
	case !p.Workloads && f.Cases < minCases:
		return refuse(TooFewCases, fmt.Sprintf("bring at least %d cases", max(minCases, MinCases(p.Queries))),
			"gate: %d cases, at least %d are needed", f.Cases, minCases)
	}
	return nil
}

// checkBudget leaves workloads out: they are no sample, so no number of them
// bounds what answers tell.
func checkBudget(p Plan, f Facts) []Refusal {
	if p.Queries < 2 {
		return refuse(TooFewQueries, "allow at least 2 queries",
			"gate: %d queries, and the first one is the baseline's", p.Queries)
	}
	if p.Workloads || f.Cases < minCases || bits(p.Queries) <= float64(f.Cases)/4 {
		return nil
	}
	fix := fmt.Sprintf("bring at least %d cases", MinCases(p.Queries))
	if q := MaxQueries(f.Cases); q >= 2 {
		fix = fmt.Sprintf("allow at most %d queries, or %s", q, fix)
	}
	return refuse(TooManyQueries, fix, "gate: %d queries can tell %.1f bits, more than a quarter of %d cases", p.Queries, bits(p.Queries), f.Cases)
}

// bits is what so many queries can tell: pass or fail each, and which of them,
// two at most, were protected overlaps.
func bits(queries int) float64 {
	return float64(queries) + 2*math.Log2(float64(queries)+1)
}

// MaxQueries is the largest budget that a gate of so many cases may have, 0
// for none.
func MaxQueries(cases int) int {
	low, high := 0, max(0, cases)/4 // bits(low) fits, bits(high+1) does not
	for low < high {
		if q := low + (high-low+1)/2; bits(q) <= float64(cases)/4 {
			low = q
		} else {
			high = q - 1
		}
	}
	return low
}

// MinCases is the smallest number of cases that a budget of so many queries
// needs.
func MinCases(queries int) int {
	return max(minCases, int(math.Ceil(4*bits(max(0, queries)))))
}

// DefaultMargin is the margin that a gate of so many cases has where the
// contract names none: half a standard error of a score of 0 or 1.
func DefaultMargin(cases int) int {
	return int(math.Ceil(0.5 * math.Sqrt(float64(max(0, cases)))))
}

func checkMargin(p Plan, f Facts) []Refusal {
	fix := fmt.Sprintf("set margin: %d", max(1, DefaultMargin(f.Cases)))
	top := float64(f.Cases)
	if p.Workloads {
		fix, top = "set margin to a fraction of the value, such as 0.02", 1
	}
	m := p.Margin
	switch {
	case m == 0:
		return refuse(BadMargin, fix, "gate: without a margin, luck in the gate decides, and every keep raises the bar by it")
	case !(m > 0) || math.IsInf(m, 0):
		return refuse(BadMargin, fix, "gate: margin %v is not a number above 0", m)
	case !p.Workloads && m != math.Trunc(m):
		return refuse(BadMargin, fix, "gate: margin %v is not a whole number of cases", m)
	case p.Rule == NonInferior && m >= top:
		return refuse(BadMargin, fix, "gate: with margin %v nothing can fail", m)
	case p.Rule == Improve && !p.Workloads && m > top:
		return refuse(BadMargin, fix, "gate: with margin %v and %d cases nothing can pass", m, f.Cases)
	}
	return nil
}

func checkVisible(_ Plan, f Facts) []Refusal {
	var out []Refusal
	if f.Outcomes != 2 {
		out = append(out, refuse(TooManyResults, "publish pass or fail and nothing else",
			"gate: a query would have %d outcomes that an author can tell apart, it must have 2", f.Outcomes)...)
	}
	if f.Scores {
		out = append(out, refuse(ScoreVisible, "leave scores and results of cases to the sealed record",
			"gate: a score would be published, which tells far more than one bit")...)
	}
	if f.Failures {
		out = append(out, refuse(FailureVisible, "let crash and timeout in the gate count as a fail",
			"gate: a crash or timeout would be told from a fail")...)
	}
	return out
}

func checkShared(_ Plan, f Facts) []Refusal {
	var out []Refusal
	for _, s := range f.Shared {
		if s.Exact <= 0 && s.Alike <= 0 {
			continue
		}
		fix := "run again with --drop-overlap, which leaves them out of " + s.Split
		out = append(out, refuse(SharedCase, fix, "%s: %d cases stand in %s too, %d of them byte for byte",
			s.Split, max(s.Exact, s.Alike), s.With, s.Exact)...)
	}
	return out
}

func checkReused(p Plan, f Facts) []Refusal {
	var out []Refusal
	switch {
	case f.Reused > 0 && !f.Allowed:
		out = refuse(ReusedCase, "seal cases that no run has used, or add the exception reused-gate",
			"gate: an earlier run has used %d of these cases", f.Reused)
	case f.Reused > 0 && f.Asked+2 > p.Queries:
		out = refuse(TooFewQueries, "seal cases that no run has used",
			"gate: earlier runs were charged %d queries on these cases; of %d the baseline and a candidate need two more", f.Asked, p.Queries)
	}
	if f.FinalCharged > 0 {
		out = append(out, refuse(ReusedFinal, "seal a final split that no run has used",
			"final: an earlier run's final test has used %d of these cases; a final is asked once", f.FinalCharged)...)
	}
	return out
}

// checkFinal refuses a final test that not even a win in every case passes.
func checkFinal(p Plan, f Facts) []Refusal {
	switch {
	case f.FinalCases <= 0:
		return nil
	case p.Workloads && f.FinalCases < minWorkloads:
		return refuse(FinalTooSmall, "bring at least 2 final workloads",
			"final: %d workloads, at least %d are needed", f.FinalCases, minWorkloads)
	case !p.Workloads && math.Ldexp(1, -f.FinalCases) > level:
		return refuse(FinalTooSmall, "bring at least 5 final cases, better some hundred",
			"final: with %d cases not even a win in each of them gives p <= %v", f.FinalCases, level)
	}
	return nil
}

// Unchanged gives a refusal for everything that differs between the gate that
// was sealed and the one that a query would ask: a budget is never raised and
// a gate never exchanged within a run.
func Unchanged(sealed, now Plan, sealedFacts, nowFacts Facts) []Refusal {
	var out []Refusal
	differs := func(what string, was, is any) {
		if was != is {
			out = append(out, refuse(Changed, "start a run with a new tag", "gate: %s was sealed as %v and is %v now", what, was, is)...)
		}
	}
	differs("the budget", sealed.Queries, now.Queries)
	differs("the rule", sealed.Rule, now.Rule)
	differs("the margin", sealed.Margin, now.Margin)
	differs("the time", sealed.Duration, now.Duration)
	differs("the source of cases", sealed.Source, now.Source)
	differs("the direction", sealed.Direction, now.Direction)
	differs("whether cases are workloads", sealed.Workloads, now.Workloads)
	differs("the number of cases", sealedFacts.Cases, nowFacts.Cases)
	differs("the digest of the inputs", sealedFacts.Inputs, nowFacts.Inputs)
	differs("the digest of the answers", sealedFacts.Answers, nowFacts.Answers)
	return out
}

// Label warns of a gate that may be sealed and shows little.
type Label string

// The labels.
const (
	Weak Label = "weak_gate" // optimism above 0.25 is not excluded
	Thin Label = "thin_gate" // fewer than 30 cases
)

// Labels gives the labels of a gate of so many cases and queries. A workload
// gate has none.
func Labels(p Plan, f Facts) []Label {
	if p.Workloads {
		return nil
	}
	var out []Label
	if Inform(f.Cases, Use{Budget: p.Queries}).EpsAll > weakOptimism {
		out = append(out, Weak)
	}
	if f.Cases < thinCases {
		out = append(out, Thin)
	}
	return out
}
