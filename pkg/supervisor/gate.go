package supervisor

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/vault"
)

// charge charges a query of the gate and claims its pass, in one commit.
func (s *Supervisor) charge() error {
	use := s.Run.Use()
	charged := &ledger.GateCharged{
		Head: s.leased("", ledger.Validation), Query: use.Charged + 1, Budget: use.Budget, Tree: s.Run.Open.Committed.Tree,
	}
	if err := s.hold(charged); err != nil {
		return err
	}
	return s.hold(&ledger.Started{Head: s.head(), Stage: ledger.Validation, Repetitions: 1})
}

// chargeFinal charges the final test and claims its pass.
func (s *Supervisor) chargeFinal() error {
	head := s.leased("", ledger.Final)
	head.Candidate = s.Run.Incumbent.Commit
	return s.hold(&ledger.FinalCharged{Head: head, Baseline: s.Run.Sealed.Baseline})
}

// giveUp ends a final test that was lost for good.
func (s *Supervisor) giveUp(step journal.Step) error {
	return s.hold(&ledger.FinalResult{Head: s.leased(s.world.Gone, ledger.Final), Answer: ledger.Interrupted, P: 1, Reason: step.Reason})
}

// exam is what a pass on sealed cases showed, for the judge alone.
type exam struct {
	overlap bool
	cases   []contract.Case // in the order of their names
	of      map[ledger.Arm]ledger.Measurement
}

// Value is what is sealed of an arm's pass on sealed cases.
type Value struct {
	Commit  string       `json:"commit"`
	Verdict gate.Verdict `json:"verdict"`
	// Scores are those of the cases in the order of their names, null without.
	Scores     []float64          `json:"scores"`
	Metrics    map[string]float64 `json:"metrics"`
	Failure    *ledger.Failure    `json:"failure"`
	Violations []string           `json:"violations"`
	Launches   []ledger.Launch    `json:"launches"`
}

// answerQuery answers a query. Its scoring takes the time that the contract
// gives it, whatever happens.
func (s *Supervisor) answerQuery(ctx context.Context) error {
	w := openWindow(ledger.Validation, s.Run.Contract)
	inside, cancel := w.within(ctx)
	result, err := s.examined(inside, ctx)
	cancel()
	if err := errors.Join(err, w.wait(ctx)); err != nil {
		return blur(ledger.Validation, err)
	}
	result.Head = s.head()
	return s.hold(result)
}

// examined examines the outcome inside the window; outside is the context of
// the whole.
func (s *Supervisor) examined(inside, outside context.Context) (*ledger.GateResult, error) {
	e, err := s.examine(inside, ledger.Validation)
	if inside.Err() != nil && outside.Err() == nil {
		e, err = s.lateExam(), nil
	}
	if err != nil {
		return nil, err
	}
	return s.conclude(e)
}

// lateExam is what is known of a candidate whose scoring was not done in time.
func (s *Supervisor) lateExam() *exam {
	m := ledger.Measurement{Arm: ledger.Candidate, Commit: s.Run.Open.Candidate, Failure: &ledger.Failure{
		Status: ledger.Timeout, What: "extract", Detail: "over the time of the scoring",
	}}
	return &exam{of: map[ledger.Arm]ledger.Measurement{ledger.Candidate: m}}
}

// conclude compares what the candidate showed with the kept commits and seals
// it.
func (s *Supervisor) conclude(e *exam) (*ledger.GateResult, error) {
	m := e.of[ledger.Candidate]
	value := Value{
		Commit: m.Commit, Scores: e.scores(m), Metrics: m.Metrics, Failure: m.Failure,
		Violations: s.outcome.Evaluation.Violations, Launches: s.outcome.Evaluation.Launches,
	}
	var err error
	if value.Verdict, err = s.compare(e, m); err != nil {
		return nil, err
	}
	result := &ledger.GateResult{Query: s.Run.Use().Charged, Answer: ledger.Fail}
	switch {
	case e.overlap:
		result.Answer = ledger.Overlap
	case value.Verdict.Pass:
		result.Answer = ledger.Pass
	}
	result.Sealed, err = s.seal(value, ledger.Validation)
	return result, err
}

// compare asks the gate's rule. The baseline, which has nothing to be compared
// with, passes if it has a result for every case.
func (s *Supervisor) compare(e *exam, m ledger.Measurement) (gate.Verdict, error) {
	switch {
	case m.Failure != nil:
		return gate.Verdict{Reason: m.Failure.What + ": " + m.Failure.Detail}, nil
	case s.Run.Open.Role == ledger.RoleBaseline:
		complete := len(m.Cases) == len(e.cases)
		return gate.Verdict{Pass: complete, Reason: fmt.Sprintf("baseline: %d results for %d cases", len(m.Cases), len(e.cases))}, nil
	}
	kept, err := s.kept(e.cases)
	if err != nil {
		return gate.Verdict{}, err
	}
	return gate.PlanOf(s.Run.Contract.Contract).Judge(kept, m.Cases)
}

