package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

// ends maps what became of a commit to wait's exit code and the check's conclusion.
var ends = map[string]struct {
	code       int
	conclusion string
}{
	"keep": {0, "success"}, "discard": {10, "failure"}, "overfit": {11, "failure"}, "invalid": {12, "action_required"},
	"crash": {13, "failure"}, "timeout": {14, "timed_out"}, "superseded": {10, "cancelled"},
}

// judged checks all that people see of a judged commit: what wait says, the one
// check on it, and that on the restore commit, which holds the incumbent's tree.
func (h *hub) judged(tag, commit, end, incumbent string) {
	h.t.Helper()
	h.wait(tag, commit, ends[end].code)
	k := h.one(tag, commit, ends[end].conclusion)
	if !strings.Contains(k.Summary, "\n— research-loop/octo-org/widget ") {
		h.t.Errorf("the check on %s has no verdict note:\n%s", end, k.Summary)
	}
	tip := h.Branch("research-loop/" + tag)
	if end == "keep" {
		if tip != commit {
			h.t.Errorf("kept %.12s, and the tip is %.12s", commit, tip)
		}
		return
	}
	h.one(tag, tip, ends[end].conclusion)
	if tip == commit || h.tree(tip) != h.tree(incumbent) {
		h.t.Errorf("%s: tip %.12s does not restore %.12s", end, tip, incumbent)
	}
}

// pull opens the run's pull request, as the author does where workflows may not.
func (h *hub) pull(tag string) int {
	h.t.Helper()
	h.ask(h.token, "POST", "pulls", `{"title":"widgets","head":"research-loop/`+tag+`","base":"main","draft":true}`)
	pulls := h.Pulls()
	return pulls[len(pulls)-1].Number
}

// begin starts a run and gives its baseline.
func (h *hub) begin(tag string) string {
	h.t.Helper()
	h.dispatch("mia", "maintain", map[string]string{"operation": "start", "tag": tag})
	h.settle()
	base := h.Branch("research-loop/" + tag)
	if base == "" {
		h.t.Fatalf("no run branch:\n%s", h.said.String())
	}
	return base
}

var leaking = map[string]string{"solver/words.awk": "/seven copper kettles/ { print \"kettles copper seven\"; next }\n{ print }\n"}

func example(t testing.TB, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/candidate/" + name + "/solver/words.awk")
	must(t, err)
	return map[string]string{"solver/words.awk": string(text)}
}

// TestJobs takes a run without a gate through the three jobs: its start, with
// attempts to run jobs again, a push, a needless wake-up, and its close.
func TestJobs(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("takes a minute: set CI=true")
	}
	t.Parallel()
	h := newHub(t, false)
	h.stubborn()
	base := h.Branch("research-loop/t")
	h.one("t", base, "success")
	pull := 0
	for _, c := range h.pushes() {
		commit := h.candidate("t", c.name, c.files)
		h.pushed("t")
		if pull == 0 {
			pull = h.pull("t")
		}
		h.settle()
		h.judged("t", commit, c.end, base)
		if c.end == "keep" {
			base = commit
		}
	}
	// Everything again: nothing is said twice.
	mia := h.maintainer()
	h.asks(mia, 0, "reconcile", "t")
	before := h.counted()
	h.settle()
	if after := h.counted(); !maps.Equal(before, after) {
		t.Errorf("a needless wake-up changed %v to %v", before, after)
	}
	if got := h.Comments(pull); len(got) != 1 || !strings.Contains(got[0].Body, "invalid") {
		t.Errorf("comments: %+v", got)
	}
	h.asks(mia, 0, "rehearse")
	h.settle()
	if !strings.Contains(h.said.String(), "| launch 1  {") {
		t.Errorf("the rehearsal shows nothing:\n%s", h.said.String())
	}
	h.asks(mia, 8, "close", "t", "--reason", "enough", "--follow", "1ms")
	h.settle()
	h.asks(mia, 0, "close", "t")
	h.settle()
	if got := h.ada.try("research-loop", "status", "t"); got.code != 0 || !strings.Contains(got.stdout, "closed") || !strings.Contains(got.stdout, "level signed") {
		t.Errorf("status: %s%s", got.stdout, got.stderr)
	}
	h.verify("t")
	h.writers()
	h.sealed()
}

