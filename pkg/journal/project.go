package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Evidence is what the open attempt is decided by. lost says why its passes
// were given up, "" where they were not.
func (r *Run) Evidence(lost string) decide.Evidence {
	a, standing := r.Open, r.Incumbent
	return decide.Evidence{
		Contract: r.Contract.Contract, Role: a.Role,
		Commit: a.Candidate, Incumbent: r.Best(), IncumbentTree: standing.Tree,
		Committed: a.Committed, Evaluation: a.Evaluation,
		Standing: standing.Measurement, StandingTools: standing.Tools, Gate: a.Gate, Lost: lost,
	}
}

// Best is the last kept commit, the baseline where nothing was kept.
func (r *Run) Best() string {
	if r.Incumbent.Commit == "" {
		return r.Sealed.Baseline
	}
	return r.Incumbent.Commit
}

// grace is what a lease lasts beyond the worst case of its pass; approval is what
// the final test's lasts beyond it: a person may have to approve the job that gets
// its key.
const (
	grace    = 10 * time.Minute
	approval = 24 * time.Hour
)

// Lasting is how long a lease lasts: the worst case of a pass by contract, and
// ten minutes, or a day for the final test. Every arm is built once, and every
// repetition has its own total for each split and a scorer. A pass on validation
// has its time by contract.
func Lasting(c *contract.Contract, stage ledger.Stage) time.Duration {
	if stage == ledger.Validation && c.Gate != nil {
		return c.Gate.Held() + grace
	}
	splits := time.Duration(1)
	if c.Counterexamples != "" {
		splits = 2
	}
	const arms, repetitions = 2, 2
	arm := repetitions * (splits*c.Evaluation.Total + c.Evaluation.Timeout)
	if c.Candidate.Build != nil {
		arm += c.Candidate.Build.Timeout
	}
	if stage == ledger.Final {
		return arms*arm + approval
	}
	return arms*arm + grace
}

// Checkpoint is the head of the records, ready to be signed. chain is that of
// the events of r.
func (r *Run) Checkpoint(origin string, chain ledger.Chain) ledger.Checkpoint {
	c := ledger.Checkpoint{
		Origin: origin, Lines: len(chain.Events), Head: chain.Head,
		Contract: r.Sealed.Contract, Results: ledger.ZeroHash,
		Used: r.Use().Used(), Budget: r.Use().Budget,
	}
	if len(r.Entries) > 0 {
		c.Results = "sha256:" + hex.EncodeToString(r.results.Sum(nil))
	}
	return c
}

// VerdictNote is what is signed of the verdict about a judged tip with a given
// tree, ready for the event that publishes it. lines and head are the length and
// the last hash of the journal before it.
func (r *Run) VerdictNote(origin, tip, tree string, lines int, head string) ledger.VerdictNote {
	v := r.verdicts[tip]
	return ledger.VerdictNote{
		Origin: origin, Status: v.Status, Iteration: v.Iteration, Commit: tip, Tree: tree,
		Lines: lines, Head: head,
	}
}

// project adds an entry to the hash of the results.
func (r *Run) project(e ledger.Entry) error {
	text, err := r.written, error(nil)
	if r.written = nil; text == nil {
		text, err = ledger.FormatEntry(e)
	}
	if err != nil {
		return err
	}
	if r.results == nil {
		r.results = sha256.New()
	}
	_, err = r.results.Write(text)
	return err
}

// Entry is the projection of the open attempt, which has been decided, that goes
// into the results.
func (r *Run) Entry(ended time.Time, level string) ledger.Entry {
	a, c := r.Open, r.Contract
	d := a.Decided
	e := ledger.Entry{
		Iteration: a.Iteration, Role: a.Role, Commit: a.Candidate, Incumbent: d.Incumbent,
		StartedAt: a.StartedAt, EndedAt: ended, Contract: string(c.Digest),
		Status: d.Status, Reason: d.Reason, PrimaryMetric: c.Metric.Name, Aggregation: "one launch",
		Hypothesis: a.Committed.Trailers.Hypothesis, ChangeSummary: a.Committed.Summary,
		LeakageAudit:    ledger.LeakageAudit{Verdict: a.Committed.Audit.Verdict, Classes: a.Committed.Audit.Classes},
		Counterexamples: d.Counterexamples, Constraints: d.Constraints, Failure: d.Failure,
		Level: level, Exceptions: append([]string{}, c.Exceptions...), Queries: r.Use().Used(),
	}
	if g := a.Gate; g != nil {
		answer := string(ledger.Fail)
		if g.Answer == ledger.Pass {
			answer = string(ledger.Pass)
		}
		e.SplitMetrics.Validation, e.GateSealed = &answer, &g.Sealed
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

// repetitions lists every measurement of an evaluation, with the time of all its
// launches and the log of the first that has one.
func repetitions(ev *ledger.Evaluation, metric string) []ledger.Repetition {
	if ev == nil {
		return nil
	}
	type of struct {
		arm        ledger.Arm
		repetition int
	}
	launched := map[of][]*ledger.Launch{}
	for i := range ev.Launches {
		if l := &ev.Launches[i]; l.Kind == ledger.Measure {
			launched[of{l.Arm, l.Repetition}] = append(launched[of{l.Arm, l.Repetition}], l)
		}
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
		for _, l := range launched[of{m.Arm, m.Repetition}] {
			r.Duration += l.WallSeconds
			if r.Log == nil && l.Log != "" {
				r.Log = &l.Log
			}
		}
		out = append(out, r)
	}
	return out
}

// Naming lists the commits of the run branch that an event is the first to name. The commit of the
// state branch that records it may have them as further parents.
func Naming(d ledger.Data) []string {
	switch d := d.(type) {
	case *ledger.Committed:
		return []string{d.Candidate}
	case *ledger.RolledBack:
		return []string{d.Commit}
	case *ledger.Superseded:
		if d.Restore != "" {
			return []string{d.Restore, d.Tip}
		}
		return []string{d.Tip}
	}
	return nil
}
