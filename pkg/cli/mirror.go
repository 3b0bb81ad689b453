package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// mirrored mirrors a run for a reader, whose answer does not depend on it: where
// the clone cannot be written to, the reader is told.
func (s *session) mirrored(tag contract.Tag) error {
	err := s.mirror(tag)
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) {
		s.env.say("note: the mirror of the records is not up to date: %v", err)
		return nil
	}
	return err
}

// mirror copies the records read-only into the person's clone, where readers
// look for them, and keeps them out of its commits.
func (s *session) mirror(tag contract.Tag) error {
	if s.work == nil {
		return nil
	}
	head, ok := s.clone.Branch(journal.StateBranch(tag))
	if !ok {
		return nil
	}
	folder := journal.Folder(tag)
	if err := s.work.Exclude("/" + folder); err != nil {
		return err
	}
	entries, err := s.clone.Tree(head)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if why := unwritable(folder, e); why != nil { // whoever may push may name a file as he likes
			return &verify.BreachError{Law: "branch", Place: fmt.Sprintf("%+q", e.Path), Why: why.Error()}
		}
	}
	names, ids := joined(folder, entries)
	root, err := os.OpenRoot(s.work.Top()) // a link that was checked out leads nowhere else
	if err != nil {
		return err
	}
	defer root.Close()
	var file []byte // as far as it was read: nothing else of a long run is kept
	return s.clone.Blobs(ids, func(i int, data []byte) error {
		file = append(file, data...)
		if i+1 < len(names) && names[i+1] == names[i] {
			return nil
		}
		err := writeMirror(root, filepath.FromSlash(folder+names[i]), file)
		file = file[:0]
		return err
	})
}

// unwritable says why an entry of the records is not to be written into the
// mirror, where nobody has compared the logs with what was signed: it is no file
// below the run's folder, or not by its name alone.
func unwritable(folder string, e repo.Entry) error {
	if e.Mode != repo.ModeFile || !strings.HasPrefix(e.Path, folder) {
		return errors.New("is no file of the records")
	}
	return repo.CheckPath(e.Path)
}

// joined says which blobs make up which file of the mirror: the segments of
// journal and results one file each, in the order of the attempts, which is not
// that of the names in a tree. The blobs of a file follow each other.
func joined(folder string, entries []repo.Entry) (names, ids []string) {
	files := make(map[string]string, len(entries))
	for _, e := range entries {
		files[strings.TrimPrefix(e.Path, folder)] = e.ID
	}
	join := func(name string, part func(iteration int) string) {
		for i := 0; files[ledger.Segment(i)] != ""; i++ {
			if id := files[part(i)]; id != "" {
				names, ids = append(names, name), append(ids, id)
			}
		}
	}
	join("journal.jsonl", ledger.Segment)
	join("results.jsonl", ledger.Results)
	for _, e := range entries {
		name := strings.TrimPrefix(e.Path, folder)
		if kind, _, _ := strings.Cut(name, "/"); kind != "journal" && kind != "results" {
			names, ids = append(names, name), append(ids, e.ID)
		}
	}
	return names, ids
}

// writeMirror writes a file read-only, replaced whole where it is another, and
// through no link: one that was checked out may lead to another place in the clone.
func writeMirror(root *os.Root, path string, data []byte) error {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if is, err := root.Lstat(dir); err == nil && !is.IsDir() {
			return &fs.PathError{Op: "mirror", Path: dir, Err: errors.New("is no folder")}
		}
	}
	if is, err := root.Lstat(path); err == nil && is.Mode().IsRegular() && is.Size() == int64(len(data)) {
		if old, err := root.ReadFile(path); err == nil && bytes.Equal(old, data) {
			return nil
		}
	}
	if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := path + ".new"
	if err := root.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := root.WriteFile(temp, data, 0o444); err != nil {
		return err
	}
	return root.Rename(temp, path)
}