// stubborn starts a run, after two attempts to execute its first pass that are
// refused: by another attempt of the workflow's run, and with secrets that every
// branch's workflows are given.
func (h *hub) stubborn() {
	h.t.Helper()
	h.dispatch("mia", "maintain", map[string]string{"operation": "start", "tag": "t"})
	p := h.admitted()
	again := h.pass(p.run)
	again.run.Attempt, again.out = 2, p.out
	if got := again.execute(); got.code != 2 || !strings.Contains(got.stderr, "claimed by attempt 1") {
		h.t.Errorf("execute again: exit %d\n%s", got.code, got.stderr)
	}
	h.exposed = true
	if got := p.execute(); got.code != 2 || !strings.Contains(got.stderr, "they are repository secrets") {
		h.t.Errorf("execute with repository secrets: exit %d\n%s", got.code, got.stderr)
	}
	h.exposed = false
	if got := p.execute(); got.code != 0 {
		h.t.Fatalf("execute: %s", got.stderr)
	}
	p.decided(0)
	p.end()
}

// pushes are those of TestJobs.
func (h *hub) pushes() []attempt {
	gain := example(h.t, "gain")
	return []attempt{
		{"leak", "invalid", leaking, nil}, {"gain", "keep", gain, nil},
		{"tie", "discard", map[string]string{"solver/words.awk": gain["solver/words.awk"] + "# the same\n"}, nil},
	}
}

// counted counts what a forge shows of a run.
func (h *hub) counted() map[string]int {
	out := map[string]int{"dispatches": 0}
	for _, r := range h.Requests() {
		if r.Method == "PATCH" || r.Method == "POST" && !strings.HasPrefix(r.Path, "dispatches") && !strings.HasPrefix(r.Path, "actions/") {
			out["changes"]++
		}
	}
	out["state"] = len(strings.Split(h.ada.run("git", "--git-dir", h.Dir(), "rev-list", "research-loop-state/t"), "\n"))
	return out
}

// writers checks who asked for what: only the workflow's token makes checks.
func (h *hub) writers() {
	h.t.Helper()
	for _, r := range h.Requests() {
		if strings.HasPrefix(r.Path, "check-runs") && r.Login != "github-actions[bot]" {
			h.t.Errorf("%s %s by %s", r.Method, r.Path, r.Login)
		}
	}
	for _, r := range h.Runs() {
		if r.Event == "push" && r.Actor == "github-actions[bot]" {
			h.t.Errorf("a push of the workflow's token started %s", r.Workflow)
		}
	}
}

// attempt is a push to the gated task, and what becomes of it.
type attempt struct {
	name, end string
	files     map[string]string
	flags     []string
}

func gatedPushes() []attempt {
	return []attempt{
		{"overfit", "overfit", words(`*) echo "$w$w" ;;`), nil},
		{"nothing", "discard", words(`*) echo "$w" ;; # the same`), nil},
		{"crash", "crash", words(`*) exit 3 ;;`), nil},
		{"general", "keep", words(`q*) echo "$w" ;; *) echo "$w$w" ;;`), nil},
		{"leak", "invalid", words(`tok) echo toktok ;; bom) echo bombom ;; dar) echo dardar ;; *) echo "$w$w" ;;`), []string{"--no-verify"}},
	}
}

