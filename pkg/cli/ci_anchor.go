package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/verify"
)

// A job starts on an empty machine: no folder of its own remembers how far a run's
// records had come. What does is the verdict notes in the checks, which whoever may
// write the state branch cannot take away.

// maxAnchored bounds how many commits of a run branch are asked for their checks.
const maxAnchored = 20

// anchors reads the notes in the checks on the baseline, where one always carries
// the newest, and on the commits from the recorded tip to the present one. What
// somebody else put there does not verify, and binds nothing.
func (j *job) anchors(ctx context.Context, r *journal.Run) ([]verify.Anchor, error) {
	if r.Contract.Keys == nil {
		return nil, nil
	}
	commits := []string{r.Sealed.Baseline}
	id, ok := j.clone.Branch(journal.RunBranch(contract.Tag(r.Tag)))
	for ok && len(commits) < maxAnchored && id != r.Sealed.Baseline {
		commits = append(commits, id)
		if id == r.Tip {
			break
		}
		c, err := j.clone.Commit(id)
		if err != nil {
			return nil, err
		}
		if ok = len(c.Parents) > 0; ok {
			id = c.Parents[0]
		}
	}
	var out []verify.Anchor
	for _, commit := range commits {
		checks, err := j.client.Checks(ctx, commit, "")
		if err != nil {
			return nil, err
		}
		for _, k := range checks {
			if note, ok := noteIn(k); ok {
				out = append(out, verify.Anchor{Where: fmt.Sprintf("check %d on %.12s", k.ID, commit), Note: []byte(note)})
			}
		}
	}
	return out, nil
}

// noteIn finds the note in a check, in the form in which report.Verdict writes it.
func noteIn(k forge.Check) (string, bool) {
	_, rest, ok := strings.Cut(k.Summary, "\n```\n")
	if !ok {
		return "", false
	}
	note, _, ok := strings.Cut(rest, "```")
	return note, ok
}
