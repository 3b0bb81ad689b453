package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// execute launches the pass that this process has claimed. The claim is durable
// before anything is launched. At the lease's deadline what runs is killed.
func (s *Supervisor) execute(ctx context.Context) error {
	broken := s.prove(ctx)
	if err := s.flush(ctx); err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	s.fresh = false // a pass takes its time
	ctx, cancel := context.WithDeadline(ctx, s.Run.Open.Lease.Deadline)
	defer cancel()
	pass := s.pass()
	job, clean, err := pass.job(ctx, s.Run.Open.Candidate, s.incumbentArm(ctx))
	if err != nil {
		return err
	}
	defer clean()
	job.Iteration, job.Repetitions = s.Run.Open.Iteration, s.repetitions()
	job.FillCache = s.Run.Open.Role == ledger.RoleBaseline
	outcome, err := evaluate.Run(ctx, s.Launcher, job)
	var missing *evaluate.MissingTool
	switch {
	case errors.As(err, &missing) && s.Run.Open.Role == ledger.RoleBaseline:
		return s.setupRetried(missing)
	case err != nil:
		return fmt.Errorf("attempt %d: %w", s.Run.Open.Iteration, err)
	}
	s.outcome, s.under = outcome, s.Run.Open.Lease.ID
	return nil
}

// setupRetried notes that the machine lacks a tool of the contract; after
// setup_retries of them the run ends before it began.
func (s *Supervisor) setupRetried(missing error) error {
	limit := s.Run.Contract.Limits.SetupRetries
	if s.Run.SetupRetries < limit {
		return s.hold(&ledger.SetupRetried{Reason: missing.Error()})
	}
	return s.hold(&ledger.Closing{Reason: "setup failed: " + missing.Error(), By: "supervisor"})
}

// incumbentArm gives the incumbent's commit where it must be measured beside
// the candidate: the tools are not those of its record.
func (s *Supervisor) incumbentArm(ctx context.Context) string {
	if s.Run.Open.Role == ledger.RoleBaseline {
		return ""
	}
	tools, err := evaluate.Tools(ctx, s.Launcher, s.Run.Contract.Contract)
	if err == nil && maps.Equal(tools, s.Run.Incumbent.Tools) {
		return ""
	}
	return s.Run.Incumbent.Commit
}

func (s *Supervisor) pass() pass {
	return pass{clone: s.Clone, contract: s.Run.Contract, folder: s.Folder, check: s.checkContract}
}

// checkContract reads the sealed contract again: its digest must still be the
// one that the journal's first event names.
func (s *Supervisor) checkContract() error {
	_, err := contract.Open(s.base["contract.md"], contract.Digest(s.Run.Sealed.Contract))
	return err
}

// pass prepares the folders of one pass.
type pass struct {
	clone    *repo.Clone
	contract *contract.Sealed
	folder   string
	check    func() error
}

// job materialises arms, harness and cases under opaque names.
func (p pass) job(ctx context.Context, candidate, incumbent string) (evaluate.Job, func(), error) {
	none := func() {}
	passes := filepath.Join(p.folder, "passes")
	// What an interrupted pass left is of no use to anybody.
	if err := os.RemoveAll(passes); err != nil {
		return evaluate.Job{}, none, fmt.Errorf("folders of an earlier pass: %w", err)
	}
	root := filepath.Join(passes, token())
	cache := filepath.Join(p.folder, "cache")
	work := filepath.Join(root, "work")
	for _, dir := range []string{work, cache} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return evaluate.Job{}, none, err
		}
	}
	clean := func() { os.RemoveAll(passes) }
	job := evaluate.Job{Contract: p.contract, Stage: ledger.Development, Repetitions: 1, Cache: cache, Work: work, Check: p.check}
	if err := p.fill(&job, root, candidate, incumbent); err != nil {
		clean()
		return job, none, err
	}
	return job, clean, nil
}

func (p pass) fill(job *evaluate.Job, root, candidate, incumbent string) error {
	for _, arm := range []struct {
		name   ledger.Arm
		commit string
	}{{ledger.Incumbent, incumbent}, {ledger.Candidate, candidate}} {
		if arm.commit == "" {
			continue
		}
		dir := filepath.Join(root, token())
		snapshot, err := p.arm(arm.commit, dir)
		if err != nil {
			return fmt.Errorf("%s %.12s: %w", arm.name, arm.commit, err)
		}
		job.Arms = append(job.Arms, evaluate.Arm{Name: arm.name, Commit: arm.commit, Dir: dir, Snapshot: snapshot})
	}
	job.Harness = filepath.Join(root, token())
	var err error
	if job.HarnessSnapshot, err = p.harness(job.Harness); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	pinned := p.contract.Facts.Pinned
	if job.Split, err = ReadSplit(p.clone, pinned, p.contract.Splits.Development); err != nil {
		return err
	}
	if p.contract.Counterexamples != "" {
		job.Counterexamples, err = ReadSplit(p.clone, pinned, p.contract.Counterexamples)
	}
	return err
}

// arm writes the writable files of a commit, and the readable ones as they
// stand at the pinned commit.
func (p pass) arm(commit, dir string) (repo.Snapshot, error) {
	writable, err := p.pick(commit, p.contract.Writable)
	if err != nil {
		return repo.Snapshot{}, err
	}
	readable, err := p.pick(p.contract.Facts.Pinned, func(path string) bool {
		return p.contract.Readable(path) && !p.contract.Writable(path)
	})
	if err != nil {
		return repo.Snapshot{}, err
	}
	return p.write(append(writable, readable...), dir)
}

// harness writes the frozen files, cases left out: a scorer gets those of its
// own split and no others.
func (p pass) harness(dir string) (repo.Snapshot, error) {
	entries, err := p.pick(p.contract.Facts.Pinned, func(path string) bool {
		return p.contract.Frozen(path) && !isCase(p.contract.Contract, path) &&
			!strings.HasPrefix(path, ".research-loop/") && !strings.HasPrefix(path, ".github/")
	})
	if err != nil {
		return repo.Snapshot{}, err
	}
	return p.write(entries, dir)
}

// isCase says whether a path lies in the folder of a split.
func isCase(c *contract.Contract, path string) bool {
	for _, folder := range []string{c.Splits.Development, c.Splits.Validation, c.Splits.Final, c.Counterexamples} {
		if folder != "" && strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}

// pick lists the entries of a commit that are wanted.
func (p pass) pick(commit string, want func(string) bool) ([]repo.Entry, error) {
	entries, err := p.clone.Tree(commit)
	if err != nil {
		return nil, err
	}
	var out []repo.Entry
	for _, e := range entries {
		if want(e.Path) {
			out = append(out, e)
		}
	}
	return out, nil
}

// write materialises entries, whatever commits they come from, in git's order.
func (p pass) write(entries []repo.Entry, dir string) (repo.Snapshot, error) {
	slices.SortFunc(entries, func(a, b repo.Entry) int { return strings.Compare(a.Path, b.Path) })
	if err := os.Mkdir(dir, 0o755); err != nil {
		return repo.Snapshot{}, err
	}
	return p.clone.Materialise(entries, dir)
}
