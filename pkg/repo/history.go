package repo

import (
	"errors"
	"fmt"
	"slices"
)

// Range lists the commits that are reachable from tip and not from `from`,
// parents before children. More than 1000 are ErrTooMany. Parents are taken
// from the commit objects alone, so grafts and shallow files hide nothing: a
// parent that is not there is a *MissingError.
func (o *objects) Range(from, tip string) ([]Commit, error) {
	if line, ok, err := o.line(from, tip); ok || err != nil {
		return line, err
	}
	known := map[string]bool{}
	err := o.walk(from, func(c Commit) bool { known[c.ID] = true; return true })
	if err != nil {
		return nil, err
	}
	return o.above(known, tip)
}

// line is the usual case of Range: a chain without merges that ends at from.
func (o *objects) line(from, tip string) (commits []Commit, ok bool, err error) {
	for id := tip; id != from; {
		if len(commits) == maxRange {
			return nil, false, nil
		}
		c, err := o.Commit(id)
		if err != nil {
			return nil, false, err
		}
		if len(c.Parents) != 1 {
			return nil, false, nil
		}
		commits = append(commits, c)
		id = c.Parents[0]
	}
	slices.Reverse(commits)
	return commits, true, nil
}

// above lists what is reachable from tip and not known, parents first.
func (o *objects) above(known map[string]bool, tip string) ([]Commit, error) {
	type step struct {
		commit Commit
		next   int // parent to look at
	}
	var out []Commit
	var stack []step
	enter := func(id string) error {
		if known[id] {
			return nil
		}
		if known[id] = true; len(out)+len(stack) >= maxRange {
			return fmt.Errorf("%w commits below %s: more than %d", ErrTooMany, tip, maxRange)
		}
		c, err := o.Commit(id)
		stack = append(stack, step{commit: c})
		return err
	}
	if err := enter(tip); err != nil {
		return nil, err
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.commit.Parents) {
			out = append(out, top.commit)
			stack = stack[:len(stack)-1]
			continue
		}
		top.next++
		if err := enter(top.commit.Parents[top.next-1]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Descends says whether ancestor is tip or reachable from it.
func (o *objects) Descends(ancestor, tip string) (bool, error) {
	if _, err := o.Commit(ancestor); err != nil {
		return false, err
	}
	found := false
	err := o.walk(tip, func(c Commit) bool {
		found = found || c.ID == ancestor
		return !found
	})
	return found, err
}

// walk visits every commit reachable from tip once, nearest first, until visit
// says no.
func (o *objects) walk(tip string, visit func(Commit) bool) error {
	seen := map[string]bool{tip: true}
	for queue := []string{tip}; len(queue) > 0; queue = queue[1:] {
		c, err := o.Commit(queue[0])
		if err != nil {
			return err
		}
		if !visit(c) {
			return nil
		}
		for _, p := range c.Parents {
			if !seen[p] {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return nil
}

// MergeBase returns a commit that both a and b descend from, the one with the
// fewest steps from b; ok is false where there is none.
func (o *objects) MergeBase(a, b string) (id string, ok bool, err error) {
	known := map[string]bool{}
	if err := o.walk(a, func(c Commit) bool { known[c.ID] = true; return true }); err != nil {
		return "", false, err
	}
	err = o.walk(b, func(c Commit) bool {
		id, ok = c.ID, known[c.ID]
		return !ok
	})
	return id, ok, err
}

// History shows visit every commit that is reachable from tip, nearest first,
// each with the files that none before it held: the tip comes with its whole
// tree, and a content that stands in several commits, or at several paths, is
// shown once. Submodules are left out. It ends when visit says no.
func (o *objects) History(tip string, visit func(Commit, []Entry) bool) error {
	fresh := freshness{o: o, seen: map[string]bool{}}
	var failed error
	err := o.walk(tip, func(c Commit) bool {
		fresh.out = nil
		if failed = fresh.add(c.Tree, "", 0); failed != nil {
			failed = fmt.Errorf("tree of commit %s: %w", c.ID, failed)
			return false
		}
		return visit(c, fresh.out)
	})
	return errors.Join(failed, err)
}

// freshness collects the files below a tree that it has not yet seen.
type freshness struct {
	o    *objects
	seen map[string]bool // ids of trees and files
	out  []Entry
}

func (f *freshness) add(tree, prefix string, depth int) error {
	if f.seen[tree] {
		return nil
	}
	f.seen[tree] = true
	if depth > maxDepth {
		return fmt.Errorf("%w folders below each other: %d", ErrTooMany, depth)
	}
	entries, err := f.o.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case isTree(e.mode):
			err = f.add(e.id, prefix+e.name+"/", depth+1)
		case e.mode != ModeGitlink && !f.seen[e.id]:
			f.seen[e.id] = true
			f.out = append(f.out, Entry{Path: prefix + e.name, Mode: e.mode, ID: e.id})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
