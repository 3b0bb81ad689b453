package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/cli"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
	"github.com/research-loop/research-loop/pkg/setup"
)

// doctor runs research-loop doctor on a server's repository with a token.
func doctor(t *testing.T, remote, token string, flags ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, talk bytes.Buffer
	code = cli.Main(context.Background(), cli.Env{
		Args: append([]string{"doctor", "--remote", remote}, flags...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk, Now: time.Now, Dir: t.TempDir(),
		Getenv: func(name string) string {
			switch name {
			case "GH_ENTERPRISE_TOKEN":
				return token
			case "HOME":
				return os.Getenv("HOME")
			}
			return ""
		},
	})
	if token != "" && strings.Contains(out.String()+talk.String(), token) {
		t.Error("the token is shown")
	}
	return out.String(), talk.String(), code
}

// TestDoctor examines a fresh repository, has it put right, and examines it again.
func TestDoctor(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("attacks the sandbox several times: set CI=true")
	}
	needSandbox(t)
	s := forgetest.New(t, forgetest.Config{})
	admin := s.Admin("root")
	out, talk, code := doctor(t, s.Remote(), admin)
	for _, want := range []string{"octo-org/widget\n", "state branches", "level open"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s%s", want, out, talk)
		}
	}
	if code != 6 { // the workflow files are missing
		t.Errorf("exit %d", code)
	}
	_, talk, _ = doctor(t, s.Remote(), admin, "--fix")
	if !strings.Contains(talk, `POST rulesets {"bypass_actors"`) || !strings.Contains(talk, "PUT environments/research-loop ") {
		t.Errorf("the requests are not shown:\n%s", talk)
	}
	before := len(s.Requests())
	out, talk, code = doctor(t, s.Remote(), admin, "--fix", "--json")
	for _, r := range s.Requests()[before:] {
		if r.Method != "GET" {
			t.Errorf("the second time: %s %s", r.Method, r.Path)
		}
	}
	var got struct {
		Schema     string
		Repository setup.Diagnosis
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Schema != "research-loop/doctor/v1" || got.Repository.Level != setup.LevelOpen || code != 6 {
		t.Errorf("exit %d, %v: %s%s", code, err, out, talk)
	}
}

// onlyGit is a PATH with git and nothing else.
func onlyGit(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(git, filepath.Join(dir, "git")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDoctorWithoutToken: no token is 4, one that is wrong too; a folder is no
// GitHub, and asks for none.
func TestDoctorWithoutToken(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("attacks the sandbox several times: set CI=true")
	}
	needSandbox(t)
	s := forgetest.New(t, forgetest.Config{})
	t.Setenv("PATH", onlyGit(t)) // no gh
	for _, token := range []string{"", "ghp_wrong"} {
		if _, talk, code := doctor(t, s.Remote(), token); code != 4 || !strings.Contains(talk, "fix: ") {
			t.Errorf("token %q: exit %d\n%s", token, code, talk)
		}
	}
	if _, talk, code := doctor(t, s.Dir(), ""); code != 0 || !strings.Contains(talk, "level local") {
		t.Errorf("a folder: exit %d\n%s", code, talk)
	}
}
