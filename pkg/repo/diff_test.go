package repo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestDiff compares Diff with the comparison of whole lists, over trees that
// grow, shrink, and turn files into folders and back.
func TestDiff(t *testing.T) {
	remote, _ := newRemote(t)
	c := openClone(t, remote)
	random := rand.New(rand.NewPCG(1, 2))
	ids := []string{""}
	files := map[string][]byte{}
	for range 40 {
		put := map[string][]byte{}
		for range 1 + random.IntN(4) {
			path := []string{"a", "a/b", "a/b/c", "a.b", "a-b/c", "d/e", "d/f/g", "z"}[random.IntN(8)]
			put[path] = []byte(fmt.Sprint(random.IntN(3)))
			for other := range files {
				if len(other) > len(path) && other[:len(path)+1] == path+"/" || len(path) > len(other) && path[:len(other)+1] == other+"/" {
					put[other] = nil
				}
			}
			if random.IntN(3) == 0 {
				put[path] = nil
			}
		}
		for path, data := range put {
			if files[path] = data; data == nil {
				delete(files, path)
			}
		}
		tree, err := c.WriteTree("", files)
		if err != nil {
			continue // a file and a folder of one name
		}
		id, err := c.WriteCommit(tree, nil, "m", time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if len(ids) < 10 {
		t.Fatalf("only %d trees", len(ids))
	}
	for _, from := range ids {
		for _, to := range ids {
			checkDiff(t, c.objects, from, to)
		}
	}
}

// TestDiffOfHostileTrees gives it trees that hold a name twice, or a tree that
// holds itself under many names.
func TestDiffOfHostileTrees(t *testing.T) {
	remote, person := newRemote(t)
	x, y := keepRaw(t, person, "blob", "x"), keepRaw(t, person, "blob", "y")
	inner := rawTree(t, person, treeEntry{ModeFile, "f", x})
	var ids []string
	push := []string{"push", "--quiet", "origin"}
	for i, tree := range []string{
		rawTree(t, person, treeEntry{ModeFile, "a", x}, treeEntry{ModeFile, "a", y}),
		rawTree(t, person, treeEntry{ModeFile, "a", x}, treeEntry{modeTree, "a", inner}),
		rawTree(t, person, treeEntry{ModeFile, "a", y}),
		rawTree(t, person, treeEntry{ModeExecutable, "a", y}),
		inner,
	} {
		ids = append(ids, feed(t, person, "", "commit-tree", tree, "-m", "m"))
		push = append(push, ids[i]+":refs/heads/h"+fmt.Sprint(i))
	}
	sh(t, person, push...)
	c := openClone(t, remote)
	if err := c.Fetch(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, from := range append(ids, "") {
		for _, to := range append(ids, "") {
			checkDiff(t, c.objects, from, to)
		}
	}
	if _, err := c.Diff("", "0000"); err == nil {
		t.Error("a commit that is none has a tree")
	}
}

func checkDiff(t *testing.T, o *objects, from, to string) {
	t.Helper()
	var lists [2][]Entry
	for i, id := range []string{from, to} {
		if id == "" {
			continue
		}
		var err error
		if lists[i], err = o.Tree(id); err != nil {
			t.Fatal(err)
		}
	}
	got, err := o.Diff(from, to)
	if want := Changes(lists[0], lists[1]); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%.8s to %.8s: got %v, %v; want %v", from, to, got, err, want)
	}
}
