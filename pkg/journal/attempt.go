package journal

import (
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// follows holds, for each event of an attempt, the phases that it may follow.
var follows = map[ledger.Kind][]Phase{
	ledger.KindPrepared:   {0},
	ledger.KindCommitted:  {Prepared},
	ledger.KindStarted:    {Committed},
	ledger.KindRetried:    {Running},
	ledger.KindEvaluated:  {Running},
	ledger.KindDecided:    {Committed, Running, Evaluated},
	ledger.KindRolledBack: {Decided},
	ledger.KindFinalized:  {Decided, RolledBack},
}

// attempt adds an event of an attempt.
func (r *Run) attempt(e ledger.Event) error {
	if err := r.mayFollow(e); err != nil {
		return err
	}
	switch d := e.Data.(type) {
	case *ledger.Prepared:
		r.prepare(e, d)
		return r.lease(d.Head)
	case *ledger.Committed:
		r.Open.Phase, r.Open.Committed, r.Open.Candidate = Committed, *d, d.Candidate
		return r.lease(d.Head)
	case *ledger.Started:
		r.Open.Phase = Running
		return r.lease(d.Head)
	case *ledger.Retried:
		r.Open.Lost++
		r.Retries++
		if d.Lost != r.Open.Lost {
			return fmt.Errorf("lost is %d, the attempt lost %d passes", d.Lost, r.Open.Lost)
		}
		return r.lease(d.Head)
	case *ledger.Evaluated:
		if err := r.lease(d.Head); err != nil {
			return err
		}
		r.Open.Phase, r.Open.Evaluation, r.Open.Lease = Evaluated, &d.Evaluation, nil
	case *ledger.Decided:
		if err := r.lease(d.Head); err != nil {
			return err
		}
		r.Open.Phase, r.Open.Decided, r.Open.Lease = Decided, d, nil
	case *ledger.RolledBack:
		r.Open.Phase, r.Open.RolledBack = RolledBack, d
	case *ledger.Finalized:
		return r.finalize(e.Time, d)
	default:
		return fmt.Errorf("unknown event")
	}
	return nil
}

// mayFollow checks the event's place: the phase before it and its iteration.
func (r *Run) mayFollow(e ledger.Event) error {
	var phase Phase
	want := r.Iteration + 1
	if r.Open != nil {
		phase, want = r.Open.Phase, r.Open.Iteration
	}
	ok := false
	for _, p := range follows[e.Data.Kind()] {
		ok = ok || p == phase
	}
	switch {
	case !ok:
		return fmt.Errorf("may not follow phase %d of the attempt", phase)
	case e.Iteration != want:
		return fmt.Errorf("want iteration %d", want)
	case r.Halted != nil:
		return fmt.Errorf("the run is halted: %s", r.Halted.Reason)
	case r.Closing != nil && r.Open == nil && r.Opened != nil:
		return fmt.Errorf("the run is closing: no attempt opens")
	}
	return nil
}

func (r *Run) prepare(e ledger.Event, _ *ledger.Prepared) {
	role := ledger.RoleCandidate
	if e.Iteration == 0 {
		role = ledger.RoleBaseline
	}
	r.Iteration = e.Iteration
	r.Open = &Attempt{Iteration: e.Iteration, Role: role, Phase: Prepared, StartedAt: e.Time}
}

// lease checks that the event was written under the lease in force, or makes a new one.
func (r *Run) lease(h ledger.Head) error {
	if c := h.Claim; c != nil {
		old := ""
		if r.Open.Lease != nil {
			old = r.Open.Lease.ID
		}
		if c.TookOver != old {
			return fmt.Errorf("takes over lease %q, in force is %q", c.TookOver, old)
		}
		r.Open.Lease = &Lease{ID: h.Lease, Holder: c.Holder, Deadline: c.Deadline}
	}
	if r.Open.Lease != nil && r.Open.Lease.ID != h.Lease {
		return fmt.Errorf("written under lease %q, in force is %q", h.Lease, r.Open.Lease.ID)
	}
	return nil
}

// finalize ends the open attempt and moves incumbent and recorded tip.
func (r *Run) finalize(at time.Time, d *ledger.Finalized) error {
	a, entry := r.Open, d.Entry
	if entry.Iteration != a.Iteration || entry.Status != a.Decided.Status || entry.Commit != a.Candidate {
		return fmt.Errorf("the entry is not the one that was decided")
	}
	r.Entries = append(r.Entries, entry)
	r.History = append(r.History, Judged{Time: at, Entry: &entry})
	v := Verdict{Status: string(entry.Status), Reason: entry.Reason, Iteration: entry.Iteration, Commit: entry.Commit}
	switch {
	case entry.Status == ledger.Keep:
		r.keep(a)
	case a.RolledBack != nil:
		r.Tip, v.Restore = a.RolledBack.Commit, a.RolledBack.Commit
	}
	if a.Decided.Replay && a.Role == ledger.RoleCandidate {
		r.rejected[a.Committed.Tree] = a.Iteration
	}
	r.note(v, a.Committed.Commits)
	r.Unpublished = append(r.Unpublished, entry.Commit)
	r.Open = nil
	return nil
}

// keep makes the attempt's candidate the incumbent.
func (r *Run) keep(a *Attempt) {
	r.Tip = a.Candidate
	r.incumbents[a.Committed.Tree] = a.Iteration
	r.Incumbent = Standing{
		Iteration: a.Iteration, Commit: a.Candidate, Tree: a.Committed.Tree, Tools: a.Evaluation.Tools,
	}
	for i := range a.Evaluation.Measurements {
		if m := &a.Evaluation.Measurements[i]; m.Arm == ledger.Candidate && m.Repetition == 0 {
			r.Incumbent.Measurement = m
		}
	}
}
