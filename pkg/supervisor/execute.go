package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/vault"
)

// Outcome is what the execution of a bundle found.
type Outcome struct {
	Tag       string       `json:"tag"`
	Iteration int          `json:"iteration"`
	Stage     ledger.Stage `json:"stage"`
	Lease     string       `json:"lease"`
	// Probed is what was found of the sandbox, where the one who decides has not
	// been there.
	Probed *ledger.Probed `json:"probed"`
	// Missing are the required tools that the machine lacks; then there is
	// nothing else.
	Missing    []string          `json:"missing_tools"`
	Evaluation ledger.Evaluation `json:"evaluation"`
	Logs       []evaluate.Log    `json:"logs"`
	// Outputs are what the arms of a pass on sealed cases left, by case.
	Outputs map[ledger.Arm]map[string][]byte `json:"outputs"`
}

// execute launches the pass that this process has claimed. The claim is durable
// before anything is launched. At the lease's deadline what runs is killed.
func (s *Supervisor) execute(ctx context.Context) error {
	var broken error
	if s.Hand == nil { // else the sandbox is elsewhere, and so is its probe
		broken = s.prove(ctx)
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	s.fresh = false // a pass takes its time
	b, err := s.bundle()
	if err != nil {
		return err
	}
	if s.Board != nil {
		s.Board.Running(ctx, s.Run)
	}
	if s.Hand != nil {
		return s.Hand(b)
	}
	out, err := s.executor().Execute(ctx, b)
	if err != nil {
		return fmt.Errorf("attempt %d: %w", s.Run.Open.Iteration, err)
	}
	s.outcome, s.under = out, b.Lease
	return nil
}

// lacking notes that the machine that executed lacks tools, and what was proven
// of its sandbox; done says that there is nothing more in the outcome.
func (s *Supervisor) lacking(ctx context.Context) (done bool, err error) {
	if p := s.outcome.Probed; p != nil {
		s.outcome.Probed = nil
		if err := s.hold(p); err != nil {
			return true, err
		}
		if len(p.Open) > 0 {
			return true, errors.Join(s.flush(ctx), &BrokenError{p.Open})
		}
	}
	if len(s.outcome.Missing) == 0 {
		return false, nil
	}
	missing := &evaluate.MissingTool{Names: s.outcome.Missing}
	s.outcome = nil
	if s.Run.Open.Role == ledger.RoleBaseline {
		return true, s.setupRetried(missing)
	}
	return true, fmt.Errorf("attempt %d: %w", s.Run.Open.Iteration, missing)
}

// setupRetried notes that the machine lacks a tool of the contract; after
// setup_retries of them the run ends before it began.
func (s *Supervisor) setupRetried(missing error) error {
	limit := s.Run.Contract.Limits.SetupRetries
	if s.Run.SetupRetries < limit && !s.Finish { // whoever only finishes does not launch again
		return s.hold(&ledger.SetupRetried{Reason: missing.Error()})
	}
	return s.hold(&ledger.Closing{Reason: "setup failed: " + missing.Error(), By: "supervisor"})
}

func (s *Supervisor) executor() Executor {
	x := Executor{Launcher: s.Launcher, Folder: s.Folder, Secrets: s.Secrets, Secret: s.Secret}
	if s.Judge != nil {
		x.Key = &s.Judge.Identity
	}
	return x
}

func (s *Supervisor) packer() packer {
	return packer{objects: s.Clone, contract: s.Run.Contract, text: s.base["contract.md"]}
}

// bundle gathers what the running pass is executed from.
func (s *Supervisor) bundle() (*Bundle, error) {
	a := s.Run.Open
	arms := []evaluate.Arm{{Name: ledger.Candidate, Commit: a.Candidate}}
	switch {
	case a.Stage == ledger.Final:
		arms = append([]evaluate.Arm{{Name: ledger.Incumbent, Commit: s.Run.Sealed.Baseline}}, arms...)
	case a.Stage == ledger.Development && a.Role == ledger.RoleCandidate:
		arms = append([]evaluate.Arm{{Name: ledger.Incumbent, Commit: s.Run.Incumbent.Commit}}, arms...)
	}
	b, err := s.packer().pack(a.Stage, arms...)
	if err != nil {
		return nil, err
	}
	b.Iteration, b.Lease, b.Deadline = a.Iteration, a.Lease.ID, a.Lease.Deadline
	b.Baseline = a.Role == ledger.RoleBaseline
	if a.Stage == ledger.Development {
		b.Repetitions = s.repetitions()
		b.Standing = s.Run.Incumbent.Tools
	}
	return b, nil
}

// Executor executes bundles: the one place where candidate code is launched.
type Executor struct {
	Launcher evaluate.Launcher
	// Folder holds the warm build cache and the folders of a pass.
	Folder string
	// Key opens the inputs of a pass on sealed cases; nil elsewhere.
	Key *vault.Identity
	// Secrets are values that must stand in no record.
	Secrets []string
	// Secret looks up a secret of the contract's driver; nil knows none.
	Secret func(name string) string
}

// Execute executes a bundle. An error means that the machine could not do its
// work; of a pass on sealed cases it is a *BlurredError, which tells nothing of
// a case.
func (x Executor) Execute(ctx context.Context, b *Bundle) (*Outcome, error) {
	ctx, cancel := context.WithDeadline(ctx, b.Deadline)
	defer cancel()
	sealed, err := contract.Open(b.Contract, b.Digest)
	if err != nil {
		return nil, err
	}
	out := b.Outcome()
	if b.sealed() {
		return out, x.launchSealed(ctx, b, sealed, out)
	}
	found, err := x.develop(ctx, b, sealed)
	var missing *evaluate.MissingTool
	if errors.As(err, &missing) {
		out.Missing = missing.Names
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Evaluation, out.Logs = found.Evaluation, found.Logs
	return out, nil
}

// driverSecrets looks up the secrets of a contract's driver.
func driverSecrets(c *contract.Contract, secret func(string) string) map[string]string {
	out := map[string]string{}
	if d := c.Evaluation.Driver; d != nil && secret != nil {
		for _, name := range d.Secrets {
			out[name] = secret(name)
		}
	}
	return out
}

// develop runs a pass on the visible cases, scorer and all.
func (x Executor) develop(ctx context.Context, b *Bundle, sealed *contract.Sealed) (*evaluate.Outcome, error) {
	job, clean, err := x.job(ctx, b, sealed, filepath.Join(x.Folder, "passes"))
	if err != nil {
		return nil, err
	}
	defer clean()
	if job.Split, err = b.split(sealed.Splits.Development, b.Development); err != nil {
		return nil, err
	}
	if sealed.Counterexamples != "" {
		if job.Counterexamples, err = b.split(sealed.Counterexamples, b.Counterexamples); err != nil {
			return nil, err
		}
	}
	return evaluate.Run(ctx, x.Launcher, job)
}

// job materialises arms and harness under opaque names below a folder, which
// is emptied first: what an interrupted pass left is of no use to anybody.
func (x Executor) job(ctx context.Context, b *Bundle, sealed *contract.Sealed, passes string) (evaluate.Job, func(), error) {
	none := func() {}
	if err := os.RemoveAll(passes); err != nil {
		return evaluate.Job{}, none, fmt.Errorf("folders of an earlier pass: %w", err)
	}
	root, cache := filepath.Join(passes, token()), filepath.Join(x.Folder, "cache")
	job := evaluate.Job{
		Contract: sealed, Stage: b.Stage, Iteration: b.Iteration, Repetitions: b.Repetitions, FillCache: b.Baseline && !b.sealed(),
		Cache: cache, Work: filepath.Join(root, token()), Harness: filepath.Join(root, token()), Secrets: x.Secrets,
		Check:         func() error { _, err := contract.Open(b.Contract, b.Digest); return err },
		DriverSecrets: driverSecrets(sealed.Contract, x.Secret),
	}
	clean := func() { os.RemoveAll(passes) }
	for _, dir := range []string{job.Work, job.Harness, cache} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			clean()
			return job, none, err
		}
	}
	if err := x.fill(ctx, b, &job, root); err != nil {
		clean()
		return job, none, err
	}
	return job, clean, nil
}

