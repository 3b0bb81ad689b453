package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/workflows"
)

// hub is a GitHub with a project on it, its maintainer and its author. Runs of
// the workflow that judges are carried out by the test, each step of the action
// as a process with what its job would give it and nothing else.
type hub struct {
	*forgetest.Server
	t      *testing.T
	dir    string
	ada    *person // the author; her folder is a clone
	token  string  // hers
	jobs   map[string]hubJob
	secret []string          // what may stand in no output, log or artifact
	hidden []string          // the inputs of sealed cases, which may not either
	said   strings.Builder   // all that jobs printed, summarised or handed on
	kept   map[string][]byte // artifacts by where they were written
	// exposed says that secrets of the judge are repository secrets.
	exposed bool
	serial  int    // of candidates that gain nothing
	path    string // of programs that jobs find first
	changed int    // settings that doctor --fix changed
}

// hubJob is what a job of the shipped workflow holds.
type hubJob struct {
	Environment string
	Permissions map[string]string
}

// newHub makes the project of a folder below testdata, with keys in its contract
// and whatever else files bring, sets the repository up as doctor --fix does, and
// gives the author a token that may write contents.
func newHub(t *testing.T, gate bool) *hub {
	t.Helper()
	needSandbox(t)
	h := &hub{Server: forgetest.New(t, forgetest.Config{}), t: t, dir: t.TempDir(), kept: map[string][]byte{}}
	h.readJobs()
	must(t, copyMissing(h.dir, filepath.Join("testdata", "project")))
	if gate {
		h.gated()
	}
	files, err := workflows.Files(strings.Repeat("1", 40), "v0.0.1")
	must(t, err)
	for name, data := range files {
		h.write("project/"+name, string(data))
	}
	h.ada = newPerson(t, h.dir)
	h.makeKeys(gate)
	h.ada.dir = filepath.Join(h.dir, "project")
	h.ada.run("git", "init", "--quiet")
	h.ada.run("git", "remote", "add", "origin", h.Remote())
	h.ada.run("git", "add", "--all")
	h.ada.run("git", "commit", "--quiet", "--message", "the project")
	h.ada.run("git", "push", "--quiet", h.Dir(), "HEAD:main")
	h.settings()
	h.User("ada", "write")
	h.token = h.Token(forgetest.Token{Kind: forgetest.App, Login: "ada-agent[bot]", Permissions: map[string]string{
		"contents": "write", "pull_requests": "write", "checks": "read", "actions": "read",
	}})
	h.secret = append(h.secret, h.token)
	h.ada.env = append(append(h.ada.env, h.GitEnv(h.token)...), "GH_ENTERPRISE_TOKEN="+h.token)
	h.ada.run("git", "fetch", "--quiet", "origin")
	h.ada.run("git", "remote", "set-head", "origin", "main")
	return h
}

func (h *hub) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	must(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(h.t, os.WriteFile(path, []byte(text), 0o644))
}

// readJobs reads which environment and permissions the workflow gives its jobs.
func (h *hub) readJobs() {
	h.t.Helper()
	var file struct{ Jobs map[string]hubJob }
	must(h.t, yaml.Unmarshal(workflows.Shipped()[workflows.Folder+workflows.Loop], &file))
	h.jobs = file.Jobs
}

// makeKeys draws keys, writes the public ones into the contract, and stores the
// private ones where GitHub would have them.
func (h *hub) makeKeys(gate bool) {
	h.t.Helper()
	block := h.ada.run("research-loop", "gate", "keygen", "--out", "keys", "--name", "octo-org/widget")
	draft := filepath.Join(h.dir, "project/.research-loop/contract.yml")
	text, err := os.ReadFile(draft)
	must(h.t, err)
	must(h.t, os.WriteFile(draft, append(text, block+"\n"...), 0o644))
	for _, s := range []struct{ file, environment, name string }{
		{"judge.key", "research-loop", "RESEARCH_LOOP_JUDGE"},
		{"execute.key", "research-loop-execute", "RESEARCH_LOOP_INPUTS"},
		{"final.key", "research-loop-final", "RESEARCH_LOOP_INPUTS"},
	} {
		key, err := os.ReadFile(filepath.Join(h.dir, "keys", s.file))
		must(h.t, err)
		h.Secret(s.environment, s.name, string(key))
		for line := range strings.Lines(string(key)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && line != "" {
				h.secret = append(h.secret, line)
			}
		}
	}
	if gate {
		h.ada.dir = filepath.Join(h.dir, "project")
		h.ada.run("git", "init", "--quiet")
		h.ada.run("git", "add", "--all")
		h.ada.run("git", "commit", "--quiet", "--message", "unsealed")
		h.ada.run("research-loop", "gate", "seal", "../validation", "--split", "validation")
		h.ada.run("research-loop", "gate", "seal", "../final", "--split", "final", "--against", "../validation")
		h.ada.dir = h.dir
	}
}

