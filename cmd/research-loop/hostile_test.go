package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/forge/forgetest"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/workflows"
)

// hostile is a run whose author may write contents, and at times more.
type hostile struct {
	*hub
	base string // the baseline, which is the incumbent throughout
	bin  string // a PATH without gh
}

// bare moves a branch past every rule, as a rule that is missing would let an
// author do; commit "" deletes it.
func (h *hostile) bare(branch, commit string) {
	h.t.Helper()
	args := []string{"--git-dir", h.Dir(), "update-ref", "refs/heads/" + branch, commit}
	if commit == "" {
		args = []string{"--git-dir", h.Dir(), "update-ref", "-d", "refs/heads/" + branch}
	}
	h.ada.run("git", args...)
}

// wake sends what whoever may write contents can send.
func (h *hostile) wake(payload string) {
	h.t.Helper()
	h.ask(h.token, "POST", "dispatches", `{"event_type":"research-loop","client_payload":`+payload+`}`)
}

// stops wants admit to stop with a code and a word, and to have changed nothing.
func (h *hostile) stops(code int, word string) {
	h.t.Helper()
	h.wake(`{"tag":"t"}`)
	state, tip := h.Branch("research-loop-state/t"), h.Branch("research-loop/t")
	p := h.take()
	got := p.admit()
	p.end()
	if got.code != code || !strings.Contains(got.stderr, word) || p.pending() {
		h.t.Errorf("admit: exit %d, want %d and %q\n%s", got.code, code, word, got.stderr)
	}
	if h.Branch("research-loop-state/t") != state || h.Branch("research-loop/t") != tip {
		h.t.Error("admit moved a branch all the same")
	}
}

// forge posts a check as a workflow of the author's own can.
func (h *hostile) forge(commit, summary string) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{
		"name": "research-loop/t", "head_sha": commit, "external_id": "t/" + commit[:39] + "x", "status": "completed", "conclusion": "success",
		"output": map[string]any{"title": "keep", "summary": summary},
	})
	must(h.t, err)
	h.ask(h.JobToken("checks:write", "statuses:write"), "POST", "check-runs", string(body))
	h.ask(h.JobToken("checks:write", "statuses:write"), "POST", "statuses/"+commit, `{"state":"success","context":"research-loop/t"}`)
}

// TestHostile is the table of attacks by an author who may write contents, as far
// as a GitHub of our own can play them.
func TestHostile(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("it takes a dozen attempts through the jobs: set CI=true")
	}
	t.Parallel()
	h := &hostile{hub: newHub(t, false), bin: onlyGit(t)}
	h.base = h.begin("t")
	for _, c := range []struct {
		name string
		do   func(*hostile)
	}{
		{"forged check and status", (*hostile).forgedCheck}, {"genuine note on another commit", (*hostile).borrowedNote},
		{"edited workflow on the run branch", (*hostile).editedWorkflow}, {"skip ci", (*hostile).skipCI}, {"closed pull request", (*hostile).closedPull},
		{"stacked and raced pushes", (*hostile).stacked}, {"force-push", (*hostile).forcePush}, {"deleted branch", (*hostile).deleted},
		{"hostile names and messages", (*hostile).hostileText}, {"a commit from elsewhere", (*hostile).elsewhere}, {"operations of others", (*hostile).operations},
		{"edited state branch", (*hostile).editedState}, {"replaced state branch", (*hostile).replacedState}, {"rollback", (*hostile).rollback},
		{"deleted state branch", (*hostile).deletedState},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			c.do(h)
		})
	}
	h.t = t
	h.verify("t")
	h.sealed()
}

