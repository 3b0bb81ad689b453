package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/forge/forgetest"
	"github.com/research-loop/research-loop/workflows"
)

// stage is where act runs the shipped workflow files for a hub, on this machine.
type stage struct {
	*hub
	act   string
	dir   string // act's home, its caches and what stands in for GitHub's parts
	final bool   // the pass to come is the final one: its environment holds another key
	times map[string][]time.Duration
}

// upload and download stand in for the two actions of GitHub's that the workflow
// names: artifacts are folders. Their inputs are all that the workflow gives.
const (
	upload = `name: upload
description: upload
inputs:
  name: {required: true, description: n}
  path: {required: true, description: p}
  retention-days: {required: true, description: r}
  if-no-files-found: {required: true, description: i}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        NAME: ${{ inputs.name }}
        FILE: ${{ inputs.path }}
      run: |
        set -eu
        test -f "$FILE"
        mkdir "$ARTIFACTS/$GITHUB_RUN_ID/$NAME"
        cp "$FILE" "$ARTIFACTS/$GITHUB_RUN_ID/$NAME/"
`
	download = `name: download
description: download
inputs:
  name: {description: n}
  pattern: {description: n}
  path: {required: true, description: p}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        NAME: ${{ inputs.name }}
        PATTERN: ${{ inputs.pattern }}
        INTO: ${{ inputs.path }}
      run: |
        set -eu
        mkdir -p "$INTO"
        cd "$ARTIFACTS/$GITHUB_RUN_ID"
        if [ -n "$NAME" ]; then cp "$NAME"/* "$INTO/"; else cp -r $PATTERN "$INTO/"; fi
`
	// shim is a go that builds once, with what this machine has built before: what
	// a second job builds from the same commit is the same program.
	shim = `#!/bin/sh
if [ "$1" != build ]; then exec "$REAL_GO" "$@"; fi
for last in "$@"; do [ "$before" = -o ] && to=$last; before=$last; done
if [ ! -e "$BUILT" ]; then GOCACHE=$WARM "$REAL_GO" "$@" || exit; cp "$to" "$BUILT"; echo built >>"$BUILT.log"; fi
cp "$BUILT" "$to"
`
)

var uses = regexp.MustCompile(`uses: (actions/(?:upload|download)-artifact)@([0-9a-f]{40})`)

