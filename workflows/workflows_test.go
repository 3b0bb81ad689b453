package workflows_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/research-loop/research-loop/workflows"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func files(t *testing.T) map[string][]byte {
	t.Helper()
	all, err := workflows.Files(commit, "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// step is one step of a job or of the action.
type step struct {
	ID, If, Uses, Run, Shell string
	With, Env                map[string]string
	Continue                 bool `yaml:"continue-on-error"`
}

type job struct {
	Needs       any
	If          string
	RunsOn      string `yaml:"runs-on"`
	Timeout     int    `yaml:"timeout-minutes"`
	Environment string
	Permissions map[string]string
	Outputs     map[string]string
	Strategy    struct {
		FailFast *bool `yaml:"fail-fast"`
		Matrix   map[string]string
	}
	Env   map[string]string
	Steps []step
}

type file struct {
	Name        string
	On          map[string]any
	Permissions map[string]string
	Env         map[string]string
	Concurrency struct {
		Group  string
		Cancel bool `yaml:"cancel-in-progress"`
	}
	Jobs map[string]job
}

func parse(t *testing.T, name string) file {
	t.Helper()
	var f file
	if err := yaml.Unmarshal(files(t)[workflows.Folder+name], &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTriggers: nothing but what GitHub takes from the default branch.
func TestTriggers(t *testing.T) {
	f := parse(t, workflows.Loop)
	if got, want := slices.Sorted(maps.Keys(f.On)), []string{"repository_dispatch", "schedule", "workflow_dispatch", "workflow_run"}; !slices.Equal(got, want) {
		t.Errorf("triggers %q, want %q", got, want)
	}
	run := f.On["workflow_run"].(map[string]any)
	if fmt.Sprint(run["workflows"]) != "["+parse(t, workflows.Signal).Name+"]" || fmt.Sprint(run["types"]) != "[requested]" {
		t.Errorf("workflow_run %v", run)
	}
	if got := f.On["repository_dispatch"].(map[string]any)["types"]; fmt.Sprint(got) != "["+workflows.Event+"]" {
		t.Errorf("repository_dispatch %v", got)
	}
	admit := f.Jobs["admit"].If
	for _, want := range []string{"github.ref == format('refs/heads/{0}', github.event.repository.default_branch)", "head_repository.id == github.event.repository.id"} {
		if !strings.Contains(admit, want) {
			t.Errorf("admit runs if %q, without %q", admit, want)
		}
	}
	signal := parse(t, workflows.Signal)
	if len(signal.On) != 1 || len(signal.Permissions) != 0 || strings.Contains(string(files(t)[workflows.Folder+workflows.Signal]), "secrets") {
		t.Errorf("the signal %+v", signal)
	}
	for name, j := range signal.Jobs {
		if len(j.Steps) != 1 || j.Steps[0].Run != ":" || j.Permissions != nil {
			t.Errorf("job %s of the signal does something: %+v", name, j)
		}
	}
}

// TestJobs holds each job to its rights, its environment and its time: what no
// local runner enforces.
func TestJobs(t *testing.T) {
	f := parse(t, workflows.Loop)
	if f.Permissions == nil || len(f.Permissions) != 0 || f.Env != nil {
		t.Errorf("the workflow's own permissions are %v, want none, and env %v", f.Permissions, f.Env)
	}
	write := map[string]string{"contents": "write", "checks": "write", "pull-requests": "write", "actions": "read"}
	for name, want := range map[string]struct {
		permissions map[string]string
		environment string
		condition   string
		secrets     []string
	}{
		"admit":         {write, "research-loop", "", []string{"RESEARCH_LOOP_DEPLOY_KEY", "RESEARCH_LOOP_JUDGE"}},
		"execute":       {map[string]string{}, "", "needs.admit.outputs.pass == 'plain'", []string{"RESEARCH_LOOP_DEPLOY_KEY", "RESEARCH_LOOP_INPUTS", "RESEARCH_LOOP_JUDGE"}},
		"execute-keyed": {map[string]string{}, "${{ needs.admit.outputs.environment }}", "needs.admit.outputs.pass == 'keyed'", []string{"RESEARCH_LOOP_INPUTS"}},
		"decide":        {write, "research-loop", "always() && needs.admit.result == 'success' && needs.admit.outputs.pass != 'none'", []string{"RESEARCH_LOOP_DEPLOY_KEY", "RESEARCH_LOOP_JUDGE"}},
	} {
		j, ok := f.Jobs[name]
		if !ok || j.Permissions == nil || !maps.Equal(j.Permissions, want.permissions) || j.Environment != want.environment || j.RunsOn != "ubuntu-24.04" || j.Timeout == 0 || j.Timeout > 360 || j.Env != nil {
			t.Errorf("job %s: permissions %v, environment %q, on %q, %d minutes, env %v", name, j.Permissions, j.Environment, j.RunsOn, j.Timeout, j.Env)
		}
		if want.condition != "" && j.If != want.condition {
			t.Errorf("job %s runs if %q", name, j.If)
		}
		checkSecrets(t, name, j, want.secrets)
	}
	if len(f.Jobs) != 4 {
		t.Errorf("%d jobs", len(f.Jobs))
	}
	for name, pass := range map[string]string{"execute": "plain", "execute-keyed": "keyed"} {
		j := f.Jobs[name]
		if j.Strategy.FailFast == nil || *j.Strategy.FailFast || j.Strategy.Matrix["shard"] != "${{ fromJSON(needs.admit.outputs.shards) }}" || len(j.Outputs) != 8 {
			t.Errorf("%s (%s): strategy %+v, %d outputs", name, pass, j.Strategy, len(j.Outputs))
		}
	}
}

var secret = regexp.MustCompile(`secrets\.([A-Z_]+)`)

var secretTest = regexp.MustCompile(`^\$\{\{ secrets\.[A-Z_]+ != ''( \|\| secrets\.[A-Z_]+ != '')* \}\}$`)

// checkSecrets: secrets stand in the inputs of our own action's step alone, which
// is the last one that runs a program.
//
// The job without an environment hands on whether there are any, never one.
func checkSecrets(t *testing.T, name string, j job, want []string) {
	t.Helper()
	var found []string
	for _, s := range j.Steps {
		text, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range secret.FindAllStringSubmatch(string(text), -1) {
			if found = append(found, m[1]); !strings.HasPrefix(s.Uses, "research-loop/research-loop@") {
				t.Errorf("job %s: a secret stands in step %q", name, s.Uses+s.Run)
			}
		}
	}
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("job %s has secrets %q, want %q", name, found, want)
	}
	for _, s := range j.Steps {
		for input, value := range s.With {
			if whether := secretTest.MatchString(value); (input == "exposed") != whether || whether && name != "execute" {
				t.Errorf("job %s: input %s is %s", name, input, value)
			}
		}
	}
	outside := j
	outside.Steps = nil
	if text, err := yaml.Marshal(outside); err != nil || secret.Match(text) {
		t.Errorf("job %s names a secret outside its steps: %v", name, err)
	}
}

// TestSteps: pinned actions, no cache, no checkout, no expression in a script,
// artifacts that live a day.
func TestSteps(t *testing.T) {
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	for _, name := range []string{workflows.Loop, workflows.Signal} {
		for key, j := range parse(t, name).Jobs {
			for _, s := range j.Steps {
				switch owner, _, _ := strings.Cut(s.Uses, "@"); {
				case s.Uses != "" && !pinned.MatchString(s.Uses):
					t.Errorf("%s: %s is not pinned", key, s.Uses)
				case s.Uses != "" && !slices.Contains([]string{"research-loop/research-loop", "actions/upload-artifact", "actions/download-artifact"}, owner):
					t.Errorf("%s uses %s", key, s.Uses)
				case owner == "actions/upload-artifact" && (s.With["retention-days"] != "1" || s.With["if-no-files-found"] != "error"):
					t.Errorf("%s uploads with %v", key, s.With)
				case strings.Contains(s.Run, "${{"):
					t.Errorf("%s: an expression stands in a script: %s", key, s.Run)
				case s.Continue && owner != "actions/download-artifact":
					t.Errorf("%s goes on after %s", key, s.Uses)
				}
			}
		}
	}
	for name, text := range files(t) {
		for _, bad := range []string{"cache", "checkout", "pull_request", "id-token", "self-hosted", "ubuntu-latest", "github.head_ref"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s names %s", name, bad)
			}
		}
	}
}

// TestConcurrency reads the group as GitHub would for each event.
func TestConcurrency(t *testing.T) {
	f := parse(t, workflows.Loop)
	if f.Concurrency.Cancel {
		t.Error("a running pass would be cancelled")
	}
	group := f.Concurrency.Group
	for _, want := range []string{"github.event_name == 'schedule'", `"start", "close", "rehearse"`, "github.run_id", "inputs.tag", "client_payload.tag", "workflow_run.head_branch"} {
		if !strings.Contains(group, want) {
			t.Errorf("the group %q lacks %s", group, want)
		}
	}
	if strings.Contains(group, `"reconcile"`) {
		t.Error("reconcile stands outside its run's group")
	}
}

// action is action.yml.
type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	data, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAction(t *testing.T) {
	a := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) != 2 {
		t.Fatalf("%s with %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	for name, in := range a.Inputs {
		if in.Description == "" {
			t.Errorf("input %s is not documented", name)
		}
	}
	for name, out := range a.Outputs {
		if out.Description == "" || !strings.HasPrefix(out.Value, "${{ steps.") {
			t.Errorf("output %s: %+v", name, out)
		}
	}
	secrets := []string{"token", "judge", "deploy-key", "inputs-key", "driver-secrets"}
	for i, s := range a.Runs.Steps {
		if s.Uses != "" || s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			t.Errorf("step %d uses %q, shell %q, or holds an expression", i, s.Uses, s.Shell)
		}
		for variable, value := range s.Env {
			for _, name := range secrets {
				if strings.Contains(value, "inputs."+name) && (i == 0 || !strings.Contains(value, "inputs.command ")) {
					t.Errorf("step %d: %s has the secret %s whatever the command", i, variable, name)
				}
			}
		}
	}
	last := a.Runs.Steps[1].Run
	for _, variable := range []string{"RESEARCH_LOOP_JUDGE", "RESEARCH_LOOP_INPUTS", "RESEARCH_LOOP_DEPLOY_KEY", "RESEARCH_LOOP_DRIVER_SECRETS", "GITHUB_TOKEN"} {
		if strings.Contains(last, "$"+variable) {
			t.Errorf("the script puts %s where arguments stand", variable)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(last), `exec "$PROGRAM" ci "$COMMAND" "$@"`) {
		t.Errorf("the last step does not become the program: %s", last)
	}
}

// TestCallsFitTheAction: every input that a workflow gives and every output that it
// reads is the action's own.
func TestCallsFitTheAction(t *testing.T) {
	a := readAction(t)
	for name, j := range parse(t, workflows.Loop).Jobs {
		for _, s := range j.Steps {
			if !strings.HasPrefix(s.Uses, "research-loop/") {
				continue
			}
			for input := range s.With {
				if _, ok := a.Inputs[input]; !ok {
					t.Errorf("%s gives input %s", name, input)
				}
			}
			if want := strings.TrimSuffix(name, "-keyed"); s.With["command"] != want {
				t.Errorf("%s gives command %s", name, s.With["command"])
			}
		}
		text, err := yaml.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`steps\.[a-z]+\.outputs\.([a-z0-9-]+)`).FindAllStringSubmatch(string(text), -1) {
			if _, ok := a.Outputs[m[1]]; !ok {
				t.Errorf("%s reads output %s", name, m[1])
			}
		}
	}
}

