package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
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

// Removed is what is wrong where a repository, named by where, has no state branch
// of a run of which an anchor was seen; nil where none was. The anchor is believed
// as it stands: nothing is left by which its signature could be checked.
func Removed(anchors []Anchor, where, branch string) error {
	for _, a := range anchors {
		if n, ok := ledger.Length(string(a.Note)); ok {
			return breach("anchors", a.Where, "was seen with %d journal lines, and %s has no branch %s now: REMOVED; remove that file too if this was meant", n, where, branch)
		}
	}
	return nil
}

// MirrorOf is the folder below a work tree in which status mirrors a run.
func MirrorOf(top string, tag contract.Tag) string {
	return filepath.Join(top, filepath.FromSlash(journal.Folder(tag)))
}
