// Package supervisor takes a run from one durable point to the next.
//
// It is one loop: look at the records and at the run branch, ask
// journal.Run.Next for the one step that is due, do it, append what happened.
// Events only wake it; every fact is derived again, so that a lost, doubled or
// late wake-up changes nothing and a process that dies anywhere is followed by
// one that goes on from the records.
//
// What is appended is first held back and then made durable by one commit on
// the state branch, at the latest before an effect that the records must
// precede: a launch, a push to the run branch, a publication, the end of the
// loop. The commit's parent is the head that was read, and the push is never
// forced: whoever lost a race drops what he held back, reads again and asks
// Next again.
//
// What a crash leaves, by the point at which it comes:
//
//	before the claim is pushed    nothing
//	before the outcome is pushed  a lease whose holder is gone: the pass is retried
//	before the restore is pushed  a decision, which the next process carries out
//	after the restore is pushed   a restore commit, which is found and recorded
//	before finalized is pushed    the same
//
// Folders of a pass that was cut off stay below the run folder and are removed
// by the next process that takes the run on.
package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/vault"
	"github.com/research-loop/research-loop/pkg/verify"
)

// Supervisor judges one run. It is not for concurrent use.
type Supervisor struct {
	// Clone is the supervisor's own clone of the run's repository.
	Clone *repo.Clone
	// Pusher, if set, stands between the supervisor and Clone.Push. Whatever a
	// supervisor makes durable goes through it.
	Pusher Pusher
	// Launcher runs candidate code and the scorer.
	Launcher evaluate.Launcher
	// Secret looks up a secret of the contract's driver; nil knows none.
	Secret func(name string) string
	Tag    contract.Tag
	// Folder is the run folder: build cache, whole logs, folders of a pass.
	Folder string
	// Holder is this process; Alive says whether another one on this host lives.
	Holder ledger.Holder
	Alive  func(ledger.Holder) bool
	Now    func() time.Time
	// Say, if set, is told of every step before it is done.
	Say func(journal.Step, *journal.Run)
	// Probe attacks the sandbox; it is asked once, before the first launch, and
	// the answer is recorded.
	Probe func(context.Context) (ledger.Probed, error)
	// Level stands in every entry.
	Level string
	// Hand, if set, takes the bundle of a claimed pass away, to be executed on
	// another machine; the loop then ends at journal.Execute.
	Hand func(*Bundle) error
	// Finish keeps this process from claiming anything: it ends what it holds,
	// and the loop stops at the step that would claim.
	Finish bool
	// Board, if set, shows verdicts beside the records.
	Board Board
	// Signer signs the records of a run whose contract has keys, Judge opens
	// sealed cases. Whoever only reads needs neither.
	Signer *ledger.Signer
	Judge  *vault.Judge
	// Secrets are values that must stand in no record.
	Secrets []string
	// Trunk is the name of the default branch, "" to ask the remote for it.
	Trunk string
	// Seen are folders that may keep a checkpoint of the run beside Folder.
	Seen []string
	// Anchors are notes of the run that were seen elsewhere.
	Anchors []verify.Anchor

	records
	leases  map[string]bool // that this process has drawn, whatever became of them
	outcome *Outcome
	under   string // the lease under which outcome was found
	world   journal.World
	probed  bool
	fresh   bool // world was read since the last step that moved anything
}

// Board shows verdicts where people look for them. Whatever it shows is a
// notice: the records alone are true.
type Board interface {
	// Running shows that the open attempt is being judged. It may fail unseen.
	Running(context.Context, *journal.Run)
	// Verdict shows the verdict on a judged commit, note being the signed one,
	// and says where. It may be asked again for the same commit.
	Verdict(ctx context.Context, r *journal.Run, commit, note string) (where []string, err error)
}

// Pusher moves a branch of the remote: see repo.Clone.Push, which is one.
type Pusher interface {
	Push(ctx context.Context, branch, id, expect string) error
}

// push is the one way in which anything becomes durable.
func (s *Supervisor) push(ctx context.Context, branch, id, expect string) error {
	if s.Pusher != nil {
		return s.Pusher.Push(ctx, branch, id, expect)
	}
	return s.Clone.Push(ctx, branch, id, expect)
}

// HaltedError says that the run is halted: only a maintainer lets it go on.
type HaltedError struct {
	Tag, Reason string
	// Paused says that nothing is broken: a person must decide.
	Paused bool
}

func (e *HaltedError) Error() string {
	if e.Paused {
		return fmt.Sprintf("run %s is paused: %s", e.Tag, e.Reason)
	}
	return fmt.Sprintf("run %s is halted: %s", e.Tag, e.Reason)
}

// halted is the error of a run that is halted.
func halted(r *journal.Run) *HaltedError {
	return &HaltedError{Tag: r.Tag, Reason: r.Halted.Reason, Paused: r.Halted.Paused}
}

// maxRaces bounds how often one call starts over because another process was faster.
const maxRaces = 100

