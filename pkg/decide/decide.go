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
//	sealed case in the candidate      → invalid, "protected-overlap"
//	gate not passed                   → discard, "overfit"
//	else                              → keep
//
// The gate is asked only where all before it says keep: see [AsksGate].
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
	// Gate is the answer to the attempt's query, nil where none was asked.
	Gate *ledger.GateResult
	// Lost is why the attempt was ended without a decision of its own, empty if
	// it was not.
	Lost string
}

// IncumbentError says that the incumbent could not be measured, or was
// measured differently under the same tools: the harness or the machine is at
// fault, and no candidate is judged by it.
type IncumbentError struct{ Commit, Why string }

func (e *IncumbentError) Error() string {
	return fmt.Sprintf("incumbent %.12s: %s", e.Commit, e.Why)
}

// Decide gives the decision without its head. An error is an *IncumbentError,
// or says that the evidence is not whole.
func Decide(e Evidence) (ledger.Decided, error) {
	d, err := measured(e)
	if err == nil && d.Status == ledger.Keep && e.Contract.Gate != nil {
		err = gated(e, &d)
	}
	if err != nil {
		return ledger.Decided{}, err
	}
	return finish(e, d), nil
}

// AsksGate says whether a query of the gate is all that stands between the
// evidence and a keep. Its error is that of Decide.
func AsksGate(e Evidence) (bool, error) {
	d, err := measured(e)
	return err == nil && d.Status == ledger.Keep && e.Contract.Gate != nil && e.Gate == nil, err
}

// measured decides by all but the gate.
func measured(e Evidence) (ledger.Decided, error) {
	d := ledger.Decided{Constraints: map[string]*bool{}}
	for _, name := range []string{HarnessUnchanged, TreeUnchanged, GeneralizationGate} {
		d.Constraints[name] = nil
	}
	if early(e, &d) {
		return d, nil
	}
	if e.Evaluation == nil {
		return ledger.Decided{}, fmt.Errorf("%.12s was not evaluated", e.Commit)
	}
	d.Replay = true
	if violated(e, &d) {
		return d, nil
	}
	candidate, incumbent, err := arms(e)
	if err != nil {
		return ledger.Decided{}, err
	}
	d.Metrics = candidate.Metrics
	if incumbent != nil {
		d.IncumbentMetrics = incumbent.Metrics
	}
	err = judge(e, candidate, incumbent, &d)
	return d, err
}

