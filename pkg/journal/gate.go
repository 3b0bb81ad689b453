package journal

import (
	"fmt"

	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Use is what the run has asked its gate, queries that earlier runs were
// charged on the same cases included.
func (r *Run) Use() gate.Use {
	u := r.asked
	if r.Contract.Gate == nil {
		return u
	}
	u.Budget = r.Contract.Gate.Queries
	for _, s := range r.Contract.Facts.Splits {
		if s.Name == string(ledger.Validation) {
			u.Earlier = s.Asked
		}
	}
	return u
}

// Cases counts the cases of a sealed split, 0 where there is none.
func (r *Run) Cases(stage ledger.Stage) int {
	for _, s := range r.Contract.Facts.Splits {
		if s.Name == string(stage) {
			return s.Cases
		}
	}
	return 0
}

// charge charges a query of the gate for the open attempt.
func (r *Run) charge(d *ledger.GateCharged) error {
	a, use := r.Open, r.Use()
	switch {
	case r.Contract.Gate == nil:
		return fmt.Errorf("the contract has no gate")
	case a.Gate != nil:
		return fmt.Errorf("the attempt has its answer")
	case use.Exhausted():
		return fmt.Errorf("the budget of %d queries is used up", use.Budget)
	case d.Query != use.Charged+1 || d.Budget != use.Budget:
		return fmt.Errorf("query %d of %d, want %d of %d", d.Query, d.Budget, use.Charged+1, use.Budget)
	case d.Tree != a.Committed.Tree:
		return fmt.Errorf("asks for tree %q, the candidate's is %q", d.Tree, a.Committed.Tree)
	case d.Claim == nil:
		return fmt.Errorf("a query is charged by what claims its pass")
	}
	r.asked.Charged++
	a.Phase = Charged
	return r.lease(d.Head)
}

// answer ends the pass that asked the gate.
func (r *Run) answer(d *ledger.GateResult) error {
	if d.Query != r.asked.Charged {
		return fmt.Errorf("answers query %d, asked was %d", d.Query, r.asked.Charged)
	}
	if d.Answer != ledger.Pass && d.Answer != ledger.Fail && d.Answer != ledger.Overlap {
		return fmt.Errorf("a query is not answered with %q", d.Answer)
	}
	if err := r.endPass(ledger.Validation, d.Head); err != nil {
		return err
	}
	r.Open.Phase, r.Open.Gate = Gated, d
	switch {
	case d.Answer == ledger.Overlap:
		r.asked.Overlaps++
	case d.Answer == ledger.Pass && r.Open.Role == ledger.RoleCandidate:
		r.asked.Passes++
	}
	return nil
}

// finalDue says that the final test has not been charged and will be: a run
// that opened, has a final split, kept something and is closing.
func (r *Run) finalDue() bool {
	return r.Closing != nil && r.Opened != nil && r.FinalCharged == nil && r.Incumbent.Iteration > 0 && r.Contract.Splits.Final != ""
}

// chargeFinal charges the final test and opens it.
func (r *Run) chargeFinal(e ledger.Event, d *ledger.FinalCharged) error {
	switch {
	case !r.finalDue():
		return fmt.Errorf("no final test is due")
	case r.Open != nil:
		return fmt.Errorf("attempt %d is open", r.Open.Iteration)
	case d.Claim == nil || d.Baseline != r.Sealed.Baseline:
		return fmt.Errorf("the final test is charged by what claims it, against the baseline")
	}
	r.FinalCharged = d
	r.Open = &Attempt{
		Iteration: r.Iteration, Role: RoleFinal, Phase: Running, Stage: ledger.Final, StartedAt: e.Time, Candidate: r.Incumbent.Commit,
	}
	return r.lease(d.Head)
}

// answerFinal ends the final test. Given up, it is ended by whoever takes its
// lease over.
func (r *Run) answerFinal(d *ledger.FinalResult) error {
	lost := d.Answer == ledger.Interrupted
	switch {
	case !lost && d.Answer != ledger.Pass && d.Answer != ledger.Fail:
		return fmt.Errorf("a final test is not answered with %q", d.Answer)
	case lost && d.Claim == nil:
		return fmt.Errorf("a final test without an outcome is ended by whoever takes it over")
	case lost:
		if err := r.lease(d.Head); err != nil {
			return err
		}
	default:
		if err := r.endPass(ledger.Final, d.Head); err != nil {
			return err
		}
	}
	r.Final, r.Open = d, nil
	return nil
}

// interrupting says that the run closes and does not wait for its attempt.
func (r *Run) interrupting() bool { return r.Closing != nil && r.Closing.Interrupt }

// Interruption is why an attempt of a run that closes at once has no decision
// of its own, "" where it may have one.
func (r *Run) Interruption() string {
	if !r.interrupting() || r.Open == nil || unlaunched(r.Open) {
		return ""
	}
	switch r.Open.Phase {
	case Committed, Evaluated, Gated:
	case Running:
		if r.Open.Role == RoleFinal {
			return ""
		}
	default:
		return ""
	}
	return "the run was closed and did not wait for it"
}

// Claiming is the stage of the pass that an event claims.
func (r *Run) Claiming(d ledger.Data) ledger.Stage {
	switch d := d.(type) {
	case *ledger.GateCharged:
		return ledger.Validation
	case *ledger.FinalCharged:
		return ledger.Final
	case *ledger.Retried:
		return d.Stage
	}
	if r.Open != nil && r.Open.Phase == Running {
		return r.Open.Stage
	}
	return ledger.Development
}

// pauses says why a person must decide before the run goes on, "" where none
// need: the second and every later candidate that holds sealed cases.
func (r *Run) pauses() string {
	if r.asked.Overlaps < 2 || r.paused >= r.asked.Overlaps {
		return ""
	}
	return fmt.Sprintf("%d candidates held sealed cases: somebody may know the gate", r.asked.Overlaps)
}

// overfit says that an entry was rejected by the gate alone.
func overfit(e ledger.Entry) bool {
	return e.Status == ledger.Discard && e.SplitMetrics.Validation != nil
}
