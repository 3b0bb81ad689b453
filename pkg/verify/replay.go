package verify

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// replay follows the journal line by line, and with it what the trees of the
// state branch and the logs must be. Before an event is added to the run, what it
// says is derived from the run as it was. Of a line that was followed only its
// place and hash are kept. whole is false where the journal cannot be read to its
// end.
func (c *checker) replay(walked <-chan error) (whole bool, err error) {
	if c.Run, err = journal.Fold(c.sealed, nil); err != nil {
		return false, err
	}
	if c.ids, err = c.newest.segments(); err != nil {
		return false, errors.Join(<-walked, c.note(lawChain, err))
	}
	c.results.made = make([]bool, len(c.ids))
	// What grows by attempts has room for all of them: a long run would be copied
	// over and over.
	c.Run.Entries = make([]ledger.Entry, 0, len(c.ids))
	c.verdicts, c.marks = make([]verdict, 0, len(c.ids)), make([]ledger.Checkpoint, 0, len(c.ids))
	if n, ok := ledger.Length(string(c.Files[checkpointName])); ok { // as it says
		n = min(n, maxLines)
		c.places, c.hashes = make([]place, 0, n), make([]string, 0, n)
	}
	c.logs = newLogs(c.src, c.newest, nil, false)
	g := c.newGrowth()
	go g.follow(c.logs, walked)
	err = c.lines(g)
	err = errors.Join(err, g.end())
	if err == nil {
		err = c.logs.rest()
	}
	err = errors.Join(err, c.logs.end())
	var corrupt *ledger.CorruptError
	if errors.As(err, &corrupt) {
		return false, c.note(lawChain, corrupt)
	}
	if err != nil {
		return false, c.note(lawBranch, err)
	}
	c.unrestored(nil)
	c.checkLogs()
	c.say(lawChain, "%d lines in %d segments, each names the hash of the one before", len(c.places), len(c.ids))
	c.say(lawResults, "%d entries, as the journal finalized them", c.count.entries)
	return true, c.checkResults()
}

// maxLines bounds what is made room for before it is read.
const maxLines = 1 << 20

