package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
		checkFiles(t, name, o, plain, want)
		checkBlobs(t, name, o, plain, want)
	}
}

func checkFiles(t *testing.T, name string, o, plain *objects, commits []string) {
	t.Helper()
	for _, path := range []string{"top", "folder-3/003", "folder-3", "top/below", "nowhere"} {
		n := 0
		err := o.FilesAt(commits, path, func(i int, id string, data []byte) error {
			want, err := plain.File(commits[i], path)
			if errors.Is(err, fs.ErrNotExist) {
				if id != "" {
					t.Errorf("%s: %s of commit %d is %s, want none", name, path, i, id)
				}
			} else if err != nil || string(want) != string(data) || id != hashObject("blob", want, o.width) || i != n {
				t.Errorf("%s: %s of commit %d is %q, want %q (%v)", name, path, i, data, want, err)
			}
			n++
			return nil
		})
		if err != nil || n != len(commits) {
			t.Errorf("%s: %s of %d commits, %v", name, path, n, err)
		}
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

// TestFilesTooLarge asks for files of which some are larger than is read: they
// are named, and those behind them are read.
func TestFilesTooLarge(t *testing.T) {
	dir, tip := long(t, 2*worthOwn)
	for name, o := range readers(t, dir) {
		var commits []string
		if err := o.FirstParents(tip, func(c Commit) bool { commits = append(commits, c.ID); return true }); err != nil {
			t.Fatal(err)
		}
		o.many.max = 2
		n := 0
		err := o.FilesAt(commits, "top", func(i int, id string, data []byte) error {
			want := fmt.Append(nil, len(commits)-1-i)
			if id != hashObject("blob", want, o.width) {
				t.Errorf("%s: commit %d has %s, want that of %s", name, i, id, want)
			}
			if len(want) > 2 {
				want = nil
				n++
			}
			if string(data) != string(want) {
				t.Errorf("%s: commit %d has %q, want %q", name, i, data, want)
			}
			return nil
		})
		if err != nil || n != 2*worthOwn-100 {
			t.Errorf("%s: %d files were too large, %v", name, n, err)
		}
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
		if err := o.FilesAt(many[:worthOwn], "top", func(int, string, []byte) error { return nil }); err != nil {
			t.Errorf("%s: blobs as commits: %v", name, err)
		}
		if err := o.FilesAt(ids, "top", func(int, string, []byte) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
		if err := o.FilesAt(ids, "a name", func(int, string, []byte) error { return nil }); err == nil {
			t.Errorf("%s: took a path with a space", name)
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
