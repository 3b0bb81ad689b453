package repo

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestCloneMirrors(t *testing.T) {
	ctx := context.Background()
	remote, person := newRemote(t)
	c := openClone(t, remote)
	if got := c.Branches(); len(got) != 0 {
		t.Errorf("before the first Fetch there are %v", got)
	}
	first := sh(t, person, "rev-parse", "HEAD")
	check := func(want map[string]string) {
		t.Helper()
		if err := c.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		if got := c.Branches(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("branches %v, want %v", got, want)
		}
		for _, id := range want {
			if _, err := c.Tree(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	check(map[string]string{"main": first})

	many := map[string]string{}
	for i := range 150 { // more than fetch.unpackLimit: they arrive as a pack
		many[fmt.Sprintf("many/%d", i)] = fmt.Sprint("file ", i)
	}
	second := commit(t, person, many)
	sh(t, person, "push", "--quiet", "origin", "HEAD", "HEAD:refs/heads/research-loop/x")
	check(map[string]string{"main": second, "research-loop/x": second})
	if data, err := c.File(second, "many/149"); err != nil || string(data) != "file 149" {
		t.Errorf("File = %q, %v", data, err)
	}

	sh(t, person, "commit", "--quiet", "--amend", "-m", "rewritten")
	third := sh(t, person, "rev-parse", "HEAD")
	sh(t, person, "push", "--quiet", "--force", "origin", "HEAD", ":research-loop/x", "HEAD:refs/heads/research-loop")
	check(map[string]string{"main": third, "research-loop": third}) // a name that was a folder before

	if _, ok := c.Branch("research-loop/x"); ok {
		t.Error("a deleted branch is still there")
	}
	if name, err := c.Default(ctx); name != "main" || err != nil {
		t.Errorf("Default = %q, %v", name, err)
	}
	sh(t, remote, "symbolic-ref", "HEAD", "refs/heads/trunk")
	var re *RemoteError
	if name, err := c.Default(ctx); !errors.As(err, &re) {
		t.Errorf("Default of an unborn branch = %q, %v", name, err)
	}
}

func TestCloneReads(t *testing.T) {
	remote, person := newRemote(t)
	first := sh(t, person, "rev-parse", "HEAD")
	sh(t, person, "checkout", "--quiet", "-b", "side")
	side := commit(t, person, map[string]string{"side": "s"})
	sh(t, person, "checkout", "--quiet", "main")
	second := commit(t, person, map[string]string{"README": "two\n"})
	sh(t, person, "merge", "--quiet", "--no-edit", "side")
	merge := sh(t, person, "rev-parse", "HEAD")
	sh(t, person, "push", "--quiet", "origin", "main")
	c := fetched(t, remote)

	got, err := c.Commit(second)
	if err != nil || got.Author != "Someone <someone@example.com>" || got.Message != "change\n\nbody\n" || !slices.Equal(got.Parents, []string{first}) {
		t.Errorf("Commit = %+v, %v", got, err)
	}
	if since := time.Since(got.Time); since < -time.Minute || since > time.Hour || got.Tree != sh(t, person, "rev-parse", second+"^{tree}") {
		t.Errorf("Commit = %+v", got)
	}
	entries, err := c.Tree(merge)
	if want := strings.Split(sh(t, person, "ls-tree", "-r", "--name-only", merge), "\n"); err != nil || !slices.Equal(paths(entries), want) {
		t.Errorf("Tree = %v, %v; want %v", entries, err, want)
	}
	for path, want := range map[string]error{"README": nil, "absent": fs.ErrNotExist, "src": fs.ErrNotExist, "README/x": fs.ErrNotExist, "": fs.ErrNotExist, "src/a.go/": fs.ErrNotExist, "../README": fs.ErrNotExist} {
		if _, err := c.File(merge, path); !errors.Is(err, want) {
			t.Errorf("File(%q): %v", path, err)
		}
	}
	rangeOf := func(from, tip string, want ...string) {
		t.Helper()
		commits, err := c.Range(from, tip)
		var ids []string
		for _, c := range commits {
			ids = append(ids, c.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("Range(%s, %s) = %v, %v; want %v", from, tip, ids, err, want)
		}
	}
	rangeOf(first, second, second)
	rangeOf(first, first)
	rangeOf(second, first)
	rangeOf(first, merge, second, side, merge)
	rangeOf(side, merge, second, merge)
	rangeOf(second, side, side)
	for _, tt := range []struct {
		ancestor, tip string
		want          bool
	}{{first, merge, true}, {side, merge, true}, {merge, merge, true}, {merge, first, false}, {side, second, false}} {
		if got, err := c.Descends(tt.ancestor, tt.tip); got != tt.want || err != nil {
			t.Errorf("Descends(%s, %s) = %v, %v", tt.ancestor, tt.tip, got, err)
		}
	}
	var missing *MissingError
	nowhere := strings.Repeat("0", 39) + "1"
	if _, err := c.Commit(nowhere); !errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Commit of nothing: %v", err)
	}
	for _, id := range []string{"", "HEAD", first[:39], first + "\n", got.Tree} {
		if _, err := c.Commit(id); err == nil {
			t.Errorf("Commit(%q) has no error", id)
		}
	}
}

func TestRangeTooMany(t *testing.T) {
	remote, person := newRemote(t)
	first := sh(t, person, "rev-parse", "HEAD")
	var b strings.Builder
	for i := range 1001 {
		from := ""
		if i == 0 {
			from = "from " + first + "\n"
		}
		fmt.Fprintf(&b, "commit refs/heads/long\ncommitter A <a@example.com> %d +0000\ndata 1\nx%s\n", 1700000000+i, strings.TrimSuffix("\n"+from, "\n"))
	}
	feed(t, person, b.String(), "fast-import", "--quiet")
	sh(t, person, "push", "--quiet", "origin", "long")
	c := fetched(t, remote)
	tip, _ := c.Branch("long")
	if got, err := c.Range(first, tip); !errors.Is(err, ErrTooMany) {
		t.Errorf("Range of 1001 = %d commits, %v", len(got), err)
	}
	if got, err := c.Range(first, sh(t, person, "rev-parse", "long~1")); err != nil || len(got) != 1000 {
		t.Errorf("Range of 1000 = %d commits, %v", len(got), err)
	}
	if got, err := c.Range(tip, first); err != nil || len(got) != 0 {
		t.Errorf("Range backwards = %d commits, %v", len(got), err)
	}
}

// rawTree stores a tree that git itself would not write.
func rawTree(t *testing.T, dir string, entries ...treeEntry) string {
	t.Helper()
	raw, err := encodeTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	return keepRaw(t, dir, "tree", string(raw))
}

// keepRaw writes a loose object, as git hash-object --literally does.
func keepRaw(t *testing.T, dir, kind, data string) string {
	t.Helper()
	id := string(NewHasher(sha1.Size).ID(kind, []byte(data)))
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "%s %d\x00%s", kind, len(data), data)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".git", "objects", id[:2], id[2:]), b.String())
	return id
}

