package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// long is a bare repository with a branch of n commits, each of which adds a
// file to one of ten folders and changes another one, and its tip.
func long(t *testing.T, n int) (dir, tip string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "long.git")
	sh(t, filepath.Dir(dir), "init", "--quiet", "--bare", "--initial-branch=main", dir)
	c, err := OpenClone(context.Background(), dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		put := map[string][]byte{fmt.Sprintf("folder-%d/%03d", i%10, i): fmt.Appendf(nil, "file %d\n", i), "top": fmt.Appendf(nil, "%d", i)}
		tree, err := c.WriteTree(tip, put)
		if err != nil {
			t.Fatal(err)
		}
		var parents []string
		if tip != "" {
			parents = []string{tip}
		}
		if tip, err = c.WriteCommit(tree, parents, "m", time.Unix(int64(1700000000+i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, dir, "update-ref", "refs/heads/main", tip)
	return dir, tip
}

// readers opens a repository in both ways.
func readers(t *testing.T, dir string) map[string]*objects {
	t.Helper()
	c, err := OpenClone(context.Background(), dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return map[string]*objects{"work": openWork(t, dir).objects, "clone": c.objects}
}

// TestBulk reads in bulk what is read one by one, and finds the same.
func TestBulk(t *testing.T) {
	n := 3*worthOwn + 1
	dir, tip := long(t, n)
	for name, o := range readers(t, dir) {
		var line []string
		if err := o.FirstParents(tip, func(c Commit) bool { line = append(line, c.ID); return true }); err != nil {
			t.Fatal(err)
		}
		plain := openWork(t, dir).objects
		plain.many = nil
		var want []string
		for id := tip; id != ""; {
			c, err := plain.Commit(id)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, id)
			if id = ""; len(c.Parents) > 0 {
				id = c.Parents[0]
			}
		}
		if !reflect.DeepEqual(line, want) || len(want) != n {
			t.Errorf("%s: %d commits, want %d", name, len(line), n)
		}
		stopped := 0
		if err := o.FirstParents(tip, func(Commit) bool { stopped++; return stopped < 3 }); err != nil || stopped != 3 {
			t.Errorf("%s: stopped after %d, %v", name, stopped, err)
		}
		checkFolders(t, name, o, plain, tip)
		checkBlobs(t, name, o, plain, want)
	}
}

func checkFolders(t *testing.T, name string, o, plain *objects, tip string) {
	t.Helper()
	c, err := plain.Commit(tip)
	if err != nil {
		t.Fatal(err)
	}
	var trees []string
	for range worthOwn {
		trees = append(trees, c.Tree)
	}
	root, err := plain.tree(c.Tree)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = o.Folders(trees, func(i int, entries []Entry) error {
		if n++; len(entries) != len(root) || entries[0] != (Entry{root[0].name, root[0].mode, root[0].id}) {
			t.Errorf("%s: folder %d is %v, want %v", name, i, entries, root)
		}
		return nil
	})
	if err != nil || n != worthOwn || len(root) != 11 {
		t.Errorf("%s: %d folders of %d entries, %v", name, n, len(root), err)
	}
}

func checkBlobs(t *testing.T, name string, o, plain *objects, commits []string) {
	t.Helper()
	changes, err := plain.Diff("", commits[0])
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range changes {
		ids = append(ids, c.To.ID)
	}
	err = o.Blobs(ids, func(i int, data []byte) error {
		if want, err := plain.Blob(ids[i]); err != nil || string(want) != string(data) {
			t.Errorf("%s: blob %d is %q, want %q (%v)", name, i, data, want, err)
		}
		return nil
	})
	if err != nil || len(ids) < 2*worthOwn {
		t.Errorf("%s: %d blobs, %v", name, len(ids), err)
	}
}

// TestStream has ids come one by one, and goes on behind blobs that are missing,
// too large or of another kind.
func TestStream(t *testing.T) {
	dir, tip := long(t, 3)
	for name, o := range readers(t, dir) {
		c, err := o.Commit(tip)
		if err != nil {
			t.Fatal(err)
		}
		small, large := blob(t, dir, "s"), blob(t, dir, strings.Repeat("l", 1000))
		kinds := []string{small, large, strings.Repeat("a", 40), c.Tree, small}
		o.many.max = 500
		const n = 2*maxAsked + 3
		seen := 0
		err = o.Stream(n, func(yield func(string) bool) {
			for i := range n {
				if !yield(kinds[i%len(kinds)]) {
					return
				}
			}
		}, func(i int, data []byte, err error) error {
			var size *SizeError
			var missing *MissingError
			var object *ObjectError
			if ok := []bool{
				err == nil && string(data) == "s", errors.As(err, &size) && size.ID == large, errors.As(err, &missing),
				errors.As(err, &object) && object.ID == c.Tree, err == nil && string(data) == "s",
			}[i%len(kinds)]; !ok || i != seen {
				return fmt.Errorf("blob %d of kind %d: %q, %w", i, i%len(kinds), data, err)
			}
			seen++
			return nil
		})
		if err != nil || seen != n {
			t.Errorf("%s: %d blobs, %v", name, seen, err)
		}
	}
}

// blob stores a blob.
func blob(t *testing.T, dir, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "blob")
	write(t, name, text)
	return sh(t, dir, "hash-object", "-w", name)
}

// TestMessages lists commits of every shape of message and header: what rev-list
// shows of them is not always what stands in git.
func TestMessages(t *testing.T) {
	dir, tip := long(t, 1)
	c, err := openWork(t, dir).Commit(tip)
	if err != nil {
		t.Fatal(err)
	}
	person := "author A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n"
	shapes := []string{
		"\nm\n", "\nm", "\n", "", "\n\n\nm\n", "\nm\n\n\n", "\nm  \n    n\n\n  \no\n", "\n  \n", "\nm\r\nn\n", "\n\xff\xfe\n",
		"encoding ISO-8859-1\n\n\xe9\n", "encoding nonsense\n\nm\n", "gpgsig -----BEGIN\n \n x\n\nm\n", "x-header a\n b\n\nm\n",
	}
	for _, shape := range shapes {
		tip = rawCommit(t, dir, "tree "+c.Tree+"\nparent "+tip+"\n"+person+shape)
	}
	for name, o := range readers(t, dir) {
		plain := openWork(t, dir).objects
		n := 0
		err := o.FirstParents(tip, func(c Commit) bool {
			if want, err := plain.Commit(c.ID); err != nil || !reflect.DeepEqual(c, want) {
				t.Errorf("%s: %+v, want %+v (%v)", name, c, want, err)
			}
			n++
			return true
		})
		if err != nil || n != len(shapes)+1 {
			t.Errorf("%s: %d commits, %v", name, n, err)
		}
	}
}

// rawCommit stores the bytes of a commit.
func rawCommit(t *testing.T, dir, raw string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "commit")
	write(t, name, raw)
	return sh(t, dir, "hash-object", "-t", "commit", "-w", "--literally", name)
}

