package supervisor

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// Bundle is all that a pass is executed from: the files of the arms, the
// harness, the cases that its stage may show, and what it must be told. Whoever
// executes reads nothing of the run but its bundle.
type Bundle struct {
	Tag       string        `json:"tag"`
	Iteration int           `json:"iteration"`
	Stage     ledger.Stage  `json:"stage"`
	Lease     string        `json:"lease"`
	Deadline  time.Time     `json:"deadline"`
	Holder    ledger.Holder `json:"holder"` // of the lease
	// Rehearsal says that the pass belongs to no run.
	Rehearsal bool            `json:"rehearsal"`
	Contract  []byte          `json:"contract"` // contract.md
	Digest    contract.Digest `json:"digest"`   // of it
	Arms      []BundleArm     `json:"arms"`
	// Standing are the tools that the incumbent's record was measured with:
	// with the same ones it is not launched again. Null where it always is.
	Standing    map[string]string `json:"standing_tools"`
	Repetitions int               `json:"repetitions"`
	// Baseline says that the one arm is the baseline, whose build fills the cache.
	Baseline bool         `json:"baseline"`
	Harness  []repo.Entry `json:"harness"`
	// Development and Counterexamples are the files of the splits, their paths
	// below the split's folder; empty in a pass on sealed cases.
	Development     []repo.Entry `json:"development"`
	Counterexamples []repo.Entry `json:"counterexamples"`
	// Inputs are the sealed inputs of a pass on sealed cases.
	Inputs []byte `json:"inputs"`
	// Blobs are the contents of all these files by object id.
	Blobs map[string][]byte `json:"blobs"`
}

// BundleArm is one arm of a bundle.
type BundleArm struct {
	Name   ledger.Arm   `json:"name"`
	Commit string       `json:"commit"`
	Files  []repo.Entry `json:"files"`
}

// sealed says whether the pass is one on sealed cases.
func (b *Bundle) sealed() bool { return b.Stage != ledger.Development }

// Outcome gives an outcome of the bundle's pass in which nothing was found yet.
func (b *Bundle) Outcome() *Outcome {
	return &Outcome{Tag: b.Tag, Iteration: b.Iteration, Stage: b.Stage, Lease: b.Lease}
}

// packer makes bundles of a run.
type packer struct {
	objects  *repo.Clone
	contract *contract.Sealed
	text     []byte // contract.md
}

// pack gathers the files of a pass; arms maps those that it has to commits.
func (p packer) pack(stage ledger.Stage, arms ...evaluate.Arm) (*Bundle, error) {
	b := &Bundle{
		Tag: string(p.contract.Facts.Tag), Stage: stage, Repetitions: 1,
		Contract: p.text, Digest: p.contract.Digest, Blobs: map[string][]byte{},
	}
	for _, a := range arms {
		files, err := p.armFiles(b, a.Commit)
		if err != nil {
			return nil, fmt.Errorf("%s %.12s: %w", a.Name, a.Commit, err)
		}
		b.Arms = append(b.Arms, BundleArm{Name: a.Name, Commit: a.Commit, Files: files})
	}
	pinned := p.contract.Facts.Pinned
	var err error
	if b.Harness, err = p.pick(b, pinned, p.inHarness); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	if b.sealed() {
		b.Inputs, err = p.objects.File(pinned, p.bundleFile(stage).Inputs())
		return b, err
	}
	if b.Development, err = p.below(b, pinned, p.contract.Splits.Development); err != nil || p.contract.Counterexamples == "" {
		return b, err
	}
	b.Counterexamples, err = p.below(b, pinned, p.contract.Counterexamples)
	return b, err
}

// bundleFile names the sealed split of a stage.
func (p packer) bundleFile(stage ledger.Stage) contract.SealedSplit {
	i := slices.IndexFunc(p.contract.SealedSplits(), func(s contract.SealedSplit) bool { return s.Name == string(stage) })
	return p.contract.SealedSplits()[i]
}

// armFiles are the writable files of a commit, and the readable ones as they
// stand at the pinned commit.
func (p packer) armFiles(b *Bundle, commit string) ([]repo.Entry, error) {
	writable, err := p.pick(b, commit, p.contract.Writable)
	if err != nil {
		return nil, err
	}
	readable, err := p.pick(b, p.contract.Facts.Pinned, func(path string) bool {
		return p.contract.Readable(path) && !p.contract.Writable(path)
	})
	all := append(writable, readable...)
	slices.SortFunc(all, func(a, b repo.Entry) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}

// inHarness picks the frozen files, cases left out: a scorer gets those of its
// own split and no others.
func (p packer) inHarness(path string) bool {
	return p.contract.Frozen(path) && !p.contract.Bundle(path) && !isCase(p.contract.Contract, path) &&
		!strings.HasPrefix(path, ".research-loop/") && !strings.HasPrefix(path, ".github/")
}

// isCase says whether a path lies in the folder of a split that everybody sees.
func isCase(c *contract.Contract, path string) bool {
	for _, folder := range []string{c.Splits.Development, c.Counterexamples} {
		if folder != "" && strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}

// below gives the files below a folder, by their paths in it.
func (p packer) below(b *Bundle, commit, folder string) ([]repo.Entry, error) {
	prefix := path.Clean(folder) + "/"
	entries, err := p.pick(b, commit, func(path string) bool { return strings.HasPrefix(path, prefix) })
	for i := range entries {
		entries[i].Path = strings.TrimPrefix(entries[i].Path, prefix)
	}
	return entries, err
}

// pick lists the entries of a commit that are wanted and takes their contents
// along. What is no plain file has none, and is refused where it is written.
func (p packer) pick(b *Bundle, commit string, want func(string) bool) ([]repo.Entry, error) {
	entries, err := p.objects.Tree(commit)
	if err != nil {
		return nil, err
	}
	var out []repo.Entry
	for _, e := range entries {
		if !want(e.Path) {
			continue
		}
		out = append(out, e)
		if b.Blobs[e.ID] != nil || e.Mode != repo.ModeFile && e.Mode != repo.ModeExecutable {
			continue
		}
		data, err := p.objects.Blob(e.ID)
		if err != nil {
			return nil, err
		}
		b.Blobs[e.ID] = append([]byte{}, data...)
	}
	return out, nil
}

// blob gives the contents of a file of the bundle.
func (b *Bundle) blob(id string) ([]byte, error) {
	data, ok := b.Blobs[id]
	if !ok {
		return nil, fmt.Errorf("the bundle lacks object %s", id)
	}
	return data, nil
}

// split reads a split out of the bundle.
func (b *Bundle) split(name string, entries []repo.Entry) (*contract.Split, error) {
	files := map[string][]byte{}
	for _, e := range entries {
		data, err := b.blob(e.ID)
		if err != nil {
			return nil, fmt.Errorf("split %s: %w", name, err)
		}
		files[e.Path] = data
	}
	return contract.NewSplit(name, files)
}
