package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

const tag = contract.Tag("speedup")

// draft is a task of two cases: a script that turns a word into another one.
// The candidates run unconfined here; what the sandbox holds is its own tests'
// business.
const draft = `research_loop: 1
goal: Answer more words.
population: Words.
baseline: HEAD
harness: {paths: [evaluation/**], source: user}
scope: {writable: [solver/**]}
candidate: {mode: case, run: sh solver/run.sh}
evaluation:
  score: sh evaluation/score.sh
  extract: json
  timeout: 5s
  total: 60s
  resources: {memory: 256MiB, pids: 64, output: 64KiB, temporary: 16MiB}
splits: {development: evaluation/development}
metric: {name: accuracy, direction: higher}
acceptance: {policy: deterministic, min_delta: 0.01}
limits: {attempts: 50}
exceptions: [no-gate]
`

const scorer = `right=0
for a in "$RESEARCH_LOOP_ANSWERS"/*; do
	[ "$(cat "$RESEARCH_LOOP_OUTPUTS/${a##*/}")" = "$(cat "$a")" ] && right=$((right + 1))
done
echo "{\"metrics\": {\"accuracy\": $right}, \"cases\": []}"
`

// candidates by what they must be judged to be. The baseline knows one word.
var candidates = map[string]map[string]string{
	"keep":    {"solver/run.sh": "read w\necho \"$w$w\"\n"},
	"discard": {"solver/run.sh": "read w\necho \"$w\" # the same\n"},
	"crash":   {"solver/run.sh": "exit 3\n"},
	"timeout": {"solver/run.sh": "sleep 60\n"},
	"invalid": {"evaluation/score.sh": "echo '{\"metrics\": {\"accuracy\": 9}, \"cases\": []}'\n"},
}

// world is a bare remote with an author's clone of it.
type world struct {
	t      *testing.T
	dir    string
	author string
	holder int         // PIDs of supervisors so far; a dead one is any but the last
	keys   *vault.Keys // nil: the contract has none
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldAt(t, t.TempDir())
}

func worldAt(t *testing.T, dir string) *world {
	t.Helper()
	w := emptyWorld(t, dir)
	w.commit("baseline", map[string]string{
		contract.DraftPath:                 draft,
		"solver/run.sh":                    "read w\necho \"$w\"\n",
		"evaluation/score.sh":              scorer,
		"evaluation/development/inputs/a":  "tok\n",
		"evaluation/development/inputs/b":  "bom\n",
		"evaluation/development/answers/a": "toktok\n",
		"evaluation/development/answers/b": "bombom\n",
		"unrelated/notes.md":               "notes\n",
	})
	w.git(w.author, "push", "--quiet", "origin", "HEAD:main")
	return w
}

