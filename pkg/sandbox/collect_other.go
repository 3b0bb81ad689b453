//go:build unix && !linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openPlain opens one name in dir for reading, if it is a folder or a regular
// file with one link. It serves Unconfined only, whose processes are trusted.
func openPlain(dir *os.File, name string) (*os.File, fs.FileInfo, error) {
	path := filepath.Join(dir.Name(), name)
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if why := plainKind(seen, uint64(seen.Sys().(*syscall.Stat_t).Nlink)); why != "" {
		return nil, nil, errors.New(why)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(seen, info) {
		f.Close()
		return nil, nil, errors.New("changed while it was opened")
	}
	return f, info, nil
}
