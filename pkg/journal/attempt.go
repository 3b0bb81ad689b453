package journal

import (
	"fmt"
	"slices"
	"time"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// follows holds, for each event of an attempt, the phases that it may follow.
var follows = map[ledger.Kind][]Phase{
	ledger.KindPrepared:    {0},
	ledger.KindCommitted:   {Prepared},
	ledger.KindStarted:     {Committed, Charged},
	ledger.KindRetried:     {Running},
	ledger.KindEvaluated:   {Running},
	ledger.KindGateCharged: {Evaluated},
	ledger.KindGateResult:  {Running},
	ledger.KindDecided:     {Committed, Running, Evaluated, Gated},
	ledger.KindRolledBack:  {Decided},
	ledger.KindFinalized:   {Decided, RolledBack},
	ledger.KindFinalResult: {Running},
}

// attempt adds an event of an attempt.
func (r *Run) attempt(e ledger.Event) error {
	if err := r.mayFollow(e); err != nil {
		return err
	}
	switch d := e.Data.(type) {
	case *ledger.Prepared:
		return r.prepare(e, d)
	case *ledger.Committed:
		r.Open.Phase, r.Open.Committed, r.Open.Candidate = Committed, *d, d.Candidate
		return r.lease(d.Head)
	case *ledger.Started:
		return r.start(d)
	case *ledger.Retried:
		return r.retry(d)
	case *ledger.Evaluated:
		if err := r.endPass(ledger.Development, d.Head); err != nil {
			return err
		}
		r.Open.Phase, r.Open.Evaluation = Evaluated, &d.Evaluation
	case *ledger.GateCharged:
		return r.charge(d)
	case *ledger.GateResult:
		return r.answer(d)
	case *ledger.FinalResult:
		return r.answerFinal(d)
	case *ledger.Decided:
		return r.decide(d)
	case *ledger.RolledBack:
		if !r.Open.Decided.Rollback.Required {
			return fmt.Errorf("no rollback is required")
		}
		r.Open.Phase, r.Open.RolledBack = RolledBack, d
		return r.lease(d.Head)
	case *ledger.Finalized:
		return r.finalize(e.Time, d)
	default:
		return fmt.Errorf("unknown event")
	}
	return nil
}

// unlaunched says that audit or message alone decide the attempt.
func unlaunched(a *Attempt) bool {
	return a.Committed.Audit.Verdict == "invalid" || len(a.Committed.Missing) > 0
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
	switch final := e.Data.Kind() == ledger.KindFinalResult; {
	case !ok, r.Open != nil && !final && r.Open.Role == RoleFinal && e.Data.Kind() != ledger.KindRetried, final && r.Open.Role != RoleFinal:
		return fmt.Errorf("may not follow phase %d of the attempt", phase)
	case e.Iteration != want:
		return fmt.Errorf("want iteration %d", want)
	case r.Open == nil && r.Closing != nil:
		return fmt.Errorf("the run is closing: no attempt opens")
	case r.Open == nil && r.pauses() != "":
		return fmt.Errorf("a person must decide first: %s", r.pauses())
	case r.Open == nil && r.Opened == nil && want > 0:
		return fmt.Errorf("the run is not open")
	}
	return nil
}

// prepare opens an attempt.
func (r *Run) prepare(e ledger.Event, d *ledger.Prepared) error {
	if d.Claim == nil || d.Lease == "" {
		return fmt.Errorf("an attempt opens with a claim")
	}
	role := ledger.RoleCandidate
	if e.Iteration == 0 {
		role = ledger.RoleBaseline
	}
	r.Iteration = e.Iteration
	r.Open = &Attempt{Iteration: e.Iteration, Role: role, Phase: Prepared, StartedAt: e.Time}
	return r.lease(d.Head)
}

// start begins a pass: that of development, or the one that was just charged.
func (r *Run) start(d *ledger.Started) error {
	a, stage := r.Open, ledger.Development
	if a.Phase == Charged {
		stage = ledger.Validation
	}
	switch {
	case unlaunched(a):
		return fmt.Errorf("the attempt is decided without a launch")
	case d.Stage != stage:
		return fmt.Errorf("a pass of stage %q begins where one of %s is due", d.Stage, stage)
	}
	a.Phase, a.Stage = Running, stage
	return r.lease(d.Head)
}

// endPass ends a pass of the given stage and its lease.
func (r *Run) endPass(stage ledger.Stage, h ledger.Head) error {
	switch {
	case r.Open.Stage != stage:
		return fmt.Errorf("a pass of stage %s is running", r.Open.Stage)
	case h.Claim != nil:
		return fmt.Errorf("the outcome is not that of the lease in force")
	}
	if err := r.lease(h); err != nil {
		return err
	}
	r.Open.Lease = nil
	return nil
}

// retry counts a lost pass.
func (r *Run) retry(d *ledger.Retried) error {
	r.Open.Lost++
	r.Retries++
	if d.Stage == ledger.Validation {
		r.asked.Retries++
	}
	switch {
	case d.Stage != r.Open.Stage:
		return fmt.Errorf("stage is %q, a pass of %s was lost", d.Stage, r.Open.Stage)
	case d.Claim == nil:
		return fmt.Errorf("a lost pass is claimed again by another lease")
	case d.Lost != r.Open.Lost:
		return fmt.Errorf("lost is %d, the attempt lost %d passes", d.Lost, r.Open.Lost)
	case r.Open.Lost > MaxLostAttempt || r.Retries > MaxLostRun:
		return fmt.Errorf("lost %d times, %d times in the run: at most %d and %d are launched again", r.Open.Lost, r.Retries, MaxLostAttempt, MaxLostRun)
	}
	return r.lease(d.Head)
}

// decide checks that a decision can be the one of its phase, and that what it
// orders follows from its status.
func (r *Run) decide(d *ledger.Decided) error {
	a := r.Open
	keep, required := d.Status == ledger.Keep, false
	tree, incumbent := "", r.Best()
	if keep {
		incumbent = a.Candidate
	} else if a.Role == ledger.RoleCandidate {
		required, tree = true, r.Incumbent.Tree
	}
	switch {
	case keep && measured(a) == nil:
		return fmt.Errorf("keep without a measurement")
	case !slices.Contains(r.outcomes(), d.Status):
		return fmt.Errorf("status %q where %q may stand", d.Status, r.outcomes())
	case a.Phase == Running && d.Claim == nil:
		return fmt.Errorf("a pass without an outcome is ended by whoever takes it over")
	case d.Rollback != ledger.Rollback{Required: required, Tree: tree}:
		return fmt.Errorf("rollback %+v does not follow from %s", d.Rollback, d.Status)
	case d.IntendedIncumbent != incumbent:
		return fmt.Errorf("intended incumbent %q does not follow from %s", d.IntendedIncumbent, d.Status)
	}
	if err := r.lease(d.Head); err != nil {
		return err
	}
	a.Phase, a.Decided, a.Lease = Decided, d, nil
	return nil
}

// outcomes lists the statuses that an attempt may be decided with in its phase.
// Where there is a gate, nothing is kept without its answer.
func (r *Run) outcomes() []ledger.Status {
	switch a := r.Open; {
	case a.Phase == Gated && a.Gate.Answer == ledger.Pass:
		return []ledger.Status{ledger.Keep, ledger.Crash}
	case a.Phase == Gated:
		return []ledger.Status{ledger.Discard, ledger.Crash, ledger.Invalid}
	case a.Phase == Evaluated && r.Contract.Gate != nil:
		return []ledger.Status{ledger.Discard, ledger.Crash, ledger.Timeout, ledger.Invalid}
	case a.Phase == Evaluated:
		return []ledger.Status{ledger.Keep, ledger.Discard, ledger.Crash, ledger.Timeout, ledger.Invalid}
	case a.Phase == Running, a.Phase == Committed && !unlaunched(a) && r.interrupting():
		return []ledger.Status{ledger.Crash}
	case a.Committed.Audit.Verdict == "invalid":
		return []ledger.Status{ledger.Invalid}
	case len(a.Committed.Missing) > 0:
		return []ledger.Status{ledger.Discard}
	}
	return nil
}

// lease checks what the head of every event says: incumbent, candidate, and
// the lease in force, or the claim that makes a new one.
func (r *Run) lease(h ledger.Head) error {
	if want := r.Best(); h.Incumbent != want {
		return fmt.Errorf("incumbent is %q, want %q", h.Incumbent, want)
	}
	if h.Candidate != r.Open.Candidate {
		return fmt.Errorf("candidate is %q, want %q", h.Candidate, r.Open.Candidate)
	}
	force := ""
	if r.Open.Lease != nil {
		force = r.Open.Lease.ID
	}
	if c := h.Claim; c != nil {
		if c.TookOver != force || h.Lease == force {
			return fmt.Errorf("lease %q takes over lease %q, in force is %q", h.Lease, c.TookOver, force)
		}
		r.Open.Lease = &Lease{ID: h.Lease, Holder: c.Holder, Deadline: c.Deadline}
		return nil
	}
	if h.Lease != force {
		return fmt.Errorf("written under lease %q, in force is %q", h.Lease, force)
	}
	return nil
}

// finalize ends the open attempt and moves incumbent and recorded tip.
func (r *Run) finalize(at time.Time, d *ledger.Finalized) error {
	a, entry := r.Open, d.Entry
	restore, recorded := "", ""
	if a.RolledBack != nil {
		restore = a.RolledBack.Commit
	}
	if entry.RollbackCommit != nil {
		recorded = *entry.RollbackCommit
	}
	if entry.Iteration != a.Iteration || entry.Role != a.Role || entry.Status != a.Decided.Status || entry.Reason != a.Decided.Reason ||
		entry.Commit != a.Candidate || entry.Incumbent != r.Best() || recorded != restore {
		return fmt.Errorf("the entry is not the one that was decided")
	}
	if err := r.project(entry); err != nil {
		return err
	}
	r.Entries = append(r.Entries, entry)
	r.History = append(r.History, Judged{Time: at, Entry: &d.Entry})
	if entry.Status == ledger.Keep {
		r.keep(a)
	} else if restore != "" {
		r.Tip = restore
	}
	if a.Decided.Replay && a.Role == ledger.RoleCandidate {
		r.rejected[a.Committed.Tree] = a.Iteration
	}
	audit := a.Committed.Audit // and not the whole attempt with it
	r.audits[entry.Commit] = &audit
	r.note(Verdict{
		Status: string(entry.Status), Reason: entry.Reason, Iteration: entry.Iteration, Commit: entry.Commit, Restore: restore,
		Overfit: overfit(entry),
	}, a.Committed.Commits)
	r.Unpublished = append(r.Unpublished, entry.Commit)
	if restore != "" && len(a.RolledBack.Swept) > 0 {
		r.sweep(at, a)
	}
	r.Open = nil
	return nil
}

// sweep supersedes what arrived while a rejected attempt was open.
func (r *Run) sweep(at time.Time, a *Attempt) {
	commits := a.RolledBack.Swept
	s := &ledger.Superseded{
		Tip: commits[len(commits)-1], Commits: commits, Restore: a.RolledBack.Commit,
		Reason: fmt.Sprintf("arrived before attempt %d was rejected, and was swept by its restore", a.Iteration),
	}
	r.History = append(r.History, Judged{Time: at, Superseded: s})
	r.note(Verdict{Status: Superseded, Reason: s.Reason, Iteration: -1, Commit: s.Tip, Restore: s.Restore}, commits)
	r.Unpublished = append(r.Unpublished, s.Tip)
}

// keep makes the attempt's candidate the incumbent.
func (r *Run) keep(a *Attempt) {
	r.Tip = a.Candidate
	r.incumbents[a.Committed.Tree] = a.Iteration
	r.Incumbent = Standing{
		Iteration: a.Iteration, Commit: a.Candidate, Tree: a.Committed.Tree, Tools: a.Evaluation.Tools, Measurement: measured(a),
	}
}

// measured gives the attempt's measurement that counts, nil without one.
func measured(a *Attempt) *ledger.Measurement {
	if a.Evaluation == nil {
		return nil
	}
	for i := range a.Evaluation.Measurements {
		if m := &a.Evaluation.Measurements[i]; m.Arm == ledger.Candidate && m.Repetition == 0 && m.Failure == nil {
			return m
		}
	}
	return nil
}