// settings does what a maintainer does once: research-loop doctor --fix. Nothing
// that breaks the trust model may be left.
func (h *hub) settings() {
	h.t.Helper()
	admin := h.Admin("root")
	h.secret = append(h.secret, admin)
	place, err := forge.Locate(h.Remote(), func(name string) string { return map[string]string{"GITHUB_API_URL": h.API()}[name] })
	must(h.t, err)
	client, err := forge.New(forge.Options{Place: place, Token: admin, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }})
	must(h.t, err)
	found, err := setup.Fix(context.Background(), client, setup.Wanted{Keys: true, Workflows: workflows.Shipped()}, func(r forge.Request) { h.changed++ })
	must(h.t, err)
	if broken := found.Refusals(); len(broken) > 0 {
		h.t.Fatalf("doctor --fix leaves %+v", broken)
	}
}

// dispatch starts the workflow by hand, as somebody with a role.
func (h *hub) dispatch(login, role string, inputs map[string]string) {
	h.t.Helper()
	h.User(login, role)
	token := h.Token(forgetest.Token{Kind: forgetest.Classic, Login: login, ClassicScopes: []string{"repo"}})
	body, err := json.Marshal(map[string]any{"ref": "main", "inputs": inputs})
	must(h.t, err)
	h.ask(token, "POST", "actions/workflows/"+workflows.Loop+"/dispatches", string(body))
}