// Reconcile does what is due until nothing is, and returns the step at which
// it stopped: journal.Idle, journal.Done or journal.Wait. A halted run is a
// *HaltedError. Every other error is operational: calling again may help.
func (s *Supervisor) Reconcile(ctx context.Context) (journal.Step, error) {
	if err := s.reload(ctx); err != nil {
		return journal.Step{}, err
	}
	if err := s.mayWrite(s.Run.Contract.Contract); err != nil {
		return journal.Step{}, err
	}
	if s.Launcher != nil && s.Run.Closed == nil { // before anything is claimed that could not be done
		if err := evaluate.CheckSecrets(s.Run.Contract.Contract, driverSecrets(s.Run.Contract.Contract, s.Secret)); err != nil {
			return journal.Step{}, err
		}
	}
	for races := 0; ; {
		step, err := s.advance(ctx)
		var lost *repo.LostRace
		switch {
		case errors.As(err, &lost) && races < maxRaces:
			races++
			if err := s.reload(ctx); err != nil {
				return step, err
			}
		case err != nil:
			return step, err
		case s.rests(step.Do):
			return step, nil
		}
	}
}

// rests says whether the loop ends at a step.
func (s *Supervisor) rests(do journal.Do) bool {
	switch do {
	case journal.Idle, journal.Done, journal.Wait:
		return true
	case journal.Execute:
		return s.Hand != nil || s.Finish
	case journal.Claim, journal.Start, journal.Retry, journal.Charge, journal.Final:
		return s.Finish
	}
	return false
}

// Adopt takes on what was executed elsewhere under a lease that this run of the
// program has claimed.
func (s *Supervisor) Adopt(lease string, out *Outcome) {
	if s.leases == nil {
		s.leases = map[string]bool{}
	}
	s.leases[lease], s.outcome, s.under = true, out, lease
}

// advance does the one step that is due.
func (s *Supervisor) advance(ctx context.Context) (journal.Step, error) {
	if err := s.observe(ctx); err != nil {
		return journal.Step{}, err
	}
	step := s.Run.Next(s.world)
	if s.Say != nil {
		s.Say(step, s.Run)
	}
	switch step.Do {
	case journal.Stopped:
		if err := s.flush(ctx); err != nil {
			return step, err
		}
		return step, halted(s.Run)
	}
	if s.rests(step.Do) && !(step.Do == journal.Execute && s.Hand != nil) {
		return step, s.flush(ctx)
	}
	return step, s.do(ctx, step)
}

// do carries out a step that changes something.
func (s *Supervisor) do(ctx context.Context, step journal.Step) error {
	switch step.Do {
	case journal.Publish:
		return s.publish(ctx, step.Commit)
	case journal.Claim:
		return s.claim(step)
	case journal.Start:
		return s.start(step)
	case journal.Retry:
		return s.retry(step)
	case journal.Charge:
		return s.charge()
	case journal.Final:
		return s.chargeFinal()
	case journal.Execute:
		return s.execute(ctx)
	case journal.Record:
		return s.record(ctx)
	case journal.GiveUp:
		return s.giveUp(step)
	case journal.Decide:
		return s.decide(step)
	case journal.Restore:
		return s.restore(ctx)
	case journal.Note:
		return s.hold(&ledger.RolledBack{Head: s.head(), Commit: step.Commit, By: s.by(step.By), Swept: append([]string{}, step.Swept...)})
	case journal.Finalize:
		return s.finalize()
	case journal.Open:
		return s.hold(&ledger.Opened{Branch: journal.RunBranch(s.Tag), Commit: step.Commit})
	case journal.Recreate:
		return s.recreate(ctx, step.Commit)
	case journal.Sweep:
		return s.sweep(ctx, step)
	case journal.Supersede:
		return s.supersede(step)
	case journal.Pause:
		return s.hold(&ledger.Halted{Reason: step.Reason, Paused: true})
	case journal.Stop:
		return s.hold(&ledger.Closing{Reason: step.Reason, By: ByContract})
	case journal.Close:
		return s.hold(&ledger.Closed{Reason: step.Reason, Best: s.Run.Best()})
	}
	return fmt.Errorf("step %q is not known", step.Do)
}

// RequestClose records that the run shall close. It is an intent: it may be
// recorded while another process judges, and the loop acts on it. With
// interrupt an open attempt ends with its running pass, undecided.
func (s *Supervisor) RequestClose(ctx context.Context, reason, by string, interrupt bool) error {
	return s.intend(ctx, func() (ledger.Data, error) {
		switch {
		case s.Run.Halted != nil:
			return nil, halted(s.Run)
		case s.Run.Closing != nil || s.Run.Closed != nil:
			return nil, nil
		}
		return &ledger.Closing{Reason: reason, By: by, Interrupt: interrupt}, nil
	})
}

// Authorise lets a halted run go on.
func (s *Supervisor) Authorise(ctx context.Context, reason, by string) error {
	return s.intend(ctx, func() (ledger.Data, error) {
		if s.Run.Halted == nil {
			return nil, fmt.Errorf("run %s is not halted: there is nothing to authorise", s.Tag)
		}
		return &ledger.Authorised{Reason: reason, By: by}, nil
	})
}

// intend appends one event that carries no lease, again after every lost race.
func (s *Supervisor) intend(ctx context.Context, event func() (ledger.Data, error)) error {
	for races := 0; ; races++ {
		if err := s.reload(ctx); err != nil {
			return err
		}
		if err := s.mayWrite(s.Run.Contract.Contract); err != nil {
			return err
		}
		data, err := event()
		if err != nil || data == nil {
			return err
		}
		if err := s.hold(data); err != nil {
			return err
		}
		err = s.flush(ctx)
		var lost *repo.LostRace
		if !errors.As(err, &lost) || races >= maxRaces {
			return err
		}
	}
}

// token gives a random name that says nothing.
func token() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails: see crypto/rand
	return hex.EncodeToString(b)
}
