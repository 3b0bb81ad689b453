package verify

import (
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// candidate compares what was found at a claimed tip with git.
func (c *checker) candidate(run *journal.Run, i int, d *ledger.Committed) error {
	a := run.Open
	if a == nil {
		return nil
	}
	if d.RecordedTip != run.Tip {
		c.bad(lawCandidates, c.at(i), "recorded_tip is %s, want %s", d.RecordedTip, run.Tip)
	}
	baseline := a.Role == ledger.RoleBaseline
	if !baseline {
		c.count.candidates++
		if reason, _ := run.NoCandidate(journal.Commit{ID: d.Candidate, Tree: d.Tree}); reason != "" {
			c.bad(lawCandidates, c.at(i), "%s is no candidate: %s", d.Candidate, reason)
		}
	} else if d.Candidate != run.Sealed.Baseline {
		c.bad(lawCandidates, c.at(i), "the baseline is %s, want %s", d.Candidate, run.Sealed.Baseline)
	}
	commit, ok, err := c.commit(lawCandidates, c.at(i), d.Candidate, baseline)
	if !ok || err != nil {
		return err
	}
	if commit.Tree != d.Tree {
		c.bad(lawCandidates, c.at(i), "tree is %s, that of %.12s is %s", d.Tree, d.Candidate, commit.Tree)
	}
	if baseline {
		return nil
	}
	c.message(i, d, commit)
	return c.straight(i, d, commit)
}

// message compares the trailers with the commit's message.
func (c *checker) message(i int, d *ledger.Committed, commit repo.Commit) {
	t, missing := audit.ParseTrailers(commit.Message)
	want := *d
	want.Missing = append([]string{}, missing...)
	want.Trailers = ledger.Trailers{
		Hypothesis: c.said(d.Trailers.Hypothesis, t.Hypothesis), FailureClass: c.said(d.Trailers.FailureClass, t.FailureClass),
		Mechanism: c.said(d.Trailers.Mechanism, t.Mechanism), PredictedVariant: c.said(d.Trailers.PredictedVariant, t.PredictedVariant),
		Counterexample: c.said(d.Trailers.Counterexample, t.Counterexample),
	}
	if key, is, should := differ(d, &want); key != "" {
		c.bad(lawCandidates, c.at(i), "%s is %s, the message of %.12s says %s", key, is, d.Candidate, should)
	}
}

// said is what the records say of a text: the text without what is known for a
// secret, or its digest where the remote refused it.
func (c *checker) said(is, text string) string {
	text = c.redactor.String(text)
	if is != text && is == ledger.Withheld(text) {
		return is
	}
	return text
}

// maxCommits is how many commits one candidate may have.
const maxCommits = 20

// straight checks that a candidate is a straight line of commits on top of the
// recorded tip, the ones that are listed, or that the audit refused its shape.
func (c *checker) straight(i int, d *ledger.Committed, tip repo.Commit) error {
	line := []string{}
	for at := tip; at.ID != d.RecordedTip; {
		line = append([]string{at.ID}, line...)
		if len(at.Parents) != 1 || len(line) > maxCommits {
			if d.Audit.Verdict != "invalid" {
				c.bad(lawCandidates, c.at(i), "%s is no straight line of at most %d commits on top of %.12s, and the audit says %s", d.Candidate, maxCommits, d.RecordedTip, d.Audit.Verdict)
			}
			return nil
		}
		next, ok, err := c.commit(lawCandidates, c.at(i), at.Parents[0], false)
		if !ok || err != nil {
			return err
		}
		at = next
	}
	want := *d
	want.Commits = line
	if key, is, should := differ(d, &want); key != "" {
		c.bad(lawCandidates, c.at(i), "%s is %s, want %s", key, is, should)
	}
	return nil
}

// rolledBack checks a restore commit.
func (c *checker) rolledBack(run *journal.Run, i int, d *ledger.RolledBack) error {
	if run.Open == nil || run.Open.Decided == nil {
		return nil
	}
	return c.restore(run, i, d.Commit, run.Open.Decided.Rollback.Tree)
}

// restore checks that a commit has a tree and holds the recorded tip.
func (c *checker) restore(run *journal.Run, i int, id, tree string) error {
	c.count.restores++
	c.kept = append(c.kept, id)
	commit, ok, err := c.commit(lawRestores, c.at(i), id, true)
	if !ok || err != nil {
		return err
	}
	if commit.Tree != tree {
		c.bad(lawRestores, c.at(i), "restore commit %s has tree %s, want the incumbent's, %s", id, commit.Tree, tree)
	}
	holds, err := descends(c.src.Objects, run.Tip, id)
	if c.isCut(lawRestores, err) {
		return nil
	}
	if err == nil && !holds {
		c.bad(lawRestores, c.at(i), "restore commit %s does not descend from the recorded tip %s: judged commits are lost", id, run.Tip)
	}
	return err
}

// superseded checks a tip that is no candidate.
func (c *checker) superseded(run *journal.Run, i int, d *ledger.Superseded) error {
	commit, ok, err := c.commit(lawCandidates, c.at(i), d.Tip, d.Restore == "")
	if err != nil {
		return err
	}
	if ok && commit.Tree != d.Tree {
		c.bad(lawCandidates, c.at(i), "tree is %s, that of %.12s is %s", d.Tree, d.Tip, commit.Tree)
	}
	if d.Restore == "" {
		c.kept = append(c.kept, d.Tip)
		return nil // its tree is the incumbent's: see order
	}
	reason, of := run.NoCandidate(journal.Commit{ID: d.Tip, Tree: d.Tree})
	if run.Closing == nil && (reason != d.Reason || number(of) != number(d.Of)) {
		c.bad(lawCandidates, c.at(i), "supersedes %.12s because %q, of iteration %s; want %q, %s", d.Tip, d.Reason, number(d.Of), reason, number(of))
	}
	return c.restore(run, i, d.Restore, run.Incumbent.Tree)
}

func number(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// published checks the signed verdict.
func (c *checker) published(run *journal.Run, i int, d *ledger.Published) error {
	switch {
	case c.Verifier == nil && d.Note != "" && c.unseen[lawSignatures] == "":
		c.bad(lawSignatures, c.at(i), "has a verdict note, but the contract has no keys")
		return nil
	case c.Verifier == nil:
		return nil
	}
	commit, ok, err := c.commit(lawSignatures, c.at(i), d.Commit, false)
	if err != nil {
		return err
	}
	v := verdict{event: i, note: d.Note,
		want: run.VerdictNote(c.src.Origin, d.Commit, commit.Tree, i, c.head(i))}
	if !ok {
		v.want.Tree = ""
	}
	c.verdicts = append(c.verdicts, v)
	return nil
}

// verdict is a verdict note as it was published.
type verdict struct {
	event int
	note  string
	want  ledger.VerdictNote // Tree is "" where it is not known
	err   error
}

// open checks what every verdict note says, and the signatures of a sample of
// them: all are signed over once more with the journal that they stand in.
func (c *checker) open() {
	whole := make([]bool, len(c.verdicts))
	for _, i := range c.sample(len(c.verdicts)) {
		whole[i] = true
	}
	for i, v := range c.verdicts {
		if whole[i] = whole[i] || v.want.Tree == ""; whole[i] { // what it says cannot be derived
			c.count.notes++
		}
	}
	parallel(len(c.verdicts), func(i int) { c.verdicts[i].err = c.verdicts[i].check(c.Verifier, whole[i]) })
	for _, v := range c.verdicts {
		if v.err != nil {
			c.bad(lawSignatures, c.at(v.event), "%v", v.err)
		}
	}
}

// check says what is wrong with a verdict note; whole asks for its signature too.
func (v verdict) check(verifier *ledger.Verifier, whole bool) error {
	want, _ := v.want.Format() // made from records
	if !whole && strings.HasPrefix(v.note, string(want)+"\n— "+verifier.Name()+" ") {
		return nil
	}
	note, err := verifier.Verdict([]byte(v.note))
	if err != nil {
		return err
	}
	if v.want.Tree == "" {
		v.want.Tree = note.Tree
	}
	if note != v.want {
		is, _ := note.Format() // it was read
		return fmt.Errorf("the verdict note says %q, want %q", is, want)
	}
	return nil
}

// tip checks that the run branch holds what the records say it holds.
func (c *checker) tip() error {
	branch, run := journal.RunBranch(c.src.Tag), c.Run
	switch {
	case c.unseen[lawTip] != "":
		return nil
	case run.Opened == nil:
		c.skip("the run has not opened", lawTip)
		return nil
	case c.src.Branch == "":
		c.bad(lawTip, branch, "is gone, want it at %s or beyond", run.Tip)
		return nil
	}
	wanted := map[string]bool{run.Tip: true}
	for _, id := range c.kept {
		wanted[id] = true
	}
	n := len(wanted)
	err := walk(c.src.Objects, c.src.Branch, func(commit repo.Commit) bool {
		delete(wanted, commit.ID)
		return len(wanted) > 0
	})
	if c.isCut(lawTip, err) {
		c.skip("this clone is shallow: not all commits of "+branch+" are here", lawTip)
		return nil
	}
	if err != nil {
		return err
	}
	if wanted[run.Tip] {
		c.bad(lawTip, branch, "is at %s, which does not descend from the recorded tip %s: the branch was rewritten", c.src.Branch, run.Tip)
	}
	for _, id := range c.kept {
		if wanted[id] && id != run.Tip {
			c.bad(lawTip, branch, "is at %s and does not hold %s, a kept commit or a restore", c.src.Branch, id)
			delete(wanted, id)
		}
	}
	c.say(lawTip, "%s at %.12s holds all %d kept commits and restores", branch, c.src.Branch, n)
	return nil
}
