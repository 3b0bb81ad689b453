package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

// scenario is one piece of a run's life, from a state that is whole to another.
type scenario struct {
	name string
	// prepare changes the world before the supervisor looks at it.
	prepare func(*world) string
	// run is what the supervisor is asked for.
	run func(*world, *supervisor.Supervisor) error
	// want is the status of the commit that prepare made, "" if it made none.
	want string
	// queries is how many the run must have been charged afterwards.
	queries int
}

func reconcile(_ *world, s *supervisor.Supervisor) error {
	_, err := s.Reconcile(context.Background())
	return err
}

func scenarios() []scenario {
	var all []scenario
	for _, want := range []string{"keep", "discard", "crash", "timeout", "invalid"} {
		all = append(all, scenario{
			name: want, run: reconcile, want: want,
			prepare: func(w *world) string { return w.candidate(want, candidates[want]) },
		})
	}
	return append(all, scenario{
		name: "superseded", run: reconcile, want: journal.Superseded,
		prepare: func(w *world) string { return w.candidate("nothing", nil) },
	}, scenario{
		name: "forced", run: reconcile, want: "invalid",
		prepare: func(w *world) string {
			w.git(w.author, "checkout", "--quiet", "--orphan", "elsewhere")
			id := w.commit("elsewhere", candidates["keep"])
			w.git(w.author, "push", "--quiet", "--force", "origin", "HEAD:"+journal.RunBranch(tag))
			return id
		},
	}, scenario{
		name: "deleted", run: reconcile,
		prepare: func(w *world) string {
			w.git(w.author, "push", "--quiet", "origin", ":"+journal.RunBranch(tag))
			return ""
		},
	}, scenario{
		name: "close with an unjudged commit", want: journal.Superseded,
		prepare: func(w *world) string { return w.candidate("late", candidates["keep"]) },
		run: func(_ *world, s *supervisor.Supervisor) error {
			if err := s.RequestClose(context.Background(), "enough", "ada", false); err != nil {
				return err
			}
			_, err := s.Reconcile(context.Background())
			return err
		},
	})
}

// TestCrash kills the supervisor before and after everything that it makes
// durable. The points come from the code: they are the pushes that an
// undisturbed run of the same scenario makes, so that a new one is tried
// without a word here. Whoever comes next must end it right, even when he too
// is killed at every point of his own.
func TestCrash(t *testing.T) {
	t.Parallel()
	base := openWorld(t)
	for _, sc := range scenarios() {
		if short() && sc.name != "discard" {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			crash(t, base, sc)
		})
	}
}

// TestCrashGated does the same to a run with a gate and a final test.
func TestCrashGated(t *testing.T) {
	if short() {
		t.Skip("every query takes its time: set CI=true")
	}
	t.Parallel()
	base := newGatedWorld(t, 3)
	base.open()
	kept := base.copy(t)
	kept.candidate("general", gatedCandidates["general"])
	kept.judge()
	push := func(name string) func(*world) string {
		return func(w *world) string { return w.candidate(name, gatedCandidates[name]) }
	}
	for _, sc := range []scenario{
		{name: "overfit", run: reconcile, want: "discard", prepare: push("overfit"), queries: 2},
		{name: "passed", run: reconcile, want: "keep", prepare: push("general"), queries: 2},
		{name: "final", want: journal.Superseded, prepare: push("nothing"), queries: 2, run: func(w *world, s *supervisor.Supervisor) error {
			if err := s.RequestClose(context.Background(), "enough", "ada", false); err != nil {
				return err
			}
			_, err := s.Reconcile(context.Background())
			return err
		}},
	} {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			from := base
			if sc.name == "final" {
				from = kept
			}
			crash(t, from, sc)
		})
	}
}

// TestCrashInStart does the same to a start.
func TestCrashInStart(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("takes many pushes: set CI=true")
	}
	t.Parallel()
	crash(t, newWorld(t), scenario{
		name: "start", prepare: func(*world) string { return "" },
		run: func(w *world, s *supervisor.Supervisor) error { return w.start(s) },
	})
}