// candidates pushes what gatedPushes lists, by the git command line with the hook
// installed, has each judged, and looks at what the author sees of it.
func (h *hub) candidates(incumbent string, judge func(attempt)) {
	h.t.Helper()
	h.ada.run("git", "fetch", "--quiet", "origin")
	h.ada.run("research-loop", "hook", "install")
	for _, c := range gatedPushes() {
		commit := h.candidate("t", c.name, c.files)
		if c.end == "invalid" {
			if got := h.push("t"); got.code == 0 {
				h.t.Error("the hook let a leak pass")
			}
		}
		begin := time.Now()
		if got := h.push("t", c.flags...); got.code != 0 {
			h.t.Fatalf("%s: %s", c.name, got.stderr)
		}
		judge(c)
		h.t.Logf("push to verdict of %s: %.1fs", c.end, time.Since(begin).Seconds())
		h.judged("t", commit, c.end, incumbent)
		if c.end == "keep" {
			incumbent = commit
		}
	}
}

// TestJobsGated takes a run with a gate through the jobs: five pushes by the git
// command line with the hook installed, and a close with its final test.
func TestJobsGated(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("it waits for the windows of five queries: set CI=true")
	}
	t.Parallel()
	h := newHub(t, true)
	base := h.begin("t")
	h.one("t", base, "success")
	h.candidates(base, func(attempt) { h.settle() })
	h.dispatch("mia", "maintain", map[string]string{"operation": "close", "tag": "t", "reason": "enough"})
	h.settle()
	got := h.ada.try("research-loop", "status", "t")
	if got.code != 0 || !strings.Contains(got.stdout, "general improvement demonstrated") {
		t.Errorf("status: %s%s", got.stdout, got.stderr)
	}
	h.verify("t")
	// The same gate under another tag is the same gate.
	h.dispatch("mia", "maintain", map[string]string{"operation": "start", "tag": "u"})
	p := h.take()
	if got := p.admit(); got.code != 2 || !strings.Contains(got.stderr, "an earlier run has used 50 of these cases") || h.Branch("research-loop-state/u") != "" {
		t.Errorf("start again: exit %d\n%s", got.code, got.stderr)
	}
	p.end()
	h.sealed()
}

// sshd stands in for the ssh of a runner that reaches GitHub: it knows one deploy
// key, which passes the rules of the state branches.
const sshd = `#!/bin/sh
while :; do
	case $1 in
	-i) key=$2 && shift 2 ;;
	-o | -p) shift 2 ;;
	*) break ;;
	esac
done
shift
cmp -s "$key" %q || { echo 'Permission denied (publickey).' >&2; exit 255; }
[ "$(stat -c %%a "$key")" = 600 ] || exit 255
case $1 in
"git-receive-pack '/octo-org/widget.git'") exec git receive-pack %q ;;
"git-upload-pack '/octo-org/widget.git'") exec git upload-pack %q ;;
esac
echo "unknown command: $1" >&2
exit 255
`

// TestDeployKey closes the state branch to all but the deploy key: the supervisor
// writes it with that, and the run branch with its token.
func TestDeployKey(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("it takes a start through the jobs once more: set CI=true")
	}
	t.Parallel()
	h := newHub(t, false)
	const middle = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\n" + middle + "\n-----END OPENSSH PRIVATE KEY-----\n"
	h.secret = append(h.secret, middle)
	h.Secret("research-loop", "RESEARCH_LOOP_DEPLOY_KEY", key)
	h.ask(h.Admin("root"), "POST", "keys", `{"title":"state","key":"ssh-ed25519 AAAA","read_only":false}`)
	h.settings()
	known := filepath.Join(h.dir, "deploy-key")
	h.write("deploy-key", key)
	h.path = filepath.Join(h.dir, "bin")
	h.write("bin/ssh", fmt.Sprintf(sshd, known, h.Dir(), h.Dir()))
	must(t, os.Chmod(filepath.Join(h.path, "ssh"), 0o755))
	base := h.begin("t")
	h.one("t", base, "success")
	for _, token := range []string{h.token, h.JobToken("contents:write")} {
		p := *h.ada
		p.env = append(slices.Clone(p.env), h.GitEnv(token)...)
		if got := p.try("git", "push", "--no-verify", "origin", base+":refs/heads/research-loop-state/u"); got.code == 0 || !strings.Contains(got.stderr, "creations being restricted") {
			t.Errorf("a token writes a state branch: %s", got.stderr)
		}
	}
	h.verify("t")
	h.levels()
	h.sealed()
}

