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
			id = firstParent(c)
		}
		if !reflect.DeepEqual(line, want) || len(want) != n {
			t.Errorf("%s: %d commits, want %d", name, len(line), n)
		}
		stopped := 0
		if err := o.FirstParents(tip, func(Commit) bool { stopped++; return stopped < 3 }); err != nil || stopped != 3 {
			t.Errorf("%s: stopped after %d, %v", name, stopped, err)
		}
		checkDiffs(t, name, o, plain, want)
	}
}

func checkDiffs(t *testing.T, name string, o, plain *objects, commits []string) {
	t.Helper()
	before, blobs := "", map[string]bool{}
	err := o.Diffs(commits, func(i int, changes []Change) error {
		want, err := plain.Diff(before, commits[i])
		if err != nil || !reflect.DeepEqual(changes, want) {
			t.Errorf("%s: diff %d is %v, want %v (%v)", name, i, changes, want, err)
		}
		for _, c := range changes {
			if c.To.ID != "" {
				blobs[c.To.ID] = true
			}
		}
		before = commits[i]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for id := range blobs {
		ids = append(ids, id)
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
	err = o.Sizes(append(ids, strings.Repeat("a", 40)), func(i int, size int64) {
		if i == len(ids) {
			if size != -1 {
				t.Errorf("%s: what is missing has %d bytes", name, size)
			}
		} else if want, err := plain.Blob(ids[i]); err != nil || int64(len(want)) != size {
			t.Errorf("%s: size %d, want %d", name, size, len(want))
		}
	})
	if err != nil {
		t.Error(err)
	}
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
		id := hashObject("blob", blob, o.width)
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
