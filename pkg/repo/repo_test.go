package repo

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain gives git a home of its own, so that nothing of the person who runs
// the tests changes what they see.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "research-loop-repo-")
	if err != nil {
		panic(err)
	}
	const config = "[user]\n\tname = Someone\n\temail = someone@example.com\n" +
		"[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n" +
		"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n"
	global := filepath.Join(home, ".gitconfig")
	if err := os.WriteFile(global, []byte(config), 0o644); err != nil {
		panic(err)
	}
	for key, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": global, "GIT_CONFIG_NOSYSTEM": "1"} {
		os.Setenv(key, value)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// sh runs git in dir as a person would, and returns what it printed.
func sh(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return feed(t, dir, "", args...)
}

func feed(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	out, err := try(dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func try(dir, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	return b.String(), err
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func script(t testing.TB, path, text string) {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// commit writes files into the work tree dir, commits them, and returns the id.
func commit(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	sh(t, dir, "add", "--all")
	sh(t, dir, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", "change\n\nbody")
	return sh(t, dir, "rev-parse", "HEAD")
}

// newPerson makes a repository with one commit and returns its folder.
func newPerson(t testing.TB, initArgs ...string) string {
	t.Helper()
	dir := t.TempDir()
	if len(initArgs) == 0 {
		copyTo(t, dir, filepath.Join(fixture(t), "person"))
		return dir
	}
	initialise(t, dir, initArgs...)
	return dir
}

func initialise(t testing.TB, dir string, args ...string) {
	t.Helper()
	sh(t, dir, append([]string{"init", "--quiet", "--template="}, args...)...)
	commit(t, dir, map[string]string{"README": "one\n", "src/a.go": "package a\n"})
}

// newRemote makes a bare repository with the one commit of newPerson.
func newRemote(t testing.TB) (remote, person string) {
	t.Helper()
	person = newPerson(t)
	remote = filepath.Join(t.TempDir(), "origin.git")
	copyTo(t, remote, filepath.Join(fixture(t), "origin.git"))
	sh(t, person, "remote", "add", "origin", remote)
	return remote, person
}

var made sync.Once

// fixture is a folder in the tests' home with a person and their remote, made
// once and copied for each test.
func fixture(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("HOME"), "fixture")
	made.Do(func() {
		person := filepath.Join(dir, "person")
		if err := os.MkdirAll(person, 0o755); err != nil {
			t.Fatal(err)
		}
		initialise(t, person)
		sh(t, person, "clone", "--quiet", "--bare", "--template=", ".", filepath.Join(dir, "origin.git"))
	})
	return dir
}

func copyTo(t testing.TB, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func openClone(t testing.TB, remote string) *Clone {
	t.Helper()
	c, err := OpenClone(context.Background(), filepath.Join(t.TempDir(), "clone"), remote)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func fetched(t testing.TB, remote string) *Clone {
	t.Helper()
	c := openClone(t, remote)
	if err := c.Fetch(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

func openWork(t testing.TB, dir string) *Work {
	t.Helper()
	w, err := OpenWork(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func paths(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func TestChanges(t *testing.T) {
	f := func(path, id string) Entry { return Entry{path, ModeFile, id} }
	exec := Entry{"a", ModeExecutable, "1"}
	tests := []struct {
		name string
		a, b []Entry
		want []Change
	}{
		{"nothing", nil, nil, nil},
		{"same", []Entry{f("a", "1")}, []Entry{f("a", "1")}, nil},
		{"added", nil, []Entry{f("a", "1")}, []Change{{"a", Entry{}, f("a", "1")}}},
		{"deleted", []Entry{f("a", "1"), f("b", "1")}, []Entry{f("b", "1")}, []Change{{"a", f("a", "1"), Entry{}}}},
		{"contents", []Entry{f("a", "1")}, []Entry{f("a", "2")}, []Change{{"a", f("a", "1"), f("a", "2")}}},
		{"mode alone", []Entry{f("a", "1")}, []Entry{exec}, []Change{{"a", f("a", "1"), exec}}},
		{"renamed", []Entry{f("a", "1")}, []Entry{f("b", "1")}, []Change{{"a", f("a", "1"), Entry{}}, {"b", Entry{}, f("b", "1")}}},
		{"file to folder", []Entry{f("a", "1")}, []Entry{f("a/b", "1")}, []Change{{"a", f("a", "1"), Entry{}}, {"a/b", Entry{}, f("a/b", "1")}}},
		{"out of order", []Entry{f("a", "1"), f("b", "1")}, []Entry{f("b", "1"), f("a", "1")}, nil},
		{"doubled", []Entry{f("a", "1")}, []Entry{f("a", "1"), f("a", "2")}, []Change{{"a", Entry{}, f("a", "2")}}},
		{"doubled before", []Entry{f("a", "1")}, []Entry{f("a", "2"), f("a", "1")}, []Change{{"a", f("a", "1"), f("a", "2")}, {"a", Entry{}, f("a", "1")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Changes(tt.a, tt.b); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestParseCommit(t *testing.T) {
	id := strings.Repeat("1", 40)
	head := "tree " + id + "\n"
	parent := "parent " + strings.Repeat("2", 40) + "\n"
	who := "author A <a@example.com> 1700000000 +0200\ncommitter B <b@example.com> 1700000001 +0200\n"
	accept := []struct {
		name, raw, message string
		parents            int
		seconds            int64
	}{
		{"plain", head + who + "\nhello\n", "hello\n", 0, 1700000001},
		{"two parents", head + parent + parent + who + "\nm", "m", 2, 1700000001},
		{"signed", head + who + "gpgsig -----BEGIN\n line\n parent x\n -----END\n\nm", "m", 0, 1700000001},
		{"parent too late is none, as in git", head + who + parent + "\nm", "m", 0, 1700000001},
		{"no people", head + "\nm", "m", 0, 0},
		{"no message", head + who, "", 0, 0},
		{"time that is none", head + "author x\ncommitter B <b> soon\n\nm", "m", 0, 0},
		{"time far away", head + "committer B <b> 99999999999999999 +0000\n\nm", "m", 0, 0},
	}
	for _, tt := range accept {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseCommit("x", []byte(tt.raw), 20)
			if err != nil {
				t.Fatal(err)
			}
			var seconds int64
			if !c.Time.IsZero() {
				seconds = c.Time.Unix()
			}
			if tt.name == "no message" {
				seconds = 0
			}
			if c.Message != tt.message || len(c.Parents) != tt.parents || seconds != tt.seconds || c.Tree != id {
				t.Errorf("got %+v", c)
			}
		})
	}
	for _, raw := range []string{"", "tree\n\nm", "tree 123\n\nm", "author x\n" + head + "\nm", head + "parent 12\n\nm", "tree " + strings.Repeat("Z", 40) + "\n"} {
		if c, err := parseCommit("x", []byte(raw), 20); err == nil {
			t.Errorf("parseCommit(%q) = %+v", raw, c)
		}
	}
}

func TestParseSmallThings(t *testing.T) {
	for out, want := range map[string][2]int{"git version 2.39.5": {2, 39}, "git version 2.31.0.windows.1": {2, 31}, "git version 2.50.1 (Apple Git-155)": {2, 50}} {
		major, minor, err := parseVersion(out)
		if err != nil || major != want[0] || minor != want[1] {
			t.Errorf("parseVersion(%q) = %d, %d, %v", out, major, minor, err)
		}
	}
	for _, out := range []string{"", "git version", "git version x.y", "hub version 2.1"} {
		if _, _, err := parseVersion(out); err == nil {
			t.Errorf("parseVersion(%q) has no error", out)
		}
	}
	for _, line := range []string{"", "x", "a blob", "a blob -1", "a blob 1x", "a blob 1 2"} {
		if _, _, _, err := parseBatchHeader(line); err == nil {
			t.Errorf("parseBatchHeader(%q) has no error", line)
		}
	}
	for _, out := range []string{"x", " M a", "M\x00", "   \x00", "abc\x00", " M a\x00b\x00"} {
		if got, err := parseStatus([]byte(out)); err == nil {
			t.Errorf("parseStatus(%q) = %q", out, got)
		}
	}
	for _, id := range []string{"", strings.Repeat("g", 40), strings.Repeat("A", 40), strings.Repeat("a", 39), strings.Repeat("a", 64)} {
		if isID(id, 20) {
			t.Errorf("isID(%q)", id)
		}
	}
}

func TestEnvironment(t *testing.T) {
	from := []string{"HOME=/h", "PATH=/p", "GIT_DIR=/evil", "GIT_OBJECT_DIRECTORY=/evil", "GIT_CONFIG_PARAMETERS='a=b'",
		"GIT_SSH_COMMAND=ssh -i k", "GIT_CONFIG_GLOBAL=/g", "LC_ALL=de_DE", "SSH_AUTH_SOCK=/s", "https_proxy=p"}
	for _, person := range []bool{false, true} {
		env := strings.Join(environment(from, person), "\n")
		for _, gone := range []string{"/evil", "a=b", "de_DE"} {
			if strings.Contains(env, gone) {
				t.Errorf("person %v: %s is still there", person, gone)
			}
		}
		for _, kept := range []string{"HOME=/h", "PATH=/p", "SSH_AUTH_SOCK=/s", "https_proxy=p", "GIT_NO_REPLACE_OBJECTS=1"} {
			if !strings.Contains(env, kept) {
				t.Errorf("person %v: %s is gone", person, kept)
			}
		}
		if got := strings.Contains(env, "GIT_SSH_COMMAND=ssh -i k"); got != person {
			t.Errorf("person %v: GIT_SSH_COMMAND kept: %v", person, got)
		}
		if got := strings.Contains(env, "GIT_CONFIG_GLOBAL=/g"); got != person {
			t.Errorf("person %v: GIT_CONFIG_GLOBAL kept: %v", person, got)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x0012345678901234567890"), 20)
	f.Add([]byte("40000 .git\x0012345678901234567890120000 a\nb\x0012345678901234567890"), 20)
	f.Add([]byte("100644 \x00"), 32)
	f.Fuzz(func(t *testing.T, raw []byte, width int) {
		if width != 20 && width != 32 {
			return
		}
		entries, err := parseTree(raw, width)
		if err != nil {
			return
		}
		back, err := encodeTree(entries)
		if err != nil || !bytes.Equal(back, raw) {
			t.Errorf("%q came back as %q, %v", raw, back, err)
		}
		for _, e := range entries {
			isTree(e.mode)
			hostile(e.name)
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree 1111111111111111111111111111111111111111\nparent 1111111111111111111111111111111111111111\nauthor A <a> 1 +0000\n\nm"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseCommit("x", raw, 20)
		if err == nil && (!isID(c.Tree, 20) || !bytes.HasSuffix(raw, []byte(c.Message)) || c.Time.After(time.Unix(1<<41, 0))) {
			t.Errorf("%q gave %+v", raw, c)
		}
	})
}

func FuzzParseAnswers(f *testing.F) {
	f.Add([]byte("?? a\nb\x00"), "1234 blob 12", "git version 2.39.5")
	f.Fuzz(func(t *testing.T, status []byte, header, version string) {
		if got, err := parseStatus(status); err == nil && len(got) != bytes.Count(status, []byte{0}) {
			t.Errorf("%q gave %q", status, got)
		}
		if _, _, size, err := parseBatchHeader(header); err == nil && size < 0 {
			t.Errorf("%q gave size %d", header, size)
		}
		if major, minor, err := parseVersion(version); err == nil && (major < 0 || minor < 0) {
			t.Errorf("%q gave %d.%d", version, major, minor)
		}
	})
}

func FuzzCheckPath(f *testing.F) {
	for _, p := range []string{"a/b", "../x", ".git/config", "a//b", "-x", "a\nb", "\xff", "GIT~1"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if CheckPath(p) == nil && (!filepath.IsLocal(p) || filepath.Clean(p) != p || strings.EqualFold(filepath.Base(p), ".git")) {
			t.Errorf("%q is taken", p)
		}
	})
}
