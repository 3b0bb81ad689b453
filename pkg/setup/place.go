package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PlaceError says that a file or folder cannot be where it is.
type PlaceError struct {
	Path, Why string
	// Exists says that it is there already and was left as it is.
	Exists bool
}

func (e *PlaceError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Why) }

// outside refuses a path, there or not, in a git work tree or git folder of
// any repository. It looks at the folders themselves and asks no git, whose
// answer depends on owners, settings and environment.
func outside(path, what string) error {
	real, err := resolve(path)
	if err != nil {
		return err
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if isRepository(dir) {
			return &PlaceError{Path: path, Why: fmt.Sprintf("%s may not lie in a git repository, and %s is one", what, dir)}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// resolve makes a path absolute and follows the links in the part of it that
// is there.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", &PlaceError{Path: path, Why: "is a link to nothing"}
		}
		parent, err := resolve(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}

// isRepository reports whether a folder holds .git, whatever that is, or is a
// git folder itself.
func isRepository(dir string) bool {
	there := func(names ...string) bool {
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				return false
			}
		}
		return true
	}
	return there(".git") || there("HEAD", "objects", "refs")
}

// create writes a file that must not be there yet.
func create(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return exists(path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// exists gives the error of a path that is there already its own type.
func exists(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &PlaceError{Path: path, Why: "exists and is left as it is", Exists: true}
	}
	return err
}
