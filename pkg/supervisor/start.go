package supervisor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// Plan is a contract with everything that start found out, ready to be sealed.
type Plan struct {
	Contract *contract.Contract
	Facts    contract.Facts
	// Digest is what is confirmed: that of the contract as it would be sealed,
	// but for who confirmed and when.
	Digest contract.Digest
	draft  []byte
}

// RefusedError says why a run cannot start: something that a person must change.
type RefusedError struct{ What, Why, Fix string }

func (e *RefusedError) Error() string { return e.What + ": " + e.Why }

// DirtyError says that a person's work tree holds changes inside the writable
// scope that are not committed.
type DirtyError struct{ Paths []string }

func (e *DirtyError) Error() string {
	return "uncommitted changes inside the writable scope would not be judged: " + strings.Join(e.Paths, ", ")
}

// InUseError says that the tag belongs to another contract, or its branch to nobody.
type InUseError struct{ Tag, Why string }

func (e *InUseError) Error() string { return fmt.Sprintf("tag %s is in use: %s", e.Tag, e.Why) }

// NewPlan reads the draft from the default branch and finds out what a seal
// holds. Faults of the draft are *contract.Faults. Without an opening sealed
// splits are left out: enough for a rehearsal, which seals nothing.
func NewPlan(ctx context.Context, clone *repo.Clone, branch string, tag contract.Tag, level, tool string, o *Opening) (*Plan, error) {
	pinned, ok := clone.Branch(branch)
	if !ok {
		return nil, &RefusedError{What: branch, Why: "the default branch has no commit", Fix: "commit the project and push it"}
	}
	draft, err := clone.File(pinned, contract.DraftPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &RefusedError{What: contract.DraftPath, Why: "is not on " + branch, Fix: "research-loop init, then commit and push it"}
	} else if err != nil {
		return nil, err
	}
	c, err := contract.Parse(contract.DraftPath, draft)
	if err != nil {
		return nil, err
	}
	p := &Plan{Contract: c, draft: draft}
	p.Facts = contract.Facts{Tag: tag, Pinned: pinned, Level: level, Tool: tool}
	if p.Facts.Baseline, err = baseline(clone, c.Baseline, pinned, branch); err != nil {
		return nil, err
	}
	if err := p.files(clone); err != nil {
		return nil, err
	}
	if err := p.splits(clone); err != nil {
		return nil, err
	}
	if o != nil {
		if err := p.sealedSplits(ctx, clone, *o); err != nil {
			return nil, err
		}
	}
	p.Digest = contract.Sum(contract.Seal(draft, c, p.Facts))
	return p, nil
}

// baseline resolves the contract's baseline: HEAD, or a commit below the pinned one.
func baseline(clone *repo.Clone, name, pinned, branch string) (string, error) {
	if name == "HEAD" || name == "" {
		return pinned, nil
	}
	if _, err := clone.Commit(name); err != nil {
		return "", &RefusedError{What: "baseline " + name, Why: "is no commit of " + branch, Fix: "name a full commit id, or HEAD"}
	}
	if ok, err := clone.Descends(name, pinned); err != nil || !ok {
		return "", &RefusedError{What: "baseline " + name, Why: "is not below the tip of " + branch, Fix: "merge it, or name another commit"}
	}
	return name, nil
}

// files records every frozen and readable file, and refuses a scope that does
// not fit the files that are there.
func (p *Plan) files(clone *repo.Clone) error {
	entries, err := clone.Tree(p.Facts.Pinned)
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	if faults := p.Contract.CheckPaths(paths); len(faults) > 0 {
		return contract.Locate(contract.DraftPath, p.draft, faults)
	}
	for _, e := range entries {
		frozen, readable := p.Contract.Frozen(e.Path), p.Contract.Readable(e.Path)
		if !frozen && !readable {
			continue
		}
		f, err := sealFile(clone, e)
		if err != nil {
			return err
		}
		if frozen {
			p.Facts.Frozen = append(p.Facts.Frozen, f)
		}
		if readable {
			p.Facts.Readable = append(p.Facts.Readable, f)
		}
	}
	return nil
}

var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

