package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
)

// AuditByHand audits what head changes above base, two revisions of the
// person's repository. With base "" it is the recorded tip, or where there are
// no records the merge base with the default branch. The contract is that of
// the run whose branch is checked out, else the draft of the remote's default
// branch, else the draft at base itself.
func AuditByHand(ctx context.Context, work *repo.Work, base, head string) (audit.Report, error) {
	ids := map[string]string{}
	for _, revision := range []string{base, head} {
		id, ok := work.Resolve(revision)
		if revision != "" && !ok {
			return audit.Report{}, &UsageError{fmt.Sprintf("%s is no commit of this repository", revision)}
		}
		ids[revision] = id
	}
	s, err := standingByHand(work, ids[base])
	if err != nil {
		return audit.Report{}, err
	}
	if base != "" {
		s.tip, s.incumbent = ids[base], ids[base]
		if s.baseline == "" {
			s.baseline = ids[base]
		}
	} else if err := s.settle(work, update{localID: ids[head]}); err != nil {
		return audit.Report{}, err
	}
	commits, err := work.Range(s.tip, ids[head])
	if err != nil {
		return audit.Report{}, err
	}
	if len(commits) == 0 {
		return audit.Report{}, &UsageError{fmt.Sprintf("%s has no commit above %.12s: commit what is to be audited", head, s.tip)}
	}
	in, err := s.input(work, commits)
	if err != nil {
		return audit.Report{}, err
	}
	return audit.Check(in), nil
}

// standingByHand finds the contract without a push to go by.
func standingByHand(work *repo.Work, base string) (*standing, error) {
	remotes, err := work.Remotes()
	if err != nil {
		return nil, err
	}
	if i := slices.Index(remotes, "origin"); i > 0 {
		remotes[0], remotes[i] = remotes[i], remotes[0]
	}
	branch, _ := work.Head()
	name, isRun := strings.CutPrefix(branch, "research-loop/")
	if !isRun {
		name = "none"
	}
	for _, remote := range remotes {
		s, err := standingOf(work, []string{remote, ""}, name)
		if err == nil {
			return s, nil
		}
		var cure *cureError
		if !errors.As(err, &cure) {
			return nil, err
		}
	}
	if base == "" {
		return nil, &cureError{errors.New("there is no remote with a contract on its default branch"), "research-loop audit BASE..HEAD"}
	}
	s, err := fromDraft(work, base, base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &cureError{fmt.Errorf("there is no %s at %.12s", contract.DraftPath, base), "research-loop init"}
	}
	return s, err
}
