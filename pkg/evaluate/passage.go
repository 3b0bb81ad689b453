package evaluate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// passage is one arm going once through one split.
type passage struct {
	*pass
	arm        *arm
	kind       ledger.LaunchKind
	repetition int
	split      *layout
	state      state         // the generated state of the next launch
	spent      time.Duration // wall time of the launches so far
	bytes      int64         // mode case: of all outputs so far
	outputs    string        // folder of the outputs under the cases' own names
	from       int           // index of its first record in Launches
}

// through launches an arm on a split.
func (p *pass) through(ctx context.Context, a *arm, kind ledger.LaunchKind, repetition int, split *layout) (*passage, *ledger.Failure, error) {
	outputs, err := p.shop.folder()
	if err != nil {
		return nil, nil, err
	}
	t := &passage{
		pass: p, arm: a, kind: kind, repetition: repetition, split: split,
		state: maps.Clone(a.built), outputs: outputs, from: len(p.evaluation.Launches),
	}
	switch p.job.Contract.Candidate.Mode {
	case contract.ModeBatch:
		fail, err := t.batch(ctx)
		return t, fail, err
	case contract.ModeDriver, contract.ModeData:
		fail, err := t.drive(ctx)
		return t, fail, err
	}
	for _, c := range split.order {
		if fail, err := t.single(ctx, c); fail != nil || err != nil {
			return t, fail, err
		}
	}
	return t, nil, nil
}

// launches is what was recorded of the passage.
func (t *passage) launches() []ledger.Launch {
	var out []ledger.Launch
	for _, l := range t.evaluation.Launches[t.from:] {
		if l.Kind == t.kind {
			out = append(out, l)
		}
	}
	return out
}

// batch is one launch for the whole split.
func (t *passage) batch(ctx context.Context) (*ledger.Failure, error) {
	left, err := t.shop.folder()
	if err != nil {
		return nil, err
	}
	l := t.order("", splitVariables())
	t.showSplit(&l, left)
	return t.run(ctx, l, func(sandbox.Result) ([]string, error) { return t.takeOutputs(left) })
}

// splitVariables tell a launch where the split is.
func splitVariables() map[string]string {
	return map[string]string{"RESEARCH_LOOP_INPUTS": inputsDir, "RESEARCH_LOOP_OUTPUTS": outputsDir}
}

// showSplit shows a launch the inputs, and the place of its outputs, which will
// be collected in left.
func (t *passage) showSplit(l *launch, left string) {
	l.spec.Binds = append(l.spec.Binds, sandbox.Bind{Source: t.split.opaque, Target: inputsDir})
	l.spec.Scratch = append(l.spec.Scratch, sandbox.Scratch{
		Target: outputsDir, Bytes: t.job.Contract.Evaluation.Resources.Output,
		Inodes: len(t.split.order) + 1024, NoExec: true, Collect: left,
	})
}

// takeOutputs brings what a launch left under the cases' own names.
func (t *passage) takeOutputs(left string) (notes []string, err error) {
	found, unknown, err := t.split.rename(left, t.outputs)
	if err != nil {
		return nil, err
	}
	if unknown > 0 {
		notes = append(notes, fmt.Sprintf("%d outputs are named after no input and were ignored", unknown))
	}
	if missing := len(t.split.order) - found; missing > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d inputs have no output", missing, len(t.split.order)))
	}
	return notes, nil
}

// single is the launch of one case, stdin to stdout.
func (t *passage) single(ctx context.Context, c opaqueCase) (*ledger.Failure, error) {
	l := t.order(c.ID, nil)
	l.spec.Stdin = bytes.NewReader(c.Input)
	fail, err := t.run(ctx, l, func(res sandbox.Result) ([]string, error) {
		t.bytes += int64(len(res.Stdout))
		if t.bytes > t.job.Contract.Evaluation.Resources.Output {
			return []string{"outputs over their limit"}, nil
		}
		return nil, place(filepath.Join(t.outputs, c.ID), res.Stdout)
	})
	if limit := t.job.Contract.Evaluation.Resources.Output; fail == nil && err == nil && t.bytes > limit {
		fail = t.failure(ledger.Crash, "output", fmt.Sprintf("case %q: the outputs of the split together are over %d bytes", c.ID, limit))
	}
	return fail, err
}

// order is the next launch, but for its stdin, inputs and outputs.
func (t *passage) order(id string, ours map[string]string) launch {
	l := t.armLaunch(t.arm, t.kind, within(t.job.Contract.Candidate.Directory, t.seeded(t.job.Contract.Candidate.Run)))
	l.record.Repetition, l.record.Case = t.repetition, id
	l.spec.Env = t.variables(ours)
	return l
}

