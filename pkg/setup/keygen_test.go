package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

func keyring(t testing.TB, maintainer bool) *Keyring {
	t.Helper()
	k, err := Generate("research-loop/octo-org/widget", maintainer)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// secrets are the lines of a ring that nobody may see.
func secrets(k *Keyring) []string {
	var out []string
	for _, s := range []vault.Secret{k.private.Judge.Secret(), k.private.Execute.Secret(), k.private.Final.Secret(), k.private.Maintainer.Secret()} {
		for line := range strings.Lines(s.Reveal()) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// silent fails the test where a text shows a secret.
func silent(t *testing.T, what, text string, k *Keyring) {
	t.Helper()
	for _, s := range secrets(k) {
		_, body, _ := strings.Cut(s, ":")
		if strings.Contains(text, s) || body != "" && strings.Contains(text, body) {
			t.Errorf("%s shows a secret", what)
		}
	}
}

// TestBlock holds that a contract takes the block as it is printed.
func TestBlock(t *testing.T) {
	draft := strings.ReplaceAll(string(Draft(trees[0].files)), ": "+contract.Inferred+" ", ": ")
	for _, maintainer := range []bool{true, false} {
		k := keyring(t, maintainer)
		c, err := contract.Parse("contract.yml", []byte(draft+k.Block()))
		if err != nil {
			t.Fatal(err)
		}
		if *c.Keys != k.Public || (c.Keys.Maintainer != "") != maintainer {
			t.Errorf("the contract reads %+v, the ring has %+v", *c.Keys, k.Public)
		}
		silent(t, "the block", k.Block(), k)
		silent(t, "a printed ring", fmt.Sprintf("%v %+v %#v", k, *k, k), k)
	}
}

func TestKeyName(t *testing.T) {
	for in, want := range map[string]string{
		"Octo-Org/Widget": "research-loop/octo-org/widget",
		"a.b/c_d":         "research-loop/a.b/c_d",
	} {
		if got, err := GitHubKeyName(in); got != want || err != nil {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "widget", "a/b/c", "a b/c", "a/b+c", "https://github.com/a/b", "a/\n", "/"} {
		if got, err := GitHubKeyName(in); err == nil {
			t.Errorf("%q is taken as %s", in, got)
		}
	}
	if got, err := KeyName("git@github.com:Octo-Org/widget.git"); got != "research-loop/octo-org/widget" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWriteKeys(t *testing.T) {
	for _, maintainer := range []bool{true, false} {
		k := keyring(t, maintainer)
		dir := filepath.Join(t.TempDir(), "keys")
		files, err := k.Write(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"judge.key": k.Public.Judge, "execute.key": k.Public.Execute, "final.key": k.Public.Final}
		if maintainer {
			want["maintainer.key"] = k.Public.Maintainer
		}
		if len(files) != len(want) {
			t.Errorf("written: %v", files)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != 0o600 {
				t.Errorf("%s has mode %v", f, info.Mode())
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			i, err := ParseKey(string(text))
			if err != nil || i.Recipient().String() != want[filepath.Base(f)] {
				t.Errorf("%s opens for %v, %v", f, i, err)
			}
		}
		text, _ := os.ReadFile(filepath.Join(dir, "judge.key"))
		if j, err := vault.ParseJudge(string(text)); err != nil || strings.Count(string(text), "\n") != 2 || string(j.Seed()) != string(k.private.Judge.Seed()) {
			t.Errorf("judge.key: %v", err)
		}
		if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has mode %v", info.Mode())
		}
		if _, err := k.Write(dir); !isExisting(err) {
			t.Errorf("over itself: %v", err)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	k := keyring(t, true)
	for _, text := range []string{"", "x", k.Public.Judge, secrets(k)[0], k.private.Judge.Secret().Reveal() + secrets(k)[2], secrets(k)[1][:40], strings.Repeat("#", 5000)} {
		_, err := ParseKey(text)
		if err == nil {
			t.Errorf("%.30q… is read", text)
			continue
		}
		silent(t, "the error", err.Error(), k)
	}
}

// TestOutside puts things into repositories in every way.
func TestOutside(t *testing.T) {
	top := t.TempDir()
	folder := func(path ...string) string {
		dir := filepath.Join(append([]string{top}, path...)...)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := func(to string, path ...string) string {
		name := filepath.Join(append([]string{top}, path...)...)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	folder("tree", ".git")
	inside := folder("tree", "a", "b")
	worktree := folder("worktree", "a")
	if err := os.WriteFile(filepath.Join(top, "worktree", ".git"), []byte("gitdir: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"objects", "refs", "HEAD", "a"} {
		folder("bare.git", name)
	}
	plain := folder("plain", "a")
	for _, path := range []string{
		inside, filepath.Join(top, "tree"), filepath.Join(inside, "new", "newer"), worktree, filepath.Join(top, "tree", ".git"),
		filepath.Join(top, "bare.git", "a"), filepath.Join(top, "bare.git"), link(inside, "plain", "link"), filepath.Join(top, "plain", "link", "new"),
		link(filepath.Join(inside, "none"), "plain", "nowhere"), plain + "/../../tree/x",
	} {
		var refused *supervisor.RefusedError
		if err := outside(path, "this"); !errors.As(err, &refused) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := keyring(t, true).Write(path); err == nil {
			t.Errorf("keys are written to %s", path)
		}
	}
	for _, path := range []string{plain, filepath.Join(plain, "new", "newer"), link(plain, "plain", "fine"), filepath.Join(top, "tree", "..", "plain")} {
		if err := outside(path, "this"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// fakeGH puts a command gh on the PATH that notes what it is given, and then
// does more.
func fakeGH(t *testing.T, more string) (notes string) {
	t.Helper()
	bin, notes := t.TempDir(), t.TempDir()
	script := `#!/bin/sh
n=$(ls "$GH_NOTES" | wc -l)
{ printf '%s\n' "$@"; pwd; tr '\0' '\n' </proc/$$/cmdline; env; } >"$GH_NOTES/$n.seen"
cat >"$GH_NOTES/$n.stdin"
` + more
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GH_NOTES", notes)
	return notes
}

func TestStore(t *testing.T) {
	notes := fakeGH(t, "echo stored\n")
	k := keyring(t, true)
	stored, err := k.Store(context.Background(), t.TempDir(), "octo-org/widget")
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(stored) != "[{RESEARCH_LOOP_JUDGE research-loop} {RESEARCH_LOOP_INPUTS research-loop-execute} {RESEARCH_LOOP_INPUTS research-loop-final}]" {
		t.Errorf("stored: %v", stored)
	}
	for i, want := range []vault.Secret{k.private.Judge.Secret(), k.private.Execute.Secret(), k.private.Final.Secret()} {
		given, err := os.ReadFile(filepath.Join(notes, fmt.Sprintf("%d.stdin", 2*i)))
		if err != nil || string(given) != want.Reveal() {
			t.Errorf("secret %d is not what gh was given (%v)", i, err)
		}
		seen, err := os.ReadFile(filepath.Join(notes, fmt.Sprintf("%d.seen", 2*i)))
		args := "secret\nset\n" + stored[i].Name + "\n--env\n" + stored[i].Environment + "\n--repo\nocto-org/widget\n"
		if err != nil || !strings.HasPrefix(string(seen), args) {
			t.Errorf("gh was called with %q (%v)", seen, err)
		}
		silent(t, "argv or environment", string(seen), k)
	}
}

func TestStoreFails(t *testing.T) {
	for name, c := range map[string]struct {
		gh, want string
		auth     bool
	}{
		"login":       {"echo 'gh auth login' >&2; exit 4", "gh ended with 4: gh auth login", true},
		"environment": {"echo 'HTTP 404: Not Found' >&2; exit 1", "secret RESEARCH_LOOP_JUDGE of environment research-loop was not stored: gh ended with 1: HTTP 404", false},
		"chatter":     {"cat \"$GH_NOTES/0.stdin\"; exit 1", "it holds the secret", false},
		"half":        {"tail -n 1 \"$GH_NOTES/0.stdin\" >&2; exit 1", "it holds the secret", false},
		"flood":       {"head -c 100000 /dev/zero | tr '\\0' x; exit 1", "xxx…", false},
		"second":      {"case \"$*\" in *execute*) exit 1;; esac", "environment research-loop-execute", false},
	} {
		t.Run(name, func(t *testing.T) {
			fakeGH(t, c.gh)
			k := keyring(t, false)
			_, err := k.Store(context.Background(), t.TempDir(), "")
			var fault *GitHubError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || fault.Auth != c.auth || fault.Missing || len(err.Error()) > 1000 {
				t.Fatalf("got %.1000v", err)
			}
			silent(t, "the error", err.Error(), k)
		})
	}
	t.Run("no gh", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := keyring(t, false).Store(context.Background(), t.TempDir(), "")
		var fault *GitHubError
		if !errors.As(err, &fault) || !fault.Missing {
			t.Errorf("got %v", err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		fakeGH(t, "")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := keyring(t, false).Store(ctx, t.TempDir(), ""); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
