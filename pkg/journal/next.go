package journal

import (
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Lost passes are launched again at most this often.
const (
	MaxLostAttempt = 2
	MaxLostRun     = 5
)

// Commit is a commit of the run branch as it is seen.
type Commit struct {
	ID, Tree, Author string
	Parents          []string
	// Holds says that the commit descends from the recorded tip, by whatever parents.
	Holds bool
}

// World is what one sees outside the records.
type World struct {
	Now time.Time
	// Lease is the identifier of the lease that this process holds, "" without one.
	Lease string
	// Gone says why the holder of the lease in force is known to be gone; ""
	// means that it may live.
	Gone string
	// Outcome says that this process holds the outcome of the running pass.
	Outcome bool
	// Tip is the run branch's tip, nil where there is no such branch.
	Tip *Commit
	// Descends says that Tip is the recorded tip or descends from it, Below
	// that the recorded tip descends from it: the branch was set back.
	Descends, Below bool
	// Above are the commits on the first-parent path from Tip down to the
	// recorded tip or a commit below it, which is left out; oldest first.
	Above []Commit
	// After are those of them that descend from the open attempt's candidate
	// and from the recorded tip.
	After []Commit
}

// Do names a step.
type Do string

// The steps.
const (
	Done      Do = "done"      // nothing will ever be due again
	Idle      Do = "idle"      // nothing is due now
	Wait      Do = "wait"      // another holder is at work
	Stopped   Do = "stopped"   // halted: a maintainer must authorise
	Publish   Do = "publish"   // Commit's verdict
	Claim     Do = "claim"     // open an attempt for Commit: append prepared, unless it stands already, and committed
	Start     Do = "start"     // claim a pass
	Charge    Do = "charge"    // charge a query of the gate and claim its pass
	Final     Do = "final"     // charge the final test and claim it
	Retry     Do = "retry"     // claim a lost pass again, because of Reason
	Execute   Do = "execute"   // launch the pass that this process has claimed
	Record    Do = "record"    // append what the pass found: evaluated, gate_result or final_result
	GiveUp    Do = "give up"   // append final_result: it was lost for good, because of Reason
	Decide    Do = "decide"    // append decided; Reason is set where passes were lost for good
	Restore   Do = "restore"   // push a commit with the incumbent's tree
	Note      Do = "note"      // append rolled_back with Commit
	Finalize  Do = "finalize"  // append finalized
	Open      Do = "open"      // append opened
	Recreate  Do = "recreate"  // make the run branch at the recorded tip
	Supersede Do = "supersede" // append superseded for Commit because of Reason
	Sweep     Do = "sweep"     // push a restore commit over what is no candidate
	Stop      Do = "stop"      // append closing because of Reason
	Pause     Do = "pause"     // append halted: a person must decide, because of Reason
	Close     Do = "close"     // append closed because of Reason
)

// Step is the one thing that is due.
type Step struct {
	Do     Do
	Commit string
	Reason string
	// Of is the iteration whose verdict is replayed, nil where there is none.
	Of *int
	// Restore is a commit that already brought the incumbent's tree back.
	Restore string
	// TakeOver says that the event must carry a claim over the lease in force.
	TakeOver bool
	// By is who restored and Swept what arrived before: see ledger.RolledBack.
	By    string
	Swept []string
}

// Next gives the one step that is due.
func (r *Run) Next(w World) Step {
	switch {
	case len(r.Unpublished) > 0:
		return Step{Do: Publish, Commit: r.Unpublished[0]}
	case r.Closed != nil:
		return Step{Do: Done, Reason: r.Closed.Reason}
	case r.Halted != nil:
		return Step{Do: Stopped, Reason: r.Halted.Reason}
	case r.Opened == nil && len(r.Entries) == 0 && r.Closing != nil:
		return Step{Do: Close, Reason: r.Closing.Reason}
	case r.Open != nil:
		return r.nextOfAttempt(w)
	case r.Closing == nil && r.pauses() != "":
		return Step{Do: Pause, Reason: r.pauses()}
	case r.Opened == nil:
		return r.nextOfSetup()
	}
	return r.nextOfBranch(w)
}

// nextOfSetup brings the run from sealed to opened.
func (r *Run) nextOfSetup() Step {
	switch {
	case len(r.Entries) == 0:
		return Step{Do: Claim, Commit: r.Sealed.Baseline}
	case r.Incumbent.Commit == "":
		return Step{Do: Close, Reason: "baseline failed: " + r.Entries[0].Reason}
	case r.Closing != nil:
		return Step{Do: Close, Reason: r.Closing.Reason}
	}
	return Step{Do: Open, Commit: r.Sealed.Baseline}
}

// nextOfAttempt brings the open attempt to its end.
func (r *Run) nextOfAttempt(w World) Step {
	a := r.Open
	takeOver := false
	if l := a.Lease; l != nil {
		own, late := l.ID == w.Lease, w.Now.After(l.Deadline)
		switch {
		case own && (w.Outcome || !late):
		case w.Gone != "":
			takeOver = true
		case late: // even the holder's own: what it ran was killed there
			takeOver, w.Gone = true, "the lease ended at "+l.Deadline.Format(time.RFC3339)
		default:
			return Step{Do: Wait, Reason: holding(l)}
		}
	}
	switch a.Phase {
	case Prepared:
		return r.nextOfClaim(w, takeOver)
	case Committed:
		if why := r.Interruption(); unlaunched(a) || why != "" {
			return Step{Do: Decide, TakeOver: takeOver, Reason: why}
		}
		return Step{Do: Start, TakeOver: takeOver, Reason: w.Gone}
	case Running:
		return r.nextOfPass(w, takeOver)
	case Evaluated:
		return r.nextOfEvaluated()
	case Gated:
		return Step{Do: Decide, Reason: r.Interruption()}
	case Decided:
		if a.Decided.Rollback.Required {
			return r.nextOfRestore(w)
		}
	}
	return Step{Do: Finalize}
}

// nextOfClaim finishes a claim that was cut off before committed.
func (r *Run) nextOfClaim(w World, takeOver bool) Step {
	switch {
	case r.Open.Role == ledger.RoleBaseline:
		return Step{Do: Claim, Commit: r.Sealed.Baseline, TakeOver: takeOver}
	case w.Tip == nil:
		return Step{Do: Recreate, Commit: r.Tip}
	}
	return Step{Do: Claim, Commit: w.Tip.ID, TakeOver: takeOver}
}

// nextOfEvaluated asks the gate where its answer is all that is missing.
func (r *Run) nextOfEvaluated() Step {
	if why := r.Interruption(); why != "" {
		return Step{Do: Decide, Reason: why}
	}
	// What cannot be decided is an error of the step that decides.
	if asks, err := decide.AsksGate(r.Evidence("")); err == nil && asks {
		return Step{Do: Charge}
	}
	return Step{Do: Decide}
}

// nextOfPass goes on with a pass that was launched, or gives it up as lost.
func (r *Run) nextOfPass(w World, takeOver bool) Step {
	a := r.Open
	switch gone := a.Lost >= MaxLostAttempt || r.Retries >= MaxLostRun; {
	case takeOver && r.Interruption() != "":
		return Step{Do: Decide, TakeOver: true, Reason: r.Interruption()}
	case takeOver && gone && a.Role == RoleFinal:
		return Step{Do: GiveUp, TakeOver: true, Reason: a.GivenUp(w.Gone)}
	case takeOver && gone:
		return Step{Do: Decide, TakeOver: true, Reason: a.GivenUp(w.Gone)}
	case takeOver:
		return Step{Do: Retry, TakeOver: true, Reason: w.Gone}
	case w.Outcome:
		return Step{Do: Record}
	}
	return Step{Do: Execute}
}

// GivenUp says that the passes of the attempt were lost for good, the last one
// because of why. It is the Lost of the evidence.
func (a *Attempt) GivenUp(why string) string {
	return fmt.Sprintf("pass lost %d times, at last because %s", a.Lost+1, why)
}

// nextOfRestore looks for a restore commit before it asks for one: the first
// commit after the candidate, or else the present tip, whose tree is the
// incumbent's, whoever made it. A branch that was deleted is made again at the
// recorded tip, which has that tree.
func (r *Run) nextOfRestore(w World) Step {
	want := r.Open.Decided.Rollback.Tree
	for _, c := range w.After {
		if c.Tree == want {
			return r.restored(w, c)
		}
	}
	switch {
	case w.Tip == nil:
		return Step{Do: Recreate, Commit: r.Tip}
	case w.Descends && w.Tip.Tree == want && w.Tip.ID != r.Open.Candidate:
		return r.restored(w, *w.Tip)
	}
	return Step{Do: Restore}
}

// restored notes c as the restore commit, and what lies between it and the
// candidate as swept.
func (r *Run) restored(w World, c Commit) Step {
	step := Step{Do: Note, Commit: c.ID, By: c.Author}
	for _, between := range w.Above {
		switch between.ID {
		case c.ID:
			return step
		case r.Open.Candidate:
			step.Swept = nil
		default:
			step.Swept = append(step.Swept, between.ID)
		}
	}
	step.Swept = nil // c is not above the recorded tip: it is that tip
	return step
}

// nextOfBranch looks at the run branch when no attempt is open.
func (r *Run) nextOfBranch(w World) Step {
	switch {
	case w.Tip == nil:
		return Step{Do: Recreate, Commit: r.Tip}
	case r.finalDue():
		return Step{Do: Final}
	case r.Closing != nil:
		return r.nextOfClose(w)
	case r.Stop(w.Now) != "":
		return Step{Do: Stop, Reason: r.Stop(w.Now)}
	case w.Tip.ID == r.Tip:
		return Step{Do: Idle}
	}
	if step, ok := r.healed(w); ok {
		return step
	}
	if reason, of := r.NoCandidate(*w.Tip); reason != "" {
		return Step{Do: Sweep, Commit: w.Tip.ID, Reason: reason, Of: of}
	}
	if w.Below {
		return Step{Do: Sweep, Commit: w.Tip.ID, Reason: "the branch was set back to before the recorded tip"}
	}
	return Step{Do: Claim, Commit: w.Tip.ID}
}

// healed looks for the newest commit that holds the recorded tip and has the
// incumbent's tree, whoever made it: what comes after it stands on it. Where
// it covers a commit that is no candidate, it is the restore commit of that
// one. So a sweep that was pushed but not recorded is found again, whatever
// was pushed on top of it since.
func (r *Run) healed(w World) (Step, bool) {
	for i := len(w.Above) - 1; i >= 0 && w.Above[i].Holds; i-- {
		c := w.Above[i]
		if c.Tree != r.Incumbent.Tree {
			continue
		}
		if i > 0 && !(w.Above[i-1].Holds && w.Above[i-1].Tree == c.Tree) {
			if reason, of := r.NoCandidate(w.Above[i-1]); reason != "" {
				return Step{Do: Supersede, Commit: w.Above[i-1].ID, Reason: reason, Of: of, Restore: c.ID}, true
			}
		}
		return Step{Do: Supersede, Commit: c.ID, Reason: "the incumbent's tree is no candidate"}, true
	}
	return Step{}, false
}

// nextOfClose sweeps what was not judged, then ends the run.
func (r *Run) nextOfClose(w World) Step {
	const reason = "the run closed before this commit was judged"
	switch {
	case w.Tip.ID == r.Tip:
		return Step{Do: Close, Reason: r.Closing.Reason}
	case !w.Descends || w.Tip.Tree != r.Incumbent.Tree:
		return Step{Do: Sweep, Commit: w.Tip.ID, Reason: reason}
	case len(w.Above) > 1:
		return Step{Do: Supersede, Commit: w.Above[len(w.Above)-2].ID, Reason: reason, Restore: w.Tip.ID}
	}
	return Step{Do: Supersede, Commit: w.Tip.ID, Reason: reason}
}

// NoCandidate says why a commit above the recorded tip is no candidate, ""
// if it is one.
func (r *Run) NoCandidate(c Commit) (reason string, of *int) {
	if v, ok := r.Verdict(c.ID); ok && v.Status != string(ledger.Keep) && v.Iteration >= 0 {
		return fmt.Sprintf("judged as attempt %d", v.Iteration), &v.Iteration
	}
	if i, ok := r.rejected[c.Tree]; ok {
		return fmt.Sprintf("the tree of attempt %d again", i), &i
	}
	if i, ok := r.incumbents[c.Tree]; ok {
		return fmt.Sprintf("the tree of attempt %d, which was kept, is no candidate", i), nil
	}
	return "", nil
}

// Stop gives the stop condition that holds, "" where none does.
func (r *Run) Stop(now time.Time) string {
	limits := r.Contract.Limits
	switch {
	case limits.Attempts > 0 && len(r.Candidates()) >= limits.Attempts:
		return fmt.Sprintf("limit reached: %d attempts", limits.Attempts)
	case limits.Wall > 0 && now.Sub(r.OpenedAt) >= limits.Wall:
		return fmt.Sprintf("limit reached: %s since the run opened", limits.Wall)
	case r.Contract.Gate != nil && r.Use().Exhausted():
		return fmt.Sprintf("budget used up: %d of %d gate queries", r.Use().Used(), r.Contract.Gate.Queries)
	case limits.Target != nil && r.reached(limits.Target.Value):
		return fmt.Sprintf("target reached: %s %v", r.Contract.Metric.Name, limits.Target.Value)
	}
	return ""
}

// reached says whether the incumbent's development value is at least as good as target.
func (r *Run) reached(target float64) bool {
	v := r.Incumbent.Measurement.Metrics[r.Contract.Metric.Name]
	if r.Contract.Metric.Direction == contract.Lower {
		return v <= target
	}
	return v >= target
}

func holding(l *Lease) string {
	return fmt.Sprintf("process %d on %s holds the lease until %s", l.Holder.PID, l.Holder.Host, l.Deadline.Format(time.RFC3339))
}