// kept opens the gate results of all kept commits.
func (s *Supervisor) kept(cases []contract.Case) ([]gate.Result, error) {
	var out []gate.Result
	for _, entry := range s.Run.Entries {
		if entry.Status != ledger.Keep || entry.GateSealed == nil {
			continue
		}
		value, err := OpenValue(s.Judge.Identity, s.Run, entry.Iteration, ledger.Validation, *entry.GateSealed)
		if err != nil {
			return nil, err
		}
		if len(value.Scores) != len(cases) {
			return nil, fmt.Errorf("attempt %d was kept with %d gate results for %d cases", entry.Iteration, len(value.Scores), len(cases))
		}
		r := gate.Result{Commit: entry.Commit}
		for i, c := range cases {
			r.Cases = append(r.Cases, ledger.CaseScore{ID: c.ID, Score: value.Scores[i]})
		}
		out = append(out, r)
	}
	return out, nil
}

// answerFinal answers the final test.
func (s *Supervisor) answerFinal(ctx context.Context) error {
	e, err := s.examine(ctx, ledger.Final)
	var result *ledger.FinalResult
	if err == nil {
		result, err = s.concludeFinal(e)
	}
	if err != nil {
		return blur(ledger.Final, err)
	}
	result.Head = s.head()
	return s.hold(result)
}

func (s *Supervisor) concludeFinal(e *exam) (*ledger.FinalResult, error) {
	best, baseline := e.of[ledger.Candidate], e.of[ledger.Incumbent]
	value := Value{Commit: best.Commit, Scores: e.scores(best), Metrics: best.Metrics, Failure: best.Failure}
	result := &ledger.FinalResult{Answer: ledger.Fail, P: 1}
	switch verdict, err := gate.PlanOf(s.Run.Contract.Contract).Final(baseline.Cases, best.Cases); {
	case e.overlap:
		result.Reason = string(ledger.Overlap)
	case best.Failure != nil:
		result.Reason = "the best commit has no result on the final cases"
	case baseline.Failure != nil || err != nil:
		result.Reason = "the baseline has no result on the final cases"
	default:
		result.Wins, result.Losses, result.Ties = verdict.Wins, verdict.Losses, verdict.Ties
		result.P, result.Reason = verdict.P, verdict.Reason
		if verdict.Pass {
			result.Answer = ledger.Pass
		}
	}
	value.Verdict = gate.Verdict{
		Pass: result.Answer == ledger.Pass, Reference: baseline.Commit, Reason: result.Reason,
		Tally: gate.Tally{Wins: result.Wins, Losses: result.Losses, Ties: result.Ties},
	}
	var err error
	result.Sealed, err = s.seal(value, ledger.Final)
	return result, err
}

// scores lists the scores of the exam's cases in their order, nil where one
// is missing.
func (e *exam) scores(m ledger.Measurement) []float64 {
	by := map[string]float64{}
	for _, c := range m.Cases {
		by[c.ID] = c.Score
	}
	var out []float64
	for _, c := range e.cases {
		score, ok := by[c.ID]
		if !ok {
			return nil
		}
		out = append(out, score)
	}
	return out
}

