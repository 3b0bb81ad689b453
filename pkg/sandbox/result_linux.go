//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"syscall"
)

// failure is the error of a launch that is over and proven dead, but has
// nothing to say about a candidate.
func (l *launch) failure(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.cause == cancelled:
		return ctx.Err()
	case l.fault != nil && l.fault.Phase == phaseCommand:
		return commandError(l.fault.What, errors.New(l.fault.Why))
	case l.fault != nil:
		return refuse("set-up of the sandbox, "+l.fault.What, l.fault.Why, "")
	case l.cause == stuck:
		return refuse("set-up of the sandbox", string(stuck), "")
	case len(l.plan.Argv) > 0 && l.exec == nil && l.starved > 0:
		return refuse("limit memory", "too small even for the sandbox's own init", "allow at least 16 MiB")
	case l.exec != nil && len(l.scratch) != l.order(""):
		return refuse("scratches", "their descriptors did not arrive", "raise the limit of open files")
	case len(l.plan.Argv) > 0 && l.exec == nil:
		return refuse("set-up of the sandbox", "its init ended before the command was started", "")
	}
	return nil
}

// result is what a launch tells about its candidate.
func (l *launch) result(budgets []int64) (Result, error) {
	r := Result{Usage: l.usage}
	if err := l.streams.into(&r); err != nil {
		return Result{}, err
	}
	if l.exec == nil {
		return r, nil // a plan without command
	}
	l.outcome(&r)
	for i, c := range l.spec.Scratch {
		if c.Collect == "" {
			continue
		}
		refused, err := collect(l.scratch[l.order(c.Target)], c.Collect, budgets[i])
		if err != nil {
			return Result{}, err
		}
		r.take(c, refused)
	}
	r.settle()
	return r, nil
}

// order is the place of a scratch among those that are collected; of no target,
// their number.
func (l *launch) order(target string) int {
	n := 0
	for _, m := range l.plan.Mounts {
		if m.Target == target {
			break
		}
		if m.Collect {
			n++
		}
	}
	return n
}

func (l *launch) outcome(r *Result) {
	end := l.ended
	if l.exit != nil {
		end = l.exit.Clock
		r.Exit, r.Signal = l.exit.Exit, l.exit.Signal
	} else {
		r.Signal = int(syscall.SIGKILL) // it went down with its init
	}
	r.Wall = end - l.exec.Clock
	r.judge(l.spec.Limits, l.cause, l.starved > 0)
}
