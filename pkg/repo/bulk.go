package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A git that answers one question at a time costs two changes between processes
// for each. What is asked for in bulk is read from a git of its own, which
// writes its answers in large pieces while it is still being asked.

// worthOwn is how many objects are worth a git of their own.
const worthOwn = 64

// maxWarm bounds how many commits Warm reads.
const maxWarm = 1_000_000

// apart reads many objects from a git of their own. It stops at the first error
// that take gives back, and gives take what is wrong with an object. data is
// take's only while it runs.
func (b *batch) apart(ids []string, take func(id, kind string, data []byte, err error) error) error {
	own, err := b.ask(ids, "--batch")
	if err != nil {
		return err
	}
	defer own.stop()
	for _, id := range ids {
		kind, data, err := own.receive(id)
		var missing *MissingError
		switch {
		case errors.As(err, &missing):
			missing.Why = b.why
		case err != nil:
			return own.fail(id, err)
		}
		if err := take(id, kind, data, err); err != nil {
			return err
		}
	}
	return nil
}

// ask starts a git of its own and asks it for objects, or for what they are.
func (b *batch) ask(ids []string, how string) (*batch, error) {
	own := &batch{ctx: b.ctx, git: b.git, max: b.max, why: b.why}
	if err := own.start(how, "--buffer"); err != nil {
		return nil, err
	}
	in := own.in
	go func() {
		_, _ = io.WriteString(in, strings.Join(ids, "\n")+"\n") // cut off, it is missed by who reads
		in.Close()
	}()
	return own, nil
}

// Sizes shows take what the sizes of objects are said to be, in their order:
// nothing is read, and so nothing is proven. A missing one has the size -1.
func (o *objects) Sizes(ids []string, take func(i int, size int64)) error {
	if o.many == nil || len(ids) == 0 || !o.areIDs(ids) {
		return nil
	}
	own, err := o.many.ask(ids, "--batch-check")
	if err != nil {
		return err
	}
	defer own.stop()
	for i, id := range ids {
		_, _, size, err := own.header()
		var missing *MissingError
		switch {
		case errors.As(err, &missing):
			size = -1
		case err != nil:
			return own.fail(id, err)
		}
		take(i, size)
	}
	return nil
}

// listed reads the commits that rev-list names. That list is no more than a
// hint: it is complete where the history is, and take, which may end it, is told
// what it has to believe.
func (b *batch) listed(revisions []string, take func(id, kind string, data []byte) bool) error {
	list := b.git.command(b.ctx, append([]string{"rev-list", fmt.Sprintf("--max-count=%d", maxWarm)}, revisions...)...)
	own := &batch{ctx: b.ctx, git: b.git, max: b.max, why: b.why}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	list.Stdout = w
	err = list.Start()
	w.Close()
	if err != nil {
		r.Close()
		return fmt.Errorf("git rev-list: %w", err)
	}
	defer list.Wait() // a list that was cut off is a shorter hint
	err = own.startFrom(r)
	r.Close() // git alone reads it, and the list ends with git
	if err != nil {
		return err
	}
	defer own.stop()
	for {
		id, kind, data, err := own.next()
		var missing *MissingError
		switch {
		case errors.Is(err, io.EOF):
			return context.Cause(b.ctx)
		case errors.As(err, &missing):
		case err != nil:
			return own.fail(id, err)
		case !take(id, kind, data):
			return nil
		}
	}
}

func negated(ids []string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, "^"+id)
	}
	return out
}

// Warm reads the commits that are reachable from the tips and not from those in
// without, so that asking for each afterwards is cheap. It changes nothing
// else: what is missing is missed when it is asked for.
func (o *objects) Warm(tips, without []string) error {
	if o.many == nil || !o.areIDs(tips) || !o.areIDs(without) {
		return nil
	}
	return o.many.listed(append(slices.Clone(tips), negated(without)...), func(id, kind string, data []byte) bool {
		if c, ok := o.taken(id, kind, data); ok {
			o.mu.Lock()
			o.commits[id] = c
			o.mu.Unlock()
		}
		return true
	})
}