// TestScripts runs the action's first step as a job does: a program with the wrong
// checksum is not run, one with the right one is; and shellcheck reads both.
func TestScripts(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	steps := readAction(t).Runs.Steps
	dir := t.TempDir()
	program := filepath.Join(dir, "in")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sum, err := exec.Command("sha256sum", program).Output()
	if err != nil {
		t.Skip("there is no sha256sum")
	}
	good := string(sum[:64])
	run := func(script string, env ...string) (string, error) {
		cmd := exec.Command(bash, "-e", "-c", script)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + filepath.Join(dir, "output"), "RELEASE=", "COMMAND=execute"}, env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for name, sum := range map[string]string{"wrong": strings.Repeat("0", 64), "none": "", "no checksum": "$(id)", "two": good + "\n" + good} {
		if out, err := run(steps[0].Run, "PROGRAM="+program, "PROGRAM_SHA256="+sum); err == nil {
			t.Errorf("%s checksum: %s", name, out)
		}
	}
	if out, err := run(steps[0].Run, "PROGRAM="+program, "PROGRAM_SHA256="+good); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	output, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil || !strings.Contains(string(output), "sha256="+good+"\n") {
		t.Fatalf("%s, %v", output, err)
	}
	builder := filepath.Join(dir, "bin")
	if err := os.MkdirAll(builder, 0o755); err != nil {
		t.Fatal(err)
	}
	build := "#!/bin/sh\n[ $1 = build ] || { echo go1.26.0; exit; }\ncp " + program + " \"$5\"\n"
	if err := os.WriteFile(filepath.Join(builder, "go"), []byte(build), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command, sum string
		ok           bool
	}{{"decide", good, true}, {"decide", strings.Repeat("0", 64), false}, {"decide", "", false}, {"execute", good, false}} {
		out, err := run(steps[0].Run, "PATH="+builder+":"+os.Getenv("PATH"), "SOURCE="+dir, "COMMAND="+c.command, "PROGRAM="+program+".lost", "PROGRAM_SHA256="+c.sum)
		if (err == nil) != c.ok {
			t.Errorf("a lost program in %s with checksum %q: %v: %s", c.command, c.sum, err, out)
		}
	}
	// Become the program; sudo is hidden, so that the test needs none.
	out, err := run(`sudo() { return 1; }; exec() { "$@"; }; `+steps[1].Run, "PROGRAM="+filepath.Join(dir, "research-loop-program/research-loop"), "COMMAND=execute",
		"BUNDLE=b; id", "BUNDLE_SHA256=c", "SHARD=2", "EXPOSED=false", "OUTCOMES=", "OUTCOMES_SHA256={}")
	if want := "ci execute --bundle b; id --bundle-sha256 c --shard 2 --exposed false --out " + dir + "/research-loop-execute\n"; err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
	if out, err := run(steps[1].Run, "PROGRAM=/bin/true", "COMMAND=destroy"); err == nil {
		t.Errorf("an unknown command: %s", out)
	}
	for _, s := range steps {
		lint(t, s.Run)
	}
}