// gated decides by the answer of the gate.
func gated(e Evidence, d *ledger.Decided) error {
	if e.Gate == nil {
		return fmt.Errorf("%.12s has not been asked in the gate", e.Commit)
	}
	passed := e.Gate.Answer == ledger.Pass
	d.Constraints[GeneralizationGate] = &passed
	switch {
	case passed:
		if e.Role == ledger.RoleCandidate {
			d.Reason += "; gate passed"
		}
	case e.Gate.Answer == ledger.Overlap:
		d.Status, d.Reason = ledger.Invalid, "audit: "+string(ledger.Overlap)
	case e.Role == ledger.RoleBaseline:
		d.Status, d.Reason = ledger.Invalid, fmt.Sprintf("gate: within the %s of a query (gate: seconds) the baseline gave no result for each of the sealed cases", e.Contract.Gate.Window)
	default:
		d.Status, d.Reason = ledger.Discard, "overfit: "+d.Reason+", but the gate is not passed"
		if classes := e.Committed.Audit.Classes; len(classes) > 0 {
			d.Reason += "; the audit had asked for a review: " + strings.Join(classes, ", ")
		}
	}
	return nil
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
		d.Reason = "audit: " + strings.Join(invalidClasses(e.Committed.Audit), ", ")
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

// violated answers the one question that comes before every measurement: a
// pass that broke off at a failed state check may hold none.
func violated(e Evidence, d *ledger.Decided) bool {
	harness, tree := true, true
	for _, v := range e.Evaluation.Violations {
		// evaluate writes "<when>: <what>: <differences>".
		if strings.Contains(v, ": harness: ") || strings.Contains(v, ": contract: ") {
			harness = false
		} else {
			tree = false
		}
	}
	d.Constraints[HarnessUnchanged], d.Constraints[TreeUnchanged] = &harness, &tree
	if harness && tree {
		return false
	}
	d.Status, d.Reason = ledger.Invalid, "state check: "+e.Evaluation.Violations[0]
	return true
}

// invalidClasses lists the classes that made an audit invalid, each once.
func invalidClasses(a ledger.Audit) []string {
	var out []string
	for _, f := range a.Findings {
		if f.Severity == "invalid" && !slices.Contains(out, f.Class) {
			out = append(out, f.Class)
		}
	}
	return out
}

// arms picks the measurements that count. The incumbent's fresh one stands in
// for the record where the tools have changed since.
func arms(e Evidence) (candidate, incumbent *ledger.Measurement, err error) {
	candidate = find(e.Evaluation.Measurements, ledger.Candidate, 0)
	if candidate == nil {
		return nil, nil, fmt.Errorf("the evaluation of %.12s holds no measurement of the candidate", e.Commit)
	}
	if e.Role == ledger.RoleBaseline {
		return candidate, nil, nil
	}
	incumbent = find(e.Evaluation.Measurements, ledger.Incumbent, 0)
	switch {
	case incumbent == nil && e.Standing == nil:
		return nil, nil, &IncumbentError{e.Incumbent, "was never measured"}
	case incumbent == nil:
		incumbent = e.Standing
	case incumbent.Failure != nil:
		return nil, nil, &IncumbentError{e.Incumbent, "measured again, it fails: " + incumbent.Failure.Detail}
	case e.Standing != nil && maps.Equal(e.StandingTools, e.Evaluation.Tools):
		if why := differ(e.Contract, e.Standing, incumbent); why != "" {
			return nil, nil, &IncumbentError{e.Incumbent, "measured again under the same tools it differs: " + why}
		}
	}
	if name := unusable(e.Contract, incumbent.Metrics); name != "" {
		return nil, nil, &IncumbentError{e.Incumbent, "has no value of " + name}
	}
	return candidate, incumbent, nil
}

// differ says in what two measurements of the same code differ, "" in nothing
// that is deterministic.
func differ(c *contract.Contract, first, second *ledger.Measurement) string {
	for _, name := range deterministic(c) {
		if a, b := first.Metrics[name], second.Metrics[name]; a != b {
			return fmt.Sprintf("%s is %s, then %s", name, number(a), number(b))
		}
	}
	if changed := compare(second, first); changed != nil && len(changed.Changed) > 0 {
		return fmt.Sprintf("the output of counterexample %q changes", changed.Changed[0])
	}
	return ""
}

// judge answers the questions that need a measurement, in their order.
func judge(e Evidence, candidate, incumbent *ledger.Measurement, d *ledger.Decided) error {
	if candidate.Failure != nil {
		return failed(candidate.Failure, "", d)
	}
	if name := unusable(e.Contract, candidate.Metrics); name != "" {
		d.Metrics = nil
		return failed(&ledger.Failure{Status: ledger.Crash, What: "extract", Detail: name + " has no finite value"}, "", d)
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
		return baseline(e, candidate, d)
	default:
		d.Status, d.Reason = accept(e.Contract, candidate.Metrics, incumbent.Metrics)
	}
	return nil
}

// failed decides by a failure.
func failed(f *ledger.Failure, which string, d *ledger.Decided) error {
	if f.Status != ledger.Crash && f.Status != ledger.Timeout && f.Status != ledger.Invalid {
		return fmt.Errorf("a failure with status %q: want crash, timeout or invalid", f.Status)
	}
	d.Status, d.Reason, d.Failure = f.Status, which+f.What+": "+f.Detail, f
	return nil
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

// constraints writes the result of every declared constraint and gives the
// broken ones in the contract's order.
func constraints(c *contract.Contract, metrics map[string]float64, results map[string]*bool) (broken []string) {
	for _, k := range c.Constraints {
		v := metrics[k.Metric]
		name, ok := "", true
		if k.AtMost != nil {
			name, ok = k.Metric+" at most "+number(*k.AtMost), v <= *k.AtMost
		} else {
			name, ok = k.Metric+" at least "+number(*k.AtLeast), v >= *k.AtLeast
		}
		results[name] = &ok
		if !ok {
			broken = append(broken, name+", measured "+number(v))
		}
	}
	return broken
}

// compare compares the outputs on the counterexample split with the
// incumbent's recorded ones; nil where there is no such split. An output that
// only one of them has is a change.
func compare(candidate, incumbent *ledger.Measurement) *ledger.Counterexamples {
	all := maps.Clone(candidate.Counterexamples)
	if incumbent != nil {
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, incumbent.Counterexamples)
	}
	if len(all) == 0 {
		return nil
	}
	out := &ledger.Counterexamples{Total: len(all), Changed: []string{}}
	if incumbent == nil {
		return out
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		was, before := incumbent.Counterexamples[id]
		is, after := candidate.Counterexamples[id]
		if was != is || before != after {
			out.Changed = append(out.Changed, id)
		}
	}
	return out
}

// baseline asks what only the baseline can show: that two launches agree.
func baseline(e Evidence, first *ledger.Measurement, d *ledger.Decided) error {
	second := find(e.Evaluation.Measurements, ledger.Candidate, 1)
	switch {
	case second == nil:
		return fmt.Errorf("the baseline %.12s was launched once, want twice", e.Commit)
	case second.Failure != nil:
		return failed(second.Failure, "second launch: ", d)
	}
	if why := differ(e.Contract, first, second); why != "" {
		d.Status = ledger.Invalid
		d.Reason = "two launches of the baseline differ, policy deterministic cannot judge it: " + why
		return nil
	}
	d.Status, d.Reason = ledger.Keep, "baseline"
	return nil
}