func (h *hostile) forgedCheck() {
	commit := h.idle("t")
	h.forge(commit, "**keep**\n\n```\nresearch-loop/octo-org/widget/t\nverdict keep\n\n— research-loop/octo-org/widget AAAA\n```\n")
	h.wait("t", commit, 8)
	h.settle()
	h.wait("t", commit, 10)
	ours := 0
	for _, k := range h.Checks(commit) {
		if k.ExternalID == "t/"+commit && k.Conclusion == "failure" {
			ours++
		}
	}
	if ours != 1 {
		h.t.Errorf("checks %+v", h.Checks(commit))
	}
}

func (h *hostile) borrowedNote() {
	genuine := h.Checks(h.base)[0].Summary
	commit := h.idle("t")
	h.forge(commit, genuine)
	h.wait("t", commit, 8)
	h.settle()
	h.wait("t", commit, 10)
}

// editedWorkflow: an author without the right cannot push it, one with it gets an
// invalid candidate, and the default branch's file judges it.
func (h *hostile) editedWorkflow() {
	commit := h.candidate("t", "evil", map[string]string{workflows.Folder + workflows.Loop: "on: push\njobs: {}\n", workflows.Folder + "evil.yml": "on: push\njobs: {}\n"})
	if got := h.push("t", "--no-verify"); got.code == 0 || !strings.Contains(got.stderr, "without workflows permission") {
		h.t.Errorf("pushed: %s", got.stderr)
	}
	evil := h.Token(forgetest.Token{Kind: forgetest.App, Login: "eve[bot]", Permissions: map[string]string{"contents": "write", "workflows": "write"}})
	eve := *h.ada
	eve.env = append(append([]string{}, h.ada.env...), h.GitEnv(evil)...)
	eve.run("git", "push", "--quiet", "--no-verify", "origin", "HEAD:refs/heads/research-loop/t")
	if _, err := h.SecretsFor("research-loop", "refs/heads/research-loop/t"); err == nil {
		h.t.Error("the run branch's workflow is given the judge's secrets")
	}
	h.wake(`{"tag":"t"}`)
	h.settle()
	h.judged("t", commit, "invalid", h.base)
}

func (h *hostile) skipCI() {
	commit := h.candidate("t", "quiet [skip ci]", map[string]string{"solver/words.awk": "# quietly\n{ print }\n"})
	h.pushed("t")
	if got := h.queued(); len(got) != 0 {
		h.t.Fatalf("GitHub started %+v", got)
	}
	h.Schedule()
	h.settle()
	h.judged("t", commit, "discard", h.base)
}

func (h *hostile) closedPull() {
	first := h.idle("t")
	pull := h.pull("t")
	h.ask(h.token, "PATCH", fmt.Sprintf("pulls/%d", pull), `{"state":"closed"}`)
	h.settle()
	h.judged("t", first, "discard", h.base)
}

// stacked: several commits are one candidate; what comes while it is judged goes
// down with it.
func (h *hostile) stacked() {
	below := h.candidate("t", "below", map[string]string{"solver/words.awk": "# below\n{ print }\n"})
	tip := h.commit("tip", map[string]string{"solver/words.awk": "# tip\n{ print }\n"})
	h.pushed("t")
	p := h.admitted()
	late := h.commit("late", map[string]string{"solver/words.awk": "# late\n{ print }\n"})
	h.pushed("t")
	p.execute()
	p.decided(0)
	p.end()
	h.settle()
	h.judged("t", tip, "discard", h.base)
	if got := h.wait("t", below, 10); !strings.Contains(got.stdout, "judged as part of") {
		h.t.Errorf("below: %s", got.stdout)
	}
	h.wait("t", late, 10)
	if got := h.ada.try("git", "--git-dir", h.Dir(), "merge-base", "--is-ancestor", late, "research-loop/t"); got.code != 0 {
		h.t.Error("a commit was lost")
	}
}