// ask sends a request to the API and wants success.
func (h *hub) ask(token, method, path, body string) []byte {
	h.t.Helper()
	status, answer := h.request(token, method, path, body)
	if status >= 300 {
		h.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// pass is one run of the workflow, as far as it got.
type pass struct {
	h    *hub
	run  forgetest.Run
	dir  string // what jobs hand on
	out  map[string]string
	got  map[string]string // outputs of the execute job
	last map[string]said
}

// take takes the newest queued run of the workflow that judges. Older ones that
// wait in the same group are replaced by it, as GitHub does.
func (h *hub) take() *pass {
	h.t.Helper()
	var found *forgetest.Run
	for _, r := range h.Runs() {
		if r.Status != "queued" || r.Workflow != workflows.Folder+workflows.Loop {
			continue
		}
		if found != nil && !outside(*found) && !outside(r) {
			h.Finish(found.ID, "cancelled")
		} else if found != nil {
			break
		}
		found = &r
	}
	if found == nil {
		return nil
	}
	h.Begin(found.ID)
	return h.pass(*found)
}

func (h *hub) pass(r forgetest.Run) *pass {
	return &pass{h: h, run: r, dir: h.t.TempDir(), out: map[string]string{}, got: map[string]string{}, last: map[string]said{}}
}

// outside says whether a run stands outside its tag's concurrency group.
func outside(r forgetest.Run) bool {
	return r.Event == "schedule" || bytes.Contains(r.Payload, []byte(`"operation":"start"`)) || bytes.Contains(r.Payload, []byte(`"operation":"close"`))
}

// settle carries out all runs that are queued, and those that they cause.
func (h *hub) settle() {
	h.t.Helper()
	for n := 0; ; n++ {
		p := h.take()
		if p == nil {
			return
		}
		if n > 30 {
			h.t.Fatalf("still not settled after %d runs:\n%s", n, h.said.String())
		}
		p.all()
	}
}

// all carries out a run.
func (p *pass) all() {
	p.h.t.Helper()
	if p.admit().code == 0 && p.pending() {
		p.execute()
		p.decide()
	}
	p.end()
}

// pending says whether admit handed a pass on.
func (p *pass) pending() bool { return p.out["pass"] == "plain" || p.out["pass"] == "keyed" }

// end says how the run ended.
func (p *pass) end() {
	conclusion := "success"
	for _, got := range p.last {
		if got.code != 0 {
			conclusion = "failure"
		}
	}
	p.h.Finish(p.run.ID, conclusion)
}

func (p *pass) admit() said {
	p.h.t.Helper()
	got := p.job("admit", "admit", p.out, "--out", filepath.Join(p.dir, "bundle"))
	if file := p.out["bundle"]; file != "" {
		p.artifact(file)
	}
	return got
}

func (p *pass) execute() said {
	p.h.t.Helper()
	name := map[string]string{"plain": "execute", "keyed": "execute-keyed"}[p.out["pass"]]
	got := p.job("execute", name, p.got, "--out", filepath.Join(p.dir, "outcome"), "--shard", "1", "--exposed", strconv.FormatBool(p.h.exposed && name == "execute"),
		"--bundle", p.out["bundle"], "--bundle-sha256", p.out["bundle-sha256"])
	if file := p.got["outcome"]; file != "" {
		p.artifact(file)
	}
	return got
}

func (p *pass) decide() said {
	p.h.t.Helper()
	return p.job("decide", "decide", map[string]string{}, p.brought()...)
}

// brought are decide's arguments.
func (p *pass) brought() []string {
	p.h.t.Helper()
	sums, err := json.Marshal(p.got)
	must(p.h.t, err)
	return []string{"--bundle", p.out["bundle"], "--bundle-sha256", p.out["bundle-sha256"], "--outcomes", filepath.Join(p.dir, "outcome"), "--outcomes-sha256", string(sums)}
}

// artifact keeps what a job uploaded.
func (p *pass) artifact(file string) {
	data, err := os.ReadFile(file)
	must(p.h.t, err)
	p.h.kept[file] = data
}

// start prepares one step of the action as a process; finish, which is called
// once it has ended, reads what it left.
func (p *pass) start(command, job string, outputs map[string]string, args ...string) (cmd *exec.Cmd, finish func(error) said) {
	h := p.h
	h.t.Helper()
	temp := h.t.TempDir()
	cmd = exec.Command("research-loop", append([]string{"ci", command}, args...)...)
	cmd.Dir, cmd.Env = temp, append(p.variables(job, temp), p.secrets(job)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, func(err error) said {
		h.t.Helper()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			h.t.Fatalf("%s: %v", job, err)
		}
		got := said{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
		p.last[job] = got
		fmt.Fprintf(&h.said, "== %s %s run %d: exit %d\n%s\n%s\n", p.run.Event, job, p.run.ID, got.code, unmasked(got.stdout), got.stderr)
		summary, _ := os.ReadFile(filepath.Join(temp, "summary"))
		output, _ := os.ReadFile(filepath.Join(temp, "output"))
		h.said.Write(summary)
		h.said.Write(output)
		maps.Copy(outputs, heredocs(string(output)))
		return got
	}
}

// job runs one step of the action.
func (p *pass) job(command, job string, outputs map[string]string, args ...string) said {
	p.h.t.Helper()
	cmd, finish := p.start(command, job, outputs, args...)
	begun := time.Now()
	got := finish(cmd.Run())
	p.h.t.Logf("%s %s run %d: %.1fs, cpu %.1fs", p.run.Event, job, p.run.ID, time.Since(begun).Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	return got
}

// variables are those that the runner sets.
func (p *pass) variables(job, temp string) []string {
	h := p.h
	event := filepath.Join(temp, "event.json")
	must(h.t, os.WriteFile(event, p.run.Payload, 0o644))
	return []string{
		"PATH=" + h.path + ":" + os.Getenv("PATH"), "HOME=" + temp, "RUNNER_TEMP=" + temp, "GITHUB_ACTIONS=true", "GITHUB_JOB=" + job,
		"GITHUB_API_URL=" + h.API(), "GITHUB_SERVER_URL=" + h.URL, "GITHUB_REPOSITORY=" + h.Repository(),
		"GITHUB_RUN_ID=" + strconv.FormatInt(p.run.ID, 10), "GITHUB_RUN_ATTEMPT=" + strconv.Itoa(p.run.Attempt),
		"GITHUB_EVENT_NAME=" + p.run.Event, "GITHUB_EVENT_PATH=" + event, "GITHUB_ACTOR=" + p.run.Actor, "GITHUB_TRIGGERING_ACTOR=" + p.run.Actor,
		"GITHUB_REF=" + p.run.Ref, "GITHUB_SHA=" + p.run.Commit, "GITHUB_WORKFLOW=" + p.run.Name,
		"GITHUB_OUTPUT=" + filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary"), "TMPDIR=" + os.TempDir(),
	}
}

// secrets are what the workflow gives a job: the token with the job's
// permissions, and the secrets of its environment, if that admits the ref.
func (p *pass) secrets(job string) []string {
	h := p.h
	h.t.Helper()
	j, ok := h.jobs[job]
	if !ok {
		h.t.Fatalf("the workflow has no job %s", job)
	}
	var out []string
	if len(j.Permissions) > 0 {
		var scopes []string
		for name, level := range j.Permissions {
			scopes = append(scopes, strings.ReplaceAll(name, "-", "_")+":"+level)
		}
		token := h.JobToken(scopes...)
		h.secret = append(h.secret, token)
		out = append(out, "GITHUB_TOKEN="+token)
	}
	environment := j.Environment
	if strings.Contains(environment, "needs.admit.outputs.environment") {
		environment = p.out["environment"]
	}
	if environment == "" {
		return out
	}
	secrets, err := h.SecretsFor(environment, p.run.Ref)
	must(h.t, err)
	for name, value := range secrets {
		out = append(out, name+"="+value)
	}
	return out
}

// unmasked leaves out the commands by which the runner learns what to blank: it
// shows none of them.
func unmasked(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "::add-mask::") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// heredocs reads a file of outputs as the runner does.
func heredocs(text string) map[string]string {
	out := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		name, mark, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		var value []string
		for i++; i < len(lines) && lines[i] != mark; i++ {
			value = append(value, lines[i])
		}
		out[name] = strings.Join(value, "\n")
	}
	return out
}

// candidate commits files on top of the run branch as the remote has it.
func (h *hub) candidate(tag, name string, files map[string]string) string {
	h.t.Helper()
	branch := "research-loop/" + tag
	h.ada.run("git", "fetch", "--quiet", "--prune", "origin")
	h.ada.run("git", "checkout", "--quiet", "-B", branch, "origin/"+branch)
	return h.commit(name, files)
}

// commit commits files on top of whatever is checked out.
func (h *hub) commit(name string, files map[string]string) string {
	h.t.Helper()
	for file, text := range files {
		h.write("project/"+file, text)
	}
	h.ada.run("git", "add", "--all")
	h.ada.run("git", "commit", "--quiet", "--allow-empty", "--message", name+trailers)
	return h.ada.run("git", "rev-parse", "HEAD")
}

// push pushes HEAD to the run branch; flags are git's.
func (h *hub) push(tag string, flags ...string) said {
	h.t.Helper()
	return h.ada.try("git", append(append([]string{"push", "--quiet"}, flags...), "origin", "HEAD:refs/heads/research-loop/"+tag)...)
}

// pushed pushes past the hook, and must succeed.
func (h *hub) pushed(tag string, flags ...string) {
	h.t.Helper()
	if got := h.push(tag, append([]string{"--no-verify"}, flags...)...); got.code != 0 {
		h.t.Fatalf("push: %s", got.stderr)
	}
}

// wait asks for the verdict on a commit, as the author does, and for one exit code.
func (h *hub) wait(tag, commit string, code int) said {
	h.t.Helper()
	got := h.ada.try("research-loop", "wait", commit, "--run", tag, "--timeout", "1ms")
	if got.code != code {
		h.t.Fatalf("wait: exit %d, want %d\n%s%s\n%s", got.code, code, got.stdout, got.stderr, h.said.String())
	}
	return got
}

// verify derives every law again from the remote.
func (h *hub) verify(tag string) {
	h.t.Helper()
	got := h.ada.try("research-loop", "verify", tag, "--remote", "origin")
	if got.code != 0 || strings.Contains(got.stdout, "broken") {
		h.t.Errorf("verify: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// one gives the check of the run on a commit, of which there must be one.
func (h *hub) one(tag, commit, conclusion string) forgetest.Check {
	h.t.Helper()
	all := slices.DeleteFunc(h.Checks(commit), func(k forgetest.Check) bool { return k.Name != "research-loop/"+tag })
	if len(all) != 1 || all[0].Conclusion != conclusion || all[0].Status != "completed" {
		h.t.Fatalf("%.12s has %d checks: %+v, want one with %s\n%s", commit, len(all), all, conclusion, h.said.String())
	}
	return all[0]
}

// tree gives the tree of a commit or branch of the remote.
func (h *hub) tree(rev string) string {
	h.t.Helper()
	return h.ada.run("git", "--git-dir", h.Dir(), "rev-parse", "--verify", rev+"^{tree}")
}

// sealed checks that no secret left a job: not in what it printed, handed on or
// sent to the API, and not in git.
func (h *hub) sealed() {
	h.t.Helper()
	var all strings.Builder
	all.WriteString(h.said.String())
	for _, r := range h.Requests() {
		all.WriteString(r.Path + "\n" + r.Body + "\n")
	}
	for _, data := range h.kept {
		all.Write(data)
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			text, err := io.ReadAll(z)
			must(h.t, err)
			all.Write(text)
		}
	}
	text := all.String() + h.history()
	for i, s := range slices.Concat(h.secret, h.hidden) {
		if at := strings.Index(text, s); at >= 0 {
			h.t.Errorf("secret %d (%.8s…) is shown: …%q…", i, s, text[max(at-200, 0):min(at+20, len(text))])
		}
	}
}

// history gives the text of every object of the remote.
func (h *hub) history() string {
	h.t.Helper()
	cmd := exec.Command("sh", "-c", "git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' | sed -n 's/^blob //p; s/^commit //p' | git cat-file --batch")
	cmd.Dir = h.Dir()
	out, err := cmd.Output()
	must(h.t, err)
	return string(out)
}

// request sends a request to the API.
func (h *hub) request(token, method, path, body string) (int, []byte) {
	h.t.Helper()
	r, err := http.NewRequest(method, h.API()+"/repos/"+h.Repository()+"/"+path, strings.NewReader(body))
	must(h.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	must(h.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(h.t, err)
	return answer.StatusCode, text
}

// gatedContract is that of the gated task: words that begin with q stay as they
// are, all others are doubled. Development shows no q.
const gatedContract = `research_loop: 1
goal: Answer more words.
population: Words.
harness: {paths: [evaluation/**], source: user}
scope: {writable: [solver/**]}
candidate: {mode: batch, run: sh solver/solve.sh}
evaluation:
  score: sh evaluation/score.sh
  extract: json
  timeout: 5s
  total: 20s
  resources: {memory: 256MiB, pids: 32, output: 1MiB, temporary: 16MiB}
splits: {development: evaluation/development, validation: evaluation/validation, final: evaluation/final}
metric: {name: accuracy, direction: higher}
acceptance: {policy: deterministic, min_delta: 0.1}
gate: {queries: 6, rule: non_inferior, margin: 3, seconds: 8, cases: untouched-split}
limits: {attempts: 20, wall: 24h}
`

// gatedScorer starts no process of its own: a query has little time.
const gatedScorer = `right=0 total=0 cases= comma=
for answer in "$RESEARCH_LOOP_ANSWERS"/*; do
	name=${answer##*/} score=0 want= got=
	read -r want <"$answer"
	[ -f "$RESEARCH_LOOP_OUTPUTS/$name" ] && read -r got <"$RESEARCH_LOOP_OUTPUTS/$name"
	[ "$got" = "$want" ] && score=1
	right=$((right + score)) total=$((total + 1))
	cases="$cases$comma{\"id\": \"$name\", \"score\": $score}" comma=,
done
echo "{\"metrics\": {\"accuracy\": $((right / total))}, \"cases\": [$cases]}"
`

// words answers every word with what a shell case says of it in $w.
func words(arms string) map[string]string {
	return map[string]string{"solver/solve.sh": `for f in "$RESEARCH_LOOP_INPUTS"/*; do
	read -r w <"$f"
	case $w in
	` + arms + `
	esac >"$RESEARCH_LOOP_OUTPUTS/${f##*/}"
done
`}
}

// gated replaces the project by the gated task, and makes its hidden cases.
func (h *hub) gated() {
	h.t.Helper()
	must(h.t, os.RemoveAll(filepath.Join(h.dir, "project")))
	h.write("project/.research-loop/contract.yml", gatedContract)
	h.write("project/evaluation/score.sh", gatedScorer)
	for name, text := range words(`*) echo "$w" ;;`) {
		h.write("project/"+name, text)
	}
	for i, word := range []string{"tok", "bom", "dar", "kel"} {
		h.write(fmt.Sprintf("project/evaluation/development/inputs/%02d", i), word+"\n")
		h.write(fmt.Sprintf("project/evaluation/development/answers/%02d", i), word+word+"\n")
	}
	r := rand.New(rand.NewPCG(7, 1))
	for _, s := range []struct {
		name          string
		doubled, same int
	}{{"validation", 10, 40}, {"final", 15, 5}} {
		for i := range s.doubled + s.same {
			first, times := "bfgm", 2
			if i >= s.doubled {
				first, times = "q", 1
			}
			word := string(first[r.IntN(len(first))])
			for range 4 {
				word += string("aeiou"[r.IntN(5)]) + string("cdfghjklmnprsvwxz"[r.IntN(17)])
			}
			h.hidden = append(h.hidden, word)
			h.write(fmt.Sprintf("%s/inputs/case%03d", s.name, i), word+"\n")
			h.write(fmt.Sprintf("%s/answers/case%03d", s.name, i), strings.Repeat(word, times)+"\n")
		}
	}
}