func sealFile(clone *repo.Clone, e repo.Entry) (contract.File, error) {
	if e.Mode != "100644" && e.Mode != "100755" {
		return contract.File{}, &RefusedError{What: fmt.Sprintf("%+q", e.Path), Why: "is frozen or readable, but no plain file (mode " + e.Mode + ")", Fix: "replace it by a file, or take it out of harness and scope"}
	}
	data, err := clone.Blob(e.ID)
	if err != nil {
		return contract.File{}, err
	}
	if bytes.HasPrefix(data, lfsPointer) {
		return contract.File{}, &RefusedError{What: fmt.Sprintf("%+q", e.Path), Why: "is a Git LFS pointer: its content is not in git", Fix: "commit the file itself"}
	}
	sum := sha256.Sum256(data)
	return contract.File{Path: e.Path, Mode: e.Mode, Blob: e.ID, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}, nil
}

// splits reads every split that the contract names and refuses a case that
// stands in two of them.
func (p *Plan) splits(clone *repo.Clone) error {
	for _, s := range []struct{ name, folder string }{
		{"development", p.Contract.Splits.Development}, {"counterexamples", p.Contract.Counterexamples},
	} {
		if s.folder == "" {
			continue
		}
		split, err := ReadSplit(clone, p.Facts.Pinned, s.folder)
		if err != nil {
			return &RefusedError{What: s.name, Why: err.Error(), Fix: "put one file a case into inputs/ and its answer, under the same name, into answers/"}
		}
		p.Facts.Splits = append(p.Facts.Splits, contract.SplitFact{Name: s.name, Cases: len(split.Cases), Digest: split.Digest})
	}
	return nil
}

// seal gives the bytes of contract.md.
func (p *Plan) seal(by, how string, at time.Time) []byte {
	f := p.Facts
	f.ConfirmedBy, f.ConfirmedHow, f.ConfirmedAt = by, how, at.UTC().Truncate(time.Second)
	return contract.Seal(p.draft, p.Contract, f)
}

// Confirmation is who agreed to a plan, and how.
type Confirmation struct{ By, How string }

// Seal makes the state branch with the sealed contract as its first commit.
// confirm is asked only where the run does not exist yet: started twice with
// the same contract, a run goes on. Another contract is an *InUseError.
func (s *Supervisor) Seal(ctx context.Context, p *Plan, confirm func(*Plan) (Confirmation, error)) error {
	if err := s.mayWrite(p.Contract); err != nil {
		return err
	}
	if _, ok := s.Clone.Branch(journal.StateBranch(s.Tag)); ok {
		return s.same(ctx, p)
	}
	if id, ok := s.Clone.Branch(journal.RunBranch(s.Tag)); ok {
		return &InUseError{string(s.Tag), fmt.Sprintf("branch %s exists at %.12s, and no run made it", journal.RunBranch(s.Tag), id)}
	}
	c, err := confirm(p)
	if err != nil {
		return err
	}
	now := s.Now()
	text := p.seal(c.By, c.How, now)
	tree, err := s.Clone.Commit(p.Facts.Baseline)
	if err != nil {
		return err
	}
	first := ledger.Event{Time: now.UTC().Truncate(0), Run: string(s.Tag), Data: &ledger.Sealed{
		Contract: string(contract.Sum(text)), Baseline: p.Facts.Baseline, Tree: tree.Tree,
		Pinned: p.Facts.Pinned, Tool: p.Facts.Tool,
	}}
	err = s.begin(ctx, text, first)
	var lost *repo.LostRace
	if !errors.As(err, &lost) {
		return err
	}
	// Another start was faster: its contract counts.
	if err := s.Clone.Fetch(ctx); err != nil {
		return err
	}
	return s.same(ctx, p)
}

// begin makes the state branch, of a sealed contract and the first event.
func (s *Supervisor) begin(ctx context.Context, text []byte, first ledger.Event) error {
	sealed, err := contract.Open(text, "")
	if err != nil {
		return err
	}
	chain, line, err := ledger.Chain{}.Append(first)
	if err != nil {
		return err
	}
	run, err := journal.Fold(sealed, chain.Events)
	if err != nil {
		return err
	}
	s.records = records{Run: run, chain: chain, changed: map[string][]byte{}}
	folder := journal.Folder(s.Tag)
	put := map[string][]byte{folder + "contract.md": text, folder + ledger.Segment(0): line}
	if err := s.sign(put); err != nil {
		return err
	}
	_, err = s.commitRecords(ctx, "", put, string(s.Tag)+": sealed")
	return err
}

