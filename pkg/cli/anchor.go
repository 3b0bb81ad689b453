package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/verify"
)

// A job starts on an empty machine, and a reader may come for the first time: no
// folder remembers how far a run's records had come. What does is the verdict notes
// in the checks, which whoever may write the state branch cannot take away.

// maxAnchored bounds how many commits of a run branch are asked for their checks.
const maxAnchored = 20

// anchored gives the commits whose checks may hold the newest notes: the baseline,
// where one always does, and those from the recorded tip to the present one.
func anchored(clone *repo.Clone, r *journal.Run) ([]string, error) {
	commits := []string{r.Sealed.Baseline}
	id, ok := clone.Branch(journal.RunBranch(contract.Tag(r.Tag)))
	for ok && len(commits) < maxAnchored && id != r.Sealed.Baseline {
		commits = append(commits, id)
		if id == r.Tip {
			break
		}
		c, err := clone.Commit(id)
		if err != nil {
			return nil, err
		}
		if ok = len(c.Parents) > 0; ok {
			id = c.Parents[0]
		}
	}
	return commits, nil
}

// notesOn reads the notes in the checks on a commit. What somebody else put there
// does not verify, and binds nothing.
func notesOn(ctx context.Context, client *forge.Client, commit string) ([]verify.Anchor, error) {
	checks, err := client.Checks(ctx, commit, "")
	if err != nil {
		return nil, err
	}
	var out []verify.Anchor
	for _, k := range checks {
		if note, ok := noteIn(k); ok {
			out = append(out, verify.Anchor{Where: fmt.Sprintf("check %d on %.12s", k.ID, commit), Note: []byte(note)})
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

// anchors reads what a job holds a run's records against.
func (j *job) anchors(ctx context.Context, r *journal.Run) ([]verify.Anchor, error) {
	if r.Contract.Keys == nil {
		return nil, nil
	}
	commits, err := anchored(j.clone, r)
	if err != nil {
		return nil, err
	}
	var out []verify.Anchor
	for _, commit := range commits {
		found, err := notesOn(ctx, j.client, commit)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// checksFlag adds --no-checks to a command that reads a run.
func checksFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("no-checks", false, "on GitHub: do not look for newer verdict notes in the checks on commits")
}

// looking bounds how long a reader waits for checks.
const looking = 30 * time.Second

// look holds the records of a run on GitHub against the notes in its checks, and in
// those on a commit that is asked for, once for every state of the records: an
// older one that was put back is a *verify.BreachError. Whoever may not read checks
// is told which were not, and gets what git alone tells.
func (s *session) look(cmd *cobra.Command, tag contract.Tag, asked string) error {
	state, _ := s.clone.Branch(journal.StateBranch(tag))
	if _, err := forge.Locate(s.remote, s.env.Getenv); err != nil || state == s.looked {
		return nil
	}
	run, err := s.read(cmd.Context(), tag)
	if err != nil || run.Contract.Keys == nil || run.Contract.Facts.Level == level {
		return err
	}
	s.looked = state
	if err := s.readChecks(cmd, run, asked); err != nil {
		return err
	}
	var older *verify.BreachError
	if _, err = s.read(cmd.Context(), tag); !errors.As(err, &older) {
		return err
	}
	// Records are pushed before a check tells of them: what is newer than what was
	// fetched is there now, or was taken away.
	if err := s.clone.Fetch(cmd.Context()); err != nil {
		return err
	}
	s.looked, _ = s.clone.Branch(journal.StateBranch(tag))
	_, err = s.read(cmd.Context(), tag)
	return err
}

// readChecks reads the notes in a run's checks, as far as the token may.
func (s *session) readChecks(cmd *cobra.Command, run *journal.Run, asked string) error {
	commits, err := anchored(s.clone, run)
	if err != nil {
		return err
	}
	if asked != "" && commits[0] != asked && commits[len(commits)-1] != asked {
		commits = append(commits, asked)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), looking)
	defer cancel()
	client, err := s.reader(cmd)
	for err == nil && len(commits) > 0 {
		var found []verify.Anchor
		if found, err = notesOn(ctx, client, commits[0]); err == nil {
			s.keep(found)
			commits = commits[1:]
		}
	}
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	said := len(s.unread) > 0
	s.unread = nil
	if err == nil {
		return nil
	}
	for _, c := range commits {
		s.unread = append(s.unread, "checks on "+c)
	}
	if !said { // once is enough
		s.env.say("note: the verdict notes in the checks on %.12s%s were not read, so an older state of the records put back may go unnoticed: %v", commits[0], others(len(commits)-1), err)
	}
	return nil
}

// keep adds notes that are not among the anchors yet.
func (s *session) keep(found []verify.Anchor) {
	for _, a := range found {
		if !slices.ContainsFunc(s.anchors, func(b verify.Anchor) bool { return bytes.Equal(a.Note, b.Note) }) {
			s.anchors = append(s.anchors, a)
		}
	}
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// errNoChecks is why nothing was read with --no-checks.
var errNoChecks = errors.New("--no-checks")

// reader gives the client that reads checks. The error says why there is none.
func (s *session) reader(cmd *cobra.Command) (*forge.Client, error) {
	if off, _ := cmd.Flags().GetBool("no-checks"); off {
		return nil, errNoChecks
	}
	client, err := s.env.forge(cmd)
	var none *setup.TokenError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("%w; GH_TOKEN or gh auth login gives one", err)
	}
	return client, err
}
