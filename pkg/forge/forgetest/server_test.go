package forgetest

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// author is a clone of a server's repository.
type author struct {
	t   *testing.T
	s   *Server
	dir string
}

func newAuthor(t *testing.T, c Config) *author {
	t.Helper()
	a := &author{t, New(t, c), filepath.Join(t.TempDir(), "clone")}
	a.must(a.git("", "init", "--quiet", "--initial-branch=main", a.dir))
	a.change("README", "widget\n")
	a.must(a.git("", "-C", a.dir, "push", "--quiet", a.s.Dir(), "main"))
	return a
}

func (a *author) must(out string, err error) string {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(out)
}

func (a *author) git(token string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	if token != "" {
		cmd.Env = append(cmd.Env, a.s.GitEnv(token)...)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (a *author) change(file, text string) {
	a.t.Helper()
	path := filepath.Join(a.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
	a.must(a.git("", "-C", a.dir, "add", "-A"))
	a.must(a.git("", "-C", a.dir, "commit", "--quiet", "-m", "change "+file))
}

func (a *author) push(token string, args ...string) (string, error) {
	return a.git(token, append([]string{"-C", a.dir, "push", a.s.Remote()}, args...)...)
}

func (a *author) refused(want, token string, args ...string) {
	a.t.Helper()
	out, err := a.push(token, args...)
	if err == nil || !strings.Contains(out, want) {
		a.t.Errorf("push %q: %v, want %q in:\n%s", args, err, want, out)
	}
}

func TestGitAccess(t *testing.T) {
	for _, private := range []bool{false, true} {
		a := newAuthor(t, Config{Private: private})
		read, write := a.s.JobToken("contents:read"), a.s.JobToken("contents:write")
		if _, err := a.git("", "ls-remote", a.s.Remote()); (err != nil) != private {
			t.Errorf("private=%v: nobody reads: %v", private, err)
		}
		a.must(a.git(read, "ls-remote", a.s.Remote()))
		if _, err := a.git("ghs_wrong", "ls-remote", a.s.Remote()); err == nil {
			t.Error("a wrong token reads")
		}
		a.change("solver", "1")
		a.refused("could not read Username", "", "HEAD:refs/heads/x")
		a.refused("403", read, "HEAD:refs/heads/x")
		a.must(a.push(write, "HEAD:refs/heads/x"))
	}
}

// TestBigPush sends more than git sends in one piece: it comes in chunks.
func TestBigPush(t *testing.T) {
	a := newAuthor(t, Config{})
	big := make([]byte, 3<<20)
	if _, err := rand.Read(big); err != nil {
		t.Fatal(err)
	}
	a.change("big", string(big))
	a.must(a.push(a.s.JobToken("contents:write"), "HEAD:refs/heads/big"))
	if got := a.s.run("cat-file", "blob", "refs/heads/big:big"); !bytes.Equal([]byte(got), big) {
		t.Errorf("%d bytes arrived of %d", len(got), len(big))
	}
}

func TestPushRules(t *testing.T) {
	a := newAuthor(t, Config{})
	a.s.User("ada", "write")
	ada := a.s.Token(Token{Kind: FineGrained, Login: "ada", Permissions: map[string]string{"contents": "write"}})
	branch := func(name string, include string, rules ...string) {
		var list []any
		for _, r := range rules {
			list = append(list, map[string]any{"type": r})
		}
		a.s.Ruleset(map[string]any{"name": name, "enforcement": "active", "rules": list,
			"conditions": map[string]any{"ref_name": map[string]any{"include": []any{include}, "exclude": []any{}}}})
	}
	branch("run", "refs/heads/research-loop/**", "deletion", "non_fast_forward")
	branch("trunk", "~DEFAULT_BRANCH", "pull_request", "deletion", "non_fast_forward")
	branch("closed", "refs/heads/closed/*", "creation")
	a.change("solver", "1")
	a.must(a.push(ada, "HEAD:refs/heads/research-loop/speedup"))
	a.refused("Changes must be made through a pull request", ada, "HEAD:main")
	a.refused("Cannot create ref", ada, "HEAD:refs/heads/closed/x")
	a.must(a.push(ada, "HEAD:refs/heads/closed/x/y")) // one star stops at a slash
	a.must(a.git("", "-C", a.dir, "reset", "--quiet", "--hard", "HEAD~1"))
	a.change("solver", "2")
	a.refused("Cannot force-push", ada, "--force", "HEAD:refs/heads/research-loop/speedup")
	a.refused("Cannot delete", ada, ":refs/heads/research-loop/speedup")

	a.s.Protect("release", nil)
	a.refused("GH006", ada, "HEAD:refs/heads/release")

	a.change(".github/workflows/evil.yml", "on: push\n")
	a.refused("without workflows permission", ada, "HEAD:refs/heads/research-loop/evil")
	with := a.s.Token(Token{Kind: FineGrained, Login: "ada", Permissions: map[string]string{"contents": "write", "workflows": "write"}})
	a.must(a.push(with, "HEAD:refs/heads/evil"))
	a.must(a.push(ada, "HEAD:refs/heads/research-loop/evil")) // the same file exists on another branch
	if got := a.s.Runs(); len(got) != 2 {
		t.Errorf("%d runs of the workflow that was pushed twice", len(got))
	}
}

// TestPushFault loses a push, or its answer.
func TestPushFault(t *testing.T) {
	a := newAuthor(t, Config{})
	job := a.s.JobToken("contents:write")
	a.change("solver", "1")
	for _, after := range []bool{false, true} {
		a.s.Fail(Fault{Method: "PUSH", Status: 502, After: after})
		if _, err := a.push(job, "HEAD:refs/heads/x"); err == nil || (a.s.Branch("x") != "") != after {
			t.Errorf("after=%v: %v, branch %q", after, err, a.s.Branch("x"))
		}
	}
}

// TestSecretsFor gives an environment's secrets to the refs that its rule admits.
func TestSecretsFor(t *testing.T) {
	a := newAuthor(t, Config{})
	a.s.Secret("judge", "KEY", "1")
	for ref, policy := range map[string]map[string]any{
		"refs/heads/research-loop/x": nil,
		"refs/heads/main":            {"custom_branch_policies": true, "protected_branches": false},
	} {
		a.s.state.environments["judge"].policy = policy
		a.s.state.environments["judge"].patterns = []*pattern{{1, "main", "branch"}}
		if got, err := a.s.SecretsFor("judge", ref); err != nil || got["KEY"] != "1" {
			t.Errorf("%s: %v, %v", ref, got, err)
		}
	}
	a.s.state.environments["judge"].policy = map[string]any{"custom_branch_policies": true, "protected_branches": false}
	for _, ref := range []string{"refs/heads/research-loop/x", "refs/tags/main", "refs/pull/1/merge", "refs/heads/main/x"} {
		if got, err := a.s.SecretsFor("judge", ref); err == nil {
			t.Errorf("%s got %v", ref, got)
		}
	}
	if got, err := a.s.SecretsFor("unknown", "refs/heads/x"); err != nil || len(got) != 0 {
		t.Errorf("an unknown environment is made, and is empty: %v, %v", got, err)
	}
}

// TestServesTheWholeCut: each operation of the description's cut has a handler.
func TestServesTheWholeCut(t *testing.T) {
	s, err := readSpec()
	if err != nil {
		t.Fatal(err)
	}
	served := handlers()
	for _, op := range s.operations {
		if _, ok := served[op.key]; !ok {
			t.Errorf("%s is in the cut and not served", op.key)
		}
		delete(served, op.key)
	}
	for key := range served {
		t.Errorf("%s is served and not in the cut", key)
	}
}

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Errorf(format string, args ...any) { r.said = append(r.said, format) }
func (r *recorder) Helper()                           {}

// TestStrict: what GitHub would not understand fails the test that sends it.
func TestStrict(t *testing.T) {
	r := &recorder{TB: t}
	s := New(r, Config{})
	token := s.Admin("root")
	for name, test := range map[string]struct{ method, path, body string }{
		"unknown path":  {"GET", "/repos/octo-org/widget/nonsense", ""},
		"wrong type":    {"POST", "/repos/octo-org/widget/keys", `{"key":7}`},
		"missing field": {"POST", "/repos/octo-org/widget/dispatches", `{}`},
		"wrong enum":    {"POST", "/repos/octo-org/widget/rulesets", `{"name":"x","enforcement":"maybe"}`},
		"no JSON":       {"POST", "/repos/octo-org/widget/keys", `{`},
	} {
		r.said = nil
		req, err := http.NewRequest(test.method, s.API()+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if len(r.said) != 1 || answer.StatusCode < 400 {
			t.Errorf("%s: %d, and the test heard %q", name, answer.StatusCode, r.said)
		}
	}
}
