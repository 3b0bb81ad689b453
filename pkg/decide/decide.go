// Package decide applies a contract's acceptance rule to the evidence for one candidate.
//
// Evidence is what the records say and nothing else, so that a decision can be
// derived again by anybody who holds them. The order of questions is fixed:
//
//	audit invalid                     → invalid
//	required trailers missing         → discard, "unjustified"
//	pass lost too often               → crash, "interrupted"
//	state check failed                → invalid, whatever else happened
//	build, launch, output, extraction → crash
//	over time                         → timeout
//	constraint broken                 → discard
//	counterexample changed            → discard
//	no gain by the acceptance rule    → discard
//	else                              → keep
//
// A failure of the infrastructure, the incumbent's included, is an error and
// never a decision.
package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Evidence is all that a decision rests on.
type Evidence struct {
	Contract *contract.Contract
	Role     ledger.Role
	// Commit is the commit under trial, Incumbent the one it is compared with.
	Commit, Incumbent string
	// IncumbentTree is the tree that a rollback must bring back.
	IncumbentTree string
	Committed     ledger.Committed
	// Evaluation is nil where nothing was launched.
	Evaluation *ledger.Evaluation
	// Standing is the incumbent's recorded measurement, nil for the baseline.
	Standing *ledger.Measurement
	// StandingTools are the tools under which Standing was measured.
	StandingTools map[string]string
	// Lost is why the attempt's passes were given up, empty if they were not.
	Lost string
}

// IncumbentError says that the incumbent could not be measured, or was
// measured differently under the same tools: the harness or the machine is at
// fault, and no candidate is judged by it.
type IncumbentError struct{ Commit, Why string }

func (e *IncumbentError) Error() string {
	return fmt.Sprintf("incumbent %.12s: %s", e.Commit, e.Why)
}

// Decide gives the decision without its head. An error is an *IncumbentError.
func Decide(e Evidence) (ledger.Decided, error) {
	d := ledger.Decided{Constraints: map[string]*bool{}}
	for _, name := range []string{HarnessUnchanged, TreeUnchanged, GeneralizationGate} {
		d.Constraints[name] = nil
	}
	if early(e, &d) {
		return finish(e, d), nil
	}
	candidate, incumbent, err := arms(e)
	if err != nil {
		return ledger.Decided{}, err
	}
	d.Replay = true
	d.Metrics = candidate.Metrics
	if incumbent != nil {
		d.IncumbentMetrics = incumbent.Metrics
	}
	judge(e, candidate, incumbent, &d)
	return finish(e, d), nil
}

// Names of the constraints that every entry carries.
const (
	HarnessUnchanged   = "harness_unchanged"
	TreeUnchanged      = "writable_tree_unchanged"
	GeneralizationGate = "generalization_gate"
)

// early answers the questions that need no measurement.
func early(e Evidence, d *ledger.Decided) bool {
	switch {
	case e.Committed.Audit.Verdict == "invalid":
		d.Status = ledger.Invalid
		d.Reason = "audit: " + strings.Join(e.Committed.Audit.Classes, ", ")
		d.Replay = e.Committed.Audit.Tree
	case len(e.Committed.Missing) > 0:
		d.Status = ledger.Discard
		d.Reason = "unjustified: the message lacks " + strings.Join(e.Committed.Missing, ", ")
	case e.Lost != "":
		d.Status = ledger.Crash
		d.Reason = "interrupted: " + e.Lost
		d.Failure = &ledger.Failure{Status: ledger.Crash, What: "interrupted", Detail: e.Lost}
	default:
		return false
	}
	return true
}

// arms picks the measurements that count. The incumbent's fresh one stands in
// for the record where the tools have changed since.
func arms(e Evidence) (candidate, incumbent *ledger.Measurement, err error) {
	candidate = find(e.Evaluation.Measurements, ledger.Candidate, 0)
	if candidate == nil {
		return nil, nil, fmt.Errorf("evaluation of %.12s holds no measurement of the candidate", e.Commit)
	}
	if e.Role == ledger.RoleBaseline {
		return candidate, nil, nil
	}
	fresh := find(e.Evaluation.Measurements, ledger.Incumbent, 0)
	if fresh == nil {
		return candidate, e.Standing, nil
	}
	if fresh.Failure != nil {
		return nil, nil, &IncumbentError{e.Incumbent, "measured again, it fails: " + fresh.Failure.Detail}
	}
	if maps.Equal(e.StandingTools, e.Evaluation.Tools) {
		name := e.Contract.Metric.Name
		if a, b := e.Standing.Metrics[name], fresh.Metrics[name]; a != b {
			return nil, nil, &IncumbentError{e.Incumbent, fmt.Sprintf("%s is %v, recorded as %v under the same tools", name, b, a)}
		}
	}
	return candidate, fresh, nil
}

