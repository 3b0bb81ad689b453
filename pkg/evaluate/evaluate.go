package evaluate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// A Launcher runs one process tree to its proven end. An error means that the
// machine could not do so; what the tree did, good or bad, is a Result.
type Launcher interface {
	Run(context.Context, sandbox.Spec) (sandbox.Result, error)
}

// Arm is one side of the comparison, on disk.
type Arm struct {
	Name   ledger.Arm
	Commit string
	// Dir holds the writable and the readable files and nothing else. Its path
	// can be seen in the sandbox, so it must tell nothing about the arm.
	Dir      string
	Snapshot repo.Snapshot // of Dir as it was materialised
}

// Job is what one pass has to do.
type Job struct {
	Contract        *contract.Sealed
	Stage           ledger.Stage
	Iteration       int
	Arms            []Arm
	Repetitions     int             // of every arm; the baseline has one arm and two
	Harness         string          // folder of the frozen files, without the splits'
	HarnessSnapshot repo.Snapshot   // of Harness
	Split           *contract.Split // what is measured
	Counterexamples *contract.Split // nil where there are none
	Cache           string          // folder of the warm build cache, "" for none
	FillCache       bool            // the build fills Cache, where it is empty: the baseline's alone
	Work            string          // private empty folder, which the sandbox may show parts of; the caller removes it
	Check           func() error    // whether the contract still has its digest; asked around every launch
	Secrets         []string        // values that must stand in no record, beside what the contract redacts
	// DriverSecrets holds the value of every name in evaluation.driver.secrets.
	DriverSecrets map[string]string
}

// Outcome is what a pass found and what its launches printed.
type Outcome struct {
	Evaluation ledger.Evaluation
	Logs       []Log
	// Notes are the remarks in Logs that speak of no failure, such as inputs
	// without an output, each once.
	Notes []string
}

// Run does one pass. An arm gets one Measurement a repetition until one of them
// fails, which is then its last. An error is a failure of the machine and
// leaves nothing to judge; *MissingTool is one.
func Run(ctx context.Context, l Launcher, job Job) (*Outcome, error) {
	p, err := begin(ctx, l, job)
	if err != nil {
		return nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	return &Outcome{Evaluation: p.evaluation, Logs: p.logs, Notes: p.notes}, nil
}

// begin checks a job and finds its tools.
func begin(ctx context.Context, l Launcher, job Job) (*pass, error) {
	if err := job.validate(); err != nil {
		return nil, err
	}
	tools, err := Tools(ctx, l, job.Contract.Contract)
	if err != nil {
		return nil, err
	}
	p := newPass(l, job)
	p.evaluation.Tools = tools
	return p, nil
}

func newPass(l Launcher, job Job) *pass {
	secrets := slices.AppendSeq(slices.Clone(job.Secrets), maps.Values(job.DriverSecrets))
	return &pass{
		job: job, launcher: l, shop: workshop(job.Work), redactor: NewRedactor(job.Contract.Redact, secrets),
		evaluation: ledger.Evaluation{
			Stage: job.Stage, Tools: map[string]string{},
			Launches: []ledger.Launch{}, Measurements: []ledger.Measurement{}, Violations: []string{},
		},
	}
}

// pass is one Run under way.
type pass struct {
	job             Job
	launcher        Launcher
	shop            workshop
	redactor        *Redactor
	harness         *watch
	development     *layout
	counterexamples *layout // nil where there are none
	scoring         scoring

	mu         sync.Mutex // around all below, and around every state check: a driver's calls come at once
	evaluation ledger.Evaluation
	logs       []Log
	logBytes   int
	notes      []string // each once, redacted
}

func (p *pass) run(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return err
	}
	if err := p.prepareScoring(); err != nil {
		return err
	}
	arms, err := p.buildAll(ctx)
	if err != nil {
		return err
	}
	for repetition := range p.job.Repetitions {
		for i := range arms {
			a := arms[i]
			if repetition%2 == 1 { // neither arm is always the first
				a = arms[len(arms)-1-i]
			}
			if err := p.repeat(ctx, a, repetition); err != nil {
				return fmt.Errorf("arm %s, repetition %d: %w", a.Name, repetition, err)
			}
		}
	}
	return p.lastCheck(arms)
}

