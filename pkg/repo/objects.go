package repo

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// source gives the raw bytes of an object by its id.
type source interface {
	// object returns kind ("commit", "tree", "blob", "tag") and contents. The
	// error is a *MissingError where there is none.
	object(id string) (kind string, data []byte, err error)
}

// objects reads commits, trees and blobs out of a source. Everything that is
// read is hashed again. It may be used by several goroutines at once.
type objects struct {
	mu    sync.Mutex
	src   source
	many  *batch // reads many objects at once, nil where nothing does
	width int    // bytes of an id: 20 or 32

	// What has been read once: objects never change, and the trees of a run
	// share nearly all their folders.
	commits map[string]Commit
	held    int // bytes of commits, about
	trees   map[string][]treeEntry
	flat    map[string][]Entry
	cached  int // entries in trees and flat
}

func newObjects(src source, width int) *objects {
	return &objects{src: src, width: width, commits: map[string]Commit{}, trees: map[string][]treeEntry{}, flat: map[string][]Entry{}}
}

// read returns the contents of an object of a kind.
func (o *objects) read(id, kind string) ([]byte, error) {
	if !isID(id, o.width) {
		return nil, o.notAnID(id)
	}
	o.mu.Lock()
	got, data, err := o.src.object(id)
	o.mu.Unlock()
	if err == nil {
		err = NewHasher(o.width).genuine(id, got, kind, data)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (o *objects) notAnID(id string) error {
	return fmt.Errorf("%q is not an object id of %d digits", id, 2*o.width)
}

// Blob returns the contents of a blob, up to 256 MiB (*SizeError above).
func (o *objects) Blob(id string) ([]byte, error) {
	return o.read(id, "blob")
}

// Commit returns a commit by its whole id.
func (o *objects) Commit(id string) (Commit, error) {
	o.mu.Lock()
	c, ok := o.commits[id]
	o.mu.Unlock()
	if ok {
		return c, nil
	}
	raw, err := o.read(id, "commit")
	if err != nil {
		return Commit{}, err
	}
	c, err = parseCommit(id, raw, o.width)
	if err != nil {
		return Commit{}, err
	}
	o.remember(c, len(raw))
	return c, nil
}

// remember keeps a commit of so many bytes, unless it is a very long one; others
// are forgotten when there is too much of them.
func (o *objects) remember(c Commit, bytes int) {
	if bytes > maxKept {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held += bytes; o.held > maxHeld {
		clear(o.commits)
		o.held = bytes
	}
	o.commits[c.ID] = c
}

// Tree lists the files of a commit, in the order in which they stand in its
// tree objects; in a well-formed tree that is the order of the paths' bytes.
// An empty folder, which git itself never writes, leaves no entry. The slice is
// shared: it is not to be changed.
func (o *objects) Tree(commit string) ([]Entry, error) {
	c, err := o.Commit(commit)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	known, ok := o.flat[c.Tree]
	o.mu.Unlock()
	if ok {
		return known, nil
	}
	o.preload(c.Tree)
	f := flattening{o: o, left: maxEntries}
	if err := f.add(c.Tree, "", 0); err != nil {
		return nil, fmt.Errorf("tree of commit %s: %w", commit, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.charge(len(f.out))
	o.flat[c.Tree] = slices.Clip(f.out)
	return o.flat[c.Tree], nil
}

// flattening is one walk through the trees below a tree. What is left of its
// budget keeps a small tree that names itself over and over from filling the
// machine.
type flattening struct {
	o    *objects
	left int
	out  []Entry
}

func (f *flattening) add(tree, prefix string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w folders below each other: %d", ErrTooMany, depth)
	}
	entries, err := f.o.tree(tree)
	if err != nil {
		return err
	}
	if f.left -= len(entries) + 1; f.left < 0 {
		return fmt.Errorf("%w entries: more than %d", ErrTooMany, maxEntries)
	}
	for _, e := range entries {
		path := prefix + e.name
		if isTree(e.mode) {
			if err := f.add(e.id, path+"/", depth+1); err != nil {
				return err
			}
			continue
		}
		f.out = append(f.out, Entry{Path: path, Mode: e.mode, ID: e.id})
	}
	return nil
}

// tree returns the entries of one tree object.
func (o *objects) tree(id string) ([]treeEntry, error) {
	o.mu.Lock()
	entries, ok := o.trees[id]
	o.mu.Unlock()
	if ok {
		return entries, nil
	}
	raw, err := o.read(id, "tree")
	if err != nil {
		return nil, err
	}
	entries, err = parseTree(raw, o.width)
	if err != nil {
		return nil, &ObjectError{ID: id, Why: "is a " + err.Error()}
	}
	o.mu.Lock()
	o.keep(id, entries)
	o.mu.Unlock()
	return entries, nil
}

// keep remembers a tree. The caller holds the lock.
func (o *objects) keep(id string, entries []treeEntry) {
	o.charge(len(entries))
	o.trees[id] = entries
}

// charge counts entries that are to be remembered, and forgets the others when
// there are too many. The caller holds the lock.
func (o *objects) charge(entries int) {
	if o.cached += entries; o.cached > maxCached {
		clear(o.trees)
		clear(o.flat)
		o.cached = entries
	}
}

// preload reads the trees below a tree, one level after the other, where the
// source can be asked for many at once. What goes wrong is left for whoever
// reads the tree that is at fault.
func (o *objects) preload(root string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := map[string]bool{root: true}
	for level := []string{root}; o.many != nil && len(level) > 0 && o.cached < maxCached; {
		if o.readLevel(o.unknown(level)) != nil {
			return
		}
		var next []string
		for _, id := range level {
			for _, e := range o.trees[id] {
				if isTree(e.mode) && !seen[e.id] {
					seen[e.id] = true
					next = append(next, e.id)
				}
			}
		}
		level = next
	}
}

// readLevel reads trees and keeps those that are right. The caller holds the lock.
func (o *objects) readLevel(ids []string) error {
	if len(ids) >= worthOwn {
		return o.readApart(ids, o.keep)
	}
	for _, id := range ids {
		kind, data, err := o.src.object(id)
		if err != nil {
			return err
		}
		o.take(id, kind, data, o.keep)
	}
	return nil
}

// readApart reads many trees and gives those that are right to keep.
func (o *objects) readApart(ids []string, keep func(id string, entries []treeEntry)) error {
	return o.many.apart(slices.Values(ids), func(id, kind string, data []byte, err error) error {
		if err == nil {
			o.take(id, kind, data, keep)
		}
		return nil
	})
}

// take gives a tree to keep if it is right.
func (o *objects) take(id, kind string, data []byte, keep func(id string, entries []treeEntry)) {
	if NewHasher(o.width).genuine(id, kind, "tree", data) != nil {
		return
	}
	if entries, err := parseTree(data, o.width); err == nil {
		keep(id, entries)
	}
}

// unknown lists the trees that have not been read.
func (o *objects) unknown(ids []string) []string {
	var out []string
	for _, id := range ids {
		if _, ok := o.trees[id]; !ok && isID(id, o.width) {
			out = append(out, id)
		}
	}
	return out
}

// File returns the contents of the file at path in a commit. The error is
// fs.ErrNotExist where the tree has no such file; a symbolic link is none.
func (o *objects) File(commit, path string) ([]byte, error) {
	c, err := o.Commit(commit)
	if err != nil {
		return nil, err
	}
	names := strings.Split(path, "/")
	tree := c.Tree
	for i, name := range names {
		e, err := o.lookup(tree, name)
		if err != nil {
			return nil, fmt.Errorf("%q in commit %s: %w", path, commit, err)
		}
		last := i == len(names)-1
		switch {
		case !last && isTree(e.mode):
			tree = e.id
		case last && (e.mode == ModeFile || e.mode == ModeExecutable):
			return o.Blob(e.id)
		default:
			return nil, fmt.Errorf("%q in commit %s has mode %s: %w", path, commit, e.mode, fs.ErrNotExist)
		}
	}
	return nil, fs.ErrNotExist
}

// lookup finds the one entry of that name; a name that stands twice is refused
// because readers would differ on which one counts.
func (o *objects) lookup(tree, name string) (treeEntry, error) {
	entries, err := o.tree(tree)
	if err != nil {
		return treeEntry{}, err
	}
	var found []treeEntry
	for _, e := range entries {
		if e.name == name {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return treeEntry{}, fs.ErrNotExist
	case 1:
		return found[0], nil
	}
	return treeEntry{}, &ObjectError{ID: tree, Why: fmt.Sprintf("is a malformed tree: %q stands in it %d times", name, len(found))}
}
