//go:build !unix

package repo

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// lock creates the lock file; a process that was killed leaves it behind.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%w; delete it if no research-loop is running", err)
	}
	return f, nil
}

func openPlain(path string) (*os.File, error) { return os.Open(path) }

func hardLinks(fs.FileInfo) uint64 { return 1 }
