package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/research-loop/research-loop/pkg/sandbox"
)

// TestMain puts the program on PATH as research-loop: scripts, hooks and tests
// start it as a person would.
func TestMain(m *testing.M) {
	sandbox.Init()
	testscript.Main(m, map[string]func(){"research-loop": main})
}

// noSandbox says why this machine has no sandbox that keeps every limit, ""
// where it has one.
var noSandbox = sync.OnceValue(func() string {
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return err.Error()
	}
	defer box.Close()
	if !slices.Contains(box.Limits(), "memory") {
		return "it has no cgroup for the memory limit that the contracts of these tests ask for"
	}
	return ""
})

// needSandbox skips a test where no candidate can be run.
func needSandbox(t *testing.T) {
	t.Helper()
	if why := noSandbox(); why != "" {
		t.Skipf("no sandbox on this machine: %s", why)
	}
}

// environment is that of a person with an empty home below dir, and a name.
func environment(dir string) ([]string, error) {
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	const config = "[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n[push]\n\tdefault = nothing\n[protocol \"file\"]\n\tallow = always\n" +
		"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n" // no upkeep after every command
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	return []string{
		"HOME=" + home, "RESEARCH_LOOP_HOME=" + filepath.Join(dir, "state"), "RESEARCH_LOOP_RUN=", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada Author", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada Author", "GIT_COMMITTER_EMAIL=ada@example.com",
		"GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8",
	}, nil
}

// person types commands in a folder.
type person struct {
	t   testing.TB
	dir string
	env []string
}

// said is what a command printed, and its exit code.
type said struct {
	stdout, stderr string
	code           int
}

// newPerson gives a person whose home, remote and project lie below dir.
func newPerson(t testing.TB, dir string) *person {
	t.Helper()
	env, err := environment(dir)
	must(t, err)
	return &person{t: t, dir: dir, env: env}
}

// try runs a command and lets it fail.
func (p *person) try(name string, args ...string) said {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, append(append(os.Environ(), p.env...), "PWD="+p.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%s: %v", name, err)
	}
	return said{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// run runs a command that must succeed and gives what it printed, trimmed.
func (p *person) run(name string, args ...string) string {
	p.t.Helper()
	got := p.try(name, args...)
	if got.code != 0 {
		p.t.Fatalf("%s %s: exit %d\n%s%s", name, strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
	return strings.TrimSpace(got.stdout)
}

// start seals the contract after reading its digest, as start asks for it.
func (p *person) start(tag string) {
	p.t.Helper()
	asked := p.try("research-loop", "start", tag)
	_, digest, ok := strings.Cut(asked.stderr, "--confirm ")
	if asked.code != 6 || !ok {
		p.t.Fatalf("start: exit %d\n%s", asked.code, asked.stderr)
	}
	p.run("research-loop", "start", tag, "--confirm", strings.TrimSpace(digest))
}

// publish makes the folder project a repository with one commit and a bare
// remote beside it, and goes there.
func (p *person) publish() {
	p.t.Helper()
	p.run("git", "init", "--quiet", "--bare", "origin.git")
	p.run("git", "init", "--quiet", "project")
	p.dir = filepath.Join(p.dir, "project")
	p.run("git", "remote", "add", "origin", "../origin.git")
	p.run("git", "add", "--all")
	p.run("git", "commit", "--quiet", "--message", "the project")
	p.run("git", "push", "--quiet", "origin", "HEAD:main")
	p.run("git", "fetch", "--quiet", "origin")
	p.run("git", "remote", "set-head", "origin", "main")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
