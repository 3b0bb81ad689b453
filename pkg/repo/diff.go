package repo

import (
	"fmt"
	"slices"
	"strings"
)

// Diff lists what differs between the trees of two commits, "" for no commit
// and so for an empty tree. Folders with one id are not looked into: it costs
// what has changed, not what is there.
func (o *objects) Diff(from, to string) ([]Change, error) {
	var trees [2]string
	for i, id := range []string{from, to} {
		if id == "" {
			continue
		}
		c, err := o.Commit(id)
		if err != nil {
			return nil, err
		}
		trees[i] = c.Tree
	}
	if from == "" {
		o.preload(trees[1]) // all of it is asked for
	}
	d := treeDiff{o: o, left: maxEntries}
	if err := d.add(trees[0], trees[1], "", 0); err != nil {
		return nil, fmt.Errorf("trees of commits %s and %s: %w", orNothing(from), orNothing(to), err)
	}
	slices.SortStableFunc(d.out, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return d.out, nil
}

// treeDiff is one walk through two trees at once, within a budget.
type treeDiff struct {
	o    *objects
	left int
	out  []Change
}

func (d *treeDiff) add(a, b, prefix string, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%w folders below each other: %d", ErrTooMany, depth)
	}
	before, err := d.entries(a)
	if err != nil {
		return err
	}
	after, err := d.entries(b)
	if err != nil {
		return err
	}
	if d.left -= len(before) + len(after) + 1; d.left < 0 {
		return fmt.Errorf("%w entries: more than %d", ErrTooMany, maxEntries)
	}
	couples, ok := pair(before, after)
	if !ok { // a name stands twice: only whole lists can be compared
		return d.flat(a, b, prefix, depth)
	}
	for _, c := range couples {
		if c[0] == c[1] {
			continue
		}
		if err := d.entry(c, prefix, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry compares one name: a folder, a file or nothing on either side.
func (d *treeDiff) entry(c [2]treeEntry, prefix string, depth int) error {
	var trees [2]string
	var files [2]Entry
	path := prefix + max(c[0].name, c[1].name) // the same, or one is ""
	for i, e := range c {
		switch {
		case isTree(e.mode):
			trees[i] = e.id
		case e.name != "":
			files[i] = Entry{Path: path, Mode: e.mode, ID: e.id}
		}
	}
	if files[0] != files[1] {
		d.out = append(d.out, Change{Path: path, From: files[0], To: files[1]})
	}
	return d.add(trees[0], trees[1], path+"/", depth+1)
}

func (d *treeDiff) entries(tree string) ([]treeEntry, error) {
	if tree == "" {
		return nil, nil
	}
	return d.o.tree(tree)
}

// flat compares two trees file by file.
func (d *treeDiff) flat(a, b, prefix string, depth int) error {
	var lists [2][]Entry
	for i, tree := range []string{a, b} {
		if tree == "" {
			continue
		}
		f := flattening{o: d.o, left: d.left}
		if err := f.add(tree, prefix, depth); err != nil {
			return err
		}
		d.left, lists[i] = f.left, f.out
	}
	d.out = append(d.out, Changes(lists[0], lists[1])...)
	return nil
}

// pair brings the entries of two trees together by name, in the order of the
// names; where a tree does not have one its entry is zero. ok is false where a
// tree holds a name twice.
func pair(a, b []treeEntry) (couples [][2]treeEntry, ok bool) {
	if ordered(a) && ordered(b) {
		return merged(a, b), true
	}
	where := make(map[string]int, len(a)+len(b))
	for side, list := range [2][]treeEntry{a, b} {
		for _, e := range list {
			i, known := where[e.name]
			if !known {
				i = len(couples)
				where[e.name] = i
				couples = append(couples, [2]treeEntry{})
			}
			if couples[i][side].name != "" {
				return nil, false
			}
			couples[i][side] = e
		}
	}
	slices.SortFunc(couples, func(x, y [2]treeEntry) int {
		return strings.Compare(max(x[0].name, x[1].name), max(y[0].name, y[1].name))
	})
	return couples, true
}

// ordered says whether names stand in the order of their bytes, each once. Git's
// own order is another one only where a file's name continues a folder's.
func ordered(entries []treeEntry) bool {
	for i := 1; i < len(entries); i++ {
		if entries[i-1].name >= entries[i].name {
			return false
		}
	}
	return true
}

// merged is pair for trees that are ordered; what is alike is left out.
func merged(a, b []treeEntry) (couples [][2]treeEntry) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].name < b[0].name:
			couples = append(couples, [2]treeEntry{a[0], {}})
			a = a[1:]
		case len(a) == 0 || b[0].name < a[0].name:
			couples = append(couples, [2]treeEntry{{}, b[0]})
			b = b[1:]
		default:
			if a[0] != b[0] {
				couples = append(couples, [2]treeEntry{a[0], b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return couples
}
