package supervisor

import (
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// grace is what a lease lasts beyond the worst case of its pass.
const grace = 10 * time.Minute

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
func (s *Supervisor) incumbent() string { return s.best() }

// leased gives a head with a new claim, over the lease in force if there is one.
func (s *Supervisor) leased(why string) ledger.Head {
	h := s.head()
	s.lease = token()
	h.Claim = &ledger.Claim{Holder: s.Holder, Deadline: s.deadline(), TookOver: h.Lease, Why: why}
	if h.Lease == "" {
		h.Claim.Why = ""
	}
	h.Lease = s.lease
	return h
}

// deadline is the worst case of a pass by contract, and the grace: every arm is
// built once, and every repetition has its own total for each split and a
// scorer.
func (s *Supervisor) deadline() time.Time {
	c := s.Run.Contract
	splits := time.Duration(1)
	if c.Counterexamples != "" {
		splits = 2
	}
	const arms, repetitions = 2, 2
	arm := repetitions * (splits*c.Evaluation.Total + c.Evaluation.Timeout)
	if c.Candidate.Build != nil {
		arm += c.Candidate.Build.Timeout
	}
	return s.Now().UTC().Add(arms*arm + grace).Truncate(time.Second)
}

// claim opens an attempt for a commit and records what the audit says of it.
// A claim that was cut off before that is finished under a new lease.
func (s *Supervisor) claim(step journal.Step) error {
	s.outcome = nil
	if s.Run.Probed == nil {
		probed := s.Probed
		if err := s.hold(&probed); err != nil {
			return err
		}
	}
	if s.Run.Open == nil {
		if err := s.hold(&ledger.Prepared{Head: s.leased("")}); err != nil {
			return err
		}
	}
	found, err := s.inspect(step.Commit)
	if err != nil {
		return err
	}
	found.Head = s.head()
	if step.TakeOver {
		found.Head = s.leased(s.world.Gone)
	}
	found.Candidate = step.Commit
	return s.hold(found)
}

// start claims the pass.
func (s *Supervisor) start(step journal.Step) error {
	head := s.head()
	if step.TakeOver {
		head = s.leased(step.Reason)
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
	s.outcome = nil
	lost := s.Run.Open.Lost + 1
	return s.hold(&ledger.Retried{Head: s.leased(step.Reason), Stage: ledger.Development, Lost: lost, Reason: step.Reason})
}

// record appends what execute found.
func (s *Supervisor) record() error {
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.hold(&ledger.Evaluated{Head: s.head(), Evaluation: s.outcome.Evaluation})
}

// decide appends the decision, before anything moves.
func (s *Supervisor) decide(step journal.Step) error {
	a := s.Run.Open
	head := s.head()
	if step.TakeOver {
		head = s.leased(s.world.Gone)
	}
	standing := s.Run.Incumbent
	evidence := decide.Evidence{
		Contract: s.Run.Contract.Contract, Role: a.Role,
		Commit: a.Candidate, Incumbent: s.incumbent(), IncumbentTree: standing.Tree,
		Committed: a.Committed, Evaluation: a.Evaluation,
		Standing: standing.Measurement, StandingTools: standing.Tools, Lost: step.Reason,
	}
	d, err := decide.Decide(evidence)
	if err != nil {
		return err
	}
	d.Head = head
	return s.hold(&d)
}

// finalize appends the attempt's entry.
func (s *Supervisor) finalize() error {
	return s.hold(&ledger.Finalized{Entry: s.entry()})
}

// publish records that the verdict stands where it can be read: the state
// branch itself.
func (s *Supervisor) publish(commit string) error {
	v, ok := s.Run.Verdict(commit)
	if !ok {
		return fmt.Errorf("%.12s has no verdict", commit)
	}
	return s.hold(&ledger.Published{Commit: commit, Verdict: v.Status, Where: []string{}})
}

// entry is the projection of the attempt that goes into the results.
func (s *Supervisor) entry() ledger.Entry {
	a, c := s.Run.Open, s.Run.Contract
	d := a.Decided
	e := ledger.Entry{
		Iteration: a.Iteration, Role: a.Role, Commit: a.Candidate, Incumbent: d.Incumbent,
		StartedAt: a.StartedAt, EndedAt: s.Now().UTC().Truncate(0), Contract: string(c.Digest),
		Status: d.Status, Reason: d.Reason, PrimaryMetric: c.Metric.Name, Aggregation: "one launch",
		Hypothesis: a.Committed.Trailers.Hypothesis, ChangeSummary: a.Committed.Summary,
		LeakageAudit:    ledger.LeakageAudit{Verdict: a.Committed.Audit.Verdict, Classes: a.Committed.Audit.Classes},
		Counterexamples: d.Counterexamples, Constraints: d.Constraints, Failure: d.Failure,
		Level: s.Level, Exceptions: append([]string{}, c.Exceptions...),
	}
	e.DurationSeconds = e.EndedAt.Sub(e.StartedAt).Seconds()
	if a.RolledBack != nil {
		e.RollbackCommit = &a.RolledBack.Commit
	}
	if v, ok := d.Metrics[c.Metric.Name]; ok {
		e.PrimaryValue, e.SplitMetrics.Development = &v, &v
		e.Secondary = map[string]float64{}
		for _, m := range c.Secondary {
			e.Secondary[m.Name] = d.Metrics[m.Name]
		}
	}
	e.Repetitions = repetitions(a.Evaluation, c.Metric.Name)
	return e
}

// repetitions lists every measurement of an evaluation.
func repetitions(ev *ledger.Evaluation, metric string) []ledger.Repetition {
	if ev == nil {
		return nil
	}
	var out []ledger.Repetition
	for _, m := range ev.Measurements {
		r := ledger.Repetition{
			PairID: m.Repetition, Arm: m.Arm, Phase: "deterministic", Commit: m.Commit,
			Metrics: m.Metrics, Failure: m.Failure,
		}
		if v, ok := m.Metrics[metric]; ok {
			r.Primary = &v
		}
		for _, l := range ev.Launches {
			if l.Kind == ledger.Measure && l.Arm == m.Arm && l.Repetition == m.Repetition {
				r.Duration += l.WallSeconds
				if r.Log == nil && l.Log != "" {
					r.Log = &l.Log
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// trailers translates what the audit read from a message.
func trailers(t audit.Trailers) ledger.Trailers {
	return ledger.Trailers{
		Hypothesis: t.Hypothesis, FailureClass: t.FailureClass, Mechanism: t.Mechanism,
		PredictedVariant: t.PredictedVariant, Counterexample: t.Counterexample,
	}
}