func TestHostileTrees(t *testing.T) {
	remote, person := newRemote(t)
	blob := keepRaw(t, person, "blob", "x")
	file := func(name string) treeEntry { return treeEntry{ModeFile, name, blob} }
	in := func(name string, below ...treeEntry) treeEntry {
		return treeEntry{modeTree, name, rawTree(t, person, below...)}
	}
	tests := []struct {
		name    string
		entries []treeEntry
		paths   []string
		refused string // part of the error
	}{
		{"plain", []treeEntry{file("a"), in("b", file("c"))}, []string{"a", "b/c"}, ""},
		{"newline", []treeEntry{file("a\nb")}, []string{"a\nb"}, `"a\nb"`},
		{"dash", []treeEntry{file("--output=x")}, []string{"--output=x"}, "dash"},
		{"not UTF-8", []treeEntry{file("\xff\xfe")}, []string{"\xff\xfe"}, `"\xff\xfe"`},
		{"escape", []treeEntry{file("\x1b[31m")}, []string{"\x1b[31m"}, "control"},
		{"dot git", []treeEntry{in(".git", file("config"))}, []string{".git/config"}, ".git"},
		{"DOT GIT", []treeEntry{in("x", in(".GiT", file("config")))}, []string{"x/.GiT/config"}, ".git"},
		{"short name", []treeEntry{in("GIT~1", file("config"))}, []string{"GIT~1/config"}, ".git"},
		{"stream", []treeEntry{in(".git::$INDEX_ALLOCATION", file("config"))}, []string{".git::$INDEX_ALLOCATION/config"}, ".git"},
		{"trailing dot", []treeEntry{in(".git. .", file("config"))}, []string{".git. ./config"}, ".git"},
		{"ignorable", []treeEntry{in(".g\u200cit", file("config"))}, []string{".g\u200cit/config"}, ".git"},
		{"upwards", []treeEntry{in("..", file("x"))}, []string{"../x"}, "dots"},
		{"here", []treeEntry{in(".", file("x"))}, []string{"./x"}, "dots"},
		{"slash in name", []treeEntry{file("../../x")}, []string{"../../x"}, "dots"},
		{"absolute", []treeEntry{file("/etc/x")}, []string{"/etc/x"}, "empty"},
		{"backslash", []treeEntry{file(`..\x`)}, []string{`..\x`}, "backslash"},
		{"doubled", []treeEntry{file("a"), file("a")}, []string{"a", "a"}, "twice"},
		{"file and folder", []treeEntry{file("a"), in("a", file("b"))}, []string{"a", "a/b"}, "a file and a folder"},
		{"folder and file", []treeEntry{in("a", file("b")), file("a")}, []string{"a/b", "a"}, `"a"`},
		{"out of order", []treeEntry{file("b"), file("a")}, []string{"b", "a"}, "out of order"},
		{"symbolic link", []treeEntry{{ModeSymlink, "l", blob}}, []string{"l"}, "120000"},
		{"submodule", []treeEntry{{ModeGitlink, "m", blob}}, []string{"m"}, "160000"},
		{"odd mode", []treeEntry{{"100664", "g", blob}}, []string{"g"}, "100664"},
		{"long name", []treeEntry{file(strings.Repeat("n", 256))}, []string{strings.Repeat("n", 256)}, "255"},
	}
	var refs strings.Builder
	for i, tt := range tests {
		tree := rawTree(t, person, tt.entries...)
		id := keepRaw(t, person, "commit", "tree "+tree+"\nauthor A <a@example.com> 1700000000 +0000\ncommitter A <a@example.com> 1700000000 +0000\n\n"+tt.name+"\n")
		fmt.Fprintf(&refs, "create refs/heads/hostile/%d %s\n", i, id)
	}
	feed(t, person, refs.String(), "update-ref", "--stdin")
	sh(t, person, "push", "--quiet", "origin", "refs/heads/hostile/*:refs/heads/hostile/*")
	c, w := fetched(t, remote), openWork(t, person)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, _ := c.Branch(fmt.Sprintf("hostile/%d", i))
			entries, err := c.Tree(id)
			if err != nil || !slices.Equal(paths(entries), tt.paths) {
				t.Fatalf("Tree = %q, %v", paths(entries), err)
			}
			seen, err := w.Tree(id)
			if err != nil || !slices.Equal(seen, entries) {
				t.Errorf("Work.Tree = %q, %v", seen, err)
			}
			dir := t.TempDir()
			_, err = c.Materialise(entries, dir)
			if tt.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("Materialise: %v, want %q in it", err, tt.refused)
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("Materialise left %v", left)
			}
		})
	}
	id, _ := c.Branch("hostile/16")
	if _, err := c.File(id, "a"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("File of a doubled name: %v", err)
	}
}