// levels starts runs with and without a word for level protected: it is recorded
// where an administrator gave it and the job finds what it sees to agree.
func (h *hub) levels() {
	h.t.Helper()
	if got := h.level("t"); got != "signed" {
		h.t.Errorf("not attested: level %s", got)
	}
	if got := h.asks(h.Admin("root"), 8, "start", "agreed", "--follow", "1ms"); !strings.Contains(got.stderr, "level protected is attested") {
		h.t.Errorf("an administrator's start: %s", got.stderr)
	}
	h.admitted()
	if got := h.level("agreed"); got != "protected" {
		h.t.Errorf("attested, and all agrees: level %s\n%s", got, h.said.String())
	}
	if got := h.asks(h.maintainer(), 8, "start", "unseen", "--follow", "1ms"); !strings.Contains(got.stderr, "level protected is not attested: this token does not see") {
		h.t.Errorf("a maintainer's start: %s", got.stderr)
	}
	h.admitted()
	h.dispatch("mia", "maintain", map[string]string{"operation": "start", "tag": "pretended", "attest": "protected"})
	h.admitted()
	h.dispatch("root", "admin", map[string]string{"operation": "start", "tag": "again", "attest": "protected"})
	p := h.take()
	h.Rerun(p.run.ID)
	h.Begin(p.run.ID)
	p.run.Attempt = 2
	p.admit()
	p.end()
	for _, r := range h.rulesets() {
		if strings.Contains(r.Name, "state branches") {
			h.ask(h.Admin("root"), "DELETE", fmt.Sprintf("rulesets/%d", r.ID), "")
		}
	}
	h.dispatch("root", "admin", map[string]string{"operation": "start", "tag": "opened", "attest": "protected"})
	h.admitted()
	for tag, why := range map[string]string{
		"unseen": "nobody attested", "pretended": "nobody attested", "again": "nobody attested", "opened": "no rules close the state branch",
	} {
		page := h.ada.run("git", "--git-dir", h.Dir(), "show", "research-loop-state/"+tag+":.research-loop/"+tag+"/contract.md")
		if got := h.level(tag); got != "signed" || !strings.Contains(page, why) || !strings.Contains(h.said.String(), why) {
			h.t.Errorf("%s: level %s, and the reason is not given\n%s", tag, got, page)
		}
	}
}

// maintainer gives the token of somebody who may maintain.
func (h *hub) maintainer() string {
	h.User("mia", "maintain")
	return h.Token(forgetest.Token{Kind: forgetest.Classic, Login: "mia", ClassicScopes: []string{"repo"}})
}

// asks has the owner of a token ask GitHub by the command line, and wants its exit code.
func (h *hub) asks(token string, code int, args ...string) said {
	h.t.Helper()
	h.secret = append(h.secret, token)
	p := *h.ada
	p.env = append(slices.Clone(p.env), "GH_ENTERPRISE_TOKEN="+token)
	got := p.try("research-loop", args...)
	if got.code != code || strings.Contains(got.stdout+got.stderr, token) {
		h.t.Errorf("%v: exit %d, want %d\n%s", args, got.code, code, got.stderr)
	}
	return got
}

// level gives the level that a run was sealed with.
func (h *hub) level(tag string) string {
	h.t.Helper()
	text := h.ada.try("git", "--git-dir", h.Dir(), "show", "research-loop-state/"+tag+":.research-loop/"+tag+"/contract.md").stdout
	_, rest, _ := strings.Cut(text, "\n  level: ")
	name, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(name, `"`)
}

func (h *hub) rulesets() (all []struct {
	ID   int64
	Name string
}) {
	h.t.Helper()
	must(h.t, json.Unmarshal(h.ask(h.Admin("root"), "GET", "rulesets", ""), &all))
	return all
}
