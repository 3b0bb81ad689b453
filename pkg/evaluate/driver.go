package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

const (
	// callsAtOnce is how many launches of one driver run at a time; more wait.
	// It is one where a launch finds what the one before it wrote.
	callsAtOnce = 8
	// mostCalls bounds the records of one arm on one split.
	mostCalls = 10_000
	// What a driver may have beyond a launch of the contract: it is the harness's
	// and holds the clients of all its calls.
	driverMemory = 512 << 20
	driverPids   = 2048
)

// MissingSecret says that a secret of evaluation.driver.secrets cannot be used.
type MissingSecret struct{ Name, Why string }

func (e *MissingSecret) Error() string {
	return fmt.Sprintf("evaluation.driver.secrets: %s %s", e.Name, e.Why)
}

// CheckSecrets refuses a contract's driver whose secrets are not all there: a
// value that is too short could not be redacted. The error is a *MissingSecret.
func CheckSecrets(c *contract.Contract, values map[string]string) error {
	if c.Evaluation.Driver == nil {
		return nil
	}
	for _, name := range c.Evaluation.Driver.Secrets {
		switch n := len(values[name]); {
		case n == 0:
			return &MissingSecret{name, "is not in the environment"}
		case n < shortestSecret:
			return &MissingSecret{name, fmt.Sprintf("has fewer than %d bytes and could not be redacted", shortestSecret)}
		}
	}
	return nil
}

// validateMode refuses what a contract in order cannot ask for.
func (j *Job) validateMode() error {
	mode, d := j.Contract.Candidate.Mode, j.Contract.Evaluation.Driver
	switch mode {
	case contract.ModeBatch, contract.ModeCase:
		return nil
	case contract.ModeDriver, contract.ModeData:
	default:
		return fmt.Errorf("candidate mode %q cannot be launched", mode)
	}
	if d == nil {
		return fmt.Errorf("mode %s without a driver", mode)
	}
	if mode == contract.ModeDriver && (d.Network || len(d.Secrets) > 0) {
		return errors.New("network and secrets are for mode data only")
	}
	return CheckSecrets(j.Contract.Contract, j.DriverSecrets)
}

// drive launches the frozen driver on the split. In mode driver it asks for the
// launches of the arm; in mode data it reads the arm's files.
func (t *passage) drive(ctx context.Context) (*ledger.Failure, error) {
	left, err := t.shop.folder()
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	d := &driver{passage: t, stop: stop, slots: make(chan struct{}, t.together())}
	l := d.order(left)
	res, fail, err := t.launch(running, t.arm, l)
	slices.SortStableFunc(t.evaluation.Launches[t.from:], func(a, b ledger.Launch) int { return cmp.Compare(a.Call, b.Call) })
	t.spent += res.Wall
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.err != nil || d.fail != nil:
		return d.fail, d.err
	case fail != nil || err != nil:
		return fail, err
	}
	if res.Outcome == sandbox.TimedOut {
		return t.overTotal(), nil
	}
	if fail = t.judge("launch", res); fail != nil {
		fail.Detail = "driver: " + fail.Detail
	}
	return t.placed(fail, l.record), nil
}

// together is how many calls may run at a time.
func (t *passage) together() int {
	for _, g := range t.job.Contract.Scope.Generated {
		if g.Policy == contract.GeneratedIsolate {
			return 1
		}
	}
	return callsAtOnce
}

// driver is one launch of the frozen driver.
type driver struct {
	*passage
	stop  context.CancelFunc // ends the driver and all that it has asked for
	slots chan struct{}

	mu    sync.Mutex
	calls int
	fail  *ledger.Failure // the first of a call that ends the measurement
	err   error
}