func TestTreeBomb(t *testing.T) {
	remote, _ := newRemote(t)
	c := openClone(t, remote)
	tree := func(entries ...treeEntry) string {
		raw, err := encodeTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		id, err := c.store.write(plumbing.TreeObject, raw)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	blob, err := c.WriteBlob([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	bomb := tree(treeEntry{ModeFile, "x", blob})
	for range 9 { // 10^9 files in ten small objects
		var level []treeEntry
		for i := range 10 {
			level = append(level, treeEntry{modeTree, fmt.Sprint(i), bomb})
		}
		bomb = tree(level...)
	}
	empty := tree()
	for range 9 { // 10^9 folders and not one file
		var level []treeEntry
		for i := range 10 {
			level = append(level, treeEntry{modeTree, fmt.Sprint(i), empty})
		}
		empty = tree(level...)
	}
	deep := tree(treeEntry{ModeFile, "x", blob})
	for range maxDepth + 1 {
		deep = tree(treeEntry{modeTree, "d", deep})
	}
	for name, id := range map[string]string{"bomb": bomb, "empty": empty, "deep": deep} {
		commit, err := c.WriteCommit(id, nil, name, time.Unix(1700000000, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Tree(commit); !errors.Is(err, ErrTooMany) {
			t.Errorf("%s: %d entries, %v", name, len(got), err)
		}
	}
}

func TestHugeBlob(t *testing.T) {
	remote, person := newRemote(t)
	const limit = 1 << 20
	head := commit(t, person, map[string]string{"big": strings.Repeat("x", limit+1)})
	sh(t, person, "push", "--quiet", "origin", "main")
	id := sh(t, person, "rev-parse", "HEAD:big")
	sh(t, person, "repack", "-q", "-a", "-d")
	c, w := fetched(t, remote), openWork(t, person)
	c.store.max, w.batch.max = limit, limit
	for name, o := range map[string]*objects{"clone": c.objects, "work": w.objects} {
		var size *SizeError
		if _, err := o.Blob(id); !errors.As(err, &size) || size.Bytes != limit+1 {
			t.Errorf("%s: Blob: %v", name, err)
		}
		if data, err := o.File(head, "README"); err != nil || string(data) != "one\n" {
			t.Errorf("%s: after a refused object: %q, %v", name, data, err)
		}
	}
	if data, err := w.File("HEAD", "README"); err == nil {
		t.Errorf("File takes HEAD for a commit: %q", data)
	}
}

func TestCloneIsHeldOnce(t *testing.T) {
	ctx := context.Background()
	remote, _ := newRemote(t)
	dir := filepath.Join(t.TempDir(), "run", "clone")
	c, err := OpenClone(ctx, dir, remote)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenClone(ctx, dir, remote); err == nil || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("second OpenClone: %v", err)
	}
	if err := c.Fetch(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// What a git that was killed leaves behind.
	for _, name := range []string{"packed-refs.lock", "refs/heads/main.lock", "HEAD.lock"} {
		write(t, filepath.Join(dir, name), "")
	}
	c, err = OpenClone(ctx, dir, remote)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := len(c.Branches()); got != 1 {
		t.Errorf("%d branches are remembered", got)
	}
	if err := c.Fetch(ctx); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(t.TempDir(), "x"), "")
	if _, err := OpenClone(ctx, t.TempDir(), remote); err == nil || !strings.Contains(err.Error(), "bare repository") {
		t.Errorf("OpenClone of any folder: %v", err)
	}
}

func TestRemotes(t *testing.T) {
	ctx := context.Background()
	remote, person := newRemote(t)
	head := sh(t, person, "rev-parse", "HEAD")
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer denied.Close()
	ssh := filepath.Join(t.TempDir(), "ssh")
	script(t, ssh, "while [ \"$1\" != git@example.com ]; do shift; done\nshift\neval \"$@\"\n")
	t.Setenv("GIT_SSH_COMMAND", ssh)
	t.Setenv("GIT_DIR", "/nonexistent") // as inside a hook
	t.Chdir(filepath.Dir(remote))
	sha256 := filepath.Join(t.TempDir(), "sha256")
	os.Unsetenv("GIT_DIR")
	sh(t, t.TempDir(), "init", "--quiet", "--object-format=sha256", sha256)
	commit(t, sha256, map[string]string{"a": "b"})
	os.Setenv("GIT_DIR", "/nonexistent")
	tests := []struct {
		name, remote string
		why          string // "" = it works
		denied       bool
	}{
		{"relative", "origin.git", "", false},
		{"relative with dots", "./origin.git", "", false},
		{"absolute", remote, "", false},
		{"file URL", "file://" + remote, "", false},
		{"ssh", "git@example.com:" + remote, "", false},
		{"ssh URL", "ssh://git@example.com" + remote, "", false},
		{"missing folder", filepath.Join(t.TempDir(), "none"), "does not appear to be a git repository", false},
		{"unreachable", "http://127.0.0.1:1/octo-org/widget.git", "unable to access", false},
		{"denied", strings.Replace(denied.URL, "http://", "http://u:hunter2@", 1) + "/octo-org/widget.git", "Authentication failed", true},
		{"no credentials", denied.URL + "/octo-org/widget.git", "could not read Username", true},
		{"SHA-256", sha256, "mismatched algorithms", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := openClone(t, tt.remote)
			err := c.Fetch(ctx)
			if tt.why == "" {
				if id, _ := c.Branch("main"); err != nil || id != head {
					t.Errorf("main is at %q, %v", id, err)
				}
				return
			}
			var re *RemoteError
			if !errors.As(err, &re) || !strings.Contains(re.Why, tt.why) || re.Fix == "" || re.Denied != tt.denied {
				t.Errorf("Fetch: %#v, want %q", err, tt.why)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
	for _, bad := range []string{"", "-u", "--upload-pack=touch x", "ext::sh -c touch% x", "a\nb"} {
		if _, err := OpenClone(ctx, filepath.Join(t.TempDir(), "c"), bad); err == nil {
			t.Errorf("OpenClone of remote %q has no error", bad)
		}
	}
	late, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	var re *RemoteError
	if err := openClone(t, remote).Fetch(late); !errors.As(err, &re) || re.Fix == "" {
		t.Errorf("Fetch after its deadline: %v", err)
	}
}

func TestPush(t *testing.T) {
	ctx := context.Background()
	remote, person := newRemote(t)
	c := fetched(t, remote)
	base, _ := c.Branch("main")
	next := func(parent, text string) string {
		t.Helper()
		tree, err := c.WriteTree(parent, map[string][]byte{"next": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		id, err := c.WriteCommit(tree, []string{parent}, text, time.Unix(1700000000, 0))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	at := func(branch string) string {
		out, _ := try(remote, "", "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
		return strings.TrimSpace(out)
	}
	const branch = "research-loop-state/x"
	one, two, other := next(base, "one"), "", next(base, "other")
	two = next(one, "two")
	steps := []struct {
		name, id, expect string
		lost             bool
		fault            string
		want             string
	}{
		{"update of nothing", two, one, true, "", ""},
		{"create", one, "", false, "", one},
		{"create again", one, "", false, "", one},
		{"create what exists", other, "", true, "", one},
		{"create below what exists", two, "", true, "", one},
		{"rewrite", other, one, false, "does not descend", one},
		{"stale", two, base, true, "", one},
		{"update", two, one, false, "", two},
		{"update again", two, one, false, "", two},
		{"backwards", one, two, false, "does not descend", two},
		{"unknown commit", strings.Repeat("a", 40), two, false, "missing", two},
		{"unknown head", two, strings.Repeat("a", 40), false, "missing", two},
		{"no id", "HEAD", two, false, "not an object id", two},
	}
	for _, s := range steps {
		err := c.Push(ctx, branch, s.id, s.expect)
		var lost *LostRace
		switch {
		case s.lost != errors.As(err, &lost):
			t.Errorf("%s: %v", s.name, err)
		case s.fault != "" && (err == nil || !strings.Contains(err.Error(), s.fault)):
			t.Errorf("%s: %v, want %q", s.name, err, s.fault)
		case s.fault == "" && !s.lost && err != nil:
			t.Errorf("%s: %v", s.name, err)
		}
		if got := at(branch); got != s.want {
			t.Fatalf("%s: branch is at %s", s.name, got)
		}
	}
	if got, _ := c.Branch(branch); got != two {
		t.Errorf("Branch after Push = %s", got)
	}
	for _, name := range []string{"", "a b", "../main", "x.lock", "a:refs/heads/main", "-f", "a..b", "@{1}"} {
		if err := c.Push(ctx, name, one, ""); err == nil && name != "-f" {
			t.Errorf("Push to branch %q has no error", name)
		}
	}
	sh(t, remote, "update-ref", "-d", "refs/heads/"+branch)
	var lost *LostRace
	if err := c.Push(ctx, branch, next(two, "three"), two); !errors.As(err, &lost) || lost.Found != "" {
		t.Errorf("Push to a deleted branch: %v", err)
	}
	if sh(t, remote, "fsck", "--strict"); at("main") != base {
		t.Error("main moved")
	}
	_ = person
}

// TestPushRaces pushes from several clones at once: one may win.
func TestPushRaces(t *testing.T) {
	ctx := context.Background()
	remote, _ := newRemote(t)
	pushers := 4
	if os.Getenv("CI") == "true" {
		pushers = 16
	}
	seed := filepath.Join(t.TempDir(), "seed")
	first, err := OpenClone(ctx, seed, remote)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Fetch(ctx), first.Close()); err != nil {
		t.Fatal(err)
	}
	var clones []*Clone
	var ids []string
	for i := range pushers {
		dir := filepath.Join(t.TempDir(), "clone")
		copyTo(t, dir, seed)
		c, err := OpenClone(ctx, dir, remote)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		base, _ := c.Branch("main")
		tree, err := c.WriteTree(base, map[string][]byte{"who": fmt.Append(nil, i)})
		if err != nil {
			t.Fatal(err)
		}
		id, err := c.WriteCommit(tree, []string{base}, "m", time.Unix(1700000000, 0))
		if err != nil {
			t.Fatal(err)
		}
		clones, ids = append(clones, c), append(ids, id)
	}
	base, _ := clones[0].Branch("main")
	for _, branch := range []struct{ name, expect string }{{"fresh", ""}, {"main", base}} {
		errs := make([]error, pushers)
		var wait sync.WaitGroup
		for i, c := range clones {
			wait.Go(func() { errs[i] = c.Push(ctx, branch.name, ids[i], branch.expect) })
		}
		wait.Wait()
		at := sh(t, remote, "rev-parse", "refs/heads/"+branch.name)
		won := 0
		for i, err := range errs {
			var lost *LostRace
			switch {
			case err == nil && ids[i] == at:
				won++
			case !errors.As(err, &lost) || lost.Found != at:
				t.Errorf("%s, pusher %d: %v", branch.name, i, err)
			}
		}
		if won != 1 {
			t.Errorf("%s: %d pushers won", branch.name, won)
		}
	}
}

// TestPushRefused has the remote refuse, and move the branch between the
// moment it is advertised and the moment it is compared.
func TestPushRefused(t *testing.T) {
	ctx := context.Background()
	remote, person := newRemote(t)
	c := fetched(t, remote)
	base, _ := c.Branch("main")
	commitOn := func(parent string) string {
		tree, err := c.WriteTree(parent, map[string][]byte{"x": []byte(parent)})
		if err != nil {
			t.Fatal(err)
		}
		id, err := c.WriteCommit(tree, []string{parent}, "m", time.Unix(1700000000, 0))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := commitOn(base)
	ran := filepath.Join(t.TempDir(), "ran")
	hooks := t.TempDir()
	script(t, filepath.Join(hooks, "pre-push"), "echo pre-push >>"+ran+"\nexit 1\n")
	script(t, filepath.Join(hooks, "reference-transaction"), "echo transaction >>"+ran+"\n")
	sh(t, person, "config", "--global", "core.hooksPath", hooks)
	defer sh(t, person, "config", "--global", "--unset", "core.hooksPath")

	hook := filepath.Join(remote, "hooks", "pre-receive")
	script(t, hook, "echo 'error: GH006: Protected branch update failed for refs/heads/main.' >&2\nexit 1\n")
	sh(t, remote, "config", "core.hooksPath", filepath.Join(remote, "hooks"))
	var re *RemoteError
	if err := c.Push(ctx, "main", id, base); !errors.As(err, &re) || !strings.Contains(re.Why, "GH006") || !re.Refused {
		t.Errorf("refused push: %v", err)
	}
	script(t, hook, "echo 'not on a Friday' >&2\nexit 1\n")
	if err := c.Push(ctx, "main", id, base); !errors.As(err, &re) || !strings.Contains(re.Why, "not on a Friday") || !re.Refused {
		t.Errorf("push that a hook of the remote refused: %+v", err)
	}
	moved := commit(t, person, map[string]string{"moved": "m"})
	os.Remove(ran) // what that commit did
	sh(t, remote, "fetch", "--quiet", person, moved+":refs/archive/moved")
	script(t, hook, "env -u GIT_QUARANTINE_PATH -u GIT_OBJECT_DIRECTORY git update-ref refs/heads/main "+moved+" || exit 1\n")
	var lost *LostRace
	if err := c.Push(ctx, "main", id, base); !errors.As(err, &lost) || lost.Found != moved {
		t.Errorf("push overtaken at the remote: %v", err)
	}
	if err := c.Fetch(ctx); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("hooks of the person ran: %s", text)
	}
	if err := os.RemoveAll(remote); err != nil {
		t.Fatal(err)
	}
	if err := c.Push(ctx, "main", id, base); !errors.As(err, &re) || re.Fix == "" {
		t.Errorf("push to a remote that is gone: %v", err)
	}
}

func TestWriteTree(t *testing.T) {
	remote, person := newRemote(t)
	commit(t, person, map[string]string{"deep/er/x": "1", "deep/y": "2", "a.b": "3", "a/z": "4"})
	sh(t, person, "push", "--quiet", "origin", "main")
	c := fetched(t, remote)
	base, _ := c.Branch("main")
	tests := []struct {
		name string
		base string
		put  map[string][]byte
		want []string // nil = refused
	}{
		{"empty", "", nil, []string{}},
		{"new", "", map[string][]byte{"b": []byte("x"), "a/b/c": {}}, []string{"a/b/c", "b"}},
		{"unchanged", base, nil, []string{"README", "a.b", "a/z", "deep/er/x", "deep/y", "src/a.go"}},
		{"added", base, map[string][]byte{"a/b": []byte("x")}, []string{"README", "a.b", "a/b", "a/z", "deep/er/x", "deep/y", "src/a.go"}},
		{"folder left empty", base, map[string][]byte{"deep/er/x": nil}, []string{"README", "a.b", "a/z", "deep/y", "src/a.go"}},
		{"folder above too", base, map[string][]byte{"deep/er/x": nil, "deep/y": nil}, []string{"README", "a.b", "a/z", "src/a.go"}},
		{"nothing to delete", base, map[string][]byte{"none/at/all": nil, "no": nil, "README/x": nil}, []string{"README", "a.b", "a/z", "deep/er/x", "deep/y", "src/a.go"}},
		{"file for folder", base, map[string][]byte{"deep": []byte("f")}, []string{"README", "a.b", "a/z", "deep", "src/a.go"}},
		{"folder for file", base, map[string][]byte{"README/x": []byte("f")}, []string{"README/x", "a.b", "a/z", "deep/er/x", "deep/y", "src/a.go"}},
		{"both", base, map[string][]byte{"q": []byte("f"), "q/x": []byte("f")}, nil},
		{"hostile", base, map[string][]byte{"../x": []byte("f")}, nil},
		{"git folder", base, map[string][]byte{".git/hooks/x": []byte("f")}, nil},
		{"no path", base, map[string][]byte{"": []byte("f")}, nil},
		{"no base", strings.Repeat("a", 40), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := c.WriteTree(tt.base, tt.put)
			if tt.want == nil {
				if err == nil {
					t.Errorf("wrote %s", tree)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			id, err := c.WriteCommit(tree, nil, "m", time.Unix(1700000000, 0))
			if err != nil {
				t.Fatal(err)
			}
			entries, err := c.Tree(id)
			if err != nil || !slices.Equal(append([]string{}, paths(entries)...), tt.want) {
				t.Errorf("tree %v, %v", paths(entries), err)
			}
			for path, data := range tt.put {
				if got, err := c.File(id, path); data != nil && (err != nil || string(got) != string(data)) {
					t.Errorf("File(%q) = %q, %v", path, got, err)
				}
			}
			sh(t, c.store.dir, "fsck", "--strict", id)
		})
	}
}

func TestWriteCommit(t *testing.T) {
	remote, person := newRemote(t)
	c := fetched(t, remote)
	base, _ := c.Branch("main")
	b, err := c.Commit(base)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	id, err := c.WriteCommit(b.Tree, []string{base, base}, "subject\n\nbody", when)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.WriteCommit(b.Tree, []string{base, base}, "subject\n\nbody\n", when)
	if err != nil || again != id {
		t.Errorf("the same commit is %s and %s, %v", id, again, err)
	}
	got, err := c.Commit(id)
	if err != nil || got.Author != "research-loop <research-loop@localhost>" || !got.Time.Equal(when.Truncate(time.Second)) || len(got.Parents) != 2 {
		t.Errorf("Commit = %+v, %v", got, err)
	}
	for _, bad := range []struct{ tree, parent, message string }{
		{base, base, "m"}, {b.Tree, b.Tree, "m"}, {b.Tree, strings.Repeat("a", 40), "m"}, {strings.Repeat("a", 40), base, "m"}, {b.Tree, base, "a\x00b"},
	} {
		if id, err := c.WriteCommit(bad.tree, []string{bad.parent}, bad.message, when); err == nil {
			t.Errorf("wrote %s for %+v", id, bad)
		}
	}
	_ = person
}

// TestDamage has an object's file hold another object.
func TestDamage(t *testing.T) {
	remote, person := newRemote(t)
	c := fetched(t, remote)
	evil, err := c.WriteBlob([]byte("evil"))
	if err != nil {
		t.Fatal(err)
	}
	good, err := c.WriteBlob([]byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	loose := func(dir, id string) string { return filepath.Join(dir, "objects", id[:2], id[2:]) }
	data, err := os.ReadFile(loose(c.store.dir, evil))
	if err != nil {
		t.Fatal(err)
	}
	for dir, read := range map[string]func(string) ([]byte, error){c.store.dir: c.Blob, filepath.Join(person, ".git"): openWork(t, person).Blob} {
		os.Remove(loose(dir, good))
		write(t, loose(dir, good), string(data))
		if got, err := read(good); err == nil {
			t.Errorf("%s: a damaged object reads as %q", dir, got)
		}
	}
}