// examine opens the sealed cases, looks for them in the candidate, and has the
// scorer judge what every arm left.
func (s *Supervisor) examine(ctx context.Context, stage ledger.Stage) (*exam, error) {
	b, err := s.packer().pack(stage)
	if err != nil {
		return nil, err
	}
	split, err := s.openCases(b, stage)
	if err != nil {
		return nil, err
	}
	e := &exam{cases: split.Cases, of: map[ledger.Arm]ledger.Measurement{}}
	if e.overlap, err = s.overlaps(stage, split); err != nil {
		return nil, err
	}
	e.overlap = e.overlap || len(s.outcome.Evaluation.Violations) > 0
	for _, m := range s.outcome.Evaluation.Measurements {
		e.of[m.Arm] = m
	}
	for arm, commit := range s.armsOf(stage) {
		if _, failed := e.of[arm]; failed || e.overlap {
			continue
		}
		if e.of[arm], err = s.score(ctx, b, split, evaluate.Arm{Name: arm, Commit: commit}); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// armsOf lists the arms that a pass on sealed cases launches.
func (s *Supervisor) armsOf(stage ledger.Stage) map[ledger.Arm]string {
	arms := map[ledger.Arm]string{ledger.Candidate: s.Run.Open.Candidate}
	if stage == ledger.Final {
		arms[ledger.Incumbent] = s.Run.Sealed.Baseline
	}
	return arms
}

// openCases opens inputs and answers.
func (s *Supervisor) openCases(b *Bundle, stage ledger.Stage) (*contract.Split, error) {
	if s.Judge == nil {
		return nil, errors.New("there is no key for the sealed cases")
	}
	answers, err := s.Clone.File(s.Run.Sealed.Pinned, s.packer().bundleFile(stage).Answers())
	if err != nil {
		return nil, err
	}
	return openSplit(s.Judge.Identity, fact(s.Run.Contract, stage), b.Inputs, answers)
}

// openSplit opens both halves of a sealed split and brings them together.
func openSplit(key vault.Identity, f contract.SplitFact, inputs, answers []byte) (*contract.Split, error) {
	var halves [2][]vault.File
	for i, half := range []struct {
		kind   vault.Kind
		data   []byte
		digest contract.Digest
	}{{vault.Inputs, inputs, f.Inputs}, {vault.Answers, answers, f.Answers}} {
		want := vault.Bundle{Label: vault.Label{Kind: half.kind, Name: f.Name, Cases: f.Cases}, Digest: string(half.digest)}
		var err error
		if halves[i], err = key.OpenSplit(half.data, want); err != nil {
			return nil, err
		}
	}
	cases, err := vault.Join(f.Name, halves[0], halves[1])
	if err != nil {
		return nil, err
	}
	split := &contract.Split{Name: f.Name}
	for _, c := range cases {
		split.Cases = append(split.Cases, contract.Case(c))
	}
	return split, nil
}

// overlaps says whether the candidate holds sealed cases. Of the final test it
// is the best commit, as it differs from the baseline.
func (s *Supervisor) overlaps(stage ledger.Stage, split *contract.Split) (bool, error) {
	in, err := s.sealedAuditInput(stage)
	if err != nil {
		return false, err
	}
	var cases []audit.Case
	for _, c := range split.Cases {
		cases = append(cases, audit.Case{ID: c.ID, Input: string(c.Input), Answer: string(c.Answer)})
	}
	return audit.Overlaps(in, cases)
}

func (s *Supervisor) sealedAuditInput(stage ledger.Stage) (audit.Input, error) {
	a := s.Run.Open
	if stage != ledger.Final && a.Role == ledger.RoleCandidate {
		return s.auditInput(a.Candidate)
	}
	// The baseline is the maintainer's, and start has searched it.
	base := s.Run.Sealed.Baseline
	return AuditInput(s.Clone, Standing{
		Contract: s.Run.Contract.Contract, Pinned: s.Run.Sealed.Pinned, Baseline: base, Incumbent: base, Tip: base,
	}, a.Candidate, nil)
}

// score has the scorer judge what one arm left, in memory alone.
func (s *Supervisor) score(ctx context.Context, b *Bundle, split *contract.Split, arm evaluate.Arm) (ledger.Measurement, error) {
	dir, remove, err := sandbox.Private()
	if err != nil {
		return ledger.Measurement{}, err
	}
	x := s.executor()
	job, _, err := x.job(ctx, b, s.Run.Contract, filepath.Join(dir, "passes"))
	var m ledger.Measurement
	if err == nil {
		job.Split = split
		m, err = evaluate.Score(ctx, s.Launcher, job, arm, &evaluate.Launched{
			Evaluation: s.outcome.Evaluation, Outputs: s.outcome.Outputs,
		})
	}
	return m, errors.Join(err, remove())
}

// seal seals a value to judge and maintainer. Details that do not fit into the
// size that all values have are left out.
func (s *Supervisor) seal(v Value, stage ledger.Stage) (string, error) {
	keys := s.Run.Contract.Keys
	var to []vault.Recipient
	for _, key := range []string{keys.Judge, keys.Maintainer} {
		if key == "" {
			continue
		}
		r, err := vault.ParseRecipient(key)
		if err != nil {
			return "", err
		}
		to = append(to, r)
	}
	name := valueName(s.Run, s.Run.Open.Iteration, stage)
	for _, shorten := range []func(*Value){func(*Value) {}, func(v *Value) { v.Launches = nil }, func(v *Value) { v.Failure, v.Violations, v.Verdict.Reason = nil, nil, "" }} {
		shorten(&v)
		text, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		sealed, err := vault.SealValue(name, s.Run.Cases(stage), text, to...)
		var fault *vault.Error
		if errors.As(err, &fault) && fault.Reason == vault.TooLarge {
			continue
		}
		return base64.StdEncoding.EncodeToString(sealed), err
	}
	return "", errors.New("the results of the cases do not fit into their sealed size")
}

// valueName binds a sealed value to its place.
func valueName(r *journal.Run, iteration int, stage ledger.Stage) string {
	return fmt.Sprintf("%s/%d/%s", r.Tag, iteration, stage)
}

// OpenValue opens what was sealed of an iteration's pass on sealed cases, with
// the key of the judge or the maintainer.
func OpenValue(key vault.Identity, r *journal.Run, iteration int, stage ledger.Stage, sealed string) (*Value, error) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, fmt.Errorf("sealed value of attempt %d: %w", iteration, err)
	}
	text, err := key.OpenValue(data, valueName(r, iteration, stage), r.Cases(stage))
	if err != nil {
		return nil, fmt.Errorf("attempt %d: %w", iteration, err)
	}
	v := &Value{}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("sealed value of attempt %d: %w", iteration, err)
	}
	return v, nil
}
