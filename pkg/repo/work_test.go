package repo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWorkKinds reads one commit out of every kind of repository.
func TestWorkKinds(t *testing.T) {
	source := newPerson(t)
	sh(t, source, "config", "uploadpack.allowFilter", "true")
	commit(t, source, map[string]string{"README": "two\n"})
	clone := func(args ...string) string {
		dir := filepath.Join(t.TempDir(), "clone")
		sh(t, source, append(append([]string{"clone", "--quiet"}, args...), "file://"+source, dir)...)
		return dir
	}
	tests := map[string]func(t *testing.T) string{
		"plain":    func(t *testing.T) string { return source },
		"below":    func(t *testing.T) string { return filepath.Join(source, "src") },
		"git dir":  func(t *testing.T) string { return filepath.Join(source, ".git") },
		"bare":     func(t *testing.T) string { return clone("--bare") },
		"shared":   func(t *testing.T) string { return clone("--shared") },
		"shallow":  func(t *testing.T) string { return clone("--depth=1") },
		"partial":  func(t *testing.T) string { return clone("--filter=blob:none", "--no-checkout") },
		"treeless": func(t *testing.T) string { return clone("--filter=tree:0", "--no-checkout") },
		"sparse": func(t *testing.T) string {
			dir := clone()
			sh(t, dir, "sparse-checkout", "set", "src")
			return dir
		},
		"split index": func(t *testing.T) string {
			dir := clone()
			sh(t, dir, "update-index", "--split-index")
			return dir
		},
		"worktree": func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "tree")
			sh(t, source, "worktree", "add", "--quiet", "--detach", dir)
			return dir
		},
		"submodule": func(t *testing.T) string {
			outer := newPerson(t)
			sh(t, outer, "submodule", "--quiet", "add", source, "sub")
			return filepath.Join(outer, "sub")
		},
		"sha256": func(t *testing.T) string {
			dir := newPerson(t, "--object-format=sha256")
			commit(t, dir, map[string]string{"README": "two\n"})
			return dir
		},
		"reftable": func(t *testing.T) string {
			dir := t.TempDir()
			if out, err := try(dir, "", "init", "--quiet", "--ref-format=reftable"); err != nil {
				t.Skipf("this git has no reftable: %s", out)
			}
			commit(t, dir, map[string]string{"src/a.go": "package a\n"})
			commit(t, dir, map[string]string{"README": "two\n"})
			return dir
		},
	}
	for name, dir := range tests {
		t.Run(name, func(t *testing.T) {
			w := openWork(t, dir(t))
			_, head := w.Head()
			entries, err := w.Tree(head)
			if err != nil || !slices.Equal(paths(entries), []string{"README", "src/a.go"}) && name != "submodule" {
				t.Fatalf("Tree(%s) = %v, %v", head, entries, err)
			}
			if data, err := w.File(head, "README"); err != nil || string(data) != "two\n" {
				t.Errorf("File = %q, %v", data, err)
			}
			if w.Shallow() != (name == "shallow") {
				t.Errorf("Shallow = %v", w.Shallow())
			}
			if bare := w.Top() == ""; bare != (name == "bare" || name == "git dir") {
				t.Errorf("Top = %q", w.Top())
			}
			c, err := w.Commit(head)
			if err != nil || len(c.Parents) != 1 {
				t.Fatalf("Commit = %+v, %v", c, err)
			}
			_, err = w.Range(c.Parents[0], head)
			if err != nil {
				t.Errorf("Range: %v", err)
			}
			ok, err := w.Descends(c.Parents[0], head)
			var missing *MissingError
			if name == "shallow" {
				if !errors.As(err, &missing) || !strings.Contains(err.Error(), "--unshallow") {
					t.Errorf("Descends below the cut: %v, %v", ok, err)
				}
			} else if !ok || err != nil {
				t.Errorf("Descends = %v, %v", ok, err)
			}
		})
	}
}