// seeded fills the seed in a command.
func (t *passage) seeded(command string) string {
	return strings.ReplaceAll(command, "{seed}", seed(t.job.Contract.Digest, t.job.Stage))
}

// variables is the environment of a launch of this passage.
func (t *passage) variables(ours map[string]string) []string {
	env := map[string]string{"RESEARCH_LOOP_SEED": t.seeded("{seed}")}
	maps.Copy(env, ours)
	return environment(t.job.Contract.Contract, nil, env)
}

// run launches within the time that is left, in the generated state, and says
// whether it went well. take gets the outputs of a launch, whatever it did.
func (t *passage) run(ctx context.Context, l launch, take func(sandbox.Result) ([]string, error)) (*ledger.Failure, error) {
	short, fail := t.allot(&l)
	if fail != nil {
		return fail, nil
	}
	if err := t.inState(&l, take); err != nil {
		return nil, err
	}
	res, fail, err := t.launch(ctx, t.arm, l)
	t.spent += res.Wall
	if fail != nil || err != nil {
		return fail, err
	}
	fail = t.judge("launch", res)
	if fail != nil && short && res.Outcome == sandbox.TimedOut {
		return t.overTotal(), nil
	}
	return t.placed(fail, l.record), nil
}

// inState makes a launch start in the generated state and leave the next one.
func (t *passage) inState(l *launch, take func(sandbox.Result) ([]string, error)) error {
	layers, err := t.layers(t.arm, t.state, t.job.Contract.Evaluation.Resources.Temporary, false)
	if err != nil {
		return err
	}
	l.spec.Scratch = append(l.spec.Scratch, layers.scratch...)
	l.state = &t.state
	l.settle = func(res sandbox.Result) ([]string, error) {
		now, err := layers.settle(t.arm, t.state)
		if err != nil {
			return nil, err
		}
		before := t.state
		t.state = now
		if err := t.forget(before); err != nil {
			return nil, err
		}
		return take(res)
	}
	return nil
}

// placed says in a failure where it happened, if that was not on the whole of
// the split that is measured.
func (t *passage) placed(fail *ledger.Failure, r ledger.Launch) *ledger.Failure {
	if fail == nil {
		return nil
	}
	if r.Case != "" {
		fail.Detail = t.redactor.String(fmt.Sprintf("case %q: ", r.Case)) + fail.Detail
	}
	if r.Kind == ledger.Counterexample {
		fail.Detail = "counterexamples: " + fail.Detail
	}
	return fail
}

// allot gives a launch its wall time, and says whether that is less than the
// contract gives one launch because the total runs out.
func (t *passage) allot(l *launch) (short bool, fail *ledger.Failure) {
	total := t.job.Contract.Evaluation.Total
	if total <= 0 {
		return false, nil
	}
	left := total - t.spent
	if left <= 0 {
		t.refuse(l.record, "the time of one arm on one split is used up")
		return false, t.overTotal()
	}
	if wall := l.spec.Limits.Wall; wall <= 0 || left < wall {
		l.spec.Limits.Wall = left
		return true, nil
	}
	return false, nil
}

func (t *passage) overTotal() *ledger.Failure {
	return t.failure(ledger.Timeout, "total", fmt.Sprintf("over the %s of one arm on one split", t.job.Contract.Evaluation.Total))
}

// forget removes the generated state that no later launch starts from.
func (t *passage) forget(before state) error {
	for generated, w := range before {
		if w != t.arm.built[generated] && w != t.state[generated] {
			if err := os.RemoveAll(w.dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// digests is the SHA-256 of every output there is.
func (t *passage) digests() (map[string]string, error) {
	out := map[string]string{}
	for _, c := range t.split.order {
		data, err := os.ReadFile(filepath.Join(t.outputs, c.ID))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[c.ID] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return out, nil
}

// seed is the same for every launch of a stage all through a run: a
// deterministic candidate is compared with what was recorded before.
func seed(d contract.Digest, stage ledger.Stage) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "research-loop seed\n%s\n%s\n", d, stage))
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(sum[:])>>1), 10)
}

// metricNames is every metric that the contract decides by, sorted.
func metricNames(c *contract.Contract) []string {
	names := append([]string{c.Metric.Name}, c.Acceptance.TieBreakers...)
	for _, m := range c.Secondary {
		names = append(names, m.Name)
	}
	for _, m := range c.Constraints {
		names = append(names, m.Metric)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
