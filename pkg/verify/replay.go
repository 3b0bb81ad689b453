package verify

import (
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// replay follows the journal event by event. Before an event is added to the
// run, what it says is derived from the run as it was.
func (c *checker) replay() error {
	run, err := journal.Fold(c.sealed, nil)
	if err != nil {
		return err
	}
	next := 0 // of the points
	for i, e := range c.Chain.Events {
		if err := c.event(run, i, e); err != nil {
			return err
		}
		if err := run.Apply(e); err != nil {
			c.bad(lawOrder, c.at(i), "%v", err)
			why := fmt.Sprintf("the journal cannot be followed beyond line %d", i)
			c.skip(why, lawSignatures, lawLeases, lawLimits, lawGate, lawCandidates, lawDecisions, lawRestores, lawTip)
			break
		}
		for next < len(c.points) && c.points[next].lines <= i+1 {
			c.checkpoint(run, &c.points[next], i+1)
			next++
		}
	}
	c.Run = run
	c.summarise()
	return nil
}

// summarise says how much was checked.
func (c *checker) summarise() {
	n := &c.count
	c.say(lawOrder, "%d events, each may follow those before it", len(c.Chain.Events))
	c.say(lawLeases, "%d claims, none too long, none taken over too early", n.claims)
	c.say(lawLimits, "no attempt was opened past a stop condition")
	c.saysGate()
	c.say(lawCandidates, "%d candidates, each the tree, commits and message that were judged", n.candidates)
	if n.gone > 0 {
		c.say(lawCandidates, "%s; %d rejected commits are no longer in the repository", c.text[lawCandidates], n.gone)
	}
	c.say(lawDecisions, "%d decisions and %d entries derived again", n.decisions, len(c.Run.Entries))
	c.say(lawRestores, "%d restore commits, each with the incumbent's tree", n.restores)
	if c.Verifier == nil {
		c.skip("the contract has no keys: whoever may write the state branch may change the records", lawSignatures)
		return
	}
	c.say(lawSignatures, "%d checkpoints and %d verdict notes are signed by %s", n.signed, n.verdicts, c.Verifier.Name())
}

// checkpoint compares a commit's checkpoint with the run as it was then.
func (c *checker) checkpoint(run *journal.Run, p *point, lines int) {
	switch {
	case c.Verifier == nil && p.note != nil && c.unseen[lawSignatures] == "":
		c.bad(lawSignatures, p.place(checkpointName), "stands there, but the contract has no keys")
	case c.Verifier == nil:
	case p.err != nil:
		c.bad(lawSignatures, p.place(checkpointName), "%v", p.err)
	case p.signed.Lines == 0, p.lines != lines: // not looked at, or of no known length, which was said
	default:
		c.count.signed++
		head := ledger.Chain{Events: c.Chain.Events[:lines], Head: headAt(c.Chain, lines)}
		if err := agree(p.signed, run.Checkpoint(c.src.Origin, head), p.place(checkpointName)); err != nil {
			_ = c.note(lawSignatures, err) // always a *BreachError
		}
	}
}

// event derives what an event says from the run before it.
func (c *checker) event(run *journal.Run, i int, e ledger.Event) error {
	if h, ok := head(e.Data); ok && h.Claim != nil {
		c.claim(run, i, e, h)
	}
	c.gated(run, i, e)
	switch d := e.Data.(type) {
	case *ledger.Sealed:
		return c.began(i, d)
	case *ledger.Prepared:
		if reason := run.Stop(e.Time.Add(-time.Minute)); reason != "" && run.Opened != nil {
			c.bad(lawLimits, c.at(i), "opens an attempt, but %s", reason)
		}
	case *ledger.Committed:
		return c.candidate(run, i, d)
	case *ledger.Evaluated:
		c.evaluated(run, i, d)
	case *ledger.Decided:
		c.decided(run, i, d)
	case *ledger.RolledBack:
		return c.rolledBack(run, i, d)
	case *ledger.Finalized:
		c.finalized(run, i, e, d)
	case *ledger.Superseded:
		return c.superseded(run, i, d)
	case *ledger.Published:
		return c.published(run, i, d)
	case *ledger.Opened:
		if want := journal.RunBranch(c.src.Tag); d.Branch != want {
			c.bad(lawOrder, c.at(i), "opens %q, want %q", d.Branch, want)
		}
	case *ledger.Closing:
		if is := run.Stop(e.Time); d.By == "contract" && d.Reason != is && run.Opened != nil {
			c.bad(lawLimits, c.at(i), "closes by contract because %q, which does not hold: %q does", d.Reason, is)
		}
	case *ledger.Closed:
		if d.Best != run.Best() {
			c.bad(lawDecisions, c.at(i), "names %s as the best commit, want %s", d.Best, run.Best())
		}
	}
	return nil
}

// head gives the head of an event that has one.
func head(d ledger.Data) (ledger.Head, bool) {
	switch d := d.(type) {
	case *ledger.Prepared:
		return d.Head, true
	case *ledger.Committed:
		return d.Head, true
	case *ledger.Started:
		return d.Head, true
	case *ledger.Retried:
		return d.Head, true
	case *ledger.Evaluated:
		return d.Head, true
	case *ledger.GateCharged:
		return d.Head, true
	case *ledger.GateResult:
		return d.Head, true
	case *ledger.FinalCharged:
		return d.Head, true
	case *ledger.FinalResult:
		return d.Head, true
	case *ledger.Decided:
		return d.Head, true
	case *ledger.RolledBack:
		return d.Head, true
	}
	return ledger.Head{}, false
}

// claim checks the term of a lease, and that the one before it could be known
// to be over: its deadline had passed, or its holder was a process of the same
// host.
func (c *checker) claim(run *journal.Run, i int, e ledger.Event, h ledger.Head) {
	c.count.claims++
	claim := h.Claim
	longest := e.Time.Add(journal.Lasting(run.Contract.Contract, run.Claiming(e.Data)))
	if claim.Deadline.After(longest) {
		c.bad(lawLeases, c.at(i), "claims until %s, the contract allows %s", stamp(claim.Deadline), stamp(longest))
	}
	if run.Open == nil || run.Open.Lease == nil {
		if claim.TookOver != "" || claim.Why != "" {
			c.bad(lawLeases, c.at(i), "takes over lease %q, and none is in force", claim.TookOver)
		}
		return
	}
	old := run.Open.Lease
	switch {
	case claim.Why == "":
		c.bad(lawLeases, c.at(i), "takes lease %s over and does not say why", old.ID)
	case !e.Time.After(old.Deadline) && claim.Holder.Host != old.Holder.Host:
		c.bad(lawLeases, c.at(i), "takes lease %s over at %s, which lasts until %s, from a process of another host", old.ID, stamp(e.Time), stamp(old.Deadline))
	case !e.Time.After(old.Deadline) && claim.Holder == old.Holder:
		c.bad(lawLeases, c.at(i), "takes lease %s over from its own holder before its end", old.ID)
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// began compares the first event with the contract and with git.
func (c *checker) began(i int, d *ledger.Sealed) error {
	f := c.sealed.Facts
	want := ledger.Sealed{Contract: string(c.sealed.Digest), Baseline: f.Baseline, Tree: d.Tree, Pinned: f.Pinned, Tool: f.Tool}
	if key, is, should := differ(*d, want); key != "" {
		c.bad(lawSeal, c.at(i), "%s is %s, the sealed contract says %s", key, is, should)
	}
	commit, ok, err := c.commit(lawSeal, c.at(i), f.Baseline, true)
	if ok && commit.Tree != d.Tree {
		c.bad(lawSeal, c.at(i), "baseline_tree is %s, that of %.12s is %s", d.Tree, f.Baseline, commit.Tree)
	}
	c.kept = append(c.kept, f.Baseline)
	return err
}

// evaluated checks that a pass measured the commits of its attempt.
func (c *checker) evaluated(run *journal.Run, i int, d *ledger.Evaluated) {
	if run.Open == nil {
		return
	}
	arms := map[ledger.Arm]string{ledger.Candidate: run.Open.Candidate, ledger.Incumbent: run.Best()}
	for _, m := range d.Measurements {
		if m.Commit != arms[m.Arm] {
			c.bad(lawDecisions, c.at(i), "measured %s as the %s, want %s", m.Commit, m.Arm, arms[m.Arm])
		}
	}
	for _, l := range d.Launches {
		if l.Commit != arms[l.Arm] {
			c.bad(lawDecisions, c.at(i), "launched %s as the %s, want %s", l.Commit, l.Arm, arms[l.Arm])
		}
	}
}

// decided derives a decision again.
func (c *checker) decided(run *journal.Run, i int, d *ledger.Decided) {
	c.count.decisions++
	a := run.Open
	if a == nil {
		return
	}
	lost := run.Interruption()
	if lost == "" && a.Phase == journal.Running && d.Claim != nil {
		lost = a.GivenUp(d.Claim.Why)
		c.gaveUp(run, i, "gives up")
	}
	want, err := decide.Decide(run.Evidence(lost))
	if err != nil {
		c.bad(lawDecisions, c.at(i), "cannot follow from the evidence: %v", err)
		return
	}
	want.Head = d.Head
	if key, is, should := differ(*d, want); key != "" {
		c.bad(lawDecisions, c.at(i), "%s is %s, want %s", key, is, should)
	}
}

// finalized derives an entry again.
func (c *checker) finalized(run *journal.Run, i int, e ledger.Event, d *ledger.Finalized) {
	a := run.Open
	if a == nil || a.Decided == nil {
		return
	}
	want := run.Entry(d.Entry.EndedAt, d.Entry.Level)
	if key, is, should := differ(d.Entry, want); key != "" {
		c.bad(lawDecisions, c.at(i), "%s is %s, want %s", key, is, should)
	}
	if d.Entry.EndedAt.After(e.Time) || d.Entry.EndedAt.Before(a.StartedAt) {
		c.bad(lawDecisions, c.at(i), "ended_at is %s, want a time from %s to %s", stamp(d.Entry.EndedAt), stamp(a.StartedAt), stamp(e.Time))
	}
	if d.Entry.Status == ledger.Keep {
		c.kept = append(c.kept, d.Entry.Commit)
	}
	if !a.Decided.Rollback.Required || a.RolledBack != nil {
		return
	}
	if i+1 < len(c.Chain.Events) {
		if _, halted := c.Chain.Events[i+1].Data.(*ledger.Halted); halted {
			return
		}
	}
	c.bad(lawRestores, c.at(i), "ends an attempt whose tree had to be restored without a restore, and the run goes on")
}
