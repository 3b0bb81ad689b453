package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"research-loop": func() { os.Exit(program(os.Args[1:])) }})
}

// program stands for the command research-loop, as far as it is about hooks.
func program(args []string) int {
	if len(args) < 2 || args[0] != "hook" {
		fmt.Fprintln(os.Stderr, "usage: research-loop hook install|uninstall|status|pre-push|agent")
		return 2
	}
	ctx := context.Background()
	dir, err := os.Getwd()
	if err != nil {
		return exit(err)
	}
	switch verb, args := args[1], args[2:]; verb {
	case "pre-push":
		return exit(PrePush(ctx, Call{Dir: dir, GitDir: os.Getenv("GIT_DIR"), Args: args, Stdin: os.Stdin, Stderr: os.Stderr}))
	case "agent":
		if err := Agent(ctx, dir, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		return 0
	default:
		return exit(manage(ctx, dir, verb, args))
	}
}

func manage(ctx context.Context, dir, verb string, args []string) error {
	work, err := repo.OpenWork(ctx, dir)
	if err != nil {
		return err
	}
	defer work.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if v := os.Getenv("TEST_PROGRAM"); v != "" {
		self = v
	}
	var s *Status
	switch verb {
	case "install":
		mode := Auto
		if len(args) == 2 && args[0] == "--mode" {
			mode = Mode(args[1])
		}
		s, err = InstallAs(ctx, work, self, mode)
	case "uninstall":
		return Uninstall(ctx, work)
	case "status":
		s, err = Inspect(ctx, work, self)
	}
	if err != nil {
		return err
	}
	for _, w := range s.Worktrees {
		fmt.Printf("%s %s %s %s\n", w.State, w.Dir, w.File, w.Why)
	}
	return nil
}

func exit(err error) int {
	var refused *RefusedError
	var managed *ManagedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		return 12
	case errors.As(err, &managed):
		fmt.Fprintln(os.Stderr, err)
		return 6
	}
	fmt.Fprintln(os.Stderr, "research-loop:", err)
	return 1
}

// TestScripts runs the scripts of testdata. A push is some twenty processes, so
// outside continuous integration only what is most likely to break is run.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata",
		Setup: setUp,
		Condition: func(cond string) (bool, error) {
			if cond != "reftable" {
				return false, fmt.Errorf("no condition %q", cond)
			}
			return exec.Command("git", "init", "--quiet", "--ref-format=reftable", t.TempDir()).Run() == nil, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"records": records, "bytes": writeBytes,
		},
	})
}

// setUp makes a remote, and a person's clone of it with a contract and a
// baseline; the script begins in the clone.
func setUp(env *testscript.Env) error {
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	if os.Getenv("CI") != "true" && name != "push" {
		env.T().Skip("with CI=true only: a push is some twenty processes")
	}
	home := filepath.Join(env.WorkDir, "home")
	project := filepath.Join(env.WorkDir, "project")
	const config = "[user]\n\tname = Someone\n\temail = someone@example.com\n[init]\n\tdefaultBranch = main\n" +
		"[protocol \"file\"]\n\tallow = always\n[push]\n\tdefault = nothing\n[advice]\n\tdetachedHead = false\n" +
		// What costs processes and is beside the point.
		"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n[pack]\n\tthreads = 1\n[core]\n\tfsync = none\n"
	bare := filepath.Join(env.WorkDir, "template")
	for _, dir := range []string{"hooks", "info"} {
		if err := os.MkdirAll(filepath.Join(bare, dir), 0o755); err != nil {
			return err
		}
	}
	env.Setenv("GIT_TEMPLATE_DIR", bare)
	env.Setenv("HOME", home)
	env.Setenv("XDG_CONFIG_HOME", home)
	env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("TEMPLATE", template)
	for name, text := range baseline() {
		name = filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	if err := errors.Join(os.MkdirAll(home, 0o755), os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644)); err != nil {
		return err
	}
	env.Cd = project
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "-m", "baseline"}, {"tag", "baseline"},
		{"clone", "--quiet", "--bare", ".", filepath.Join(env.WorkDir, "origin.git")},
		{"remote", "add", "origin", filepath.Join(env.WorkDir, "origin.git")}, {"fetch", "--quiet", "origin"},
		{"--git-dir", filepath.Join(env.WorkDir, "origin.git"), "branch", "research-loop/x"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = project, env.Vars
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args, err, out)
		}
	}
	return nil
}

const template = `Hypothesis: doubled letters are common
Failure-class: doubled letters
Mechanism: drop the second letter
Predicted-variant: a word that nobody has seen
Counterexample: words with a true double letter`

