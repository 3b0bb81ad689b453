package evaluate

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
)

// workshop is a pass's private folder. Everything in it stands under a random
// name, since a mount shows the path of its source.
type workshop string

// folder makes an empty folder that the sandbox's user can enter.
func (w workshop) folder() (string, error) {
	dir := filepath.Join(string(w), opaqueName())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// opaqueName is a name that tells nothing.
func opaqueName() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// place writes a new file that everybody may read, whatever the umask.
func place(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// layout is a split on disk: under opaque names for the candidate, under its
// cases' own for the scorer.
type layout struct {
	split  *contract.Split
	order  []opaqueCase // by opaque name: the order drawn for this pass
	opaque string       // inputs for the candidate
}

// opaqueCase is a case and the name that the candidate sees.
type opaqueCase struct {
	name string
	contract.Case
}

// layOut writes the split's inputs under names drawn anew. All arms and
// repetitions of a pass see the same names.
func (w workshop) layOut(split *contract.Split) (*layout, error) {
	dir, err := w.folder()
	if err != nil {
		return nil, err
	}
	l := &layout{split: split, opaque: dir}
	for _, c := range split.Cases {
		o := opaqueCase{opaqueName(), c}
		if err := place(filepath.Join(dir, o.name), c.Input); err != nil {
			return nil, err
		}
		l.order = append(l.order, o)
	}
	slices.SortFunc(l.order, func(a, b opaqueCase) int { return cmp.Compare(a.name, b.name) })
	return l, nil
}

// real writes one side of every case under the case's own name.
func (w workshop) real(cases []contract.Case, side func(contract.Case) []byte) (string, error) {
	dir, err := w.folder()
	if err != nil {
		return "", err
	}
	for _, c := range cases {
		if err := place(filepath.Join(dir, c.ID), side(c)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// rename moves what the candidate left under opaque names in from to the
// cases' own names in to, and counts them and what has no case.
func (l *layout) rename(from, to string) (found, unknown int, err error) {
	ids := map[string]string{}
	for _, o := range l.order {
		ids[o.name] = o.ID
	}
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		id, ok := ids[d.Name()]
		if !ok || filepath.Dir(path) != filepath.Clean(from) || !d.Type().IsRegular() {
			unknown++
			return nil
		}
		found++
		return os.Rename(path, filepath.Join(to, id))
	})
	return found, unknown, err
}

// checkIDs refuses cases that no file can be named after.
func checkIDs(split *contract.Split) error {
	seen := map[string]bool{}
	for _, c := range split.Cases {
		if c.ID == "" || c.ID == "." || c.ID == ".." || strings.ContainsAny(c.ID, "/\x00") {
			return fmt.Errorf("split %s: %q cannot name a file", split.Name, c.ID)
		}
		if seen[c.ID] {
			return fmt.Errorf("split %s: two cases are named %q", split.Name, c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}
