package evaluate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// watch is a folder that must not change. Between full readings it is told by
// size, mode, mtime, ctime and inode of all that is in it: a change moves the
// ctime, which nobody in a sandbox can set.
type watch struct {
	name   string // in violations: what people call it
	dir    string
	want   repo.Snapshot
	digest string // of want
	quick  string // at the last reading, "" before the first
}

// expect watches a folder that must be as it was once written.
func expect(name, dir string, want repo.Snapshot) *watch {
	return &watch{name: name, dir: dir, want: want, digest: want.Digest()}
}

// newWatch watches a folder as it is now.
func newWatch(name, dir string) (*watch, error) {
	quick, err := quickprint(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	now, err := repo.Fingerprint(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	w := expect(name, dir, now)
	w.quick = quick
	return w, nil
}

// check says what differs from what is wanted; full reads every byte even
// where nothing seems to have moved.
func (w *watch) check(full bool) ([]string, error) {
	quick, err := quickprint(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{w.name + ": vanished"}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	if !full && quick == w.quick {
		return nil, nil
	}
	got, err := repo.Fingerprint(w.dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	diff := w.want.Diff(got)
	if len(diff) == 0 && w.quick != "" && quick != w.quick {
		diff = []string{"touched or replaced, though the bytes are the same"}
	}
	w.quick = quick
	if len(diff) == 0 {
		return nil, nil
	}
	return []string{w.name + ": " + some(diff)}, nil
}

// some joins the first few of many names.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// quickprint is a digest of everything about a folder but its bytes.
func quickprint(dir string) (string, error) {
	h := sha256.New()
	var line []byte
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line = append(append(line[:0], path...), 0)
		for _, n := range append(inode(info), int64(info.Mode()), info.Size(), info.ModTime().UnixNano()) {
			line = binary.BigEndian.AppendUint64(line, uint64(n))
		}
		h.Write(line)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// stateCheck compares contract and folders with what they must be. digest
// stands for all of them; it is the same wherever the bytes are the same.
func (p *pass) stateCheck(full bool, watches ...*watch) (digest string, wrong []string, err error) {
	h := sha256.New()
	fmt.Fprintf(h, "contract %s\n", p.job.Contract.Digest)
	if err := p.job.Check(); err != nil {
		wrong = append(wrong, "contract: "+err.Error())
		fmt.Fprintln(h, "broken")
	}
	for _, w := range watches {
		diff, err := w.check(full)
		if err != nil {
			return "", nil, err
		}
		wrong = append(wrong, diff...)
		fmt.Fprintf(h, "%q %s %q\n", w.name, w.digest, diff)
	}
	return hex.EncodeToString(h.Sum(nil)), wrong, nil
}

// violated records what a state check found; from then on nothing is launched.
func (p *pass) violated(when string, wrong []string) *ledger.Failure {
	for _, w := range wrong {
		p.evaluation.Violations = append(p.evaluation.Violations, p.redactor.String(when+": "+w))
	}
	return p.failure(ledger.Invalid, "state", when+": "+strings.Join(wrong, "; "))
}
