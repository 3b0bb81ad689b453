package repo

import (
	"fmt"
	"slices"
	"strings"
)

// Differing lists the trees of commits as Tree does, but leaves out the folders
// that are the same in all of them, of which keep is asked by path: it costs
// what differs and what is kept, not what is there. folders are the paths that
// were left out, sorted. A folder that holds a name twice or out of order in
// one of the trees is listed whole.
func (o *objects) Differing(commits []string, keep func(folder string) bool) (lists [][]Entry, folders []string, err error) {
	trees := make([]string, len(commits))
	for i, id := range commits {
		c, err := o.Commit(id)
		if err != nil {
			return nil, nil, err
		}
		trees[i] = c.Tree
	}
	p := pruning{o: o, keep: keep, left: maxEntries}
	if lists, err = p.add(trees, "", 0); err != nil {
		return nil, nil, fmt.Errorf("trees of commits %s: %w", strings.Join(commits, " "), err)
	}
	slices.Sort(p.folders)
	return lists, p.folders, nil
}

// pruning is one walk through several trees at once, within a budget.
type pruning struct {
	o       *objects
	keep    func(folder string) bool
	left    int
	folders []string
}

// add lists the folder at prefix in every tree; ids are "" where there is none.
func (p *pruning) add(ids []string, prefix string, depth int) ([][]Entry, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w folders below each other: %d", ErrTooMany, depth)
	}
	tables, ordinary, err := p.read(ids)
	if err != nil {
		return nil, err
	}
	if !ordinary {
		return p.whole(ids, prefix, depth)
	}
	folders := foldersOf(tables)
	out := make([][]Entry, len(ids))
	below := map[string][][]Entry{}
	for i, table := range tables {
		for _, e := range table {
			if !isTree(e.mode) {
				out[i] = append(out[i], Entry{Path: prefix + e.name, Mode: e.mode, ID: e.id})
				continue
			}
			lists, known := below[e.name]
			if !known {
				if lists, err = p.folder(folders[e.name], prefix+e.name, depth); err != nil {
					return nil, err
				}
				below[e.name] = lists
			}
			if lists != nil {
				out[i] = append(out[i], lists[i]...)
			}
		}
	}
	return out, nil
}

// read reads the trees; ordinary says that all are as git writes them.
func (p *pruning) read(ids []string) (tables [][]treeEntry, ordinary bool, err error) {
	tables, ordinary = make([][]treeEntry, len(ids)), true
	for i, id := range ids {
		if id == "" {
			continue
		}
		if tables[i], err = p.o.tree(id); err != nil {
			return nil, false, err
		}
		if p.left -= len(tables[i]) + 1; p.left < 0 {
			return nil, false, fmt.Errorf("%w entries: more than %d", ErrTooMany, maxEntries)
		}
		ordinary = ordinary && inOrder(tables[i])
	}
	return tables, ordinary, nil
}

// foldersOf gives the ids of the folders in the trees, by name.
func foldersOf(tables [][]treeEntry) map[string][]string {
	folders := map[string][]string{}
	for i, table := range tables {
		for _, e := range table {
			if !isTree(e.mode) {
				continue
			}
			if folders[e.name] == nil {
				folders[e.name] = make([]string, len(tables))
			}
			folders[e.name][i] = e.id
		}
	}
	return folders
}

// folder lists what stands at a path in every tree, nil if that is left out.
func (p *pruning) folder(ids []string, path string, depth int) ([][]Entry, error) {
	same := !slices.ContainsFunc(ids, func(id string) bool { return id != ids[0] })
	if same && !p.keep(path) {
		p.folders = append(p.folders, path)
		return nil, nil
	}
	return p.add(ids, path+"/", depth+1)
}

// whole lists everything below a folder of every tree.
func (p *pruning) whole(ids []string, prefix string, depth int) ([][]Entry, error) {
	out := make([][]Entry, len(ids))
	for i, id := range ids {
		if id == "" {
			continue
		}
		f := flattening{o: p.o, left: p.left}
		if err := f.add(id, prefix, depth); err != nil {
			return nil, err
		}
		p.left, out[i] = f.left, f.out
	}
	return out, nil
}

// inOrder says that a tree's names stand as git writes them, each once.
func inOrder(table []treeEntry) bool {
	sortName := func(e treeEntry) string {
		if isTree(e.mode) {
			return e.name + "/"
		}
		return e.name
	}
	seen := make(map[string]bool, len(table))
	for i, e := range table {
		if seen[e.name] || i > 0 && sortName(e) <= sortName(table[i-1]) {
			return false
		}
		seen[e.name] = true
	}
	return true
}
