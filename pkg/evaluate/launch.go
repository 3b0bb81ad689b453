package evaluate

import (
	"cmp"
	"context"
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
// Failure is the state's; what the launch itself did is for the caller.
func (p *pass) launch(ctx context.Context, a *arm, l launch) (sandbox.Result, *ledger.Failure, error) {
	first := a.tree == nil || a.tree.quick == ""
	before, wrong, err := p.stateCheck(first, p.watched(a, l.state)...)
	if err != nil {
		return sandbox.Result{}, nil, err
	}
	l.record.Before = before
	if len(wrong) > 0 {
		p.refuse(l.record, strings.Join(wrong, "; "))
		return sandbox.Result{}, p.violated("before "+describe(l.record), wrong), nil
	}
	res, err := p.launcher.Run(ctx, l.spec)
	if err != nil {
		return res, nil, fmt.Errorf("%s: %w", describe(l.record), err)
	}
	var notes []string
	for _, r := range res.Refused {
		notes = append(notes, fmt.Sprintf("not taken: %q", r.String()))
	}
	if l.settle != nil {
		more, err := l.settle(res)
		if err != nil {
			return res, nil, fmt.Errorf("%s: %w", describe(l.record), err)
		}
		notes = append(notes, more...)
	}
	l.record.After, wrong, err = p.stateCheck(false, p.watched(a, l.state)...)
	if err != nil {
		return res, nil, err
	}
	p.record(l.record, res, append(notes, wrong...))
	if len(wrong) > 0 {
		return res, p.violated("after "+describe(l.record), wrong), nil
	}
	return res, nil, nil
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
	p.evaluation.EvaluatorSeconds += r.WallSeconds
}

// describe names a launch in errors and violations.
func describe(r ledger.Launch) string {
	s := fmt.Sprintf("%s of arm %s, repetition %d", r.Kind, r.Arm, r.Repetition)
	if r.Case != "" {
		s += fmt.Sprintf(", case %q", r.Case)
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
