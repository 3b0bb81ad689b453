package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
)

// observe looks at what lies outside the records. The remote is asked only
// where the next step depends on the run branch.
func (s *Supervisor) observe(ctx context.Context) error {
	w := journal.World{Now: s.Now(), Gone: s.gone()}
	if a := s.Run.Open; a != nil && a.Lease != nil && s.leases[a.Lease.ID] {
		w.Lease, w.Outcome = a.Lease.ID, s.outcome != nil && s.under == a.Lease.ID
	}
	if s.needsBranch() {
		if !s.fresh {
			if err := s.fetch(ctx); err != nil {
				return err
			}
		}
		if err := s.observeBranch(&w); err != nil {
			return err
		}
	}
	s.world = w
	return nil
}

// needsBranch says whether the next step can depend on the run branch.
func (s *Supervisor) needsBranch() bool {
	a := s.Run.Open
	return a == nil || a.Phase == journal.Prepared || a.Phase == journal.Decided && a.Decided.Rollback.Required
}

// fetch reads the remote's branches. When the state branch has moved too, what
// is held back would lose the race anyway: it is dropped at once.
func (s *Supervisor) fetch(ctx context.Context) error {
	if err := s.Clone.Fetch(ctx); err != nil {
		return err
	}
	s.fresh = true
	head, _ := s.Clone.Branch(journal.StateBranch(s.Tag))
	if head != s.Head {
		return &repo.LostRace{Branch: journal.StateBranch(s.Tag), Expect: s.Head, Found: head}
	}
	return nil
}

func (s *Supervisor) observeBranch(w *journal.World) error {
	id, ok := s.Clone.Branch(journal.RunBranch(s.Tag))
	if !ok {
		return nil
	}
	return s.Run.Look(w, graph{s.Clone}, id)
}

// graph is the clone as Look reads it.
type graph struct{ *repo.Clone }

func (g graph) Commit(id string) (journal.Commit, error) {
	c, err := g.Clone.Commit(id)
	return journal.Commit{ID: c.ID, Tree: c.Tree, Author: c.Author, Parents: c.Parents}, err
}

// gone says why the holder of the lease in force cannot go on, "" if it may.
// At its deadline even this process's own lease is over: what ran was killed.
func (s *Supervisor) gone() string {
	a := s.Run.Open
	if a == nil || a.Lease == nil {
		return ""
	}
	holder := a.Lease.Holder
	switch {
	case s.Now().After(a.Lease.Deadline):
		return "the lease ended at " + a.Lease.Deadline.Format(time.RFC3339)
	case !s.leases[a.Lease.ID] && holder.Host == s.Holder.Host && !s.Alive(holder):
		return fmt.Sprintf("process %d is gone", holder.PID)
	}
	return ""
}
