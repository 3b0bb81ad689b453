package evaluate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// measure is one repetition of one arm: the split, the counterexamples, the
// scorer, and what the supervisor measures itself.
func (p *pass) measure(ctx context.Context, a *arm, repetition int) (ledger.Measurement, error) {
	m := ledger.Measurement{Arm: a.Name, Commit: a.Commit, Repetition: repetition, Counterexamples: map[string]string{}}
	measured, fail, err := p.through(ctx, a, ledger.Measure, repetition, p.development)
	if fail == nil && err == nil && p.counterexamples != nil {
		var counter *passage
		counter, fail, err = p.through(ctx, a, ledger.Counterexample, repetition, p.counterexamples)
		if fail == nil && err == nil {
			m.Counterexamples, err = counter.digests()
		}
	}
	if fail != nil || err != nil {
		m.Failure = fail
		return m, err
	}
	var s scores
	if s, m.Failure, err = p.score(ctx, measured); m.Failure != nil || err != nil {
		return m, err
	}
	m.Metrics, m.Cases = s.metrics, s.cases
	return m, p.supervise(measured, m.Metrics)
}

// supervise adds the metrics that the supervisor measures. Where the machine
// cannot, there is no score at all.
func (p *pass) supervise(t *passage, metrics map[string]float64) error {
	for _, name := range metricNames(p.job.Contract.Contract) {
		if !p.job.Contract.Measured(name) {
			continue
		}
		v, err := t.own(name)
		if err != nil {
			return fmt.Errorf("metric %s: %w", name, err)
		}
		metrics[name] = v
	}
	return nil
}

// own is one of the supervisor's own metrics: sums over the launches of the
// split, the largest peak of memory.
func (t *passage) own(name string) (float64, error) {
	if name == contract.CodeLines {
		return t.codeLines()
	}
	var v float64
	for _, l := range t.launches() {
		switch name {
		case contract.WallSeconds:
			v += l.WallSeconds
		case contract.CPUSeconds:
			if l.CPUSeconds == nil {
				return 0, fmt.Errorf("CPU time cannot be measured here: a cgroup is needed")
			}
			v += *l.CPUSeconds
		case contract.PeakMemoryBytes:
			if l.PeakMemoryBytes == nil {
				return 0, fmt.Errorf("memory cannot be measured here: a cgroup is needed")
			}
			v = max(v, float64(*l.PeakMemoryBytes))
		default:
			return 0, fmt.Errorf("nobody measures it")
		}
	}
	return v, nil
}

// codeLines counts the lines of the arm's writable files that are not blank.
func (t *passage) codeLines() (float64, error) {
	lines := 0
	for _, f := range t.arm.Snapshot.Files {
		if !t.job.Contract.Writable(f.Path) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(t.arm.Dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return 0, err
		}
		for line := range bytes.Lines(data) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
	}
	return float64(lines), nil
}
