package forge_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

const (
	signal = "name: research-loop-signal\non: {push: {branches: ['research-loop/**']}}\njobs: {signal: {runs-on: ubuntu-24.04, steps: [{run: 'true'}]}}\n"
	loop   = `name: research-loop
on:
  workflow_run: {workflows: [research-loop-signal], types: [requested]}
  repository_dispatch: {types: [research-loop]}
  schedule: [{cron: '17 */6 * * *'}]
  workflow_dispatch:
    inputs:
      operation: {type: choice, required: true, options: [start, close, reconcile, rehearse]}
      tag: {type: string}
jobs: {admit: {runs-on: ubuntu-24.04, steps: [{run: 'true'}]}}
`
)

// newLoop is a world whose default branch holds both workflows.
func newLoop(t *testing.T) *world {
	w := newWorld(t, forgetest.Config{})
	w.Commit("main", map[string]string{".github/workflows/research-loop-signal.yml": signal, ".github/workflows/research-loop.yml": loop})
	return w
}

func events(w *world) []string {
	var out []string
	for _, r := range w.Runs() {
		out = append(out, strings.TrimPrefix(r.Workflow, ".github/workflows/")+" "+r.Event)
	}
	return out
}

func TestWake(t *testing.T) {
	w := newLoop(t)
	ctx, c := context.Background(), w.supervisor()
	w.Fail(forgetest.Fault{Method: "POST", Path: "^dispatches", Status: 502})
	if err := c.Dispatch(ctx, "research-loop", map[string]string{"tag": "speedup"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Dispatch(ctx, "something-else", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.client(w.JobToken("contents:read"), "").Dispatch(ctx, "research-loop", nil); err == nil {
		t.Error("a token without contents: write dispatched")
	}
	w.User("maintainer", "maintain")
	person := w.client(w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "maintainer", ClassicScopes: []string{"repo"}}), "")
	id, err := person.RunWorkflow(ctx, "research-loop.yml", "main", map[string]string{"operation": "start", "tag": "speedup"})
	if err != nil || id == 0 {
		t.Fatalf("run %d, %v", id, err)
	}
	for _, inputs := range []map[string]string{{"operation": "destroy"}, {"tag": "x"}, {"operation": "start", "other": "x"}} {
		if _, err := person.RunWorkflow(ctx, "research-loop.yml", "main", inputs); err == nil {
			t.Errorf("%v was taken", inputs)
		}
	}
	w.Schedule()
	want := []string{"research-loop.yml repository_dispatch", "research-loop.yml workflow_dispatch", "research-loop.yml schedule"}
	if got := events(w); !slices.Equal(got, want) {
		t.Errorf("runs %q, want %q", got, want)
	}
	if ended, err := c.AttemptEnded(ctx, id, 1); err != nil || ended {
		t.Errorf("queued: %v, %v", ended, err)
	}
	w.Begin(id)
	w.Finish(id, "cancelled")
	if ended, err := c.AttemptEnded(ctx, id, 1); err != nil || !ended {
		t.Errorf("cancelled: %v, %v", ended, err)
	}
	w.Rerun(id)
	for attempt, want := range map[int]bool{1: true, 2: false} {
		if ended, err := c.AttemptEnded(ctx, id, attempt); err != nil || ended != want {
			t.Errorf("attempt %d after a re-run: %v, %v", attempt, ended, err)
		}
	}
	runs, err := c.Runs(ctx, "research-loop.yml")
	if err != nil || len(runs) != 3 || runs[1].ID != id || runs[1].Attempt != 2 || runs[1].Actor != "maintainer" {
		t.Errorf("runs %+v, %v", runs, err)
	}
	w.Forget(id)
	if ended, err := c.AttemptEnded(ctx, id, 1); err != nil || ended {
		t.Errorf("a run that is gone: %v, %v, want not known to have ended", ended, err)
	}
}

// TestPushWakes: a push to the run branch starts the signal and that starts the
// loop from the default branch; a push by a workflow's token starts nothing, nor
// does one that says so.
func TestPushWakes(t *testing.T) {
	w := newLoop(t)
	w.User("ada", "write")
	token := w.Token(forgetest.Token{Kind: forgetest.FineGrained, Login: "ada", Permissions: map[string]string{"contents": "write"}})
	w.commit("solver", "1")
	if out, err := w.push(token, "research-loop/speedup"); err != nil {
		t.Fatal(out)
	}
	want := []string{"research-loop-signal.yml push", "research-loop.yml workflow_run"}
	if got := events(w); !slices.Equal(got, want) {
		t.Fatalf("runs %q, want %q", got, want)
	}
	run := w.Runs()[1]
	if run.Ref != "refs/heads/main" || run.Commit != w.Branch("main") || !strings.Contains(string(run.Payload), `"head_branch":"research-loop/speedup"`) {
		t.Errorf("run %+v", run)
	}
	w.commit("solver", "2")
	if out, err := w.push(w.JobToken("contents:write"), "research-loop/speedup"); err != nil {
		t.Fatal(out)
	}
	w.run("", "-C", w.clone, "commit", "--quiet", "--allow-empty", "-m", "faster [skip ci]")
	if out, err := w.push(token, "research-loop/speedup"); err != nil {
		t.Fatal(out)
	}
	if got := events(w); !slices.Equal(got, want) {
		t.Errorf("runs %q, want no more than %q", got, want)
	}
}

func TestRunner(t *testing.T) {
	dir := t.TempDir()
	payload := dir + "/event.json"
	if err := os.WriteFile(payload, []byte(`{"action":"research-loop","client_payload":{"tag":"speedup","n":7,"none":null}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "42", "GITHUB_RUN_ATTEMPT": "2", "GITHUB_ACTOR": "ada", "GITHUB_EVENT_NAME": "repository_dispatch",
		"GITHUB_EVENT_PATH": payload, "GITHUB_OUTPUT": dir + "/output", "GITHUB_STEP_SUMMARY": dir + "/summary", "GITHUB_JOB": "admit",
	}
	var said strings.Builder
	r, err := forge.NewRunner(func(name string) string { return env[name] }, &said)
	if err != nil || r.RunID != 42 || r.Attempt != 2 || r.Input("tag") != "speedup" || r.Input("n") != "7" || r.Input("none") != "" || r.Input("other") != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	const hostile = "x\n_GitHubActionsFileCommandDelimeter_\ndecision<<E\nkeep\nE\nresearch-loop-\r"
	for name, value := range map[string]string{"decision": "discard", "reason": hostile} {
		if err := r.Output(name, value); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(env["GITHUB_OUTPUT"])
	if err != nil {
		t.Fatal(err)
	}
	if got := parseOutputs(t, string(data)); got["decision"] != "discard" || got["reason"] != hostile || len(got) != 2 {
		t.Errorf("outputs %q", got)
	}
	for name, value := range map[string]string{"a b": "", "a\nb": "", "": "", "a=b": "", "zero": "a\x00b", "big": strings.Repeat("x", 600<<10)} {
		if err := r.Output(name, value); err == nil {
			t.Errorf("output %q was written", name)
		}
	}
	if err := errors.Join(r.Summary(strings.Repeat("long ", 1<<18)), r.Mask("line one\n\nline%two\n"), r.Warning("a\r\n::error::b")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(env["GITHUB_STEP_SUMMARY"]); err != nil || info.Size() > 1<<20 {
		t.Errorf("summary: %v, %v", info, err)
	}
	if want := "::add-mask::line one\n::add-mask::line%25two\n::warning::a\\u000d\\u000a::error::b\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
	delete(env, "GITHUB_RUN_ID")
	if _, err := forge.NewRunner(func(name string) string { return env[name] }, &said); err == nil {
		t.Error("a runner outside a job")
	}
}

// parseOutputs reads the file as the runner does.
func parseOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines)-1; i++ {
		name, mark, ok := strings.Cut(lines[i], "<<")
		if !ok {
			t.Fatalf("line %q", lines[i])
		}
		from := i + 1
		for i++; lines[i] != mark; i++ {
		}
		out[name] = strings.Join(lines[from:i], "\n")
	}
	return out
}

func TestQuoteAndFence(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                       "| plain\n",
		"::add-mask::e":               "| ::add-mask::e\n",
		"a\r::error::b\u2028##[c]d":   "| a\n| ::error::b\n| #\u200b#[c]d\n",
		"\x1b[31m\x00\xff\u202e\ttab": "| \\u001b[31m\\u0000\ufffd\\u202e tab\n",
		"":                            "| \n",
	} {
		if got := forge.Quote(in); got != want {
			t.Errorf("Quote(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"a":          "```text\na\n```\n",
		"```\n@x #1": "````text\n```\n@x #1\n````\n",
		"a````b":     "`````text\na````b\n`````\n",
		"\x00":       "```text\n\\u0000\n```\n",
	} {
		if got := forge.Fence(in); got != want {
			t.Errorf("Fence(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzQuote runs what is quoted through the rules by which the runner finds
// commands: none is left, and no fence is closed from within.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"::set-output name=a::b", "##[error]x", "a\r\n::stop-commands::x", "\x85::debug::", "##\u200b[x", "#####[[", "`````\n~~~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := forge.Quote(s)
		for _, line := range strings.FieldsFunc(quoted, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if strings.HasPrefix(strings.TrimLeft(line, " \t\v\f\u0085\u00a0"), "::") || strings.Contains(line, "##[") {
				t.Errorf("%q is quoted as %q", s, quoted)
			}
		}
		fenced := forge.Fence(s)
		fence := fenced[:strings.Index(fenced, "text\n")]
		lines := strings.Split(strings.TrimSuffix(fenced, "\n"), "\n")
		for _, line := range lines[1 : len(lines)-1] {
			if strings.Contains(line, fence) {
				t.Errorf("%q closes its fence %s", s, fence)
			}
		}
	})
}
