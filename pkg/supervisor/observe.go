package supervisor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
)

// maxPath bounds how many commits of the run branch are looked at.
const maxPath = 1000

// observe looks at what lies outside the records. The remote is asked only
// where the next step depends on the run branch.
func (s *Supervisor) observe(ctx context.Context) error {
	w := journal.World{Now: s.Now(), Lease: s.lease, Outcome: s.outcome != nil, Gone: s.gone()}
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
	return a == nil || a.Phase == journal.Decided && a.Decided.Rollback.Required
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
	tip, err := s.commit(id)
	if err != nil {
		return err
	}
	w.Tip = &tip
	if w.Descends, err = s.Clone.Descends(s.Run.Tip, id); err != nil {
		return err
	}
	if w.Descends {
		if w.Above, err = s.path(id, s.Run.Tip); err != nil {
			return err
		}
	}
	if a := s.Run.Open; a != nil && a.Candidate != "" {
		w.After, err = s.path(id, a.Candidate)
	}
	return err
}

// path gives the commits on tip's first-parent path above `from`, oldest
// first; nil where the path meets neither `from` nor an ancestor of it.
func (s *Supervisor) path(tip, from string) ([]journal.Commit, error) {
	var out []journal.Commit
	for id := tip; id != from; {
		below, err := s.Clone.Descends(id, from)
		if err != nil {
			return nil, err
		}
		if below {
			break
		}
		if len(out) >= maxPath {
			return nil, fmt.Errorf("more than %d commits above %.12s on %s", maxPath, from, journal.RunBranch(s.Tag))
		}
		c, err := s.Clone.Commit(id)
		if err != nil {
			return nil, err
		}
		out = append(out, journal.Commit{ID: c.ID, Tree: c.Tree, Author: c.Author})
		if len(c.Parents) == 0 {
			return nil, nil
		}
		id = c.Parents[0]
	}
	slices.Reverse(out)
	return out, nil
}

func (s *Supervisor) commit(id string) (journal.Commit, error) {
	c, err := s.Clone.Commit(id)
	return journal.Commit{ID: c.ID, Tree: c.Tree, Author: c.Author}, err
}

// gone says why the holder of the lease in force cannot go on, "" if it may.
func (s *Supervisor) gone() string {
	a := s.Run.Open
	if a == nil || a.Lease == nil || a.Lease.ID == s.lease {
		return ""
	}
	holder := a.Lease.Holder
	switch {
	case holder.Host == s.Holder.Host && !s.Alive(holder):
		return fmt.Sprintf("process %d is gone", holder.PID)
	case s.Now().After(a.Lease.Deadline):
		return "the lease ended at " + a.Lease.Deadline.Format(time.RFC3339)
	}
	return ""
}