func (h *hostile) forcePush() {
	tip := h.Branch("research-loop/t")
	h.ada.run("git", "checkout", "--quiet", "--detach", h.base+"~0")
	forced := h.commit("forced", map[string]string{"solver/words.awk": "# forced\n{ print }\n"})
	if got := h.push("t", "--force", "--no-verify"); got.code == 0 || !strings.Contains(got.stderr, "Cannot force-push") {
		h.t.Errorf("forced: %s", got.stderr)
	}
	h.ada.run("git", "push", "--quiet", h.Dir(), "HEAD:refs/heads/topic")
	h.bare("research-loop/t", forced)
	h.wake(`{"tag":"t"}`)
	h.settle()
	h.judged("t", forced, "invalid", h.base)
	if got := h.ada.try("git", "--git-dir", h.Dir(), "merge-base", "--is-ancestor", tip, "research-loop/t"); got.code != 0 {
		h.t.Error("judged commits were lost")
	}
}

func (h *hostile) deleted() {
	tip := h.Branch("research-loop/t")
	if got := h.ada.try("git", "push", "--no-verify", "origin", ":research-loop/t"); got.code == 0 {
		h.t.Error("the author deleted the run branch")
	}
	h.bare("research-loop/t", "")
	h.wake(`{"tag":"t"}`)
	h.settle()
	if got := h.Branch("research-loop/t"); got != tip {
		h.t.Errorf("the run branch is at %q, not at %s", got, tip)
	}
}

// hostileText: names and messages reach no command of the runner's, no Markdown
// and no mention.
func (h *hostile) hostileText() {
	const evil = "::set-output name=pass::plain\n##[add-mask]e\n::stop-commands::x\n```\n<img src=x> @octo-org/all <!-- [x](http://evil.example.com)"
	commit := h.candidate("t", "evil\n\n"+evil, map[string]string{"solver/words.awk": "# evil\n{ print }\n", "solver/a::error::b": "x\n"})
	h.pushed("t")
	h.said.Reset()
	h.settle()
	h.wait("t", commit, 12)
	text := h.said.String()
	for _, k := range h.Checks(commit) {
		text += "\n" + k.Title + "\n" + k.Summary
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " \t"); strings.HasPrefix(line, "::") || strings.Contains(line, "##[") || strings.Contains(line, "<img") || strings.Contains(line, "@octo-org") {
			h.t.Errorf("shown raw: %q", line)
		}
	}
	h.said.Reset()
	h.wake(`{"tag":"##[add-mask]e\n::error::x"}`)
	h.settle()
	if text := h.said.String(); strings.Contains(text, "##[") || strings.Contains(text, "\n::") {
		h.t.Errorf("shown raw: %q", text)
	}
	for _, name := range []string{"research-loop/$(id)", "research-loop/t;id", "research-loop/a::error::b", "research-loop/T", "research-loop/a/b"} {
		if got := h.ada.try("git", "push", "--quiet", "--no-verify", "origin", h.base+":refs/heads/"+name); got.code != 0 {
			continue // git has no such name
		}
		for _, r := range h.queued() {
			p := h.pass(r)
			h.Begin(r.ID)
			if got := p.admit(); p.pending() || got.code != 2 && got.code != 0 {
				h.t.Errorf("branch %s: exit %d, %v\n%s", name, got.code, p.out, got.stderr)
			}
			p.end()
		}
		h.bare(name, "")
	}
}