// lines replays the journal.
func (c *checker) lines(g *growth) error {
	for line, err := range ledger.Stream(g.segments) {
		if err != nil {
			return err
		}
		made := g.add(line)
		c.keep(line)
		if err := c.follow(line.Event, made.entry); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps what is asked of a line when its event is forgotten.
func (c *checker) keep(l ledger.Line) {
	e := l.Event
	if _, ok := e.Data.(*ledger.Finalized); ok {
		c.count.entries++
	}
	for _, id := range journal.Naming(e.Data) {
		c.names = append(c.names, naming{len(c.places), id})
	}
	c.places = append(c.places, place{iteration: e.Iteration, line: l.Number, end: len(l.UpTo), kind: e.Data.Kind()})
	c.hashes = append(c.hashes, l.Hash)
}

// results compares the entries of the newest commit with those that the journal
// makes.
type results struct {
	made []bool // by attempt
	// The first that differs, and what the journal makes of it.
	wrong string
	want  []byte
}

func (r *results) compare(list *newest, iteration int, raw string, entry []byte) {
	r.made[iteration] = true
	name := ledger.Results(iteration)
	if r.wrong == "" && hex.EncodeToString([]byte(raw)) != list.files[name] {
		r.wrong, r.want = name, bytes.Clone(entry)
	}
}

// checkResults says which entry is not what the journal makes of it.
func (c *checker) checkResults() error {
	if name := c.results.wrong; name != "" {
		var is []byte
		if id := c.newest.files[name]; id != "" {
			data, err := c.src.Objects.Blob(id)
			if err != nil {
				return err
			}
			is = append([]byte{}, data...)
		}
		return c.note(lawResults, ledger.Projected(name, is, c.results.want))
	}
	made := map[string]bool{}
	for i, ok := range c.results.made {
		made[ledger.Results(i)] = ok
	}
	for _, name := range slices.Sorted(maps.Keys(c.newest.files)) {
		if strings.HasPrefix(name, "results/") && !made[name] {
			return c.note(lawResults, ledger.Unprojected(name))
		}
	}
	return nil
}

// follow derives what an event says, and adds it to the run.
func (c *checker) follow(e ledger.Event, entry []byte) error {
	i := len(c.places) - 1
	c.unrestored(e.Data)
	if c.followed < i { // the journal could not be followed so far
		return nil
	}
	if err := c.event(c.Run, i, e); err != nil {
		return err
	}
	if err := c.Run.ApplyRead(e, entry); err != nil {
		c.bad(lawOrder, c.at(i), "%v", err)
		why := fmt.Sprintf("the journal cannot be followed beyond line %d", i)
		c.skip(why, lawSignatures, lawLeases, lawLimits, lawGate, lawCandidates, lawDecisions, lawRestores, lawLogs, lawTip)
		return nil
	}
	c.followed = i + 1
	if c.Verifier != nil {
		c.mark()
	}
	if n := len(c.Run.Entries); n > 0 { // of a long run that would be very much
		c.Run.Entries[n-1].Repetitions = nil
	}
	c.Run.History = nil
	return nil
}

// mark keeps what a checkpoint says as of the line that was followed last, if
// it is not what it said before: lines and head are known of every line.
func (c *checker) mark() {
	use := c.Run.Use()
	if is := (marked{len(c.Run.Entries), use.Used(), use.Budget}); is != c.marked || len(c.marks) == 0 {
		c.marked = is
		mark := c.Run.Checkpoint(c.src.Origin, ledger.Chain{})
		mark.Lines = c.followed
		c.marks = append(c.marks, mark)
	}
}

// marked is all that a checkpoint says of, beside the journal.
type marked struct{ entries, used, budget int }

// unrestored refuses that an attempt ended without the restore that it needed,
// unless the next event says that the run is halted.
func (c *checker) unrestored(next ledger.Data) {
	if _, halted := next.(*ledger.Halted); c.ended != "" && !halted {
		c.bad(lawRestores, c.ended, "ends an attempt whose tree had to be restored without a restore, and the run goes on")
	}
	c.ended = ""
}

// summarise says how much was checked.
func (c *checker) summarise() {
	n := &c.count
	c.say(lawOrder, "%d events, each may follow those before it", len(c.places))
	c.say(lawLeases, "%d claims, none too long, none taken over too early", n.claims)
	c.say(lawLimits, "no attempt was opened past a stop condition")
	c.saysGate()
	c.say(lawCandidates, "%d candidates, each the tree, commits and message that were judged%s", n.candidates,
		also(n.gone, "; %d rejected commits are no longer in the repository"))
	c.say(lawDecisions, "%d decisions and %d entries derived again", n.decisions, len(c.Run.Entries))
	c.say(lawRestores, "%d restore commits, each with the incumbent's tree", n.restores)
	past := len(c.points)
	c.say(lawBranch, "%d commits, each only adds to journal, results and logs", past)
	if c.Verifier == nil {
		c.skip("the contract has no keys: whoever may write the state branch may change the records", lawSignatures)
	} else {
		c.say(lawSignatures, "%d checkpoints and %d verdict notes are signed by %s%s%s", c.count.signed, c.count.notes, c.Verifier.Name(),
			also(past-c.count.signed, "; %d older checkpoints by what they say alone"), also(len(c.verdicts)-c.count.notes, "; %d older notes by what they say alone"))
	}
	if c.cut {
		c.skip(fmt.Sprintf("this clone is shallow: whether the commits before the newest %d only added is not known", past), lawBranch)
		c.say(lawSignatures, "%s; those of older commits are not here, what they signed is in the newest one", c.text[lawSignatures])
	}
	for law, n := range c.absent {
		if law != lawBranch && law != lawSignatures {
			c.skip(fmt.Sprintf("this clone is shallow: %d commits that it is about are not here", n), law)
		}
	}
}

// also says a number in a clause of its own, nothing of 0.
func also(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
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
	if key, is, should := differ(d, &want); key != "" {
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
	if key, is, should := differ(d, &want); key != "" {
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
	if key, is, should := differ(&d.Entry, &want); key != "" {
		c.bad(lawDecisions, c.at(i), "%s is %s, want %s", key, is, should)
	}
	if d.Entry.EndedAt.After(e.Time) || d.Entry.EndedAt.Before(a.StartedAt) {
		c.bad(lawDecisions, c.at(i), "ended_at is %s, want a time from %s to %s", stamp(d.Entry.EndedAt), stamp(a.StartedAt), stamp(e.Time))
	}
	if d.Entry.Status == ledger.Keep {
		c.kept = append(c.kept, d.Entry.Commit)
	}
	if a.Decided.Rollback.Required && a.RolledBack == nil {
		c.ended = c.at(i)
	}
}