// fill writes the harness, and the arms in an order drawn by lot: inode numbers
// and change times, which a candidate can see and nobody can set, go by it.
func (x Executor) fill(ctx context.Context, b *Bundle, job *evaluate.Job, root string) (err error) {
	if job.HarnessSnapshot, err = materialise(b, b.Harness, job.Harness); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	var files [][]repo.Entry
	for _, a := range b.Arms {
		if a.Name == ledger.Incumbent && x.stands(ctx, b, job.Contract) {
			continue
		}
		job.Arms = append(job.Arms, evaluate.Arm{Name: a.Name, Commit: a.Commit, Dir: filepath.Join(root, token())})
		files = append(files, a.Files)
	}
	for _, i := range rand.Perm(len(job.Arms)) {
		arm := &job.Arms[i]
		if err := os.Mkdir(arm.Dir, 0o755); err != nil {
			return err
		}
		if arm.Snapshot, err = materialise(b, files[i], arm.Dir); err != nil {
			return fmt.Errorf("%s %.12s: %w", arm.Name, arm.Commit, err)
		}
	}
	return nil
}

// stands says whether the incumbent's record stands for a launch of it: the
// tools of this machine are those of the record.
func (x Executor) stands(ctx context.Context, b *Bundle, sealed *contract.Sealed) bool {
	if b.Standing == nil {
		return false
	}
	tools, err := evaluate.Tools(ctx, x.Launcher, sealed.Contract)
	return err == nil && maps.Equal(tools, b.Standing)
}