func baseline() map[string]string {
	return map[string]string{
		"corrector/rules.txt":                  "drop doubled letters\n",
		"evaluation/score.sh":                  "echo '{\"metrics\": {\"accuracy\": 1}}'\n",
		"evaluation/development/inputs/1.txt":  "accommodashun marzipanesque\n",
		"evaluation/development/answers/1.txt": "accommodation zygomaticus\n",
		"evaluation/development/inputs/2.txt":  "embarrasment quixotically\n",
		"evaluation/development/answers/2.txt": "embarrassment floccinauci\n",
		"docs/spelling.md":                     "# Spelling\n",
		"README.md":                            "hello\n",
		".research-loop/contract.yml": `research_loop: 1
goal: Correct more words.
population: Single lower-case words.
specification: docs/spelling.md
baseline: HEAD
harness: {paths: [evaluation/score.sh], source: user}
scope: {writable: [corrector/**]}
candidate: {mode: batch, run: sh corrector/run.sh}
evaluation: {score: sh evaluation/score.sh, extract: json, timeout: 60s, total: 10m}
splits: {development: evaluation/development}
metric: {name: accuracy, direction: higher}
acceptance: {policy: deterministic, min_delta: 0.004}
limits: {attempts: 20}
exceptions: [no-gate]
`,
	}
}

// records writes the records of a run onto its state branch in the remote:
//
//	records TAG sealed REVISION
//	records TAG superseded TIP RESTORE
//	records TAG closed | halted
//	records TAG damaged
func records(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: records TAG EVENT [REVISION…]")
	}
	ctx := context.Background()
	project := ts.MkAbs(".")
	work, err := repo.OpenWork(ctx, project)
	ts.Check(err)
	defer work.Close()
	dir, err := os.MkdirTemp("", "research-loop-records-")
	ts.Check(err)
	defer os.RemoveAll(dir)
	clone, err := repo.OpenClone(ctx, filepath.Join(dir, "clone"), filepath.Join(ts.Getenv("WORK"), "origin.git"))
	ts.Check(err)
	defer clone.Close()
	ts.Check(clone.Fetch(ctx))
	var ids []string
	for _, revision := range args[2:] {
		id, ok := work.Resolve(revision)
		if !ok {
			ts.Fatalf("no commit %s", revision)
		}
		ids = append(ids, id)
	}
	ts.Check(appendRecords(ctx, clone, contract.Tag(args[0]), args[1], ids))
}

func appendRecords(ctx context.Context, clone *repo.Clone, tag contract.Tag, event string, ids []string) error {
	branch, folder := journal.StateBranch(tag), journal.Folder(tag)
	put := map[string][]byte{}
	var data []ledger.Data
	switch event {
	case "sealed":
		draft := []byte(baseline()[contract.DraftPath])
		c, err := contract.Parse("contract.yml", draft)
		if err != nil {
			return err
		}
		sealed := contract.Seal(draft, c, contract.Facts{Tag: tag, Baseline: ids[0], Pinned: ids[0], Level: "local", Probe: "none", Tool: "test",
			ConfirmedBy: "someone", ConfirmedHow: "test", ConfirmedAt: time.Unix(1800000000, 0)})
		put[folder+"contract.md"] = sealed
		commit, err := clone.Commit(ids[0])
		if err != nil {
			return err
		}
		if data, err = opening(sealed, commit); err != nil {
			return err
		}
		for _, d := range data {
			if f, ok := d.(*ledger.Finalized); ok {
				if put[folder+ledger.Results(0)], err = ledger.FormatEntry(f.Entry); err != nil {
					return err
				}
			}
		}
	case "superseded":
		data = []ledger.Data{&ledger.Superseded{Tip: ids[0], Reason: "swept", Restore: ids[1], Commits: ids[:1]}}
	case "closed":
		data = []ledger.Data{&ledger.Authorised{Reason: "looked", By: "m"},
			&ledger.Closing{Reason: "attempts used up", By: "contract"}, &ledger.Closed{Reason: "attempts used up"}}
	case "halted":
		data = []ledger.Data{&ledger.Halted{Reason: "a restore failed"}}
	}
	head, _ := clone.Branch(branch)
	var chain ledger.Chain
	var old []byte
	if head != "" {
		var err error
		if old, err = clone.File(head, folder+ledger.Segment(0)); err != nil {
			return err
		}
		if chain, err = ledger.ReadJournal(map[string][]byte{ledger.Segment(0): old}); err != nil {
			return err
		}
	}
	text := []byte("{}\n")
	if data != nil {
		var events []ledger.Event
		for _, d := range data {
			events = append(events, ledger.Event{Time: time.Unix(1800000000, 0).UTC(), Run: string(tag), Data: d})
		}
		var err error
		if _, text, err = chain.Append(events...); err != nil {
			return err
		}
	}
	put[folder+ledger.Segment(0)] = append(old, text...)
	return pushRecords(ctx, clone, branch, head, put)
}