// elsewhere: a commit that stands on no run branch is not judged, whoever names it.
func (h *hostile) elsewhere() {
	h.ada.run("git", "checkout", "--quiet", "--detach", h.base)
	commit := h.commit("elsewhere", map[string]string{"solver/words.awk": "# elsewhere\n{ print }\n"})
	h.ada.run("git", "push", "--quiet", "--no-verify", "origin", "HEAD:refs/heads/topic2")
	before := h.events("t", "prepared")
	h.wake(`{"tag":"t","commit":"` + commit + `","operation":"start"}`)
	h.settle()
	h.wait("t", commit, 8)
	// GitHub keeps a fork's commits where no branch is. A workflow of the fork's that
	// bears the signal's name wakes no job (workflows: TestTriggers); if it did, it
	// would name a run and nothing else.
	fork := h.commit("fork", map[string]string{"solver/words.awk": "# fork\n{ print }\n"})
	h.ada.run("git", "push", "--quiet", h.Dir(), "HEAD:refs/pull/9/head")
	h.wake(`{"tag":"t"}`)
	p := h.take()
	p.run.Event = "workflow_run"
	p.run.Payload = []byte(`{"workflow_run":{"head_branch":"research-loop/t","head_sha":"` + fork + `","head_repository":{"id":9}}}`)
	if got := p.admit(); got.code != 0 || p.pending() {
		h.t.Errorf("a fork's run: exit %d, %v\n%s", got.code, p.out, got.stderr)
	}
	p.end()
	h.wait("t", fork, 8)
	if h.events("t", "prepared") != before {
		h.t.Error("a commit that is on no run branch was judged")
	}
}

// operations of somebody who may not decide are refused, and what a payload says
// beside the tag is not read.
func (h *hostile) operations() {
	for _, inputs := range []map[string]string{
		{"operation": "start", "tag": "u"}, {"operation": "close", "tag": "t"}, {"operation": "reconcile", "tag": "t", "reason": "let me"},
	} {
		h.dispatch("ada", "write", inputs)
		p := h.take()
		got := p.admit()
		p.end()
		if got.code != 4 || !strings.Contains(got.stderr, "needs maintain or admin") {
			h.t.Errorf("%v: exit %d\n%s", inputs, got.code, got.stderr)
		}
	}
	h.wake(`{"tag":"t","operation":"close","reason":"mine"}`)
	h.settle()
	if h.Branch("research-loop-state/u") != "" || h.events("t", "closing") != 0 {
		h.t.Error("an author decided")
	}
}

// editedState appends to the records with no key.
func (h *hostile) editedState() {
	state := h.Branch("research-loop-state/t")
	h.forgeState(func(dir string) {
		file := filepath.Join(dir, ".research-loop/t", ledger.Results(1))
		text, err := os.ReadFile(file)
		must(h.t, err)
		better := regexp.MustCompile(`"status":"(discard|invalid|crash)"`).ReplaceAllString(string(text), `"status":"keep"`)
		if better == string(text) {
			h.t.Fatalf("attempt 1 was not rejected: %s", text)
		}
		must(h.t, os.WriteFile(file, []byte(better), 0o644))
	}, true)
	h.stops(3, "")
	h.wait("t", h.base, 3)
	h.bare("research-loop-state/t", state)
}

// replacedState puts a branch with another contract in the place of the records.
func (h *hostile) replacedState() {
	state := h.Branch("research-loop-state/t")
	h.forgeState(func(dir string) {
		file := filepath.Join(dir, ".research-loop/t/contract.md")
		text, err := os.ReadFile(file)
		must(h.t, err)
		must(h.t, os.WriteFile(file, []byte(strings.Replace(string(text), "min_delta: 0.1", "min_delta: 0.0", 1)), 0o644))
	}, false)
	h.stops(3, "")
	h.wait("t", h.base, 3)
	h.bare("research-loop-state/t", state)
}

