package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// launch is one launch to come.
type launch struct {
	record ledger.Launch // what it is for
	spec   sandbox.Spec
	state  *state // generated state that it starts from and leaves; nil: what the build left
	// settle takes in what the launch left, before the state is checked again;
	// what it notes stands in the log. nil: nothing is left.
	settle func(sandbox.Result) (notes []string, err error)
	// ends says that the pass itself may end the launch by its context: what it
	// did up to then is recorded and no error.
	ends    bool
	printed *printed // for the log, where the streams go elsewhere
}

// armLaunch is a launch of an arm's own code.
func (p *pass) armLaunch(a *arm, kind ledger.LaunchKind, command string) launch {
	return launch{
		record: ledger.Launch{Kind: kind, Arm: a.Name, Commit: a.Commit},
		spec: sandbox.Spec{
			Argv:       []string{"/bin/sh", "-c", command},
			Dir:        armDir,
			Binds:      []sandbox.Bind{{Source: a.Dir, Target: armDir}},
			Toolchains: p.job.Contract.Candidate.Toolchains,
			Limits:     p.limits(),
			BestEffort: p.job.Contract.Exception(contract.BestEffortLimits),
		},
	}
}

// limits is what the contract allows one launch.
func (p *pass) limits() sandbox.Limits {
	e := p.job.Contract.Evaluation
	return sandbox.Limits{
		Wall: e.Timeout, Memory: e.Resources.Memory, Pids: e.Resources.Pids, CPUs: e.Resources.CPUs,
		Output: e.Resources.Output, Temporary: e.Resources.Temporary,
	}
}

// environment is the contract's over the defaults, and ours over both.
func environment(c *contract.Contract, defaults, ours map[string]string) []string {
	all := maps.Clone(defaults)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, c.Evaluation.Environment)
	maps.Copy(all, ours)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}

// launch checks the state, launches, checks again, and records all of it. The
// Failure is the state's, or that there is no such command; what the launch
// itself did is for the caller.
func (p *pass) launch(ctx context.Context, a *arm, l launch) (sandbox.Result, *ledger.Failure, error) {
	fail, err := p.before(a, &l)
	if fail != nil || err != nil {
		return sandbox.Result{}, fail, err
	}
	res, err := p.launcher.Run(ctx, l.spec)
	if l.printed != nil {
		res.Stdout, res.Stderr = l.printed.out.Bytes(), l.printed.err.Bytes()
	}
	switch {
	case errors.Is(err, sandbox.ErrCommand) && slices.Contains(armKinds, l.record.Kind):
		return res, p.noCommand(l.record, err), nil
	case l.ends && errors.Is(err, context.Canceled):
		res.Outcome = sandbox.Cancelled // wherever it was
	case err != nil:
		return res, nil, fmt.Errorf("%s: %w", describe(l.record), err)
	}
	fail, err = p.after(a, l, res)
	return res, fail, err
}

// armKinds are the launches whose command the arm has to bring.
var armKinds = []ledger.LaunchKind{ledger.Build, ledger.Measure, ledger.Counterexample}

// noCommand records that a command of the arm could not be started.
func (p *pass) noCommand(r ledger.Launch, why error) *ledger.Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse(r, why.Error())
	what := "launch"
	if r.Kind == ledger.Build {
		what = "build"
	}
	return p.failure(ledger.Crash, what, why.Error())
}

// before is the state check that a launch must pass.
func (p *pass) before(a *arm, l *launch) (*ledger.Failure, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := a.tree == nil || a.tree.quick == ""
	digest, wrong, err := p.stateCheck(first, p.watched(a, l.state)...)
	if err != nil {
		return nil, err
	}
	l.record.Before = digest
	if len(wrong) > 0 {
		p.refuse(l.record, strings.Join(wrong, "; "))
		return p.violated("before "+describe(l.record), wrong), nil
	}
	return nil, nil
}

// after takes in what a launch left, checks the state and records the launch.
func (p *pass) after(a *arm, l launch, res sandbox.Result) (*ledger.Failure, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var notes []string
	for _, r := range res.Refused {
		notes = append(notes, fmt.Sprintf("not taken: %q", r.String()))
	}
	if l.settle != nil && res.Outcome != sandbox.Cancelled {
		more, err := l.settle(res)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describe(l.record), err)
		}
		notes = append(notes, more...)
	}
	digest, wrong, err := p.stateCheck(false, p.watched(a, l.state)...)
	if err != nil {
		return nil, err
	}
	l.record.After = digest
	p.record(l.record, res, append(notes, wrong...))
	if len(wrong) > 0 {
		return p.violated("after "+describe(l.record), wrong), nil
	}
	return nil, nil
}