// TestBulkErrors has objects be missing, of another kind and damaged, and the
// reader say when it has enough.
func TestBulkErrors(t *testing.T) {
	dir, tip := long(t, worthOwn+2)
	for name, o := range readers(t, dir) {
		var ids []string
		if err := o.FirstParents(tip, func(c Commit) bool { ids = append(ids, c.Tree); return true }); err != nil {
			t.Fatal(err)
		}
		var object *ObjectError
		if err := o.Blobs(ids, func(int, []byte) error { return nil }); !errors.As(err, &object) || !strings.Contains(object.Why, "is a tree, not a blob") {
			t.Errorf("%s: trees as blobs: %v", name, err)
		}
		blob, err := o.File(tip, "top")
		if err != nil {
			t.Fatal(err)
		}
		id := string(NewHasher(o.width).ID("blob", blob))
		many := make([]string, worthOwn+5)
		for i := range many {
			many[i] = id
		}
		many[worthOwn] = strings.Repeat("a", 40)
		var missing *MissingError
		seen := 0
		if err := o.Blobs(many, func(int, []byte) error { seen++; return nil }); !errors.As(err, &missing) || missing.ID != many[worthOwn] || seen != worthOwn {
			t.Errorf("%s: a missing blob: %v after %d", name, err, seen)
		}
		enough := errors.New("enough")
		if err := o.Blobs(many, func(int, []byte) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
		if err := o.Folders(many[:worthOwn], func(int, []Entry) error { return nil }); !errors.As(err, &object) || !strings.Contains(object.Why, "is a blob, not a tree") {
			t.Errorf("%s: blobs as trees: %v", name, err)
		}
		if err := o.Folders(ids, func(int, []Entry) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
		many[worthOwn] = "not an id\nHEAD"
		if err := o.Blobs(many, func(int, []byte) error { return nil }); err == nil {
			t.Errorf("%s: took %q for an id", name, many[worthOwn])
		}
	}
}

// TestFirstParentsIsNotBlinded has git list another history than the objects
// tell: a graft, a shallow file, a replace ref. The objects win.
func TestFirstParentsIsNotBlinded(t *testing.T) {
	dir, tip := long(t, 20)
	middle := sh(t, dir, "rev-parse", tip+"~9")
	write(t, filepath.Join(dir, "info", "grafts"), middle+"\n")
	write(t, filepath.Join(dir, "shallow"), middle+"\n")
	sh(t, dir, "replace", "--force", middle, tip)
	t.Run("lies", func(t *testing.T) {
		for name, o := range readers(t, dir) {
			n := 0
			if err := o.FirstParents(tip, func(Commit) bool { n++; return true }); err != nil || n != 20 {
				t.Errorf("%s: %d commits, %v; want 20", name, n, err)
			}
		}
	})
	os.Remove(filepath.Join(dir, "objects", middle[:2], middle[2:]))
	t.Run("missing", func(t *testing.T) {
		for name, o := range readers(t, dir) {
			var missing *MissingError
			n := 0
			if err := o.FirstParents(tip, func(Commit) bool { n++; return true }); !errors.As(err, &missing) || missing.ID != middle || n != 9 {
				t.Errorf("%s: %d commits and %v; want 9 and that %s is missing", name, n, err, middle)
			}
		}
	})
}

// TestLongCommits reads commits that are too long to be kept, or too many: they
// are read as ever, and read again.
func TestLongCommits(t *testing.T) {
	dir, tip := long(t, 3)
	tree := sh(t, dir, "rev-parse", tip+"^{tree}")
	parent := tip
	for range 2 {
		raw := "tree " + tree + "\nparent " + parent + "\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\n" + strings.Repeat("x", maxKept)
		parent = feed(t, dir, raw, "hash-object", "-t", "commit", "-w", "--stdin")
	}
	for name, o := range readers(t, dir) {
		if err := o.Warm([]string{parent}, nil); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if c, err := o.Commit(parent); err != nil || len(c.Message) != maxKept {
				t.Errorf("%s: a message of %d bytes, %v", name, len(c.Message), err)
			}
		}
		if n := len(o.commits); n != 3 {
			t.Errorf("%s: %d commits are kept, want the 3 short ones", name, n)
		}
		o.held = maxHeld
		o.remember(Commit{ID: "x"}, 1)
		if n := len(o.commits); n != 1 || o.held != 1 {
			t.Errorf("%s: %d commits of %d bytes are kept, want the newest one", name, n, o.held)
		}
	}
}
