package forge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

// world is a test forge, a clone of its repository and a clock that nobody waits for.
type world struct {
	*forgetest.Server
	t     *testing.T
	clone string
	now   time.Time
	slept []time.Duration
}

func newWorld(t *testing.T, c forgetest.Config) *world {
	t.Helper()
	w := &world{t: t, clone: filepath.Join(t.TempDir(), "clone"), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	c.Now = func() time.Time { return w.now }
	w.Server = forgetest.New(t, c)
	w.Commit("main", map[string]string{"README": "widget\n"})
	return w
}

// run runs git with a token, and fails the test where git fails.
func (w *world) run(token string, args ...string) string {
	w.t.Helper()
	out, err := w.try(token, args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func (w *world) try(token string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	if token != "" {
		cmd.Env = append(cmd.Env, w.GitEnv(token)...)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// commit writes a file and commits it.
func (w *world) commit(file, text string) string {
	w.t.Helper()
	if _, err := os.Stat(w.clone); err != nil {
		w.run("", "clone", "--quiet", w.Dir(), w.clone)
	}
	path := filepath.Join(w.clone, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.run("", "-C", w.clone, "add", "-A")
	w.run("", "-C", w.clone, "commit", "--quiet", "-m", "change "+file)
	return w.run("", "-C", w.clone, "rev-parse", "HEAD")
}

// fork makes a branch at main, or one commit ahead of it.
func (w *world) fork(branch string, ahead bool) {
	w.t.Helper()
	w.run("", "-C", w.Dir(), "update-ref", "refs/heads/"+branch, w.Branch("main"))
	if ahead {
		w.Commit(branch, map[string]string{"solver": "1"})
	}
}

// push pushes HEAD to a branch with a token.
func (w *world) push(token, branch string, flags ...string) (string, error) {
	args := append([]string{"-C", w.clone, "push", "--quiet"}, flags...)
	return w.try(token, append(args, w.Remote(), "HEAD:refs/heads/"+branch)...)
}

// place is where the server is.
func (w *world) place() forge.Place {
	return forge.Place{API: w.API(), Web: w.URL, Owner: "octo-org", Name: "widget"}
}

// client is a client with a token, whose sleeps move the clock.
func (w *world) client(token, login string) *forge.Client {
	w.t.Helper()
	c, err := forge.New(forge.Options{
		Place: w.place(), Token: token, Login: login,
		Now: func() time.Time { return w.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.slept = append(w.slept, d)
			w.now = w.now.Add(d)
			return ctx.Err()
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// supervisor is a client with the token of the job that decides.
func (w *world) supervisor() *forge.Client {
	return w.client(w.JobToken("contents:write", "checks:write", "pull_requests:write", "actions:read"), forge.WorkflowLogin)
}

func check(head string) forge.Check {
	return forge.Check{
		Name: "research-loop (speedup)", Head: head, ExternalID: "speedup/1/" + head, Title: "under evaluation", Summary: "Attempt 1.",
		Started: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC),
	}
}

func findings(n int) []forge.Annotation {
	var out []forge.Annotation
	for i := range n {
		out = append(out, forge.Annotation{Path: "solver/roman.sh", Line: i + 1, Level: "failure", Title: "leak", Message: fmt.Sprintf("finding %d", i)})
	}
	return out
}