// watched is everything that must not change while a launch runs.
func (p *pass) watched(a *arm, s *state) []*watch {
	out := append([]*watch{p.harness}, a.watches()...)
	if s != nil {
		for _, w := range *s {
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	slices.SortFunc(out, func(a, b *watch) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.digest, b.digest))
	})
	return out
}

// refuse records a launch that does not take place.
func (p *pass) refuse(r ledger.Launch, reason string) {
	r.Outcome, r.Reason = ledger.NotLaunched, p.redactor.String(reason)
	p.evaluation.Launches = append(p.evaluation.Launches, r)
}

// record writes down what a launch did.
func (p *pass) record(r ledger.Launch, res sandbox.Result, notes []string) {
	r.Outcome, r.Exit, r.Signal = string(res.Outcome), res.Exit, res.Signal
	r.WallSeconds = res.Wall.Seconds()
	if res.Usage.CPU != nil {
		cpu := res.Usage.CPU.Seconds()
		r.CPUSeconds = &cpu
	}
	r.PeakMemoryBytes = res.Usage.PeakMemory
	r.StdoutBytes, r.StderrBytes = res.StdoutBytes, res.StderrBytes
	r.Log = p.logged(r, res, notes)
	p.evaluation.Launches = append(p.evaluation.Launches, r)
	if r.Call == 0 {
		p.evaluation.EvaluatorSeconds += r.WallSeconds
	}
}

// describe names a launch in errors and violations.
func describe(r ledger.Launch) string {
	s := fmt.Sprintf("%s of arm %s, repetition %d", r.Kind, r.Arm, r.Repetition)
	if r.Case != "" {
		s += fmt.Sprintf(", case %q", r.Case)
	}
	if r.Call > 0 {
		s += fmt.Sprintf(", call %d", r.Call)
	}
	return s
}

// judge says why a launch gives no value, nil where it went well. what is build
// or launch.
func (p *pass) judge(what string, res sandbox.Result) *ledger.Failure {
	fail := func(status ledger.Status, detail string) *ledger.Failure {
		return p.failure(status, what, detail+lastWords(p.redactor, res.Stderr))
	}
	switch res.Outcome {
	case sandbox.Exited:
		if res.Exit == 0 {
			return nil
		}
		return fail(ledger.Crash, fmt.Sprintf("exit %d", res.Exit))
	case sandbox.Signalled:
		return fail(ledger.Crash, fmt.Sprintf("ended by signal %d", res.Signal))
	case sandbox.TimedOut:
		return fail(ledger.Timeout, fmt.Sprintf("over its time after %.1f s", res.Wall.Seconds()))
	case sandbox.CPULimit:
		return fail(ledger.Timeout, "over its CPU time")
	case sandbox.OutputLimit, sandbox.Unreadable:
		if what == "launch" {
			what = "output"
		}
		if refused := refusedOutputs(res); len(refused) > 0 {
			return fail(ledger.Crash, fmt.Sprintf("%s: %q", res.Outcome, some(refused)))
		}
	}
	return fail(ledger.Crash, string(res.Outcome))
}

// refusedOutputs names what a candidate left among its outputs and may not.
func refusedOutputs(res sandbox.Result) []string {
	var out []string
	for _, r := range res.Refused {
		if r.Target == outputsDir {
			out = append(out, r.String())
		}
	}
	return out
}

// lastWords quotes the end of what a launch wrote to stderr.
func lastWords(r *Redactor, stderr []byte) string {
	const most = 200
	text := strings.TrimSpace(string(r.window(stderr[max(0, len(stderr)-excerpt):], len(stderr) > excerpt, false)))
	if text == "" {
		return ""
	}
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return fmt.Sprintf("; stderr ends %q", text[max(0, len(text)-most):])
}

// within makes a shell command run in a folder of the arm. The folder may be
// missing from a commit, which is that commit's failure and not the machine's.
func within(dir, command string) string {
	if path.Clean(dir) == "." {
		return command
	}
	return fmt.Sprintf("cd -- '%s' || exit 127\n%s", strings.ReplaceAll(dir, "'", `'\''`), command)
}
