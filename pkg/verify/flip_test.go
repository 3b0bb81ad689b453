package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// memory is a repository that has been read whole.
type memory struct {
	commits map[string]repo.Commit
	trees   map[string]map[string]string // tree → path → blob
	blobs   map[string][]byte
	folders map[string][]repo.Entry // what stands directly in a tree, of the newest commit and its folders
}

func (m *memory) Commit(id string) (repo.Commit, error) {
	c, ok := m.commits[id]
	if !ok {
		return c, &repo.MissingError{ID: id}
	}
	return c, nil
}

func (m *memory) Blob(id string) ([]byte, error) {
	data, ok := m.blobs[id]
	if !ok {
		return nil, &repo.MissingError{ID: id}
	}
	return data, nil
}

func (m *memory) Diff(from, to string) ([]repo.Change, error) {
	return changes(m.trees[m.commits[from].Tree], m.trees[m.commits[to].Tree]), nil
}

func (m *memory) FirstParents(tip string, visit func(repo.Commit) bool) error {
	return firstParents(m, tip, visit)
}

func (m *memory) Folders(trees []string, take func(int, []repo.Entry) error) error {
	return folders(m.folders, trees, take)
}

func (m *memory) Stream(n int, ids iter.Seq[string], take func(int, []byte, error) error) error {
	return stream(m, ids, take)
}

// firstParents, folders and stream read in bulk what is read one by one.
func firstParents(o verify.Single, tip string, visit func(repo.Commit) bool) error {
	for id := tip; id != ""; {
		c, err := o.Commit(id)
		if err != nil {
			return err
		}
		if id = ""; visit(c) && len(c.Parents) > 0 {
			id = c.Parents[0]
		}
	}
	return nil
}

func folders(all map[string][]repo.Entry, trees []string, take func(int, []repo.Entry) error) error {
	for i, id := range trees {
		entries, ok := all[id]
		if !ok {
			return &repo.MissingError{ID: id}
		}
		if err := take(i, entries); err != nil {
			return err
		}
	}
	return nil
}

func stream(o verify.Single, ids iter.Seq[string], take func(int, []byte, error) error) error {
	i := 0
	for id := range ids {
		data, err := o.Blob(id)
		if err := take(i, data, err); err != nil {
			return err
		}
		i++
	}
	return nil
}

func changes(before, after map[string]string) []repo.Change {
	var out []repo.Change
	entry := func(path, id string) repo.Entry {
		if id == "" {
			return repo.Entry{}
		}
		return repo.Entry{Path: path, Mode: repo.ModeFile, ID: id}
	}
	for path, id := range after {
		if before[path] != id {
			out = append(out, repo.Change{Path: path, From: entry(path, before[path]), To: entry(path, id)})
		}
	}
	for path, id := range before {
		if after[path] == "" {
			out = append(out, repo.Change{Path: path, From: entry(path, id)})
		}
	}
	slices.SortFunc(out, func(a, b repo.Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// remember reads everything that a source's branches hold.
func remember(t testing.TB, src verify.Source) *memory {
	m := &memory{commits: map[string]repo.Commit{}, trees: map[string]map[string]string{}, blobs: map[string][]byte{}}
	for queue := []string{src.State, src.Branch, src.Default}; len(queue) > 0; queue = queue[1:] {
		if _, seen := m.commits[queue[0]]; seen {
			continue
		}
		c, err := src.Objects.Commit(queue[0])
		must(t, err)
		m.commits[c.ID] = c
		queue = append(queue, c.Parents...)
		files, err := src.Objects.Diff("", c.ID)
		must(t, err)
		m.trees[c.Tree] = map[string]string{}
		for _, f := range files {
			m.trees[c.Tree][f.Path] = f.To.ID
			m.blobs[f.To.ID], err = src.Objects.Blob(f.To.ID)
			must(t, err)
		}
	}
	m.folders = map[string][]repo.Entry{}
	nest(m.folders, m.trees[m.commits[src.State].Tree], "")
	return m
}

// nest lists what stands directly in each folder of a tree, by the folders' ids,
// and gives the id of the one below a prefix.
func nest(out map[string][]repo.Entry, files map[string]string, prefix string) string {
	var entries []repo.Entry
	seen := map[string]bool{}
	for path, blob := range files {
		rest, ok := strings.CutPrefix(path, prefix)
		name, _, nested := strings.Cut(rest, "/")
		switch {
		case !ok || seen[name]:
			continue
		case nested:
			entries = append(entries, repo.Entry{Path: name, Mode: "40000", ID: nest(out, files, prefix+name+"/")})
		default:
			entries = append(entries, repo.Entry{Path: name, Mode: repo.ModeFile, ID: blob})
		}
		seen[name] = true
	}
	tree := treeID(files, prefix, func(id string) string { return id })
	out[tree] = entries
	return tree
}

// flipped is a memory in which one commit of the state branch has other bytes in
// one file, as somebody would push it who writes trees as git does.
type flipped struct {
	*memory
	commit repo.Commit
	files  map[string]string
	below  map[string][]repo.Entry // its folders, where it is the newest
	id     string
	data   []byte
}

func (f *flipped) FirstParents(tip string, visit func(repo.Commit) bool) error {
	return firstParents(f, tip, visit)
}

func (f *flipped) Folders(trees []string, take func(int, []repo.Entry) error) error {
	return folders(f.below, trees, take)
}

func (f *flipped) Stream(n int, ids iter.Seq[string], take func(int, []byte, error) error) error {
	return stream(f, ids, take)
}

func (f *flipped) Commit(id string) (repo.Commit, error) {
	if id == f.commit.ID {
		return f.commit, nil
	}
	return f.memory.Commit(id)
}

func (f *flipped) Blob(id string) ([]byte, error) {
	if id == f.id {
		return f.data, nil
	}
	return f.memory.Blob(id)
}

func (f *flipped) Diff(from, to string) ([]repo.Change, error) {
	files := func(id string) map[string]string {
		if id == f.commit.ID {
			return f.files
		}
		return f.trees[f.commits[id].Tree]
	}
	return changes(files(from), files(to)), nil
}

// TestEveryFlip flips single bits in the state folder of a signed run that holds
// every kind of event, and of what its commits before changed: under CI=true
// every bit of every file of the newest commit, else some. Each is found; the
// log says where.
func TestEveryFlip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/widget.git"
	write(t, dir, func(sink io.Writer) *clerk { return everything(t, sink) })
	src := packed(t, dir)
	m := remember(t, src)
	src.Objects = m
	r, err := verify.Read(src)
	must(t, err)
	// Coprime to 8: every position of a byte has its turn.
	step, before, share := 1997, 8*3999+1, 8
	if os.Getenv("CI") == "true" {
		step, before, share = 8*61+1, 8*127+1, 64
	}
	newest := m.trees[m.commits[src.State].Tree]
	for _, path := range slices.Sorted(maps.Keys(newest)) {
		data := m.blobs[newest[path]]
		look := func(bit int) (string, error) { return flipBit(src, m, src.State, path, bit) }
		first := min(step, 1+len(data)/share) | 1
		flip(t, path+" at the newest commit", len(data), first, look)
		if first > 1 && os.Getenv("CI") == "true" {
			name := strings.TrimPrefix(path, journal.Folder(tag))
			flip(t, path+" at the newest commit", len(data), 1, func(bit int) (string, error) {
				if by := parser(r, name, turned(data, bit)); by != "" {
					return by, nil
				}
				return look(bit)
			})
		}
	}
	for c := m.commits[src.State]; len(c.Parents) > 0; {
		c = m.commits[c.Parents[0]]
		parent := ""
		if len(c.Parents) > 0 {
			parent = c.Parents[0]
		}
		changed, err := m.Diff(parent, c.ID)
		must(t, err)
		for _, f := range changed {
			flip(t, fmt.Sprintf("%s at %.12s", f.Path, c.ID), len(m.blobs[f.To.ID]), before,
				func(bit int) (string, error) { return flipBit(src, m, c.ID, f.Path, bit) })
		}
	}
}

// flip looks at every step-th bit of so many bytes, and says by whom they are
// found.
func flip(t *testing.T, place string, bytes, step int, look func(bit int) (by string, err error)) {
	t.Helper()
	var next atomic.Int64
	var mu sync.Mutex
	found := map[string]int{}
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for !t.Failed() {
				bit := step/2 + step*int(next.Add(1)-1)
				if bit >= 8*bytes {
					return
				}
				by, err := look(bit)
				if err != nil {
					t.Errorf("%s, bit %d of byte %d: %v", place, bit%8, bit/8, err)
				}
				mu.Lock()
				found[by]++
				mu.Unlock()
			}
		})
	}
	working.Wait()
	t.Logf("%s, every %d of %d bits: found by %v", place, step, 8*bytes, found)
}

