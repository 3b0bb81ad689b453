package repo

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestDiffering puts trees together again out of what Differing lists and what
// it leaves out, over trees with doubled and disordered names as well.
func TestDiffering(t *testing.T) {
	m := memory{}
	random := rand.New(rand.NewPCG(3, 4))
	blob := func() string { return m.put("blob", fmt.Sprint(random.IntN(2))) }
	var tree func(depth int) string
	tree = func(depth int) string {
		var entries []treeEntry
		for _, name := range []string{"a", "a-b", "b", "c"}[:1+random.IntN(4)] {
			if depth > 0 && random.IntN(2) == 0 {
				entries = append(entries, treeEntry{modeTree, name, tree(depth - 1)})
			} else {
				entries = append(entries, treeEntry{ModeFile, name, blob()})
			}
		}
		switch random.IntN(12) {
		case 0:
			slices.Reverse(entries)
		case 1:
			entries = append(entries, treeEntry{ModeFile, "a", blob()})
		}
		raw, err := encodeTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		return m.put("tree", string(raw))
	}
	var commits []string
	for range 60 {
		commits = append(commits, m.put("commit", "tree "+tree(2)+"\n\nx"))
	}
	o := newObjects(m, sha1.Size)
	left := 0
	for range 400 {
		some := []string{commits[random.IntN(60)], commits[random.IntN(60)], commits[random.IntN(60)]}[:1+random.IntN(3)]
		keep := func(folder string) bool { return folder == "c" }
		lists, folders, err := o.Differing(some, keep)
		if err != nil {
			t.Fatal(err)
		}
		left += len(folders)
		for i, commit := range some {
			all, err := o.Tree(commit)
			if err != nil {
				t.Fatal(err)
			}
			out := func(e Entry) bool {
				return slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(e.Path, dir+"/") })
			}
			if want := slices.DeleteFunc(slices.Clone(all), out); !slices.Equal(lists[i], want) {
				t.Fatalf("%v without %v\nis   %v\nwant %v", all, folders, lists[i], want)
			}
			if first, err := o.Tree(some[0]); err != nil || !slices.Equal(within(first, out), within(all, out)) {
				t.Fatalf("what is left out differs: %v", folders)
			}
		}
	}
	if left == 0 {
		t.Error("nothing was ever left out")
	}
}

func within(list []Entry, in func(Entry) bool) (out []Entry) {
	for _, e := range list {
		if in(e) {
			out = append(out, e)
		}
	}
	return out
}

// TestDifferingOfHostileTrees gives it a tree that holds itself many times over,
// and what is no tree.
func TestDifferingOfHostileTrees(t *testing.T) {
	m := memory{}
	commit := func(entries ...treeEntry) string {
		raw, err := encodeTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		return m.put("commit", "tree "+m.put("tree", string(raw))+"\n\nx")
	}
	bomb := m.put("tree", "")
	for range maxDepth + 1 {
		raw, err := encodeTree([]treeEntry{{modeTree, "a", bomb}, {modeTree, "b", bomb}})
		if err != nil {
			t.Fatal(err)
		}
		bomb = m.put("tree", string(raw))
	}
	o := newObjects(m, sha1.Size)
	empty, deep := commit(), commit(treeEntry{modeTree, "d", bomb})
	none := func(string) bool { return false }
	if _, _, err := o.Differing([]string{empty, deep}, none); !errors.Is(err, ErrTooMany) {
		t.Errorf("a deep tree: %v", err)
	}
	if lists, folders, err := o.Differing([]string{deep, deep}, none); err != nil || len(lists[0]) != 0 || !slices.Equal(folders, []string{"d"}) {
		t.Errorf("a deep tree that all have: %v, %v, %v", lists, folders, err)
	}
	if _, _, err := o.Differing([]string{empty, commit(treeEntry{modeTree, "d", m.put("blob", "x")})}, none); err == nil {
		t.Error("a file is read as a folder")
	}
	if _, _, err := o.Differing([]string{strings.Repeat("0", 40)}, none); err == nil {
		t.Error("no commit is read")
	}
}