// same checks that the run that exists was sealed from the same contract.
func (s *Supervisor) same(ctx context.Context, p *Plan) error {
	src, err := s.Source(ctx)
	if err != nil {
		return err
	}
	records, err := verify.Read(src)
	if err != nil {
		return err
	}
	run := records.Run
	f := run.Contract.Facts
	pinned := p.Facts
	pinned.Pinned, pinned.Baseline, pinned.Tool, pinned.Level = f.Pinned, f.Baseline, f.Tool, f.Level
	if p.Contract.Baseline != "HEAD" && p.Contract.Baseline != "" {
		pinned.Baseline = p.Facts.Baseline
	}
	was := contract.Facts{Tag: f.Tag, Baseline: f.Baseline, Pinned: f.Pinned, Frozen: f.Frozen, Readable: f.Readable, Splits: f.Splits, Level: f.Level, Probe: f.Probe, Tool: f.Tool}
	pinned.Probe, pinned.Splits = f.Probe, askedAs(p.Facts.Splits, f.Splits)
	draft, err := s.Clone.File(f.Pinned, contract.DraftPath)
	if err != nil {
		return err
	}
	if !bytes.Equal(contract.Seal(draft, run.Contract.Contract, was), contract.Seal(p.draft, p.Contract, pinned)) {
		return &InUseError{string(s.Tag), fmt.Sprintf("run %s was sealed from another contract or other frozen files (%s)", s.Tag, run.Contract.Digest)}
	}
	return nil
}

// askedAs gives the splits with what earlier runs had asked at the time of
// another seal.
func askedAs(splits, was []contract.SplitFact) []contract.SplitFact {
	out := slices.Clone(splits)
	for i := range out {
		for _, s := range was {
			if s.Name == out[i].Name {
				out[i].Asked = s.Asked
			}
		}
	}
	return out
}

// Preflight checks a person's repository before a run starts from it: what is
// not committed inside the writable scope would not be judged. Nothing is
// stashed, staged or cleaned.
func Preflight(ctx context.Context, work *repo.Work, c *contract.Contract) error {
	if work.Shallow() {
		return &RefusedError{What: work.Top(), Why: "is a shallow clone: history is missing", Fix: "git fetch --unshallow"}
	}
	dirty, err := work.Dirty(ctx)
	if err != nil {
		return err
	}
	inside := slices.DeleteFunc(dirty, func(path string) bool { return !c.Writable(path) })
	if len(inside) == 0 {
		return nil
	}
	shown := make([]string, 0, 5)
	for i, path := range inside {
		if i == 5 {
			shown = append(shown, fmt.Sprintf("and %d more", len(inside)-5))
			break
		}
		shown = append(shown, strings.Trim(fmt.Sprintf("%+q", path), `"`))
	}
	return &DirtyError{Paths: shown}
}

// Rehearsal packs the baseline's development stage, with nothing sealed.
func (p *Plan) Rehearsal(clone *repo.Clone) (*Bundle, error) {
	text := p.seal("", "", time.Time{})
	sealed, err := contract.Open(text, "")
	if err != nil {
		return nil, err
	}
	b, err := packer{objects: clone, contract: sealed, text: text}.pack(ledger.Development, evaluate.Arm{Name: ledger.Candidate, Commit: p.Facts.Baseline})
	if err != nil {
		return nil, err
	}
	b.Repetitions, b.Baseline, b.Rehearsal = 2, true, true
	return b, nil
}

// Rehearse runs the baseline's development stage with nothing sealed; secret
// looks up what the contract's driver needs.
func Rehearse(ctx context.Context, clone *repo.Clone, l evaluate.Launcher, p *Plan, folder string, secret func(string) string) (*evaluate.Outcome, error) {
	b, err := p.Rehearsal(clone)
	if err != nil {
		return nil, err
	}
	sealed, err := contract.Open(b.Contract, b.Digest)
	if err != nil {
		return nil, err
	}
	return Executor{Launcher: l, Folder: folder, Secret: secret}.develop(ctx, b, sealed)
}
