package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
)

// AnchorIn reads the checkpoint that a folder keeps of a run; without one the
// anchor is empty and binds nothing.
func AnchorIn(folder string) (Anchor, error) {
	a := Anchor{Where: filepath.Join(folder, checkpointName)}
	info, err := os.Stat(a.Where)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxAnchor) {
		return a, nil // no note is as long as that
	}
	if err == nil {
		a.Note, err = os.ReadFile(a.Where)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		err = nil
	}
	return a, err
}

const maxAnchor = 64 << 10

// MirrorOf is the folder below a work tree in which status mirrors a run.
func MirrorOf(top string, tag contract.Tag) string {
	return filepath.Join(top, filepath.FromSlash(journal.Folder(tag)))
}