func TestOpenWorkRefuses(t *testing.T) {
	empty := t.TempDir()
	broken := t.TempDir()
	write(t, filepath.Join(broken, ".git"), "gitdir: nowhere\n")
	odd := newPerson(t)
	sh(t, odd, "config", "extensions.nobody", "knows")
	sh(t, odd, "config", "core.repositoryFormatVersion", "1")
	for _, dir := range []string{empty, broken, odd, filepath.Join(empty, "none"), filepath.Join(odd, "README")} {
		w, err := OpenWork(context.Background(), dir)
		var not *NotRepository
		if !errors.As(err, &not) || not.Why == "" {
			t.Errorf("OpenWork(%s) = %v, %v", dir, w, err)
		}
	}
	t.Setenv("PATH", empty)
	if _, err := OpenWork(context.Background(), odd); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("without git: %v", err)
	}
	script(t, filepath.Join(empty, "git"), "echo git version 2.30.9\n")
	if _, err := OpenWork(context.Background(), odd); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("with an old git: %v", err)
	}
}

// TestWorkIsNotBlinded tries what makes git itself show something else.
func TestWorkIsNotBlinded(t *testing.T) {
	dir := newPerson(t)
	base := sh(t, dir, "rev-parse", "HEAD")
	clean := commit(t, dir, map[string]string{"src/a.go": "package a // clean\n"})
	sh(t, dir, "reset", "--quiet", "--hard", base)
	evil := commit(t, dir, map[string]string{"src/a.go": "package a // evil\n", "evil": "e"})
	evilBlob := sh(t, dir, "rev-parse", evil+":src/a.go")
	sh(t, dir, "replace", evil, clean)
	sh(t, dir, "replace", evilBlob, sh(t, dir, "rev-parse", clean+":src/a.go"))
	sh(t, dir, "config", "core.useReplaceRefs", "true")
	ran := filepath.Join(t.TempDir(), "ran")
	spy := filepath.Join(t.TempDir(), "spy")
	script(t, spy, "echo spy >>"+ran+"\ncat\n")
	for _, key := range []string{"core.fsmonitor", "diff.external", "diff.x.textconv", "filter.x.clean", "filter.x.smudge", "core.pager", "pager.log"} {
		sh(t, dir, "config", key, spy)
	}
	os.Remove(ran)
	write(t, filepath.Join(dir, ".git/info/attributes"), "*.go -diff diff=x\n")
	write(t, filepath.Join(dir, ".git/info/grafts"), evil+"\n")
	write(t, filepath.Join(dir, ".git/shallow"), evil+"\n")
	if out := sh(t, dir, "cat-file", "-p", evil+":src/a.go"); !strings.Contains(out, "clean") {
		t.Fatalf("the trap does not work: git shows %q", out)
	}
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_OBJECT_DIRECTORY", "/nonexistent")
	t.Setenv("GIT_INDEX_FILE", "/nonexistent")

	w := openWork(t, dir)
	if data, err := w.File(evil, "src/a.go"); err != nil || string(data) != "package a // evil\n" {
		t.Errorf("File = %q, %v", data, err)
	}
	if entries, err := w.Tree(evil); err != nil || !slices.Contains(paths(entries), "evil") {
		t.Errorf("Tree = %v, %v", entries, err)
	}
	if commits, err := w.Range(base, evil); err != nil || len(commits) != 1 || !slices.Equal(commits[0].Parents, []string{base}) {
		t.Errorf("Range = %v, %v", commits, err)
	}
	if _, head := w.Head(); head != evil {
		t.Errorf("Head = %s", head)
	}
	if _, err := w.Dirty(context.Background()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("a configured program ran: %s", text)
	}
}

