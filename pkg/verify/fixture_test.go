package verify_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/research-loop/research-loop/pkg/verify"
)

const tag = contract.Tag("speedup")

// draft is a task of two words; keys come before it.
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
  total: 20s
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

var candidates = map[string]map[string]string{
	"keep":    {"solver/run.sh": "read w\necho \"$w$w\"\n"},
	"discard": {"solver/run.sh": "read w\necho \"$w\" # the same\n"},
	"crash":   {"solver/run.sh": "exit 3\n"},
	"invalid": {"evaluation/score.sh": "echo '{\"metrics\": {\"accuracy\": 9}, \"cases\": []}'\n"},
}

// world is a bare remote, an author's clone of it, and the judge's key.
type world struct {
	t      testing.TB
	dir    string
	signer *ledger.Signer // nil: the run is unsigned
	count  int            // of clones
	open   []*repo.Clone
}

func (w *world) close() {
	for _, c := range w.open {
		c.Close()
	}
}

// quiet is the testing.TB of what no single test owns: it may only fail.
type quiet struct{ testing.TB }

func (quiet) Helper()                   {}
func (quiet) Cleanup(func())            {}
func (quiet) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (quiet) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func key(t testing.TB, name string, fill byte) *ledger.Signer {
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = fill
	}
	s, err := ledger.NewSigner(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newWorld makes the remote with a baseline on its default branch.
func newWorld(t testing.TB, signer *ledger.Signer) *world {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "world-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, signer: signer}
	w.git(w.dir, "init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
	// A process a push that these few objects do not need.
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[receive]\n\tautogc = false\n"
	if err := os.WriteFile(filepath.Join(w.origin(), "config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	w.git(w.dir, "clone", "--quiet", "origin.git", "author")
	w.git(w.author(), "remote", "set-url", "origin", "../origin.git") // a copy's clone is of the copy
	w.commit("baseline", map[string]string{
		contract.DraftPath:                 keys(signer) + draft,
		"solver/run.sh":                    "read w\necho \"$w\"\n",
		"evaluation/score.sh":              scorer,
		"evaluation/development/inputs/a":  "tok\n",
		"evaluation/development/inputs/b":  "bom\n",
		"evaluation/development/answers/a": "toktok\n",
		"evaluation/development/answers/b": "bombom\n",
	})
	w.git(w.author(), "push", "--quiet", "origin", "HEAD:main")
	return w
}

func keys(signer *ledger.Signer) string {
	if signer == nil {
		return ""
	}
	return fmt.Sprintf("keys: {verifier: %q}\n", signer.Verifier())
}

func (w *world) author() string { return filepath.Join(w.dir, "author") }
func (w *world) origin() string { return filepath.Join(w.dir, "origin.git") }

// copy gives another world in the same state: the remote, and what a
// supervisor keeps of the run.
func (w *world) copy(t testing.TB) *world {
	t.Helper()
	out := &world{t: t, dir: t.TempDir(), signer: w.signer}
	for _, name := range []string{"origin.git", "run", "author"} {
		if err := os.CopyFS(filepath.Join(out.dir, name), os.DirFS(filepath.Join(w.dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

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

func (w *world) commit(title string, files map[string]string) string {
	w.t.Helper()
	for name, data := range files {
		path := filepath.Join(w.author(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	message := title + "\n\nHypothesis: h\nFailure-class: f\nMechanism: m\nPredicted-variant: p\nCounterexample: c\n"
	w.git(w.author(), "add", "--all")
	w.git(w.author(), "commit", "--quiet", "--allow-empty", "--message", message)
	return w.git(w.author(), "rev-parse", "HEAD")
}

// candidate commits on top of the run branch, pushes and lets it be judged.
func (w *world) candidate(title string) string {
	w.t.Helper()
	w.git(w.author(), "fetch", "--quiet", "--prune", "origin")
	w.git(w.author(), "checkout", "--quiet", "-B", journal.RunBranch(tag), "origin/"+journal.RunBranch(tag))
	id := w.commit(title, candidates[title])
	w.git(w.author(), "push", "--quiet", "origin", "HEAD:"+journal.RunBranch(tag))
	w.judge()
	return id
}

func (w *world) clone(origin string) *repo.Clone {
	w.t.Helper()
	w.count++
	clone, err := repo.OpenClone(context.Background(), filepath.Join(w.dir, fmt.Sprintf("clone-%d.git", w.count)), origin)
	if err != nil {
		w.t.Fatal(err)
	}
	w.open = append(w.open, clone)
	w.t.Cleanup(func() { clone.Close() })
	if err := clone.Fetch(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return clone
}

// supervisor gives one whose run folder is shared with all others of the world.
func (w *world) supervisor() *supervisor.Supervisor { return w.supervisorOf(w.origin()) }

// supervisorOf gives one for another remote.
func (w *world) supervisorOf(origin string) *supervisor.Supervisor {
	w.t.Helper()
	clone := w.clone(origin)
	me := w.count
	return &supervisor.Supervisor{
		Clone: clone, Launcher: sandbox.NewUnconfined(), Tag: tag, Folder: filepath.Join(w.dir, "run"),
		Holder: ledger.Holder{Host: "test", PID: me, Start: "1"},
		Alive:  func(h ledger.Holder) bool { return h.PID == me },
		Now:    time.Now, Level: "local", Signer: w.signer,
		Probe: func(context.Context) (ledger.Probed, error) {
			return ledger.Probed{Mode: "unconfined", Limits: []string{}, Held: []string{}, Open: []string{}}, nil
		},
	}
}

// start seals and opens the run.
func (w *world) start() error {
	s := w.supervisor()
	plan, err := supervisor.NewPlan(context.Background(), s.Clone, "main", tag, "local", "test", nil)
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

func (w *world) judge() {
	w.t.Helper()
	if _, err := w.supervisor().Reconcile(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// The stories are made once: every test works on a copy.
var (
	scratch string
	signed  = sync.OnceValue(func() *world {
		return story(key(nil, "example.com/widget", 1), "discard", "keep", "invalid", "crash", "nothing")
	})
	unsigned = sync.OnceValue(func() *world { return story(nil, "discard", "keep", "invalid") })
)

// story is a run in which candidates were judged, not closed.
func story(signer *ledger.Signer, titles ...string) *world {
	t := quiet{}
	w := newWorld(t, signer)
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, title := range titles {
		w.candidate(title)
	}
	for _, dir := range []string{w.origin(), w.author()} {
		w.git(dir, "gc", "--quiet", "--prune=now") // few files: it is copied often
	}
	return w
}

// source says where the world's records are, without anchors: in the remote
// itself, a bare repository.
func (w *world) source() verify.Source {
	w.t.Helper()
	work, err := repo.OpenWork(context.Background(), w.origin())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { work.Close() })
	src, err := verify.Tracked(work, tag, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

// put replaces files of the state branch in a commit on top of it, or with other
// parents by force. It writes into the remote itself.
func (w *world) put(files map[string][]byte, parents ...string) {
	w.t.Helper()
	remote, err := repo.OpenClone(context.Background(), w.origin(), w.origin())
	if err != nil {
		w.t.Fatal(err)
	}
	defer remote.Close()
	head, _ := remote.Branch(journal.StateBranch(tag))
	below := map[string][]byte{}
	for name, data := range files {
		below[journal.Folder(tag)+name] = data
	}
	tree, err := remote.WriteTree(head, below)
	if err != nil {
		w.t.Fatal(err)
	}
	switch {
	case len(parents) == 0:
		parents = []string{head}
	case parents[0] == "":
		parents = nil
	}
	note, changed := files["checkpoint"]
	if !changed {
		note, _ = remote.File(head, journal.Folder(tag)+"checkpoint") // an unsigned run has none
	}
	id, err := remote.WriteCommit(tree, parents, journal.Message("changed", note), time.Unix(1800000000, 0))
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(journal.StateBranch(tag), id)
}

// set moves a branch of the remote, whatever it held.
func (w *world) set(branch, id string) { w.git(w.origin(), "update-ref", "refs/heads/"+branch, id) }

// state gives a file of the state branch.
func (w *world) state(name string) []byte {
	w.t.Helper()
	return []byte(w.git(w.origin(), "cat-file", "blob", journal.StateBranch(tag)+":"+journal.Folder(tag)+name) + "\n")
}

// segments gives the journal.
func (w *world) segments() map[string][]byte {
	w.t.Helper()
	folder := journal.Folder(tag)
	out := map[string][]byte{}
	for _, path := range strings.Fields(w.git(w.origin(), "ls-tree", "-r", "--name-only", journal.StateBranch(tag), folder+"journal/")) {
		name := strings.TrimPrefix(path, folder)
		out[name] = w.state(name)
	}
	return out
}

// last names the newest segment.
func (w *world) last() string { return ledger.Segment(len(w.segments()) - 1) }

// rewrite gives the run another past: edited events, chained again, with the
// results and checkpoint that belong to them, signed by signer, as the only
// commit of the state branch.
func (w *world) rewrite(signer *ledger.Signer, text []byte, edit func([]ledger.Event) []ledger.Event) {
	w.t.Helper()
	chain, err := ledger.ReadJournal(w.segments())
	if err != nil {
		w.t.Fatal(err)
	}
	if text == nil {
		text = w.state("contract.md")
	}
	files := map[string][]byte{"contract.md": text, "checkpoint": nil}
	events := edit(chain.Events)
	chain = ledger.Chain{}
	hash := sha256.New()
	for _, e := range events {
		var line []byte
		if chain, line, err = chain.Append(e); err != nil {
			w.t.Fatal(err)
		}
		segment := ledger.Segment(e.Iteration)
		files[segment] = append(files[segment], line...)
		if f, ok := e.Data.(*ledger.Finalized); ok {
			if line, err = ledger.FormatEntry(f.Entry); err != nil {
				w.t.Fatal(err)
			}
			files[ledger.Results(e.Iteration)] = line
			hash.Write(line)
		}
	}
	if signer != nil {
		origin, err := ledger.Origin(w.origin(), string(tag))
		if err != nil {
			w.t.Fatal(err)
		}
		files["checkpoint"], err = signer.Checkpoint(ledger.Checkpoint{
			Origin: origin, Lines: len(chain.Events), Head: chain.Head,
			Contract: string(contract.Sum(text)), Results: "sha256:" + hex.EncodeToString(hash.Sum(nil)),
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.put(files, "")
}