// FirstParents shows visit the commit at tip, its first parent, and so on to a
// commit without one, until visit says no. Errors are those of Commit.
func (o *objects) FirstParents(tip string, visit func(Commit) bool) error {
	at, going := tip, true
	if o.many != nil && o.areIDs([]string{tip}) {
		err := o.many.listed([]string{"--first-parent", tip}, func(id, kind string, data []byte) bool {
			c, ok := o.taken(id, kind, data)
			if !ok || id != at {
				return false // what was listed is not the truth
			}
			going = visit(c)
			at = firstParent(c)
			return going && at != ""
		})
		if err != nil {
			return err
		}
	}
	for going && at != "" {
		c, err := o.Commit(at)
		if err != nil {
			return err
		}
		going = visit(c)
		at = firstParent(c)
	}
	return nil
}

func firstParent(c Commit) string {
	if len(c.Parents) == 0 {
		return ""
	}
	return c.Parents[0]
}

// taken takes a commit apart that was read in bulk, if it is right.
func (o *objects) taken(id, kind string, data []byte) (Commit, bool) {
	if o.genuine(id, kind, "commit", data) != nil {
		return Commit{}, false
	}
	c, err := parseCommit(id, data, o.width)
	return c, err == nil
}

func (o *objects) areIDs(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !isID(id, o.width) })
}

// Blobs shows take the contents of many blobs, in their order. It stops at the
// first error, take's included; data is take's only while it runs. Errors are
// those of Blob.
func (o *objects) Blobs(ids []string, take func(i int, data []byte) error) error {
	if o.many == nil || len(ids) < worthOwn {
		for i, id := range ids {
			data, err := o.Blob(id)
			if err == nil {
				err = take(i, data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, id := range ids {
		if !isID(id, o.width) {
			return o.notAnID(id)
		}
	}
	i := 0
	return o.many.apart(ids, func(id, kind string, data []byte, err error) error {
		if err == nil {
			err = o.genuine(id, kind, "blob", data)
		}
		if err == nil {
			err = take(i, data)
		}
		i++
		return err
	})
}

// maxTogether is how many commits' trees are read together, and so kept at once.
const maxTogether = 256

// Diffs shows take what differs between every commit and the one before it in
// the list, in order: see Diff. The first is compared with an empty tree.
func (o *objects) Diffs(commits []string, take func(i int, changes []Change) error) error {
	before, beforeTree := "", ""
	for from := 0; from < len(commits); from += maxTogether {
		window := commits[from:min(from+maxTogether, len(commits))]
		var couples [][2]string
		for _, id := range window {
			c, err := o.Commit(id)
			if err != nil {
				return err
			}
			couples = append(couples, [2]string{beforeTree, c.Tree})
			beforeTree = c.Tree
		}
		known := o.different(couples)
		for i, id := range window {
			changes, err := o.diff(before, id, known)
			if err == nil {
				err = take(from+i, changes)
			}
			if err != nil {
				return err
			}
			before = id
		}
	}
	return nil
}

// different reads the trees that couples of trees differ in, level by level.
// What goes wrong is left for whoever reads the tree that is at fault.
func (o *objects) different(couples [][2]string) map[string][]treeEntry {
	known := map[string][]treeEntry{}
	if o.many == nil {
		return known
	}
	seen := map[[2]string]bool{}
	for len(couples) > 0 {
		if o.readTrees(couples, known) != nil {
			return known
		}
		var next [][2]string
		for _, c := range couples {
			below, ok := pair(known[c[0]], known[c[1]])
			for i := 0; ok && i < len(below); i++ {
				var trees [2]string
				for side, e := range below[i] {
					if isTree(e.mode) {
						trees[side] = e.id
					}
				}
				if trees[0] != trees[1] && !seen[trees] {
					seen[trees] = true
					next = append(next, trees)
				}
			}
		}
		couples = next
	}
	return known
}

// readTrees reads the trees of couples that are not known yet.
func (o *objects) readTrees(couples [][2]string, known map[string][]treeEntry) error {
	var ids []string
	asked := map[string]bool{"": true}
	o.mu.Lock()
	for _, c := range couples {
		for _, id := range c {
			if _, ok := known[id]; ok || asked[id] {
				continue
			}
			asked[id] = true
			if entries, ok := o.trees[id]; ok {
				known[id] = entries
			} else if isID(id, o.width) {
				ids = append(ids, id)
			}
		}
	}
	o.mu.Unlock()
	if len(ids) < worthOwn {
		return nil // those who need them read them
	}
	return o.readApart(ids, func(id string, entries []treeEntry) { known[id] = entries })
}
