//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Unconfined has the Run of a Sandbox and none of its walls. It is for the demo
// on machines that have no sandbox, and for the demo's own candidates only: it
// ends the process group at the wall time, caps the output and gives fresh
// folders; every other limit is left out, and nothing is hidden.
type Unconfined struct{}

// NewUnconfined returns a launcher without walls.
func NewUnconfined() *Unconfined { return &Unconfined{} }

// drainTime is how long a process that left the group may hold the output.
const drainTime = 2 * time.Second

// Run launches one command. Binds and scratches are host folders: Dir, the
// command and every value of Env that equals a target or lies in one are
// rewritten. Errors are as for Sandbox.Run.
func (u *Unconfined) Run(ctx context.Context, spec Spec) (Result, error) {
	begun := time.Now()
	if err := spec.check(); err != nil {
		return Result{}, err
	}
	if spec.Calls != nil {
		return Result{}, refuse("driver", "its launches need walls", "evaluate where a sandbox can be had")
	}
	if err := sweepTemp(os.TempDir()); err != nil {
		return Result{}, err
	}
	t, err := newTemp(os.TempDir())
	if err != nil {
		return Result{}, refusef("temporary folder", err, "")
	}
	where, budgets, err := u.folders(spec, t.dir)
	if err != nil {
		return Result{}, errors.Join(err, t.remove())
	}
	r, err := u.launch(ctx, spec, where)
	if err == nil {
		err = u.collect(spec, where, budgets, &r)
	}
	err = errors.Join(err, t.remove())
	r.Total = time.Since(begun)
	return r, err
}

// folders makes the temporary folder and every scratch, and says where each
// target is on the host.
func (u *Unconfined) folders(spec Spec, dir string) (where map[string]string, budgets []int64, err error) {
	where = map[string]string{"/tmp": filepath.Join(dir, "tmp")}
	for _, b := range spec.Binds {
		if _, err := os.Stat(b.Source); err != nil {
			return nil, nil, refusef("bind "+b.Target, err, "name a file or folder that exists")
		}
		where[b.Target] = b.Source
	}
	if err := os.Mkdir(where["/tmp"], 0o700); err != nil {
		return nil, nil, refusef("temporary folder", err, "")
	}
	for i, c := range spec.Scratch {
		for target := range where {
			if within(c.Target, target) {
				return nil, nil, refuse("scratch "+c.Target, "without a sandbox it cannot lie in "+target, "give it a place of its own")
			}
		}
		host := filepath.Join(dir, fmt.Sprint(i))
		n, err := fill(host, c.Lower)
		if err != nil {
			return nil, nil, refusef("scratch "+c.Target, err, "")
		}
		where[c.Target] = host
		budgets = append(budgets, c.Bytes+n)
	}
	return where, budgets, nil
}

// fill makes a folder with a copy of what lies in lower, whose bytes it counts.
func fill(host, lower string) (int64, error) {
	if err := os.Mkdir(host, 0o700); err != nil || lower == "" {
		return 0, err
	}
	_, n, err := measure(lower, mostEntries)
	if err != nil {
		return 0, err
	}
	from, err := os.Open(lower)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	refused, err := collect(from, host, math.MaxInt64)
	if err == nil && len(refused) > 0 {
		err = errors.New(refused[0].Path + ": " + refused[0].Why)
	}
	return n, err
}

// rewrite turns a path inside into the path on the host, by the longest target.
func rewrite(where map[string]string, inside string) string {
	for _, target := range slices.Backward(slices.Sorted(maps.Keys(where))) {
		if within(inside, target) {
			return where[target] + strings.TrimPrefix(inside, target)
		}
	}
	return inside
}

func (u *Unconfined) launch(ctx context.Context, spec Spec, where map[string]string) (Result, error) {
	env := spec.environment()
	for i, e := range env {
		name, value, _ := strings.Cut(e, "=")
		env[i] = name + "=" + rewrite(where, value)
	}
	path, err := lookup(rewrite(where, spec.Argv[0]), env)
	if err != nil {
		return Result{}, commandError(spec.Argv[0], err)
	}
	dir := spec.Dir
	if dir == "" {
		dir = "/tmp"
	}
	dir = rewrite(where, dir)
	if _, err := os.Stat(dir); err != nil {
		return Result{}, refusef("working folder "+spec.Dir, err, "")
	}
	g := new(processGroup)
	g.cmd = exec.Cmd{Path: path, Args: spec.Argv, Env: env, Dir: dir, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	return g.run(ctx, spec)
}

// processGroup is a command and what it has started, as far as it stays
// together.
type processGroup struct {
	cmd     exec.Cmd
	streams streams

	mu  sync.Mutex
	why cause
}

func (g *processGroup) run(ctx context.Context, spec Spec) (Result, error) {
	outputs, err := g.start(spec)
	if err != nil {
		return Result{}, err
	}
	started := time.Now()
	wall := time.AfterFunc(spec.Limits.Wall, func() { g.kill(overWall) })
	stop := context.AfterFunc(ctx, func() { g.kill(cancelled) })
	state, err := g.cmd.Process.Wait()
	r := Result{Wall: time.Since(started)}
	wall.Stop()
	stop()
	syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	for _, f := range outputs {
		f.SetReadDeadline(time.Now().Add(drainTime))
	}
	if err := errors.Join(err, g.streams.into(&r)); err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if s := state.Sys().(syscall.WaitStatus); s.Signaled() {
		r.Signal = int(s.Signal())
	} else {
		r.Exit = s.ExitStatus()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r.judge(spec.Limits, g.why, false)
	return r, nil
}

// start makes the pipes and starts the command; it returns our ends of the two
// outputs.
func (g *processGroup) start(spec Spec) ([]*os.File, error) {
	var ours, theirs [3]*os.File
	for i := range ours {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, refusef("pipe", err, "")
		}
		if i == 0 {
			read, write = write, read
		}
		ours[i], theirs[i] = read, write
	}
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err := g.cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		for _, f := range ours {
			f.Close()
		}
		path := g.cmd.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.cmd.Dir, path)
		}
		mode, there := fs.FileMode(0), false
		if info, err := os.Stat(path); err == nil {
			mode, there = info.Mode(), true
		}
		return nil, commandError(spec.Argv[0], explainExec(mode, there, err))
	}
	g.streams.limit, g.streams.over = spec.Limits.Output, func() { g.kill(overWrite) }
	feed(ours[0], spec.Stdin)
	g.streams.copy(&g.streams.out, "standard output", spec.Stdout, ours[1])
	g.streams.copy(&g.streams.err, "standard error", spec.Stderr, ours[2])
	return ours[1:], nil
}

func (g *processGroup) kill(why cause) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why == none {
		g.why = why
	}
	syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
}

func (u *Unconfined) collect(spec Spec, where map[string]string, budgets []int64, r *Result) error {
	for i, c := range spec.Scratch {
		if c.Collect == "" {
			continue
		}
		dir, err := os.Open(where[c.Target])
		if err != nil {
			return err
		}
		refused, err := collect(dir, c.Collect, budgets[i])
		dir.Close()
		if err != nil {
			return err
		}
		r.take(c, refused)
	}
	r.settle()
	return nil
}
