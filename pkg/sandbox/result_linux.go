//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// failure is the error of a launch that is over and proven dead, but has
// nothing to say about a candidate.
func (l *launch) failure(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.cause == cancelled:
		return ctx.Err()
	case len(l.tried) > 0 && len(l.tried) == len(l.plan.places()):
		return commandError(l.plan.Argv[0], l.notStarted())
	case l.fault != nil:
		return refusef("set-up of the sandbox, "+l.list.name(l.fault.Call), syscall.Errno(l.fault.Result), "")
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

// notStarted says why no attempt to start the command succeeded. A name that was
// looked for stands somewhere or nowhere; a path is told with its reason.
func (l *launch) notStarted() error {
	for i, m := range l.tried {
		errno := syscall.Errno(-m.Result)
		there, mode := m.Call == 0, fs.FileMode(m.Look.Mode&0o777)
		if m.Look.Mode&unix.S_IFMT == unix.S_IFDIR {
			mode |= fs.ModeDir
		}
		if len(l.tried) > 1 && (!there || errno == unix.EACCES) {
			continue // as a shell goes on to the next folder
		}
		why := explainExec(mode, there, errno)
		if len(l.tried) > 1 {
			why = fmt.Errorf("%s: %w", l.plan.places()[i], why)
		}
		return why
	}
	return notFound(l.plan.Env)
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
		end = span(l.exit.Clock)
		if status := syscall.WaitStatus(l.exit.Result); status.Signaled() {
			r.Signal = int(status.Signal())
		} else {
			r.Exit = status.ExitStatus()
		}
	} else {
		r.Signal = int(syscall.SIGKILL) // it went down with its init
	}
	r.Wall = end - span(l.exec.Clock)
	r.judge(l.spec.Limits, l.cause, l.starved > 0)
}
