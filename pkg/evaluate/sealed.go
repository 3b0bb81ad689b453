package evaluate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// Launched is what arms did on the inputs of a split whose answers were not
// there.
type Launched struct {
	// Evaluation has a measurement with a failure for every arm that left
	// nothing to score, and none for the others.
	Evaluation ledger.Evaluation `json:"evaluation"`
	// Outputs are the files that an arm left, by case.
	Outputs map[ledger.Arm]map[string][]byte `json:"outputs"`
}

// Launch does the first half of a pass on sealed cases: it builds the arms and
// launches each once. The cases of the job's split have no answers. Nothing is
// logged.
func Launch(ctx context.Context, l Launcher, job Job) (*Launched, error) {
	p, err := begin(ctx, l, job)
	if err != nil {
		return nil, err
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	arms, err := p.buildAll(ctx)
	if err != nil {
		return nil, err
	}
	out := &Launched{Outputs: map[ledger.Arm]map[string][]byte{}}
	for _, a := range arms {
		if a.failed || p.broken() {
			continue
		}
		t, fail, err := p.through(ctx, a, ledger.Measure, 0, p.development)
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", a.Name, err)
		}
		if fail != nil {
			p.conclude(a, ledger.Measurement{Arm: a.Name, Commit: a.Commit, Failure: fail})
			continue
		}
		if out.Outputs[a.Name], err = t.collected(); err != nil {
			return nil, err
		}
	}
	err = p.lastCheck(arms)
	out.Evaluation = p.evaluation
	return out, err
}

// collected reads the outputs of a passage, by case. One that is missing is
// left out.
func (t *passage) collected() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, c := range t.split.order {
		data, err := os.ReadFile(filepath.Join(t.outputs, c.ID))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[c.ID] = data
	}
	return out, nil
}

// Score does the second half, on a machine where no candidate code runs: the
// frozen scorer judges what one arm left. The job has a harness and a split
// with answers, and no arms. What was wrong is a Failure of the measurement.
func Score(ctx context.Context, l Launcher, job Job, of Arm, launched *Launched) (ledger.Measurement, error) {
	m := ledger.Measurement{Arm: of.Name, Commit: of.Commit}
	if err := errors.Join(job.validateSplits(), job.validateWork()); err != nil {
		return m, err
	}
	p := newPass(l, job)
	p.harness = expect("harness", job.Harness, job.HarnessSnapshot)
	if err := p.prepareScoring(); err != nil {
		return m, err
	}
	p.evaluation.Launches = launchesOf(launched.Evaluation.Launches, of.Name)
	dir, err := p.shop.folder()
	if err != nil {
		return m, err
	}
	for _, c := range job.Split.Cases { // in this order, and no other name
		data, ok := launched.Outputs[of.Name][c.ID]
		if !ok {
			continue
		}
		if err := place(filepath.Join(dir, c.ID), data); err != nil {
			return m, err
		}
	}
	t := &passage{pass: p, arm: &arm{Arm: of}, kind: ledger.Measure, outputs: dir}
	s, fail, err := p.score(ctx, t)
	m.Metrics, m.Cases, m.Failure = s.metrics, s.cases, fail
	return m, err
}

// launchesOf picks the launches of an arm.
func launchesOf(all []ledger.Launch, arm ledger.Arm) []ledger.Launch {
	var out []ledger.Launch
	for _, l := range all {
		if l.Arm == arm {
			out = append(out, l)
		}
	}
	return out
}