func TestWorkQuestions(t *testing.T) {
	ctx := context.Background()
	dir := newPerson(t)
	w := openWork(t, dir)
	if branch, id := w.Head(); branch != "main" || id != sh(t, dir, "rev-parse", "HEAD") || w.Detached() {
		t.Errorf("Head = %q, %q", branch, id)
	}
	if major, minor := w.Version(); major < 2 || major == 2 && minor < 31 {
		t.Errorf("Version = %d.%d", major, minor)
	}
	if w.Top() != dir || w.GitDir != filepath.Join(dir, ".git") || w.CommonDir != w.GitDir {
		t.Errorf("Top %s, GitDir %s, CommonDir %s", w.Top(), w.GitDir, w.CommonDir)
	}
	sh(t, dir, "tag", "-a", "-m", "t", "v1")
	tag := sh(t, dir, "rev-parse", "v1")
	if id, ok := w.Ref("refs/tags/v1"); !ok || id != tag {
		t.Errorf("Ref = %q, %v", id, ok)
	}
	for _, name := range []string{"", "main", "refs/heads/none", "-h", "HEAD@{1}", "refs/heads/main^"} {
		if id, ok := w.Ref(name); ok {
			t.Errorf("Ref(%q) = %s", name, id)
		}
	}
	_, head := w.Head()
	for _, name := range []string{"v1", tag, "HEAD", "refs/heads/main"} {
		if id, ok := w.Resolve(name); !ok || id != head {
			t.Errorf("Resolve(%q) = %q, %v", name, id, ok)
		}
	}
	for _, name := range []string{"", "none", "--all", "HEAD^{tree}", "HEAD~5"} {
		if id, ok := w.Resolve(name); ok {
			t.Errorf("Resolve(%q) = %q", name, id)
		}
	}
	sh(t, dir, "remote", "add", "origin", "https://example.com/octo-org/widget")
	if url, err := w.RemoteURL("origin"); err != nil || url != "https://example.com/octo-org/widget" {
		t.Errorf("RemoteURL = %q, %v", url, err)
	}
	if url, err := w.RemoteURL("none"); err == nil {
		t.Errorf("RemoteURL of none = %q", url)
	}
	const key, value = "hook.research-loop.command", "'/a b/research-loop' hook\npre-push"
	for range 2 {
		if err := w.SetConfig(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := w.Config(key); !ok || got != value {
		t.Errorf("Config = %q, %v", got, ok)
	}
	for range 2 {
		if err := w.UnsetConfig(key); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := w.Config(key); ok {
		t.Errorf("Config after UnsetConfig = %q", got)
	}
	for _, tt := range [][2]string{{"", filepath.Join(dir, ".git/hooks")}, {"h/k", filepath.Join(dir, "h/k")}, {"/h k", "/h k"}} {
		if tt[0] != "" {
			sh(t, dir, "config", "core.hooksPath", tt[0])
		}
		if got, err := w.HooksDir(ctx); err != nil || got != tt[1] {
			t.Errorf("HooksDir with %q = %q, %v", tt[0], got, err)
		}
	}
	sh(t, dir, "checkout", "--quiet", "--detach")
	if branch, id := w.Head(); branch != "" || id != head || !w.Detached() {
		t.Errorf("detached Head = %q, %q", branch, id)
	}
	unborn := t.TempDir()
	sh(t, unborn, "init", "--quiet")
	if branch, id := openWork(t, unborn).Head(); branch != "main" || id != "" {
		t.Errorf("unborn Head = %q, %q", branch, id)
	}
}

func TestDirty(t *testing.T) {
	dir := newPerson(t)
	write(t, filepath.Join(dir, ".gitignore"), "ignored\n")
	sub := newPerson(t)
	commit(t, dir, map[string]string{"gone": "1", "mode": "1", "staged": "1"})
	sh(t, dir, "submodule", "--quiet", "add", sub, "sub")
	commit(t, dir, nil)
	w := openWork(t, dir)
	index := filepath.Join(dir, ".git/index")
	dirty := func(want ...string) {
		t.Helper()
		before, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.Dirty(context.Background())
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Dirty = %q, %v; want %q", got, err, want)
		}
		if after, err := os.ReadFile(index); err != nil || string(after) != string(before) {
			t.Errorf("the index was written: %v", err)
		}
	}
	dirty()
	os.Chtimes(filepath.Join(dir, "README"), time.Unix(1, 0), time.Unix(1, 0)) // touched, not changed
	dirty()
	write(t, filepath.Join(dir, "ignored"), "x")
	write(t, filepath.Join(dir, "README"), "changed\n")
	write(t, filepath.Join(dir, "new\n\"file\xff"), "x")
	write(t, filepath.Join(dir, "-rf"), "x")
	write(t, filepath.Join(dir, "folder/new"), "x")
	write(t, filepath.Join(dir, "staged"), "2")
	sh(t, dir, "add", "staged")
	os.Remove(filepath.Join(dir, "gone"))
	os.Chmod(filepath.Join(dir, "mode"), 0o755)
	write(t, filepath.Join(dir, "sub/README"), "changed\n")
	dirty("README", "new\n\"file\xff", "-rf", "folder/new", "staged", "gone", "mode", "sub")
	if _, err := openWork(t, filepath.Join(dir, ".git")).Dirty(context.Background()); err == nil {
		t.Error("a git folder has no work tree and is not dirty")
	}
}

func TestAddWorktree(t *testing.T) {
	ctx := context.Background()
	dir := newPerson(t)
	base := sh(t, dir, "rev-parse", "HEAD")
	commit(t, dir, map[string]string{"later": "x"})
	write(t, filepath.Join(dir, "README"), "staged\n")
	sh(t, dir, "add", "README")
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		script(t, filepath.Join(dir, ".git/hooks", hook), "echo "+hook+" >>"+ran+"\n")
	}
	before := sh(t, dir, "status", "--porcelain")
	os.Remove(ran)
	w := openWork(t, dir)
	tree := filepath.Join(t.TempDir(), "a b")
	if err := w.AddWorktree(ctx, tree, base, "research-loop/x"); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, tree, "rev-parse", "HEAD"); got != base {
		t.Errorf("the work tree is at %s", got)
	}
	if got, err := os.ReadFile(filepath.Join(tree, "README")); err != nil || string(got) != "one\n" {
		t.Errorf("README in it: %q, %v", got, err)
	}
	if err := w.AddWorktree(ctx, filepath.Join(t.TempDir(), "d"), base, ""); err != nil {
		t.Error(err)
	}
	for _, bad := range [][3]string{{tree, base, "y"}, {t.TempDir() + "/e", "HEAD", "z"}, {t.TempDir() + "/f", base, "main"}, {t.TempDir() + "/g", base, "--force"}} {
		if err := w.AddWorktree(ctx, bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("AddWorktree(%q) has no error", bad)
		}
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("hooks ran: %s", text)
	}
	if after := sh(t, dir, "status", "--porcelain"); after != before {
		t.Errorf("status was %q and is %q", before, after)
	}
}

func TestExclude(t *testing.T) {
	dir := newPerson(t)
	tree := filepath.Join(t.TempDir(), "tree")
	sh(t, dir, "worktree", "add", "--quiet", "--detach", tree)
	name := filepath.Join(dir, ".git/info/exclude")
	write(t, name, "# mine\nold") // no newline at the end
	w := openWork(t, tree)
	for range 2 {
		if err := w.Exclude("/.research-loop/x/"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "# mine\nold\n/.research-loop/x/\n" {
		t.Errorf("exclude is %q, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	if err := w.Exclude("x"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "x\n" {
		t.Errorf("exclude is %q, %v", got, err)
	}
	if err := w.Exclude("a\n!b"); err == nil {
		t.Error("two patterns were taken for one")
	}
}

func TestWorkAfterClose(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dir := newPerson(t)
	w, err := OpenWork(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	_, head := w.Head()
	if _, err := w.Tree(head); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Blob(strings.Repeat("a", 40)); err == nil {
		t.Error("it answers after its context ended")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