// forgeState makes a commit with changed records, on top of them or on its own.
func (h *hostile) forgeState(change func(dir string), above bool) {
	dir := h.t.TempDir()
	h.ada.run("git", "clone", "--quiet", "--branch", "research-loop-state/t", h.Dir(), dir)
	change(dir)
	if !above {
		h.ada.run("git", "-C", dir, "checkout", "--quiet", "--orphan", "other")
	}
	h.ada.run("git", "-C", dir, "commit", "--quiet", "--all", "--message", "forged")
	h.ada.run("git", "-C", dir, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/research-loop-state/t")
}

// rollback puts an older genuine state back, and the run branch with it: no record
// is wrong, and the notes in the checks tell.
func (h *hostile) rollback() {
	h.ada.run("git", "fetch", "--quiet", "origin")
	state, tip := h.Branch("research-loop-state/t"), h.Branch("research-loop/t")
	old := h.ada.run("git", "--git-dir", h.Dir(), "log", "--first-parent", "--format=%H", "--grep=opened of iteration 0", "research-loop-state/t")
	if old = strings.Fields(old + " none")[0]; old == "none" {
		old = h.ada.run("git", "--git-dir", h.Dir(), "rev-parse", "research-loop-state/t~5^1")
	}
	h.bare("research-loop-state/t", old)
	h.bare("research-loop/t", h.base)
	h.stops(3, "ROLLBACK")
	h.readers(tip)
	h.bare("research-loop-state/t", state)
	h.bare("research-loop/t", tip)
}

// readers look while an older state is in place, for the first time but for the
// author. With a token they find it by the checks; without one they say what they
// did not read.
func (h *hostile) readers(judged string) {
	h.t.Helper()
	if got := h.wait("t", judged, 3); !strings.Contains(got.stderr, "ROLLBACK") {
		h.t.Errorf("the author waits: %s", got.stderr)
	}
	for _, args := range [][]string{{"status", "t"}, {"verify", "t"}, {"wait", h.base, "--run", "t", "--timeout", "1ms"}} {
		args = append(args, "--remote", h.Remote())
		got := h.stranger(h.token).try("research-loop", args...)
		if got.code != 3 || !strings.Contains(got.stderr, "ROLLBACK") || !strings.Contains(got.stderr, "check ") || !strings.Contains(got.stderr, "state commit ") {
			h.t.Errorf("%v: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
		h.unread(args, "", "no token for ")
		if got := h.stranger("").try("research-loop", append(args, "--json")...); !strings.Contains(got.stdout, `"checks on `+h.base) {
			h.t.Errorf("%v: the JSON does not name what was not read: %s", args, got.stdout)
		}
		h.unread(args, "ghp_wrong", "GitHub answered 401")
		h.unread(append(args, "--no-checks"), h.token, "--no-checks")
		for _, status := range []int{403, 404} {
			h.Fail(forgetest.Fault{Method: "GET", Path: "^commits/.*/check-runs", Status: status})
			h.unread(args, h.token, fmt.Sprintf("GitHub answered %d", status))
		}
	}
}

// unread wants a reader who cannot read checks to say so and why, and to go on.
func (h *hostile) unread(args []string, token, why string) {
	h.t.Helper()
	got := h.stranger(token).try("research-loop", args...)
	if got.code != 0 || !strings.Contains(got.stderr, fmt.Sprintf("checks on %.12s were not read", h.base)) || !strings.Contains(got.stderr, why) {
		h.t.Errorf("%v, %s: exit %d\n%s%s", args, why, got.code, got.stdout, got.stderr)
	}
	if token != "" && strings.Contains(got.stdout+got.stderr, token) {
		h.t.Errorf("%v shows the token", args)
	}
}

// stranger is somebody on a fresh machine who can fetch, and has a token for the API.
func (h *hostile) stranger(token string) *person {
	h.t.Helper()
	p := newPerson(h.t, h.t.TempDir())
	p.env = append(append(p.env, h.GitEnv(h.token)...), "GH_ENTERPRISE_TOKEN="+token, "PATH="+h.bin)
	return p
}

// deletedState takes the records away: nothing is judged, and the tag is not to
// be had again.
func (h *hostile) deletedState() {
	state := h.Branch("research-loop-state/t")
	h.bare("research-loop-state/t", "")
	h.stops(0, "no run t")
	h.dispatch("mia", "maintain", map[string]string{"operation": "start", "tag": "t"})
	p := h.take()
	if got := p.admit(); got.code != 6 || !strings.Contains(got.stderr, "no run made it") {
		h.t.Errorf("start: exit %d\n%s", got.code, got.stderr)
	}
	p.end()
	h.bare("research-loop-state/t", state)
}
