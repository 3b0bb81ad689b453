package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

// TestTwoSupervisors lets several judge the same candidate at once, all alive:
// one wins, the others wait or find it done.
func TestTwoSupervisors(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	id := w.candidate("discard", candidates["discard"])
	var all []*supervisor.Supervisor
	many := 2
	if !short() {
		many = 5
	}
	for range many {
		s := w.supervisor(nil)
		s.Alive = func(ledger.Holder) bool { return true }
		all = append(all, s)
	}
	var group sync.WaitGroup
	errs := make([]error, len(all))
	for i, s := range all {
		group.Go(func() { _, errs[i] = s.Reconcile(context.Background()) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	check(t, w, scenario{want: "discard"}, id)
	launched := 0
	for _, h := range w.read().History {
		if h.Entry != nil && h.Entry.Commit == id {
			launched++
		}
	}
	if launched != 1 {
		t.Errorf("%d attempts for one candidate", launched)
	}
}

// TestTwoStarts starts one run from two places at once: both end with the same
// run, sealed once.
func TestTwoStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.supervisor(nil), w.supervisor(nil)
	for _, s := range []*supervisor.Supervisor{one, two} {
		s.Alive = func(ledger.Holder) bool { return true }
	}
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i, s := range []*supervisor.Supervisor{one, two} {
		group.Go(func() { errs[i] = w.start(s) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if run := w.judge(); run.Opened == nil || len(run.Entries) != 1 {
		t.Errorf("opened %v with %d entries, want one", run.Opened, len(run.Entries))
	}
}

// meddler lets the author act just before one of the supervisor's pushes.
type meddler struct {
	clone supervisor.Pusher
	at    int
	act   func()
	count int
}

func (m *meddler) Push(ctx context.Context, branch, id, expect string) error {
	if m.count++; m.count == m.at {
		m.act()
	}
	return m.clone.Push(ctx, branch, id, expect)
}

// TestMeddling lets the author push, revert, force and delete at every moment
// at which the supervisor is about to make something durable. Afterwards the
// state is whole, and what he pushed honestly on top of a restore was judged.
func TestMeddling(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("takes many pushes: set CI=true")
	}
	t.Parallel()
	run := "refs/heads/" + journal.RunBranch(tag)
	acts := map[string]func(*world){
		"push": func(w *world) {
			w.commit("next", candidates["keep"])
			w.git(w.author, "push", "--quiet", "--force", "origin", "HEAD:"+run)
		},
		"revert": func(w *world) {
			w.git(w.author, "revert", "--no-edit", "HEAD")
			w.git(w.author, "push", "--quiet", "--force", "origin", "HEAD:"+run)
		},
		"force": func(w *world) { w.git(w.author, "push", "--quiet", "--force", "origin", "HEAD~1:"+run) },
		"delete": func(w *world) {
			w.git(w.origin(), "update-ref", "-d", run)
		},
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; at <= 4; at++ {
				t.Run(fmt.Sprint(at), func(t *testing.T) { meddle(t, openWorld(t), at, act) })
			}
		})
	}
}

func meddle(t *testing.T, w *world, at int, act func(*world)) {
	id := w.candidate("discard", candidates["discard"])
	m := &meddler{at: at, act: func() { act(w) }}
	s := w.supervisor(func(c *repo.Clone) supervisor.Pusher { m.clone = c; return m })
	if _, err := s.Reconcile(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.judge() // the author may have been faster than the last look
	check(t, w, scenario{want: "discard"}, id)
	// Whatever happened, the next honest candidate is judged and kept.
	if w.read().Incumbent.Iteration == 0 {
		next := w.candidate("after all", candidates["keep"])
		if v, ok := w.judge().Verdict(next); !ok || v.Status != string(ledger.Keep) {
			t.Errorf("the next candidate is judged %+v", v)
		}
	}
}
