package journal

import (
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Lost passes are launched again at most this often.
const (
	MaxLostAttempt = 2
	MaxLostRun     = 5
)

// Commit is a commit of the run branch as it is seen.
type Commit struct{ ID, Tree, Author string }

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
	// Descends says that Tip is the recorded tip or descends from it.
	Descends bool
	// Above are the commits on the first-parent path above the recorded tip,
	// oldest first, Tip included; nil where Descends is false.
	Above []Commit
	// After are those above the open attempt's candidate; nil where the
	// candidate is not on that path.
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
	Claim     Do = "claim"     // open an attempt for Commit: append prepared and committed
	Start     Do = "start"     // claim a pass
	Retry     Do = "retry"     // claim a lost pass again, because of Reason
	Execute   Do = "execute"   // launch the pass that this process has claimed
	Record    Do = "record"    // append evaluated
	Decide    Do = "decide"    // append decided; Reason is set where passes were lost for good
	Restore   Do = "restore"   // push a commit with the incumbent's tree
	Note      Do = "note"      // append rolled_back with Commit
	Finalize  Do = "finalize"  // append finalized
	Open      Do = "open"      // append opened
	Recreate  Do = "recreate"  // make the run branch at the recorded tip
	Supersede Do = "supersede" // append superseded for Commit because of Reason
	Sweep     Do = "sweep"     // push a restore commit over what is no candidate
	Stop      Do = "stop"      // append closing because of Reason
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
	// By is who restored: see ledger.RolledBack.
	By string
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
	}
	return Step{Do: Open, Commit: r.Sealed.Baseline}
}

// nextOfAttempt brings the open attempt to its end.
func (r *Run) nextOfAttempt(w World) Step {
	a := r.Open
	takeOver := false
	if a.Lease != nil && a.Lease.ID != w.Lease {
		if w.Gone == "" {
			return Step{Do: Wait, Reason: holding(a.Lease)}
		}
		takeOver = true
	}
	switch a.Phase {
	case Committed:
		if a.Committed.Audit.Verdict == "invalid" || len(a.Committed.Missing) > 0 {
			return Step{Do: Decide, TakeOver: takeOver}
		}
		return Step{Do: Start, TakeOver: takeOver, Reason: w.Gone}
	case Running:
		return r.nextOfPass(w, takeOver)
	case Evaluated:
		return Step{Do: Decide}
	case Decided:
		if a.Decided.Rollback.Required {
			return r.nextOfRestore(w)
		}
	}
	return Step{Do: Finalize}
}

// nextOfPass goes on with a pass that was launched, or gives it up as lost.
func (r *Run) nextOfPass(w World, takeOver bool) Step {
	a := r.Open
	switch {
	case takeOver && (a.Lost >= MaxLostAttempt || r.Retries >= MaxLostRun):
		return Step{Do: Decide, TakeOver: true, Reason: fmt.Sprintf("pass lost %d times, at last because %s", a.Lost+1, w.Gone)}
	case takeOver:
		return Step{Do: Retry, TakeOver: true, Reason: w.Gone}
	case w.Outcome:
		return Step{Do: Record}
	}
	return Step{Do: Execute}
}

// nextOfRestore looks for a restore commit before it asks for one: the first
// commit after the candidate, or else the present tip, whose tree is the
// incumbent's, whoever made it.
func (r *Run) nextOfRestore(w World) Step {
	want := r.Open.Decided.Rollback.Tree
	for _, c := range w.After {
		if c.Tree == want {
			return Step{Do: Note, Commit: c.ID, By: c.Author}
		}
	}
	if w.Tip != nil && w.Descends && w.Tip.Tree == want && w.Tip.ID != r.Open.Candidate {
		return Step{Do: Note, Commit: w.Tip.ID, By: w.Tip.Author}
	}
	return Step{Do: Restore}
}

// nextOfBranch looks at the run branch when no attempt is open.
func (r *Run) nextOfBranch(w World) Step {
	switch {
	case w.Tip == nil:
		return Step{Do: Recreate, Commit: r.Tip}
	case r.Closing != nil:
		return r.nextOfClose(w)
	case r.stop(w.Now) != "":
		return Step{Do: Stop, Reason: r.stop(w.Now)}
	case w.Tip.ID == r.Tip:
		return Step{Do: Idle}
	case !w.Descends:
		return Step{Do: Claim, Commit: w.Tip.ID}
	}
	if w.Tip.Tree == r.Incumbent.Tree {
		return r.nextOfHealed(w)
	}
	if reason, of := r.noCandidate(*w.Tip); reason != "" {
		return Step{Do: Sweep, Commit: w.Tip.ID, Reason: reason, Of: of}
	}
	return Step{Do: Claim, Commit: w.Tip.ID}
}

// nextOfHealed records a tip with the incumbent's tree. Where it covers a
// commit that is no candidate, it is the restore commit of that one.
func (r *Run) nextOfHealed(w World) Step {
	for i := len(w.Above) - 2; i >= 0; i-- {
		c := w.Above[i]
		if c.Tree == r.Incumbent.Tree {
			break
		}
		if reason, of := r.noCandidate(c); reason != "" {
			return Step{Do: Supersede, Commit: c.ID, Reason: reason, Of: of, Restore: w.Tip.ID}
		}
	}
	return Step{Do: Supersede, Commit: w.Tip.ID, Reason: "the incumbent's tree is no candidate"}
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

// noCandidate says why a commit above the recorded tip is no candidate, ""
// if it is one.
func (r *Run) noCandidate(c Commit) (reason string, of *int) {
	if v, ok := r.verdicts[c.ID]; ok && v.Status != string(ledger.Keep) && v.Iteration >= 0 {
		return fmt.Sprintf("judged as attempt %d", v.Iteration), &v.Iteration
	}
	if i, ok := r.rejected[c.Tree]; ok {
		return fmt.Sprintf("the tree of attempt %d again", i), &i
	}
	if i, ok := r.incumbents[c.Tree]; ok {
		return fmt.Sprintf("the tree of the earlier incumbent of attempt %d is no candidate", i), nil
	}
	return "", nil
}

// stop gives the stop condition that holds, "" where none does.
func (r *Run) stop(now time.Time) string {
	limits := r.Contract.Limits
	switch {
	case limits.Attempts > 0 && len(r.Candidates()) >= limits.Attempts:
		return fmt.Sprintf("limit reached: %d attempts", limits.Attempts)
	case limits.Wall > 0 && now.Sub(r.OpenedAt) >= limits.Wall:
		return fmt.Sprintf("limit reached: %s since the run opened", limits.Wall)
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
