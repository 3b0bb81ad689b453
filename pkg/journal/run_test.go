package journal_test

import (
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// terms is a contract without limits.
func terms() *contract.Sealed {
	return &contract.Sealed{
		Contract: &contract.Contract{
			Metric: contract.Metric{Name: "accuracy", Direction: contract.Higher},
			Limits: contract.Limits{OpenEnded: true, SetupRetries: 1},
		},
		Facts: contract.Facts{Tag: "speedup", Level: "local"}, Digest: "sha256:00",
	}
}

// gatedTerms is a contract with a gate of so many queries and a final test.
func gatedTerms(queries int) *contract.Sealed {
	c := terms()
	c.Gate = &contract.Gate{Queries: queries, Rule: "non_inferior", Margin: 3, Window: time.Second, Cases: "user", Direction: contract.Higher}
	c.Splits = contract.Splits{Validation: "v", Final: "f"}
	c.Facts.Splits = []contract.SplitFact{{Name: "validation", Cases: 100}, {Name: "final", Cases: 20}}
	return c
}

// clerk writes the events of a run as the supervisor writes them, from what
// the run says. It holds no rule of its own: what is due is Next's business,
// what may stand is Apply's.
type clerk struct {
	terms  *contract.Sealed
	run    *journal.Run
	events []ledger.Event
	now    time.Time
}

// newClerk begins a run that is sealed, at commit c0 with tree B.
func newClerk(c *contract.Sealed) *clerk {
	k := &clerk{terms: c, now: start}
	k.run, _ = journal.Fold(c, nil)
	k.must(&ledger.Sealed{Contract: string(c.Digest), Baseline: id(0), Tree: "B", Pinned: id(0), Tool: "test"})
	return k
}

// add appends an event and says why it may not stand.
func (k *clerk) add(d ledger.Data) error {
	iteration := max(k.run.Iteration, 0)
	if d.Kind() == ledger.KindPrepared {
		iteration = k.run.Iteration + 1
	}
	e := ledger.Event{Seq: len(k.events), Time: k.now, Run: "speedup", Iteration: iteration, Data: d}
	k.events = append(k.events, e)
	return k.run.Apply(e)
}

func (k *clerk) must(data ...ledger.Data) {
	for _, d := range data {
		if err := k.add(d); err != nil {
			panic(err)
		}
	}
}

func (k *clerk) incumbent() string {
	if k.run.Incumbent.Commit == "" {
		return k.run.Sealed.Baseline
	}
	return k.run.Incumbent.Commit
}

// head is the head of the next event.
func (k *clerk) head() ledger.Head {
	h := ledger.Head{Incumbent: k.incumbent()}
	if a := k.run.Open; a != nil {
		h.Candidate = a.Candidate
		if a.Lease != nil {
			h.Lease = a.Lease.ID
		}
	}
	return h
}

// leased is the head of an event that makes a lease.
func (k *clerk) leased(lease, why string) ledger.Head {
	h := k.head()
	h.Claim = &ledger.Claim{Holder: ledger.Holder{Host: "host", PID: 1}, Deadline: k.now.Add(time.Minute), TookOver: h.Lease, Why: why}
	h.Lease = lease
	return h
}

func (k *clerk) prepared(lease string) *ledger.Prepared {
	h := k.leased(lease, "")
	h.Candidate = ""
	return &ledger.Prepared{Head: h}
}

// committed finds a candidate with the given tree that the audit passes.
func (k *clerk) committed(commit, tree string, commits ...string) *ledger.Committed {
	h := k.head()
	h.Candidate = commit
	return &ledger.Committed{
		Head: h, Tree: tree, RecordedTip: k.run.Tip, Commits: append(commits, commit),
		Audit: ledger.Audit{Verdict: "pass"},
	}
}

func (k *clerk) started() *ledger.Started {
	stage := ledger.Development
	if a := k.run.Open; a != nil && a.Phase == journal.Charged {
		stage = ledger.Validation
	}
	return &ledger.Started{Head: k.head(), Stage: stage, Repetitions: 1}
}

// charged charges the next query for the open attempt.
func (k *clerk) charged(lease string) *ledger.GateCharged {
	use := k.run.Use()
	d := &ledger.GateCharged{Head: k.leased(lease, ""), Query: use.Charged + 1, Budget: use.Budget}
	if a := k.run.Open; a != nil {
		d.Tree = a.Committed.Tree
	}
	return d
}

// ask takes an attempt that was evaluated through the gate.
func (k *clerk) ask(lease string, answer ledger.Answer) {
	k.must(k.charged(lease))
	k.must(k.started())
	k.must(k.answered(answer))
}

func (k *clerk) answered(answer ledger.Answer) *ledger.GateResult {
	return &ledger.GateResult{Head: k.head(), Query: k.run.Use().Charged, Answer: answer, Sealed: "sealed"}
}

// finalCharged charges the final test.
func (k *clerk) finalCharged(lease string) *ledger.FinalCharged {
	h := k.leased(lease, "")
	h.Candidate = k.run.Incumbent.Commit
	return &ledger.FinalCharged{Head: h, Baseline: k.run.Sealed.Baseline}
}

func (k *clerk) finalResult(answer ledger.Answer) *ledger.FinalResult {
	return &ledger.FinalResult{Head: k.head(), Answer: answer, P: 1}
}

func (k *clerk) retried(lease string) *ledger.Retried {
	return &ledger.Retried{Head: k.leased(lease, "gone"), Stage: k.run.Open.Stage, Lost: k.run.Open.Lost + 1, Reason: "gone"}
}

// evaluated measures the candidate.
func (k *clerk) evaluated() *ledger.Evaluated {
	return &ledger.Evaluated{Head: k.head(), Evaluation: ledger.Evaluation{
		Stage:        ledger.Development,
		Measurements: []ledger.Measurement{{Arm: ledger.Candidate, Commit: k.run.Open.Candidate, Metrics: map[string]float64{"accuracy": 0.75}}},
	}}
}

// decided gives the decision with a status, and what follows from it.
func (k *clerk) decided(status ledger.Status) *ledger.Decided {
	a := k.run.Open
	d := &ledger.Decided{Head: k.head(), Status: status, Reason: "because", IntendedIncumbent: k.incumbent(), Replay: status != ledger.Keep}
	if status == ledger.Keep {
		d.IntendedIncumbent = a.Candidate
	} else if a.Role == ledger.RoleCandidate {
		d.Rollback = ledger.Rollback{Required: true, Tree: k.run.Incumbent.Tree}
	}
	return d
}

// lost gives the decision of whoever takes a pass over for the last time.
func (k *clerk) lost(lease string) *ledger.Decided {
	d := k.decided(ledger.Crash)
	d.Head, d.Replay = k.leased(lease, "gone"), false
	return d
}

func (k *clerk) rolledBack(commit string, swept ...string) *ledger.RolledBack {
	return &ledger.RolledBack{Head: k.head(), Commit: commit, By: "supervisor", Swept: swept}
}

func (k *clerk) finalized() *ledger.Finalized {
	a := k.run.Open
	var validation *string
	if a.Gate != nil {
		validation = ptr("fail")
		if a.Gate.Answer == ledger.Pass {
			validation = ptr("pass")
		}
	}
	e := ledger.Entry{
		SplitMetrics: ledger.SplitMetrics{Validation: validation},
		Iteration:    a.Iteration, Role: a.Role, Commit: a.Candidate, Incumbent: k.incumbent(), Status: a.Decided.Status,
		Reason: a.Decided.Reason, StartedAt: a.StartedAt, EndedAt: k.now, PrimaryMetric: "accuracy",
	}
	if a.RolledBack != nil {
		e.RollbackCommit = &a.RolledBack.Commit
	}
	return &ledger.Finalized{Entry: e}
}

func (k *clerk) published() *ledger.Published {
	commit := k.run.Unpublished[0]
	v, _ := k.run.Verdict(commit)
	return &ledger.Published{Commit: commit, Verdict: v.Status, Where: []string{}}
}

// open brings a sealed run to opened.
func (k *clerk) open() *clerk {
	k.claim("L0", id(0), "B")
	k.must(k.started())
	k.judge(ledger.Keep, "")
	k.must(&ledger.Opened{Branch: "research-loop/speedup", Commit: id(0)})
	return k
}

func (k *clerk) claim(lease, commit, tree string, below ...string) {
	k.must(k.prepared(lease))
	k.must(k.committed(commit, tree, below...))
}

// judge takes a running attempt to its end.
func (k *clerk) judge(status ledger.Status, restore string, swept ...string) {
	k.must(k.evaluated())
	if k.terms.Gate != nil && status == ledger.Keep {
		k.ask("G"+k.run.Open.Candidate, ledger.Pass)
	}
	k.end(status, restore, swept...)
}

// end takes an attempt that was measured to its end.
func (k *clerk) end(status ledger.Status, restore string, swept ...string) {
	k.must(k.decided(status))
	if restore != "" {
		k.must(k.rolledBack(restore, swept...))
	}
	k.must(k.finalized())
	for len(k.run.Unpublished) > 0 {
		k.must(k.published())
	}
}

// attempt judges one candidate from claim to publication.
func (k *clerk) attempt(commit, tree string, status ledger.Status, restore string, swept ...string) {
	k.claim("L"+commit, commit, tree)
	k.must(k.started())
	k.judge(status, restore, swept...)
}