// emptyWorld makes the remote and the author's clone.
func emptyWorld(t *testing.T, dir string) *world {
	t.Helper()
	w := &world{t: t, dir: dir, author: filepath.Join(dir, "author")}
	w.git(w.dir, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", "origin.git")
	// A process a push that these few objects do not need.
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[receive]\n\tautogc = false\n"
	if err := os.WriteFile(filepath.Join(w.origin(), "config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	w.git(w.dir, "clone", "--quiet", "--template=", "origin.git", "author")
	// Relative, so that a copy of both has its own remote.
	w.git(w.author, "remote", "set-url", "origin", "../origin.git")
	return w
}

// scratch holds what outlives a test.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "research-loop-supervisor-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	defer os.RemoveAll(dir)
	m.Run()
}

// common is the world whose run the first test that needs one opens.
var common struct {
	once  sync.Once
	world *world
}

// openWorld gives a world of the test's own in which the run is open.
func openWorld(t *testing.T) *world {
	t.Helper()
	common.once.Do(func() {
		w := worldAt(t, scratch)
		w.open()
		common.world = w
	})
	if common.world == nil {
		t.Fatal("no run could be opened")
	}
	return common.world.copy(t)
}

// copy gives another world in the same state.
func (w *world) copy(t *testing.T) *world {
	t.Helper()
	out := &world{t: t, dir: t.TempDir(), holder: w.holder, keys: w.keys}
	out.author = filepath.Join(out.dir, "author")
	for to, from := range map[string]string{out.origin(): w.origin(), out.author: w.author} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (w *world) origin() string { return filepath.Join(w.dir, "origin.git") }

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	env := []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com"}
	out, err := repo.Person(context.Background(), dir, env, args...)
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(out)
}

// commit writes files and commits them, with every trailer.
func (w *world) commit(title string, files map[string]string) string {
	w.t.Helper()
	for name, data := range files {
		path := filepath.Join(w.author, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	message := title + "\n\nHypothesis: h\nFailure-class: f\nMechanism: m\nPredicted-variant: p\nCounterexample: c\n"
	w.git(w.author, "add", "--all")
	w.git(w.author, "commit", "--quiet", "--allow-empty", "--message", message)
	return w.git(w.author, "rev-parse", "HEAD")
}

// candidate commits on top of the run branch and pushes.
func (w *world) candidate(title string, files map[string]string) string {
	w.t.Helper()
	w.git(w.author, "fetch", "--quiet", "--prune", "origin")
	w.git(w.author, "checkout", "--quiet", "-B", journal.RunBranch(tag), "origin/"+journal.RunBranch(tag))
	id := w.commit(title, files)
	w.git(w.author, "push", "--quiet", "origin", "HEAD:"+journal.RunBranch(tag))
	return id
}

// tree gives the tree of a revision in the remote.
func (w *world) tree(revision string) string {
	return w.git(w.origin(), "rev-parse", revision+"^{tree}")
}

// supervisor opens a new supervisor, whose process is the only one that lives.
func (w *world) supervisor(pusher func(*repo.Clone) supervisor.Pusher) *supervisor.Supervisor {
	w.t.Helper()
	w.holder++
	me := w.holder
	clone, err := repo.OpenClone(context.Background(), filepath.Join(w.dir, fmt.Sprintf("clone-%d.git", me)), w.origin())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { clone.Close() })
	s := &supervisor.Supervisor{
		Clone: clone, Launcher: sandbox.NewUnconfined(), Tag: tag, Folder: filepath.Join(w.dir, fmt.Sprintf("run-%d", me)),
		Holder: ledger.Holder{Host: "test", PID: me, Start: "1"},
		Alive:  func(h ledger.Holder) bool { return h.PID == me },
		Now:    time.Now, Probe: unproven, Level: "local",
	}
	if pusher != nil {
		s.Pusher = pusher(clone)
	}
	if w.keys != nil {
		s.Judge = &w.keys.Judge
		if s.Signer, err = ledger.NewSigner(keyName, w.keys.Judge.Seed()); err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

// keyName is what the signatures of a world with keys name.
const keyName = "research-loop/local"

// unproven stands in for the probe: the launcher here is no sandbox.
func unproven(context.Context) (ledger.Probed, error) {
	return ledger.Probed{Mode: "unconfined", Limits: []string{}, Held: []string{}, Open: []string{}}, nil
}

// start seals and opens the run.
func (w *world) start(s *supervisor.Supervisor) error {
	if err := s.Clone.Fetch(context.Background()); err != nil {
		return err
	}
	plan, err := supervisor.NewPlan(context.Background(), s.Clone, "main", tag, "local", "test", w.opening())
	if err != nil {
		return err
	}
	err = s.Seal(context.Background(), plan, func(*supervisor.Plan) (supervisor.Confirmation, error) {
		return supervisor.Confirmation{By: "ada", How: "--confirm"}, nil
	})
	if err != nil {
		return err
	}
	_, err = s.Reconcile(context.Background())
	return err
}

// open starts a run that must open.
func (w *world) open() *supervisor.Supervisor {
	w.t.Helper()
	s := w.supervisor(nil)
	if err := w.start(s); err != nil {
		w.t.Fatal(err)
	}
	if s.Run.Opened == nil {
		w.t.Fatalf("the run did not open: %+v", s.Run.Entries)
	}
	return s
}

// read gives the run as anybody reads it from the remote.
func (w *world) read() *journal.Run {
	w.t.Helper()
	s := w.supervisor(nil)
	if _, err := s.Peek(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return s.Run
}

// judge reconciles with a fresh supervisor.
func (w *world) judge() *journal.Run {
	w.t.Helper()
	s := w.supervisor(nil)
	if _, err := s.Reconcile(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return s.Run
}

// errDied is what a supervisor that was killed returns.
var errDied = errors.New("killed here")

// mortal dies at the push with number at, before or after it takes effect. It
// counts what was pushed, so that a test can try every one.
type mortal struct {
	clone supervisor.Pusher
	at    int
	after bool
	count int
	named []string
}

func (m *mortal) Push(ctx context.Context, branch, id, expect string) error {
	m.count++
	m.named = append(m.named, branch)
	if m.count == m.at && !m.after {
		return errDied
	}
	if err := m.clone.Push(ctx, branch, id, expect); err != nil {
		return err
	}
	if m.count == m.at {
		return errDied
	}
	return nil
}