// newStage prepares act for a hub.
func newStage(h *hub) *stage {
	h.t.Helper()
	act, err := exec.LookPath("act")
	if err != nil {
		if os.Getenv("CI") == "true" {
			h.t.Fatal("act is not on PATH: .ci/run installs it")
		}
		h.t.Skip("act is not on PATH: go install github.com/nektos/act@v0.2.89")
	}
	s := &stage{hub: h, act: act, dir: h.t.TempDir(), times: map[string][]time.Duration{}}
	for name, text := range map[string]string{"upload-artifact/action.yml": upload, "download-artifact/action.yml": download, "bin/go": shim, "home/.config/act/actrc": "", "home/.keep": ""} {
		path := filepath.Join(s.dir, name)
		must(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(h.t, os.WriteFile(path, []byte(text), 0o755))
	}
	s.checkout()
	return s
}

// checkout is the work tree of the default branch that act reads workflows from.
func (s *stage) checkout() {
	s.t.Helper()
	s.ada.run("git", "clone", "--quiet", "--branch", "main", s.Dir(), filepath.Join(s.dir, "main"))
	s.ada.run("git", "-C", filepath.Join(s.dir, "main"), "remote", "set-url", "origin", "https://github.com/octo-org/widget.git")
}

// command is act on one run of the workflow that judges.
func (s *stage) command(r forgetest.Run) *exec.Cmd {
	s.t.Helper()
	work := s.t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(work, name)
		must(s.t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	must(s.t, os.MkdirAll(filepath.Join(s.dir, "artifacts", strconv.FormatInt(r.ID, 10)), 0o755))
	args := []string{
		r.Event, "--eventpath", write("event.json", string(r.Payload)), "--workflows", ".github/workflows/" + workflows.Loop, "--actor", r.Actor,
		"--platform", "ubuntu-24.04=-self-hosted", "--secret-file", write("secrets", s.secretsOf(r)), "--json", "--no-cache-server",
		"--action-cache-path", filepath.Join(s.dir, "cache"), "--local-repository", "research-loop/research-loop@" + strings.Repeat("1", 40) + "=" + s.root(),
	}
	for _, m := range uses.FindAllStringSubmatch(string(workflows.Shipped()[workflows.Folder+workflows.Loop]), -1) {
		args = append(args, "--local-repository", m[1]+"@"+m[2]+"="+filepath.Join(s.dir, strings.TrimPrefix(m[1], "actions/")))
	}
	for name, value := range map[string]string{
		"GITHUB_API_URL": s.API(), "GITHUB_SERVER_URL": s.URL, "GITHUB_REPOSITORY": s.Repository(), "GITHUB_RUN_ID": strconv.FormatInt(r.ID, 10),
		"GITHUB_RUN_ATTEMPT": strconv.Itoa(r.Attempt), "GITHUB_REF": r.Ref, "GITHUB_TRIGGERING_ACTOR": r.Actor, "RUNNER_ARCH": "X64",
	} {
		args = append(args, "--env", name+"="+value)
	}
	cmd := exec.Command(s.act, args...)
	cmd.Dir = filepath.Join(s.dir, "main")
	cmd.Env = s.surroundings()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// root is the repository that this test stands in: the action of the workflow.
func (s *stage) root() string {
	root, err := filepath.Abs("../..")
	must(s.t, err)
	return root
}

// surroundings are act's own environment, which leaks into its steps.
func (s *stage) surroundings() []string {
	real, err := exec.LookPath("go")
	must(s.t, err)
	places, err := exec.Command(real, "env", "GOMODCACHE", "GOCACHE").Output()
	must(s.t, err)
	modules, cache, _ := strings.Cut(strings.TrimSpace(string(places)), "\n")
	return []string{
		"PATH=" + filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"), "GIT_PAGER=cat", "LANG=C.UTF-8",
		"GOMODCACHE=" + modules, "WARM=" + cache, "GOPROXY=off", "GOSUMDB=off", "REAL_GO=" + real,
		"BUILT=" + filepath.Join(s.dir, "built"), "ARTIFACTS=" + filepath.Join(s.dir, "artifacts"), "TMPDIR=" + os.TempDir(),
	}
}

// secretsOf are those that GitHub would give the jobs of a run. act has neither
// environments nor permissions: TestJobs proves those.
func (s *stage) secretsOf(r forgetest.Run) string {
	s.t.Helper()
	token := s.JobToken("contents:write", "checks:write", "pull_requests:write", "actions:read")
	s.secret = append(s.secret, token)
	var out strings.Builder
	fmt.Fprintf(&out, "GITHUB_TOKEN=%s\n", token)
	inputs := "research-loop-execute"
	if s.final {
		inputs = "research-loop-final"
	}
	for _, environment := range []string{"research-loop", inputs} {
		secrets, err := s.SecretsFor(environment, r.Ref)
		must(s.t, err)
		for name, value := range secrets {
			fmt.Fprintf(&out, "%s=%q\n", name, value)
		}
	}
	return out.String()
}

// line is one line of what act says with --json.
type line struct {
	Job, JobID, JobResult, Msg, Command, Level string
	Time                                       time.Time
}

// played is what act did with a run.
type played struct {
	jobs map[string]string // results
	took map[string]time.Duration
	text string
}

// play reads what act says until it ends; see, if set, is shown every line.
func (s *stage) play(cmd *exec.Cmd, see func(line)) played {
	s.t.Helper()
	pipe, err := cmd.StdoutPipe()
	must(s.t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must(s.t, cmd.Start())
	out := played{jobs: map[string]string{}, took: map[string]time.Duration{}}
	first := map[string]time.Time{}
	var text strings.Builder
	scan := bufio.NewScanner(pipe)
	scan.Buffer(nil, 4<<20)
	for scan.Scan() {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			text.WriteString(scan.Text() + "\n")
			continue
		}
		if l.Command == "add-mask" || strings.Contains(l.Msg, "::add-mask::") {
			continue
		}
		fmt.Fprintf(&text, "%s | %s\n", l.JobID, strings.TrimRight(l.Msg, "\n"))
		if first[l.JobID].IsZero() {
			first[l.JobID] = l.Time
		}
		if l.JobResult != "" {
			out.jobs[l.JobID], out.took[l.JobID] = l.JobResult, l.Time.Sub(first[l.JobID])
		}
		if see != nil {
			see(l)
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("act: %v: %s", err, stderr.String())
	}
	out.text = text.String() + stderr.String()
	fmt.Fprintf(&s.said, "== %s\n%s\n", strings.Join(cmd.Args[1:2], ""), out.text)
	return out
}

// perform has act carry out all runs that are queued, and those that they cause.
func (s *stage) perform() {
	s.t.Helper()
	for n := 0; ; n++ {
		p := s.take()
		if p == nil {
			return
		}
		if n > 20 {
			s.t.Fatalf("still not settled after %d runs", n)
		}
		got := s.play(s.command(p.run), nil)
		s.finish(p.run, got)
	}
}

// finish says how a run ended, and wants the jobs that it must have had.
func (s *stage) finish(r forgetest.Run, got played) {
	s.t.Helper()
	conclusion := "success"
	for _, result := range got.jobs {
		if result != "success" {
			conclusion = "failure"
		}
	}
	s.Finish(r.ID, conclusion)
	if got.jobs["admit"] == "" {
		s.t.Fatalf("%s: admit did not run:\n%s", r.Event, got.text)
	}
	if conclusion != "success" {
		s.t.Fatalf("%s: %v\n%s", r.Event, got.jobs, got.text)
	}
	for name, took := range got.took {
		s.t.Logf("%s run %d: %s %.1fs", r.Event, r.ID, name, took.Seconds())
		s.times[name] = append(s.times[name], took)
	}
}

// TestAct runs the shipped workflow files: start by dispatch, pushes by the git
// command line with the hook installed, a cancelled job, close by dispatch.
func TestAct(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("it builds the program as the action does, and waits for the windows of queries: set CI=true")
	}
	s := newStage(newHub(t, true))
	begin := time.Now()
	s.dispatch("mia", "maintain", map[string]string{"operation": "start", "tag": "t"})
	s.exposed()
	s.perform()
	base := s.Branch("research-loop/t")
	if base == "" {
		t.Fatalf("the run did not open:\n%s", s.said.String())
	}
	t.Logf("start: %.1fs", time.Since(begin).Seconds())
	s.one("t", base, "success")
	s.candidates(base, func(c attempt) {
		if c.name == "crash" {
			s.cancel()
		}
		s.perform()
	})
	s.final = true
	s.dispatch("mia", "maintain", map[string]string{"operation": "close", "tag": "t", "reason": "enough"})
	s.perform()
	got := s.ada.try("research-loop", "status", "t")
	if got.code != 0 || !strings.Contains(got.stdout, "general improvement demonstrated") {
		t.Errorf("status: %s%s", got.stdout, got.stderr)
	}
	s.verify("t")
	s.sealed()
	built, err := os.ReadFile(filepath.Join(s.dir, "built.log"))
	if err != nil || string(built) != "built\n" {
		t.Errorf("the action built the program %q times: %v", built, err)
	}
	for _, name := range []string{"admit", "execute", "execute-keyed", "decide"} {
		slices.Sort(s.times[name])
		if n := len(s.times[name]); n > 0 {
			t.Logf("%s: %d times, median %.1fs", name, n, s.times[name][n/2].Seconds())
		}
	}
}

// exposed carries out the first run. act has no environments and gives every job
// every secret: the job without one notices and launches nothing. From here on it
// is told that there are none.
func (s *stage) exposed() {
	s.t.Helper()
	p := s.take()
	got := s.play(s.command(p.run), nil)
	if got.jobs["execute"] != "failure" || !strings.Contains(got.text, "they are repository secrets") || got.jobs["decide"] != "success" {
		s.t.Fatalf("secrets of every job: %v\n%s", got.jobs, got.text)
	}
	s.Finish(p.run.ID, "failure")
	file := filepath.Join(s.dir, "main", workflows.Folder, workflows.Loop)
	text, err := os.ReadFile(file)
	must(s.t, err)
	blind := regexp.MustCompile(`exposed: .*`).ReplaceAll(text, []byte(`exposed: "false"`))
	if bytes.Equal(text, blind) {
		s.t.Fatal("the workflow does not tell whether secrets are exposed")
	}
	must(s.t, os.WriteFile(file, blind, 0o644))
}

// cancel takes the next run and cancels it as GitHub does, once its execute job
// is at work. A wake-up follows.
func (s *stage) cancel() {
	s.t.Helper()
	p := s.take()
	if p == nil {
		s.t.Fatal("nothing is queued")
	}
	cmd := s.command(p.run)
	told := false
	got := s.play(cmd, func(l line) {
		if !told && l.JobID == "execute" && strings.Contains(l.Msg, "in the sandbox") {
			told = true
			_ = cmd.Process.Signal(os.Interrupt)
		}
	})
	if !told || got.jobs["execute"] == "success" {
		s.t.Errorf("execute was not cancelled: %v\n%s", got.jobs, got.text)
	}
	s.Finish(p.run.ID, "cancelled")
	if len(s.queued()) == 0 {
		s.ask(s.token, "POST", "dispatches", `{"event_type":"research-loop","client_payload":{"tag":"t"}}`)
	}
}

// queued lists the runs of the workflow that judges that wait.
func (h *hub) queued() []forgetest.Run {
	return slices.DeleteFunc(h.Runs(), func(r forgetest.Run) bool {
		return r.Status != "queued" || r.Workflow != workflows.Folder+workflows.Loop
	})
}
