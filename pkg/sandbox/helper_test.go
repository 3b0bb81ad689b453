//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// ordinary is a user id that no test machine uses for anything.
const ordinary = 64999

func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

// TestAsOrdinaryUser runs all tests again without root.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is the ordinary user")
	}
	if os.Getenv("CI") != "true" {
		t.Skip("repeats all tests as an ordinary user: set CI=true")
	}
	dir := sharedDir(t)
	tmp := filepath.Join(dir, "tmp")
	must(t, os.Mkdir(tmp, 0o700))
	must(t, os.Chown(tmp, ordinary, ordinary))
	c := ordinaryCommand(copySelf(t, dir), "-test.short", "-test.v", "-test.run=.")
	c.Dir, c.Env = tmp, append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp)
	out, err := c.CombinedOutput()
	if testing.Verbose() || err != nil {
		t.Logf("%s", out)
	}
	must(t, err)
}

func ordinaryCommand(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: ordinary, Gid: ordinary}
	}
	return c
}

// copySelf puts this test binary where every user can start it.
func copySelf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	name := filepath.Join(dir, "self.test")
	must(t, os.WriteFile(name, data, 0o755))
	must(t, os.Chmod(name, 0o755))
	return name
}

// sharedDir is a temporary folder that every user can enter.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox-test-")
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// tree makes a folder as it would be bound: files by name, folders 0755.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := sharedDir(t)
	for name, text := range files {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o755))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inModes runs a test in every mode that this user can have.
func inModes(t *testing.T, test func(t *testing.T, s *Sandbox)) {
	t.Helper()
	modes := []Mode{User}
	if os.Geteuid() == 0 {
		modes = []Mode{Root, User}
	}
	for _, m := range modes {
		t.Run(string(m), func(t *testing.T) { test(t, open(t, m)) })
	}
}

func open(t *testing.T, m Mode) *Sandbox {
	t.Helper()
	s, err := New(Options{Mode: m})
	if err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// small are limits that every test can live with.
func small() Limits { return Limits{Wall: 30 * time.Second, Output: 1 << 20, Temporary: 8 << 20} }

func sh(script string) Spec { return Spec{Argv: []string{"sh", "-c", script}, Limits: small()} }

func run(t *testing.T, s *Sandbox, spec Spec) Result {
	t.Helper()
	if spec.Limits == (Limits{}) {
		spec.Limits = small()
	}
	r, err := s.Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// output runs a command that must succeed and returns what it printed.
func output(t *testing.T, s *Sandbox, spec Spec) string {
	t.Helper()
	r := run(t, s, spec)
	if r.Outcome != Exited || r.Exit != 0 {
		t.Fatalf("%v: %s, exit %d, signal %d, refused %q\n%s%s", spec.Argv, r.Outcome, r.Exit, r.Signal, r.Refused, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// elsewhere says that a row of a table runs in the other mode: by default each
// runs in one of the two, in turn.
func elsewhere(s *Sandbox, row int) bool {
	return !long() && os.Geteuid() == 0 && (row%2 == 0) != (s.Mode() == Root)
}

// long says whether the long loops are wanted.
func long() bool { return os.Getenv("CI") == "true" && !testing.Short() }
