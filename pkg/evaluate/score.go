package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// scorerBytes bounds what a scorer may print. It is not the candidate's limit:
// a score for each of many cases takes more room than a small output.
const scorerBytes = 16 << 20

// scoring is what the scorer sees in every launch.
type scoring struct {
	inputs, answers string // folders, under the cases' own names
	extraction
}

func (p *pass) prepareScoring() (err error) {
	cases := p.job.Split.Cases
	if p.scoring.inputs, err = p.shop.real(cases, func(c contract.Case) []byte { return c.Input }); err != nil {
		return err
	}
	if p.scoring.answers, err = p.shop.real(cases, func(c contract.Case) []byte { return c.Answer }); err != nil {
		return err
	}
	// The development cases tell, before a query is charged for nothing.
	p.scoring.byCase = len(p.job.Contract.SealedSplits()) > 0
	p.scoring.regex = p.job.Contract.Evaluation.Extract.Regex
	for _, name := range metricNames(p.job.Contract.Contract) {
		if !p.job.Contract.Measured(name) {
			p.scoring.metrics = append(p.scoring.metrics, name)
		}
	}
	for _, c := range cases {
		p.scoring.ids = append(p.scoring.ids, c.ID)
	}
	return nil
}

// score launches the frozen scorer on the outputs of a passage.
func (p *pass) score(ctx context.Context, t *passage) (scores, *ledger.Failure, error) {
	document, err := p.launchesDocument(t)
	if err != nil {
		return scores{}, nil, err
	}
	l := launch{
		record: ledger.Launch{Kind: ledger.Score, Arm: t.arm.Name, Commit: t.arm.Commit, Repetition: t.repetition},
		spec: sandbox.Spec{
			Argv: []string{"/bin/sh", "-c", p.job.Contract.Evaluation.Score},
			Dir:  harnessDir,
			Env: environment(p.job.Contract.Contract, nil, map[string]string{
				"RESEARCH_LOOP_INPUTS": inputsDir, "RESEARCH_LOOP_ANSWERS": answersDir,
				"RESEARCH_LOOP_OUTPUTS": outputsDir, "RESEARCH_LOOP_LAUNCHES": launchesDoc,
			}),
			Binds: []sandbox.Bind{
				{Source: p.job.Harness, Target: harnessDir}, {Source: p.scoring.inputs, Target: inputsDir},
				{Source: p.scoring.answers, Target: answersDir}, {Source: t.outputs, Target: outputsDir},
				{Source: document, Target: launchesDoc},
			},
			Toolchains: p.job.Contract.Candidate.Toolchains,
			Limits:     p.limits(),
			BestEffort: p.job.Contract.Exception(contract.BestEffortLimits),
		},
	}
	l.spec.Limits.Output = scorerBytes
	res, fail, err := p.launch(ctx, t.arm, l)
	if fail != nil || err != nil {
		return scores{}, fail, err
	}
	if fail := p.judge("extract", res); fail != nil {
		return scores{}, p.failure(ledger.Crash, "extract", "scorer: "+fail.Detail), nil
	}
	s, err := p.scoring.read(res.Stdout)
	if err != nil {
		return scores{}, p.failure(ledger.Crash, "extract", err.Error()), nil
	}
	return s, nil, nil
}

// launchLine is one launch as the scorer is told of it.
type launchLine struct {
	Case            string   `json:"case"` // "" for the whole split
	Call            int      `json:"call"` // of a driver, from 1; else 0
	Outcome         string   `json:"outcome"`
	Exit            int      `json:"exit"`
	Signal          int      `json:"signal"`
	WallSeconds     float64  `json:"wall_seconds"`
	CPUSeconds      *float64 `json:"cpu_seconds"`
	PeakMemoryBytes *int64   `json:"peak_memory_bytes"`
	StdoutBytes     int64    `json:"stdout_bytes"`
	StderrBytes     int64    `json:"stderr_bytes"`
}

// launchesDocument writes the JSON array of the passage's launches.
func (p *pass) launchesDocument(t *passage) (string, error) {
	lines := []launchLine{}
	for _, l := range t.launches() {
		lines = append(lines, launchLine{
			l.Case, l.Call, l.Outcome, l.Exit, l.Signal, l.WallSeconds, l.CPUSeconds, l.PeakMemoryBytes, l.StdoutBytes, l.StderrBytes,
		})
	}
	data, err := json.Marshal(lines)
	if err != nil {
		return "", fmt.Errorf("launches of arm %s: %w", t.arm.Name, err)
	}
	dir, err := p.shop.folder()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "launches.json")
	return file, place(file, append(data, '\n'))
}