func lint(t *testing.T, script string) {
	t.Helper()
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Error("there is no shellcheck")
		}
		t.Log("not linted: there is no shellcheck")
		return
	}
	cmd := exec.Command(path, "--shell=bash", "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %s", out)
	}
}

func TestFiles(t *testing.T) {
	for _, bad := range [][2]string{{"v1", "v1"}, {"", ""}, {commit[:39], "v1"}, {commit, "v1\nrun: x"}, {commit, ""}, {strings.ToUpper(commit), "v1"}} {
		if _, err := workflows.Files(bad[0], bad[1]); err == nil {
			t.Errorf("pinned to %q", bad)
		}
	}
	loop := files(t)[workflows.Folder+workflows.Loop]
	if c, v := workflows.Pinned(loop); c != commit || v != "v0.1.0" || strings.Contains(string(loop), "unreleased") {
		t.Errorf("pinned to %q %q", c, v)
	}
	if got := workflows.Unpin(loop); string(got) != string(workflows.Shipped()[workflows.Folder+workflows.Loop]) {
		t.Error("a pinned file does not go back to what is shipped")
	}
	two := strings.Replace(string(loop), commit, strings.Repeat("f", 40), 1)
	if c, _ := workflows.Pinned([]byte(two)); c != "" {
		t.Errorf("two pins are none, got %q", c)
	}
}
