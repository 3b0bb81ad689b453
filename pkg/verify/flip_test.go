package verify_test

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// flipped shows a repository in which one file of one commit has other bytes.
type flipped struct {
	verify.Objects
	commit, path string
	was          repo.Entry
	data         []byte
	id           string // of data
}

func (f *flipped) Blob(id string) ([]byte, error) {
	if id == f.id {
		return f.data, nil
	}
	return f.Objects.Blob(id)
}

func (f *flipped) Diff(from, to string) ([]repo.Change, error) {
	inner, err := f.Objects.Diff(from, to)
	if err != nil || from != f.commit && to != f.commit {
		return inner, err
	}
	changes, is := []repo.Change{}, repo.Change{Path: f.path, From: f.was, To: f.was}
	for _, c := range inner {
		if c.Path == f.path {
			is = c
		} else {
			changes = append(changes, c)
		}
	}
	if from == f.commit {
		is.From.ID = f.id
	}
	if to == f.commit {
		is.To.ID = f.id
	}
	return append(changes, is), nil
}

// TestEveryFlip flips single bits of the files of a signed run's state branch:
// some of every file of the newest commit, and of every file that a commit
// before it changed. With RESEARCH_LOOP_EVERY_BIT set it flips every bit of
// the newest commit, which takes some minutes.
func TestEveryFlip(t *testing.T) {
	t.Parallel()
	w := signed().copy(t)
	src := w.source()
	newest, err := src.Objects.Diff("", src.State)
	must(t, err)
	stride := 997 // a prime: every position of a byte has its turn
	if os.Getenv("RESEARCH_LOOP_EVERY_BIT") != "" {
		stride = 1
	}
	for _, file := range newest {
		step := stride
		if strings.HasSuffix(file.Path, "/checkpoint") {
			step = min(step, 17)
		}
		flip(t, src, src.State, file.To, step)
	}
	for id := src.State; ; {
		c, err := src.Objects.Commit(id)
		must(t, err)
		if len(c.Parents) == 0 {
			break
		}
		parent, err := src.Objects.Commit(c.Parents[0])
		must(t, err)
		before := ""
		if len(parent.Parents) > 0 {
			before = parent.Parents[0]
		}
		changed, err := src.Objects.Diff(before, parent.ID)
		must(t, err)
		for _, file := range changed {
			flip(t, src, parent.ID, file.To, 1+8*2003)
		}
		id = parent.ID
	}
}

// flip flips every step-th bit of a file of a commit, one at a time.
func flip(t *testing.T, src verify.Source, commit string, file repo.Entry, step int) {
	t.Helper()
	data, err := src.Objects.Blob(file.ID)
	must(t, err)
	inner := src.Objects
	for bit := step / 2; bit < 8*len(data); bit += step {
		f := &flipped{Objects: inner, commit: commit, path: file.Path, was: file, data: bytes.Clone(data)}
		f.data[bit/8] ^= 1 << (bit % 8)
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), f.data...))
		f.id = fmt.Sprintf("%x", sum)
		src.Objects = f
		report, err := verify.Run(src)
		if err != nil {
			t.Fatalf("%s at %.12s, bit %d: %v", file.Path, commit, bit, err)
		}
		if _, _, broken := report.First(); !broken {
			t.Errorf("%s at %.12s, bit %d of byte %d, %q: nothing is found", file.Path, commit, bit%8, bit/8, data[bit/8])
		}
	}
}