func (p *pass) buildAll(ctx context.Context) ([]*arm, error) {
	var arms []*arm
	for _, a := range p.job.Arms {
		built, err := p.build(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", a.Name, err)
		}
		arms = append(arms, built)
	}
	return arms, nil
}

// prepare writes the splits' inputs and starts to watch the harness.
func (p *pass) prepare() (err error) {
	p.harness = expect("harness", p.job.Harness, p.job.HarnessSnapshot)
	if p.development, err = p.shop.layOut(p.job.Split); err != nil {
		return err
	}
	if p.job.Counterexamples != nil {
		if p.counterexamples, err = p.shop.layOut(p.job.Counterexamples); err != nil {
			return err
		}
	}
	return nil
}

// repeat measures an arm once more, unless it has failed or the state is
// broken.
func (p *pass) repeat(ctx context.Context, a *arm, repetition int) error {
	if a.failed || p.broken() {
		return nil
	}
	m, err := p.measure(ctx, a, repetition)
	if err != nil {
		return err
	}
	p.conclude(a, m)
	return nil
}

// conclude records a measurement; a failed one is its arm's last.
func (p *pass) conclude(a *arm, m ledger.Measurement) {
	if m.Failure != nil {
		m.Metrics, m.Cases, m.Counterexamples = nil, nil, nil
		a.failed = true
	}
	p.evaluation.Measurements = append(p.evaluation.Measurements, m)
}

// broken says whether a state check has failed.
func (p *pass) broken() bool { return len(p.evaluation.Violations) > 0 }

// lastCheck reads every byte once more when all is done.
func (p *pass) lastCheck(arms []*arm) error {
	watches := []*watch{p.harness}
	for _, a := range arms {
		watches = append(watches, a.watches()...)
	}
	_, wrong, err := p.stateCheck(true, watches...)
	if err == nil && len(wrong) > 0 && !p.broken() {
		p.violated("at the end of the pass", wrong)
	}
	return err
}

// failure is a Failure whose detail may be shown.
func (p *pass) failure(status ledger.Status, what, detail string) *ledger.Failure {
	return &ledger.Failure{Status: status, What: what, Detail: p.redactor.String(detail)}
}

func (j *Job) validate() error {
	switch {
	case j.Contract == nil || j.Contract.Contract == nil || j.Check == nil:
		return errors.New("job: contract and its check are needed")
	case len(j.Arms) == 0 || j.Repetitions < 1:
		return errors.New("job: at least one arm and one repetition are needed")
	case j.FillCache && (j.Cache == "" || len(j.Arms) != 1):
		return errors.New("job: the cache is filled by the build of the one arm of a baseline")
	}
	if err := j.validateMode(); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	return errors.Join(j.validateSplits(), j.validateArms(), j.validateWork())
}

// validateSplits refuses a split without cases, and cases that no file can be
// named after.
func (j *Job) validateSplits() error {
	if j.Split == nil || len(j.Split.Cases) == 0 {
		return errors.New("job: the split has no case")
	}
	for _, s := range []*contract.Split{j.Split, j.Counterexamples} {
		if s == nil {
			continue
		}
		if err := checkIDs(s); err != nil {
			return fmt.Errorf("job: %w", err)
		}
	}
	return nil
}

// validateArms refuses arms that could be told apart by where they stand.
func (j *Job) validateArms() error {
	seen := map[ledger.Arm]bool{}
	for _, a := range j.Arms {
		if seen[a.Name] {
			return fmt.Errorf("job: two arms are named %q", a.Name)
		}
		seen[a.Name] = true
		base := filepath.Base(a.Dir)
		if strings.Contains(base, string(a.Name)) || len(a.Commit) >= 7 && strings.Contains(base, a.Commit[:7]) {
			return fmt.Errorf("job: folder %s tells the candidate that it is arm %s at %s", a.Dir, a.Name, a.Commit)
		}
	}
	return nil
}

func (j *Job) validateWork() error {
	entries, err := os.ReadDir(j.Work)
	if err != nil {
		return fmt.Errorf("job: work folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("job: work folder %s is not empty", j.Work)
	}
	return nil
}