// crash runs a scenario once for every point at which it can die; by default for
// one, in the middle of what most scenarios push.
func crash(t *testing.T, base *world, sc scenario) {
	first, total, points := 3, 3, []bool{true}
	if !short() {
		first, total, points = 1, undisturbed(t, base, sc), []bool{false, true}
	}
	for at := first; at <= total; at++ {
		for _, after := range points {
			t.Run(fmt.Sprintf("%d/%v", at, after), func(t *testing.T) {
				w := base.copy(t)
				id := sc.prepare(w)
				if died := die(t, w, sc, at, after); !died && short() {
					t.Fatalf("there is no push %d: nothing is tried", at)
				}
				if !short() {
					die(t, w, sc, 1, after) // and the one that comes next, at once
				}
				if err := sc.run(w, w.supervisor(nil)); err != nil {
					t.Fatalf("the run cannot go on: %v", err)
				}
				check(t, w, sc, id)
			})
		}
	}
}

// short says that a sample will do: all scenarios and points are CI's.
func short() bool { return os.Getenv("CI") != "true" }

// undisturbed counts the points of a scenario.
func undisturbed(t *testing.T, base *world, sc scenario) int {
	w := base.copy(t)
	id := sc.prepare(w)
	m := &mortal{}
	s := w.supervisor(func(c *repo.Clone) supervisor.Pusher { m.clone = c; return m })
	if err := sc.run(w, s); err != nil {
		t.Fatal(err)
	}
	check(t, w, sc, id)
	if m.count == 0 {
		t.Fatal("nothing was pushed: the scenario tries nothing")
	}
	return m.count
}

// die runs a scenario with a supervisor that is killed at one point, and says
// whether it was: a resumption may end before it reaches it.
func die(t *testing.T, w *world, sc scenario, at int, after bool) bool {
	t.Helper()
	m := &mortal{at: at, after: after}
	s := w.supervisor(func(c *repo.Clone) supervisor.Pusher { m.clone = c; return m })
	err := sc.run(w, s)
	if err != nil && !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	return err != nil
}

// check looks at the whole state, not at what a supervisor said.
func check(t *testing.T, w *world, sc scenario, id string) {
	t.Helper()
	run := w.read()
	if run.Open != nil || len(run.Unpublished) > 0 {
		t.Errorf("unfinished: open %v, unpublished %v", run.Open != nil, run.Unpublished)
	}
	if id != "" {
		if v, ok := run.Verdict(id); !ok || v.Status != sc.want {
			t.Errorf("%s is judged %+v, want %s", id, v, sc.want)
		}
	}
	if got := w.tree("refs/heads/" + journal.RunBranch(tag)); got != run.Incumbent.Tree {
		t.Errorf("the run branch's tree is %s, the incumbent's is %s", got, run.Incumbent.Tree)
	}
	attempts := map[int]int{}
	for _, e := range run.Entries {
		attempts[e.Iteration]++
	}
	for i, n := range attempts {
		if n != 1 {
			t.Errorf("attempt %d has %d entries", i, n)
		}
	}
	once(t, w, run)
	if run.Use().Charged != sc.queries {
		t.Errorf("%d queries were charged, want %d", run.Use().Charged, sc.queries)
	}
	if sc.name == "final" && (run.Final == nil || run.Final.Answer != ledger.Pass || run.Closed == nil) {
		t.Errorf("final %+v, closed %+v", run.Final, run.Closed)
	}
	w.git(w.origin(), "fsck", "--strict", "--no-dangling")
	if out := w.git(w.author, "status", "--porcelain"); out != "" {
		t.Errorf("the author's work tree was touched: %s", out)
	}
}

// once checks that nothing was decided or restored twice.
func once(t *testing.T, w *world, run *journal.Run) {
	t.Helper()
	log := w.git(w.origin(), "log", "--format=%an", "refs/heads/"+journal.RunBranch(tag))
	restores := 0
	for line := range strings.Lines(log) {
		if strings.TrimSpace(line) == "research-loop" {
			restores++
		}
	}
	rejected := 0
	for _, h := range run.History {
		if h.Superseded != nil || h.Entry.Status != ledger.Keep {
			rejected++
		}
	}
	if restores > rejected {
		t.Errorf("%d restore commits for %d rejections", restores, rejected)
	}
}