// turned gives data with one bit flipped.
func turned(data []byte, bit int) []byte {
	out := bytes.Clone(data)
	out[bit/8] ^= 1 << (bit % 8)
	return out
}

// parser names the parser that refuses a file, which every reader uses; "" where
// it takes more to see what is wrong.
func parser(r *verify.Records, name string, data []byte) string {
	var err error
	one := map[string][]byte{name: data}
	switch folder, _, _ := strings.Cut(name, "/"); folder {
	case "contract.md":
		_, err = contract.Open(data, contract.Digest(r.Run.Sealed.Contract))
	case "checkpoint":
		_, err = r.Verifier.Checkpoint(data)
	case "journal":
		_, err = ledger.ReadJournal(one)
	case "results":
		_, err = ledger.ReadResults(one, r.Chain.Events)
	}
	if err == nil {
		return ""
	}
	return "its parser"
}

// flipBit flips one bit of a file of a commit and says who finds it.
func flipBit(src verify.Source, m *memory, commit, path string, bit int) (by string, err error) {
	f := &flipped{memory: m, commit: m.commits[commit], data: turned(m.blobs[m.trees[m.commits[commit].Tree][path]], bit)}
	f.id = id("blob", f.data)
	f.files = maps.Clone(m.trees[f.commit.Tree])
	f.files[path] = f.id
	f.commit.Tree = treeOf(f.files)
	src.Objects, f.below = f, m.folders
	if commit == src.State {
		f.below = map[string][]repo.Entry{}
		nest(f.below, f.files, "")
		_, err := verify.Read(src)
		if wrong(err) {
			return "every reader", nil
		}
		if err != nil {
			return "", fmt.Errorf("a reader stumbles over it: %w", err)
		}
	}
	report, err := verify.Run(src)
	if err != nil {
		return "", err
	}
	law, _, broken := report.First()
	if !broken {
		return "", errors.New("nothing is found")
	}
	return "the law of " + law, nil
}

// wrong says whether an error of Read says that the records are not genuine.
func wrong(err error) bool {
	var breach *verify.BreachError
	var corrupt *ledger.CorruptError
	var seal *contract.SealError
	return errors.As(err, &breach) || errors.As(err, &corrupt) || errors.As(err, &seal)
}

// treeOf is the id of the tree that holds blobs at their paths.
func treeOf(files map[string]string) string {
	return treeID(files, "", func(id string) string { return id })
}
