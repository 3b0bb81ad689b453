//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockEnd ends the name of the file beside each temporary folder of ours, which
// its supervisor holds while it lives.
const lockEnd = ".lock"

// temp is a fresh private folder that a later supervisor can tell from one
// whose owner is gone.
type temp struct {
	dir  string
	lock *os.File
}

func newTemp(parent string) (*temp, error) {
	for {
		lock, err := os.CreateTemp(parent, tempName+"*"+lockEnd)
		if err != nil {
			return nil, err
		}
		dir := strings.TrimSuffix(lock.Name(), lockEnd)
		if err := flock(lock); err == nil && isSame(lock) {
			if err := os.Mkdir(dir, 0o700); err != nil {
				lock.Close()
				return nil, err
			}
			return &temp{dir, lock}, nil
		}
		lock.Close() // a sweep came between; it has removed the file
	}
}

func (t *temp) remove() error {
	defer t.lock.Close()
	return errors.Join(os.RemoveAll(t.dir), os.Remove(t.lock.Name()))
}

// sweepTemp removes the folders of supervisors that are gone. Only what belongs
// to this user is touched.
func sweepTemp(parent string) error {
	locks, err := filepath.Glob(filepath.Join(parent, tempName+"*"+lockEnd))
	if err != nil {
		return err
	}
	for _, name := range locks {
		if !mine(name) {
			continue
		}
		lock, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue // another sweep was faster, or it is no file of ours
		}
		if flock(lock) == nil && isSame(lock) {
			err = (&temp{strings.TrimSuffix(name, lockEnd), lock}).remove()
		}
		lock.Close()
		if err != nil {
			return fmt.Errorf("clear %s: %w", name, err)
		}
	}
	return nil
}

func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// isSame says whether the open file still stands under its name.
func isSame(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

func mine(name string) bool {
	for _, x := range []string{name, strings.TrimSuffix(name, lockEnd)} {
		info, err := os.Lstat(x)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || info.Mode()&os.ModeSymlink != 0 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
			return false
		}
	}
	return true
}