// launchSealed runs the launches of a pass on sealed cases, in memory alone. A
// query of the gate takes the time that the contract gives it, whatever
// happens; what is late is over time.
func (x Executor) launchSealed(ctx context.Context, b *Bundle, sealed *contract.Sealed, out *Outcome) error {
	w := openWindow(b.Stage, sealed)
	inside, cancel := w.within(ctx)
	launched, err := x.launchInMemory(inside, b, sealed)
	late := inside.Err() != nil && ctx.Err() == nil
	cancel()
	if late {
		launched, err = overTime(b), nil
	}
	if err == nil {
		err = builtBefore(launched)
	}
	if err := errors.Join(err, w.wait(ctx)); err != nil {
		return blur(b.Stage, err)
	}
	out.Evaluation, out.Outputs = launched.Evaluation, launched.Outputs
	return nil
}

func (x Executor) launchInMemory(ctx context.Context, b *Bundle, sealed *contract.Sealed) (*evaluate.Launched, error) {
	if x.Key == nil {
		return nil, errors.New("there is no key for the sealed inputs")
	}
	split, err := openInputs(*x.Key, b, sealed)
	if err != nil {
		return nil, err
	}
	dir, remove, err := sandbox.Private()
	if err != nil {
		return nil, err
	}
	job, _, err := x.job(ctx, b, sealed, filepath.Join(dir, "passes"))
	var launched *evaluate.Launched
	if err == nil {
		job.Split = split
		launched, err = evaluate.Launch(ctx, x.Launcher, job)
	}
	return launched, errors.Join(err, remove())
}

// openInputs opens the sealed inputs of a bundle; the cases have no answers.
func openInputs(key vault.Identity, b *Bundle, sealed *contract.Sealed) (*contract.Split, error) {
	fact := fact(sealed, b.Stage)
	files, err := key.OpenSplit(b.Inputs, vault.Bundle{
		Label: vault.Label{Kind: vault.Inputs, Name: fact.Name, Cases: fact.Cases}, Digest: string(fact.Inputs),
	})
	if err != nil {
		return nil, err
	}
	split := &contract.Split{Name: fact.Name}
	for _, f := range files {
		split.Cases = append(split.Cases, contract.Case{ID: f.ID, Input: f.Data})
	}
	return split, nil
}

// overTime is what arms did that were not done in time.
func overTime(b *Bundle) *evaluate.Launched {
	l := &evaluate.Launched{}
	for _, a := range b.Arms {
		l.Evaluation.Measurements = append(l.Evaluation.Measurements, ledger.Measurement{
			Arm: a.Name, Commit: a.Commit,
			Failure: &ledger.Failure{Status: ledger.Timeout, What: "total", Detail: "over the time of the pass"},
		})
	}
	return l
}

// builtBefore refuses a pass in which a build failed: it had built an earlier
// pass, so the machine is at fault.
func builtBefore(l *evaluate.Launched) error {
	for _, m := range l.Evaluation.Measurements {
		if m.Failure != nil && m.Failure.What == "build" {
			return errors.New("a build failed that an earlier pass built")
		}
	}
	return nil
}
