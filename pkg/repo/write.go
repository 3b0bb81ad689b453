package repo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Identity is the author of every commit that a Clone writes.
const Identity = "research-loop <research-loop@localhost>"

// WriteBlob stores data as a blob.
func (c *Clone) WriteBlob(data []byte) (id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.write(plumbing.BlobObject, data)
}

// WriteTree stores the tree of the commit base ("" for an empty one) with the
// files of put laid over it, and returns its id. A nil value deletes a path,
// there or not; a folder left empty goes. What is not named keeps its object.
func (c *Clone) WriteTree(base string, put map[string][]byte) (tree string, err error) {
	var from string
	if base != "" {
		commit, err := c.Commit(base)
		if err != nil {
			return "", err
		}
		from = commit.Tree
	}
	for path := range put {
		if err := CheckPath(path); err != nil {
			return "", err
		}
	}
	id, _, err := c.overlay(from, put)
	return id, err
}

// overlay writes one folder: the tree from ("" if new) with put laid over it.
func (c *Clone) overlay(from string, put map[string][]byte) (id string, entries int, err error) {
	byName := map[string]treeEntry{}
	if from != "" {
		old, err := c.tree(from)
		if err != nil {
			return "", 0, err
		}
		for _, e := range old {
			if _, twice := byName[e.name]; twice {
				return "", 0, fmt.Errorf("malformed tree %s: %q stands in it twice", from, e.name)
			}
			byName[e.name] = e
		}
	}
	files, folders, err := split(put)
	if err != nil {
		return "", 0, err
	}
	for name, data := range files {
		if delete(byName, name); data == nil {
			continue
		}
		blob, err := c.WriteBlob(data)
		if err != nil {
			return "", 0, err
		}
		byName[name] = treeEntry{ModeFile, name, blob}
	}
	for name, below := range folders {
		if err := c.overlayFolder(byName, name, below); err != nil {
			return "", 0, err
		}
	}
	id, err = c.writeTree(byName)
	return id, len(byName), err
}

// overlayFolder replaces the entry name in byName by its overlay.
func (c *Clone) overlayFolder(byName map[string]treeEntry, name string, below map[string][]byte) error {
	var from string
	if e, ok := byName[name]; ok && isTree(e.mode) {
		from = e.id
	} else if ok && onlyDeletes(below) {
		return nil // there is a file of that name and so nothing below it
	}
	id, n, err := c.overlay(from, below)
	if err != nil {
		return err
	}
	delete(byName, name)
	if n > 0 {
		byName[name] = treeEntry{modeTree, name, id}
	}
	return nil
}

func onlyDeletes(put map[string][]byte) bool {
	for _, data := range put {
		if data != nil {
			return false
		}
	}
	return true
}

// split sorts put into the files of this folder and those below its folders.
func split(put map[string][]byte) (files map[string][]byte, folders map[string]map[string][]byte, err error) {
	files, folders = map[string][]byte{}, map[string]map[string][]byte{}
	for path, data := range put {
		name, rest, below := strings.Cut(path, "/")
		if !below {
			files[name] = data
			continue
		}
		if folders[name] == nil {
			folders[name] = map[string][]byte{}
		}
		folders[name][rest] = data
	}
	for name := range folders {
		if files[name] != nil {
			return nil, nil, fmt.Errorf("%q is to be a file and a folder", name)
		}
	}
	return files, folders, nil
}

func (c *Clone) writeTree(byName map[string]treeEntry) (string, error) {
	var entries []treeEntry
	for _, e := range byName {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b treeEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	raw, err := encodeTree(entries)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.write(plumbing.TreeObject, raw)
}

// sortName is what git sorts an entry by.
func sortName(e treeEntry) string {
	if isTree(e.mode) {
		return e.name + "/"
	}
	return e.name
}

// WriteCommit stores a commit by research-loop itself at the second of when.
// The same arguments give the same id. Tree and parents must be in the clone.
func (c *Clone) WriteCommit(tree string, parents []string, message string, when time.Time) (id string, err error) {
	if strings.Contains(message, "\x00") {
		return "", errors.New("commit message has a zero byte")
	}
	if _, err := c.tree(tree); err != nil {
		return "", err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		if _, err := c.Commit(p); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	fmt.Fprintf(&b, "author %s %d +0000\ncommitter %[1]s %[2]d +0000\n\n%s", Identity, when.Unix(), message)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.write(plumbing.CommitObject, b.Bytes())
}
