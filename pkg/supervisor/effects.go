package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// recreate makes the run branch at the recorded tip: at first, and again where
// somebody deleted it.
func (s *Supervisor) recreate(ctx context.Context, tip string) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.fresh = false
	return s.push(ctx, journal.RunBranch(s.Tag), tip, "")
}

// restore brings the incumbent's tree back after a rejection. The decision is
// durable before the branch moves. A refused push halts the run: nothing is
// overwritten, and a person must look.
func (s *Supervisor) restore(ctx context.Context) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	a := s.Run.Open
	message := fmt.Sprintf("research-loop: restore %.12s after %s\n\nAttempt %d, %.12s: %s\n",
		a.Decided.IntendedIncumbent, a.Decided.Status, a.Iteration, a.Candidate, a.Decided.Reason)
	_, err := s.pushTree(ctx, a.Decided.Rollback.Tree, message, a.Candidate, s.Run.Tip)
	var refused *repo.RemoteError
	if errors.As(err, &refused) && refused.Refused {
		return s.halt(ctx, refused)
	}
	return err
}

// halt ends the attempt without a restore and stops the run.
func (s *Supervisor) halt(ctx context.Context, why error) error {
	if err := s.finalize(); err != nil {
		return err
	}
	if err := s.hold(&ledger.Halted{Reason: "the restore was refused: " + why.Error()}); err != nil {
		return err
	}
	return s.flush(ctx)
}

// sweep pushes a restore commit over a tip that is no candidate. That it did is
// recorded by the next step, which finds the commit.
func (s *Supervisor) sweep(ctx context.Context, step journal.Step) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	message := fmt.Sprintf("research-loop: restore %.12s\n\n%.12s: %s\n", s.Run.Incumbent.Commit, step.Commit, step.Reason)
	_, err := s.pushTree(ctx, s.Run.Incumbent.Tree, message, s.Run.Tip)
	var refused *repo.RemoteError
	if errors.As(err, &refused) && refused.Refused {
		if err := s.hold(&ledger.Halted{Reason: "the restore was refused: " + refused.Error()}); err != nil {
			return err
		}
		return s.flush(ctx)
	}
	return err
}

// pushTree pushes one commit with the given tree on top of the run branch as
// it was seen. Commits of `keep` that the branch does not hold become further
// parents, so that nothing that was judged is lost.
func (s *Supervisor) pushTree(ctx context.Context, tree, message string, keep ...string) (string, error) {
	var parents []string
	expect := ""
	if tip := s.world.Tip; tip != nil {
		parents, expect = []string{tip.ID}, tip.ID
	}
	for _, id := range keep {
		held, err := s.heldBy(parents, id)
		if err != nil {
			return "", err
		}
		if !held {
			parents = append(parents, id)
		}
	}
	id, err := s.Clone.WriteCommit(tree, parents, message, s.Now())
	if err != nil {
		return "", err
	}
	s.fresh = false
	return id, s.push(ctx, journal.RunBranch(s.Tag), id, expect)
}

// heldBy says whether one of the commits is id or descends from it.
func (s *Supervisor) heldBy(commits []string, id string) (bool, error) {
	for _, c := range commits {
		ok, err := s.Clone.Descends(id, c)
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// supersede records a tip that is no candidate.
func (s *Supervisor) supersede(step journal.Step) error {
	tip, err := s.Clone.Commit(step.Commit)
	if err != nil {
		return err
	}
	commits, err := s.commits(step.Commit)
	if err != nil {
		return err
	}
	return s.hold(&ledger.Superseded{
		Tip: tip.ID, Tree: tip.Tree, Commits: commits,
		Reason: step.Reason, Of: step.Of, Restore: step.Restore,
	})
}

// by tells the supervisor's own restore commits from an author's.
func (s *Supervisor) by(author string) string {
	if author == repo.Identity {
		return "supervisor"
	}
	return "author"
}
