package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// head gives the head of an event of the open attempt.
func (s *Supervisor) head() ledger.Head {
	h := ledger.Head{Incumbent: s.incumbent()}
	if a := s.Run.Open; a != nil {
		h.Candidate = a.Candidate
		if a.Lease != nil {
			h.Lease = a.Lease.ID
		}
	}
	return h
}

// incumbent is what a candidate is compared with; the baseline is its own.
func (s *Supervisor) incumbent() string { return s.Run.Best() }

// leased gives a head with a new claim for a pass of the given stage, over the
// lease in force if there is one.
func (s *Supervisor) leased(why string, stage ledger.Stage) ledger.Head {
	h := s.head()
	id := token()
	if s.leases == nil {
		s.leases = map[string]bool{}
	}
	s.leases[id] = true
	h.Claim = &ledger.Claim{Holder: s.Holder, Deadline: s.deadline(stage), TookOver: h.Lease, Why: why}
	if h.Lease == "" {
		h.Claim.Why = ""
	}
	h.Lease = id
	return h
}

// deadline is when a lease that is claimed now ends.
func (s *Supervisor) deadline(stage ledger.Stage) time.Time {
	return s.Now().UTC().Add(journal.Lasting(s.Run.Contract.Contract, stage)).Truncate(time.Second)
}

// claim opens an attempt for a commit and records what the audit says of it.
// A claim that was cut off before that is finished under a new lease.
func (s *Supervisor) claim(step journal.Step) error {
	if s.Run.Open == nil {
		if err := s.hold(&ledger.Prepared{Head: s.leased("", ledger.Development)}); err != nil {
			return err
		}
	}
	found, err := s.inspect(step.Commit)
	if err != nil {
		return err
	}
	found.Head = s.head()
	if step.TakeOver {
		found.Head = s.leased(s.world.Gone, ledger.Development)
	}
	found.Candidate = step.Commit
	return s.hold(found)
}

// start claims the pass.
func (s *Supervisor) start(step journal.Step) error {
	head := s.head()
	if step.TakeOver {
		head = s.leased(step.Reason, ledger.Development)
	}
	return s.hold(&ledger.Started{Head: head, Stage: ledger.Development, Repetitions: s.repetitions()})
}

// repetitions: the baseline is launched twice, so that a noisy metric shows.
func (s *Supervisor) repetitions() int {
	if s.Run.Open.Role == ledger.RoleBaseline {
		return 2
	}
	return 1
}

// retry claims a lost pass again.
func (s *Supervisor) retry(step journal.Step) error {
	lost, stage := s.Run.Open.Lost+1, s.Run.Open.Stage
	return s.hold(&ledger.Retried{Head: s.leased(step.Reason, stage), Stage: stage, Lost: lost, Reason: step.Reason})
}

// record appends what execute found: of sealed cases, what the judge makes of
// it.
func (s *Supervisor) record(ctx context.Context) error {
	if done, err := s.lacking(ctx); done || err != nil {
		return err
	}
	switch s.Run.Open.Stage {
	case ledger.Validation:
		return s.answerQuery(ctx)
	case ledger.Final:
		return s.answerFinal(ctx)
	}
	logs, err := s.keepLogs()
	if err != nil {
		return err
	}
	return s.hold(&ledger.Evaluated{Head: s.head(), Evaluation: s.outcome.Evaluation, Logs: logs})
}

// decide appends the decision, before anything moves.
func (s *Supervisor) decide(step journal.Step) error {
	head := s.head()
	if step.TakeOver {
		head = s.leased(s.world.Gone, s.Run.Claiming(nil))
	}
	d, err := decide.Decide(s.Run.Evidence(step.Reason))
	if err != nil {
		return err
	}
	d.Head = head
	return s.hold(&d)
}

// finalize appends the attempt's entry.
func (s *Supervisor) finalize() error {
	return s.hold(&ledger.Finalized{Entry: s.Run.Entry(s.Now().UTC().Truncate(0), s.Level)})
}

// publish shows the verdict where people look, and records that it stands
// there: on the state branch itself in any case, which comes first.
func (s *Supervisor) publish(ctx context.Context, commit string) error {
	v, ok := s.Run.Verdict(commit)
	if !ok {
		return fmt.Errorf("%.12s has no verdict", commit)
	}
	note, err := s.note(commit)
	if err != nil {
		return err
	}
	where := []string{}
	if s.Board != nil {
		if err := s.flush(ctx); err != nil {
			return err
		}
		if where, err = s.Board.Verdict(ctx, s.Run, commit, note); err != nil {
			return fmt.Errorf("showing the verdict on %.12s: %w", commit, err)
		}
	}
	return s.hold(&ledger.Published{Commit: commit, Verdict: v.Status, Note: note, Where: where})
}

// trailers translates what the audit read from a message.
func trailers(t audit.Trailers) ledger.Trailers {
	return ledger.Trailers{
		Hypothesis: t.Hypothesis, FailureClass: t.FailureClass, Mechanism: t.Mechanism,
		PredictedVariant: t.PredictedVariant, Counterexample: t.Counterexample,
	}
}
