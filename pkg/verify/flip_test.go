package verify_test

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// memory is a repository that has been read: every flip asks for the same.
type memory struct {
	verify.Objects
	mu      sync.Mutex
	blobs   map[string][]byte
	changes map[[2]string][]repo.Change
}

func (m *memory) Blob(id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if data, ok := m.blobs[id]; ok {
		return data, nil
	}
	data, err := m.Objects.Blob(id)
	if err == nil {
		m.blobs[id] = data
	}
	return data, err
}

func (m *memory) Diff(from, to string) ([]repo.Change, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{from, to}
	if changes, ok := m.changes[key]; ok {
		return changes, nil
	}
	changes, err := m.Objects.Diff(from, to)
	if err == nil {
		m.changes[key] = changes
	}
	return changes, err
}

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
// before it changed. With RESEARCH_LOOP_EVERY_BIT=n it flips every n-th bit of
// the newest commit; every bit takes half an hour of a processor.
func TestEveryFlip(t *testing.T) {
	t.Parallel()
	w := signed().copy(t)
	src := w.source()
	src.Objects = &memory{Objects: src.Objects, blobs: map[string][]byte{}, changes: map[[2]string][]repo.Change{}}
	newest, err := src.Objects.Diff("", src.State)
	must(t, err)
	stride := 9973 // a prime: every position of a byte has its turn
	if os.Getenv("CI") == "true" {
		stride = 997
	}
	if text := os.Getenv("RESEARCH_LOOP_EVERY_BIT"); text != "" {
		stride, err = strconv.Atoi(text)
		must(t, err)
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
	var next atomic.Int64
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for !t.Failed() {
				bit := step/2 + step*int(next.Add(1)-1)
				if bit >= 8*len(data) {
					return
				}
				flipBit(t, src, commit, file, data, bit)
			}
		})
	}
	working.Wait()
	t.Logf("%s at %.12s: every %d of %d bits", file.Path, commit, step, 8*len(data))
}

// flipBit flips one bit of a file of a commit, which must be found.
func flipBit(t *testing.T, src verify.Source, commit string, file repo.Entry, data []byte, bit int) {
	f := &flipped{Objects: src.Objects, commit: commit, path: file.Path, was: file, data: bytes.Clone(data)}
	f.data[bit/8] ^= 1 << (bit % 8)
	f.id = fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), f.data...)))
	src.Objects = f
	report, err := verify.Run(src)
	if err != nil {
		t.Errorf("%s at %.12s, bit %d of byte %d: %v", file.Path, commit, bit%8, bit/8, err)
		return
	}
	if _, _, broken := report.First(); !broken {
		t.Errorf("%s at %.12s, bit %d of byte %d, %q: nothing is found", file.Path, commit, bit%8, bit/8, data[bit/8])
	}
}