// opening gives the events that bring a sealed run to the point where
// candidates may come.
func opening(sealed []byte, baseline repo.Commit) ([]ledger.Data, error) {
	c, err := contract.Open(sealed, "")
	if err != nil {
		return nil, err
	}
	run, err := journal.Fold(c, nil)
	if err != nil {
		return nil, err
	}
	at := time.Unix(1800000000, 0).UTC()
	head := ledger.Head{Incumbent: baseline.ID, Lease: "1"}
	first := head
	first.Claim = &ledger.Claim{Holder: ledger.Holder{Host: "h", PID: 1, Start: "1"}, Deadline: at.Add(time.Minute)}
	head.Candidate = baseline.ID
	ended := head
	ended.Lease = ""
	value := func(n int) ledger.Measurement {
		return ledger.Measurement{Arm: ledger.Candidate, Commit: baseline.ID, Repetition: n, Metrics: map[string]float64{c.Metric.Name: 1}}
	}
	var out []ledger.Data
	add := func(data ...ledger.Data) error {
		for _, d := range data {
			if err := run.Apply(ledger.Event{Time: at, Run: string(c.Facts.Tag), Data: d}); err != nil {
				return err
			}
			out = append(out, d)
		}
		return nil
	}
	err = add(
		&ledger.Sealed{Contract: string(c.Digest), Baseline: baseline.ID, Tree: baseline.Tree, Pinned: baseline.ID, Tool: "test"},
		&ledger.Prepared{Head: first},
		&ledger.Committed{Head: head, Tree: baseline.Tree, RecordedTip: baseline.ID, Commits: []string{baseline.ID}, Audit: ledger.Audit{Verdict: "pass"}},
		&ledger.Started{Head: head, Stage: ledger.Development, Repetitions: 2},
		&ledger.Evaluated{Head: head, Evaluation: ledger.Evaluation{Stage: ledger.Development, Measurements: []ledger.Measurement{value(0), value(1)}}},
		&ledger.Decided{Head: ended, Status: ledger.Keep, Reason: "baseline", IntendedIncumbent: baseline.ID, Metrics: value(0).Metrics},
	)
	if err != nil {
		return nil, err
	}
	err = add(
		&ledger.Finalized{Entry: run.Entry(at, "local")},
		&ledger.Published{Commit: baseline.ID, Verdict: "keep"},
		&ledger.Opened{Branch: journal.RunBranch(c.Facts.Tag), Commit: baseline.ID},
	)
	return out, err
}

func pushRecords(ctx context.Context, clone *repo.Clone, branch, head string, put map[string][]byte) error {
	tree, err := clone.WriteTree(head, put)
	if err != nil {
		return err
	}
	var parents []string
	if head != "" {
		parents = []string{head}
	}
	id, err := clone.WriteCommit(tree, parents, "records", time.Unix(1800000000, 0))
	if err != nil {
		return err
	}
	return clone.Push(ctx, branch, id, head)
}

// writeBytes writes n zero bytes: bytes FILE N.
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil || neg {
		ts.Fatalf("usage: bytes FILE N")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), make([]byte, n), 0o755))
}

