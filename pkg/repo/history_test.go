package repo

import (
	"crypto/sha1"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHistory looks at a history with a merge, a move, a copy, a link and a
// content that comes back.
func TestHistory(t *testing.T) {
	dir := newPerson(t) // README, src/a.go
	sh(t, dir, "checkout", "--quiet", "-b", "side")
	side := commit(t, dir, map[string]string{"side/b.go": "package b\n"})
	sh(t, dir, "checkout", "--quiet", "main")
	second := commit(t, dir, map[string]string{"README": "two\n", "copy": "package a\n"})
	sh(t, dir, "merge", "--quiet", "--no-ff", "--message", "both", "side")
	if err := os.Symlink("README", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	commit(t, dir, map[string]string{"README": "one\n"})
	sh(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+side+",module")
	sh(t, dir, "commit", "--quiet", "--message", "a submodule")
	tip := sh(t, dir, "rev-parse", "HEAD")

	w := openWork(t, dir)
	var got []string
	visit := func(_ Commit, files []Entry) bool {
		got = append(got, strings.Join(paths(files), " "))
		return true
	}
	if err := w.History(tip, visit); err != nil {
		t.Fatal(err)
	}
	// The first content of README stands at the tip, and package a under copy;
	// the second README is the merge's, and its parents bring nothing.
	if want := []string{"README copy link side/b.go", "", "README", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if entries, err := w.Tree(tip); err != nil || !slices.Contains(paths(entries), "module") {
		t.Errorf("the tip has no submodule: %v, %v", entries, err)
	}

	got = nil
	if err := w.History(second, visit); err != nil || len(got) != 2 {
		t.Errorf("below the second commit: %q, %v", got, err)
	}
	n := 0
	if err := w.History(tip, func(Commit, []Entry) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("stopped after %d commits, %v", n, err)
	}
}

func TestHistoryOfWhatIsMissing(t *testing.T) {
	dir := newPerson(t)
	commit(t, dir, map[string]string{"README": "two\n"})
	shallow := filepath.Join(t.TempDir(), "shallow")
	sh(t, dir, "clone", "--quiet", "--depth", "1", "file://"+dir, shallow)
	w := openWork(t, shallow)
	_, head := w.Head()
	var missing *MissingError
	if err := w.History(head, func(Commit, []Entry) bool { return true }); !errors.As(err, &missing) || !strings.Contains(err.Error(), "shallow") {
		t.Errorf("a shallow history: %v", err)
	}
	if err := w.History(strings.Repeat("0", 40), func(Commit, []Entry) bool { return true }); !errors.As(err, &missing) {
		t.Errorf("no commit: %v", err)
	}
}

// memory is a source of objects that were put into it.
type memory map[string]string

func (m memory) put(kind, data string) string {
	id := string(NewHasher(sha1.Size).ID(kind, []byte(data)))
	m[id] = kind + " " + data
	return id
}

func (m memory) object(id string) (string, []byte, error) {
	kind, data, ok := strings.Cut(m[id], " ")
	if !ok {
		return "", nil, &MissingError{ID: id}
	}
	return kind, []byte(data), nil
}

func TestHistoryOfHostileTrees(t *testing.T) {
	m := memory{}
	look := func(entries ...treeEntry) (int, error) {
		raw, err := encodeTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		err = newObjects(m, sha1.Size).History(m.put("commit", "tree "+m.put("tree", string(raw))+"\n\nx"), func(_ Commit, files []Entry) bool {
			seen += len(files)
			return true
		})
		return seen, err
	}
	tree := m.put("tree", "")
	for range maxDepth + 1 {
		raw, err := encodeTree([]treeEntry{{modeTree, "a", tree}, {modeTree, "b", tree}})
		if err != nil {
			t.Fatal(err)
		}
		tree = m.put("tree", string(raw))
	}
	if _, err := look(treeEntry{modeTree, "d", tree}); !errors.Is(err, ErrTooMany) {
		t.Errorf("a deep tree: %v", err)
	}
	if n, err := look(treeEntry{ModeFile, "a", m.put("blob", "x")}, treeEntry{ModeFile, "a", m.put("blob", "x")}, treeEntry{"100600", "b", m.put("blob", "y")}); err != nil || n != 2 {
		t.Errorf("doubled names: %d files, %v", n, err)
	}
	if _, err := look(treeEntry{modeTree, "d", m.put("blob", "x")}); err == nil {
		t.Error("a file is read as a folder")
	}
}