// judge answers the questions that need a measurement, in their order.
func judge(e Evidence, candidate, incumbent *ledger.Measurement, d *ledger.Decided) {
	harness, tree := stateResults(e.Evaluation.Violations)
	d.Constraints[HarnessUnchanged], d.Constraints[TreeUnchanged] = &harness, &tree
	if !harness || !tree {
		d.Status, d.Reason, d.Metrics = ledger.Invalid, "state check: "+e.Evaluation.Violations[0], nil
		return
	}
	if f := candidate.Failure; f != nil {
		d.Status, d.Reason, d.Failure = f.Status, f.What+": "+f.Detail, f
		return
	}
	broken := constraints(e.Contract, candidate.Metrics, d.Constraints)
	d.Counterexamples = compare(candidate, incumbent)
	switch {
	case len(broken) > 0:
		d.Status, d.Reason = ledger.Discard, "constraint: "+broken[0]
	case d.Counterexamples != nil && len(d.Counterexamples.Changed) > 0:
		d.Status = ledger.Discard
		d.Reason = fmt.Sprintf("counterexamples: %d of %d outputs changed", len(d.Counterexamples.Changed), d.Counterexamples.Total)
	case e.Role == ledger.RoleBaseline:
		d.Status, d.Reason = baseline(e)
	default:
		d.Status, d.Reason = accept(e.Contract, candidate.Metrics, incumbent.Metrics)
	}
}

// finish fills in what follows from the status.
func finish(e Evidence, d ledger.Decided) ledger.Decided {
	d.IntendedIncumbent = e.Incumbent
	if d.Status == ledger.Keep {
		d.IntendedIncumbent = e.Commit
		d.Replay = false
	} else if e.Role == ledger.RoleCandidate {
		d.Rollback = ledger.Rollback{Required: true, Tree: e.IncumbentTree}
	}
	return d
}

func find(all []ledger.Measurement, arm ledger.Arm, repetition int) *ledger.Measurement {
	i := slices.IndexFunc(all, func(m ledger.Measurement) bool { return m.Arm == arm && m.Repetition == repetition })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// stateResults tells violations of the harness from those of an arm.
func stateResults(violations []string) (harness, tree bool) {
	harness, tree = true, true
	for _, v := range violations {
		if strings.HasPrefix(v, "harness") || strings.HasPrefix(v, "contract") {
			harness = false
		} else {
			tree = false
		}
	}
	return harness, tree
}

// constraints writes the result of every declared constraint and gives the
// broken ones in the contract's order.
func constraints(c *contract.Contract, metrics map[string]float64, results map[string]*bool) (broken []string) {
	for _, k := range c.Constraints {
		v := metrics[k.Metric]
		name, ok := "", true
		if k.AtMost != nil {
			name, ok = fmt.Sprintf("%s at most %v", k.Metric, *k.AtMost), v <= *k.AtMost
		} else {
			name, ok = fmt.Sprintf("%s at least %v", k.Metric, *k.AtLeast), v >= *k.AtLeast
		}
		results[name] = &ok
		if !ok {
			broken = append(broken, fmt.Sprintf("%s, measured %v", name, v))
		}
	}
	return broken
}

// compare compares the outputs on the counterexample split with the
// incumbent's recorded ones; nil where there is no such split.
func compare(candidate, incumbent *ledger.Measurement) *ledger.Counterexamples {
	if len(candidate.Counterexamples) == 0 {
		return nil
	}
	out := &ledger.Counterexamples{Total: len(candidate.Counterexamples), Changed: []string{}}
	if incumbent == nil {
		return out
	}
	for _, id := range slices.Sorted(maps.Keys(candidate.Counterexamples)) {
		if candidate.Counterexamples[id] != incumbent.Counterexamples[id] {
			out.Changed = append(out.Changed, id)
		}
	}
	return out
}

// baseline asks what only the baseline can show: that two launches agree.
func baseline(e Evidence) (ledger.Status, string) {
	first := find(e.Evaluation.Measurements, ledger.Candidate, 0)
	second := find(e.Evaluation.Measurements, ledger.Candidate, 1)
	if second == nil {
		return ledger.Keep, "baseline"
	}
	if f := second.Failure; f != nil {
		return f.Status, "second launch: " + f.What + ": " + f.Detail
	}
	for _, name := range deterministic(e.Contract) {
		if a, b := first.Metrics[name], second.Metrics[name]; a != b {
			return ledger.Invalid, fmt.Sprintf("two launches of the baseline give two values of %s, %v and %v: policy deterministic cannot judge it", name, a, b)
		}
	}
	for id, digest := range first.Counterexamples {
		if second.Counterexamples[id] != digest {
			return ledger.Invalid, fmt.Sprintf("two launches of the baseline give two outputs of counterexample %s", id)
		}
	}
	return ledger.Keep, "baseline"
}
