package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/supervisor"
)

// ExistsError says that a file or folder is there already. It was left as it is.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + ": exists and is left as it is" }

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
			return refuse(path, fmt.Sprintf("%s may not lie in a git repository, and %s is one", what, dir),
				"choose a place outside any repository")
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
			return "", refuse(path, "is a link to nothing", "choose another place")
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

// makeFolder makes a folder for its owner alone, where none may be yet.
func makeFolder(path string) error {
	err := exists(path, os.Mkdir(path, 0o700))
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(path, "the folder that it is to lie in is not there", "mkdir "+filepath.Dir(path))
	}
	return err
}

// exists gives the error of a path that is there already its own type.
func exists(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &ExistsError{path}
	}
	return err
}

// refuse says what a person must change.
func refuse(what, why, fix string) error {
	return &supervisor.RefusedError{What: what, Why: why, Fix: fix}
}