func TestParseUpdates(t *testing.T) {
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	long := strings.Repeat("c", 64)
	accept := map[string][]update{
		"":   nil,
		"\n": nil,
		"HEAD " + a + " refs/heads/x " + b + "\n":                                       {{"HEAD", a, "refs/heads/x", b}},
		"HEAD " + a + " refs/heads/x " + b:                                              {{"HEAD", a, "refs/heads/x", b}},
		"HEAD@{1 second ago} " + a + " refs/heads/research-loop/x " + b + "\n":          {{"HEAD@{1 second ago}", a, "refs/heads/research-loop/x", b}},
		":/fix refs/heads/y and more " + a + " refs/heads/research-loop/x " + b + "\n":  {{":/fix refs/heads/y and more", a, "refs/heads/research-loop/x", b}},
		"(delete) " + strings.Repeat("0", 40) + " refs/heads/x " + b + "\n":             {{"(delete)", strings.Repeat("0", 40), "refs/heads/x", b}},
		"x " + long + " refs/heads/x " + long + "\ny " + a + " refs/tags/y " + b + "\n": {{"x", long, "refs/heads/x", long}, {"y", a, "refs/tags/y", b}},
	}
	for text, want := range accept {
		got, err := parseUpdates(text)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("parseUpdates(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "a b c d", "HEAD " + a + " refs/heads/x\n", "HEAD " + a + " main " + b, "HEAD " + strings.ToUpper(a) + " refs/heads/x " + b,
		a + " refs/heads/x " + b, "HEAD " + a + "  refs/heads/x " + b, "HEAD " + a + " refs/heads/x " + b + "\r\n", "HEAD " + a + " refs/heads/x " + long, "\x00"} {
		if got, err := parseUpdates(text); err == nil {
			t.Errorf("parseUpdates(%q) = %v", text, got)
		}
	}
}

func FuzzParseUpdates(f *testing.F) {
	f.Add("HEAD@{1 second ago} " + strings.Repeat("a", 40) + " refs/heads/research-loop/x " + strings.Repeat("0", 40) + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		updates, err := parseUpdates(text)
		if err != nil {
			return
		}
		for _, u := range updates {
			line := strings.Join([]string{u.local, u.localID, u.remote, u.remoteID}, " ")
			if !strings.Contains(text, line) {
				t.Errorf("%q became %q", text, line)
			}
			// What the shim looks for must be found wherever Go finds a run branch.
			if _, ok := u.run(); ok && !strings.Contains(line, " refs/heads/research-loop/") {
				t.Errorf("the shim misses %q", line)
			}
		}
	})
}

// TestCallsWithoutGit calls the hook as other clients than git are known to.
func TestCallsWithoutGit(t *testing.T) {
	zeros, ones := strings.Repeat("0", 40), strings.Repeat("1", 40)
	tests := []struct {
		name  string
		args  []string
		stdin io.Reader
		want  string
	}{
		{"no arguments", nil, strings.NewReader(""), "0 arguments"},
		{"one argument", []string{"origin"}, strings.NewReader(""), "1 arguments"},
		{"three", []string{"a", "b", "c"}, strings.NewReader(""), "3 arguments"},
		{"nothing to push", []string{"origin", "url"}, strings.NewReader(""), ""},
		{"another branch", []string{"origin", "url"}, strings.NewReader("m " + ones + " refs/heads/main " + zeros + "\n"), ""},
		{"garbage", []string{"origin", "url"}, strings.NewReader("hello\n"), "line 1"},
		{"endless", []string{"origin", "url"}, endless{}, "longer than"},
		{"run branch outside a repository", []string{"origin", "url"}, strings.NewReader("m " + ones + " refs/heads/research-loop/x " + zeros + "\n"), "not a git repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			err := PrePush(context.Background(), Call{Dir: t.TempDir(), Args: tt.args, Stdin: tt.stdin, Stderr: &stderr})
			if tt.want == "" && (err != nil || stderr.Len() > 0) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("PrePush: %v, %q", err, stderr.String())
			}
		})
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := PrePush(context.Background(), Call{Args: []string{"a", "b"}, Stdin: null}); err != nil {
		t.Errorf("with the null device: %v", err)
	}
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if err := PrePush(context.Background(), Call{Args: []string{"a", "b"}, Stdin: closed}); err == nil {
		t.Error("with a closed standard input there is no error")
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		if terminal, err = os.Open("/dev/ptmx"); err != nil {
			t.Skipf("no terminal to be had: %v", err)
		}
	}
	defer terminal.Close()
	if err := PrePush(context.Background(), Call{Args: []string{"a", "b"}, Stdin: terminal}); err == nil || !strings.Contains(err.Error(), "terminal") {
		t.Errorf("on a terminal: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	silent, w := io.Pipe()
	defer w.Close()
	if err := PrePush(ctx, Call{Args: []string{"a", "b"}, Stdin: silent}); err == nil {
		t.Error("a standard input that never ends is waited for")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestReadme holds the page for authors against what the program says.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../../hooks/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(audit.Template) {
		if !strings.Contains(string(page), line) {
			t.Errorf("hooks/README.md does not have %q", line)
		}
	}
	for _, name := range []string{earlierName, journal.RunBranch("*"), journal.StateBranch("*"), contract.DraftPath} {
		if !strings.Contains(string(page), name) {
			t.Errorf("hooks/README.md does not name %s", name)
		}
	}
}