// order is the launch of the driver itself.
func (d *driver) order(left string) launch {
	c := d.job.Contract.Contract
	env := splitVariables()
	kind := ledger.Drive
	if d.kind == ledger.Counterexample {
		kind = ledger.CounterDrive
	}
	l := launch{
		record: ledger.Launch{Kind: kind, Arm: d.arm.Name, Commit: d.arm.Commit, Repetition: d.repetition},
		spec: sandbox.Spec{
			Argv:       []string{"/bin/sh", "-c", d.seeded(c.Evaluation.Driver.Run)},
			Dir:        harnessDir,
			Binds:      []sandbox.Bind{{Source: d.job.Harness, Target: harnessDir}},
			Toolchains: c.Candidate.Toolchains,
			Limits:     d.limits(),
			BestEffort: c.Exception(contract.BestEffortLimits),
		},
		settle: func(sandbox.Result) ([]string, error) { return d.takeOutputs(left) },
		ends:   true,
	}
	limits := &l.spec.Limits
	limits.Wall, limits.CPUs, limits.Pids = c.Evaluation.Total, 0, max(limits.Pids, driverPids)
	if limits.Memory > 0 {
		limits.Memory += driverMemory
	}
	if c.Candidate.Mode == contract.ModeDriver {
		l.spec.Calls = d.call
		env["RESEARCH_LOOP_CANDIDATE"] = sandbox.ClientPath
	} else {
		l.spec.Binds = append(l.spec.Binds, sandbox.Bind{Source: d.arm.Dir, Target: armDir})
		l.spec.Network = c.Evaluation.Driver.Network
		env["RESEARCH_LOOP_CANDIDATE_DIR"] = armDir
		maps.Copy(env, d.secrets())
	}
	l.spec.Env = d.variables(env)
	d.showSplit(&l, left)
	return l
}

// secrets are those that the contract names, and no others.
func (d *driver) secrets() map[string]string {
	out := map[string]string{}
	for _, name := range d.job.Contract.Evaluation.Driver.Secrets {
		out[name] = d.job.DriverSecrets[name]
	}
	return out
}

// call answers one call of the driver with a launch of the arm. What the
// launch does is the driver's to judge; a failed state check or a failure of
// the machine ends the measurement.
func (d *driver) call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return sandbox.Result{}, ctx.Err()
	}
	l, fail, err := d.callLaunch(c)
	var res sandbox.Result
	if fail == nil && err == nil {
		res, fail, err = d.launch(ctx, d.arm, l)
	}
	switch {
	case err != nil || fail != nil && (fail.Status == ledger.Invalid || l.record.Call == 0):
		d.end(fail, err)
		return res, errors.New("the evaluation is over")
	case fail != nil:
		return res, errors.New(fail.Detail)
	}
	return res, nil
}

// end keeps the first reason to stop, and stops.
func (d *driver) end(fail *ledger.Failure, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail == nil && d.err == nil {
		d.fail, d.err = fail, err
	}
	d.stop()
}

// callLaunch is the launch that a call asks for, or why it is one too many.
func (d *driver) callLaunch(c sandbox.Call) (launch, *ledger.Failure, error) {
	d.mu.Lock()
	number := d.calls + 1
	d.calls = min(number, mostCalls)
	d.mu.Unlock()
	if number > mostCalls {
		return launch{}, d.failure(ledger.Crash, "launch", fmt.Sprintf("driver: more than %d calls", mostCalls)), nil
	}
	candidate := d.job.Contract.Candidate
	l := d.armLaunch(d.arm, d.kind, within(candidate.Directory, withWords(d.seeded(candidate.Run))))
	l.record.Repetition, l.record.Call, l.ends = d.repetition, number, true
	l.spec.Argv = append(append(l.spec.Argv, "sh"), c.Argv...)
	l.spec.Env = d.variables(nil)
	l.printed = new(printed)
	l.spec.Stdin = c.Stdin
	l.spec.Stdout, l.spec.Stderr = io.MultiWriter(c.Stdout, &l.printed.out), io.MultiWriter(c.Stderr, &l.printed.err)
	d.passage.mu.Lock()
	defer d.passage.mu.Unlock()
	return l, nil, d.inState(&l, func(sandbox.Result) ([]string, error) { return nil, nil })
}

// withWords puts the words of a call behind a command, or in its place where
// the contract has none.
func withWords(command string) string {
	if command == "" {
		return `exec "$@"`
	}
	return command + ` "$@"`
}

// printed is what a launch with writers of its own has printed, for its log.
type printed struct{ out, err bytes.Buffer }
