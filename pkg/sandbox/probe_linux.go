//go:build amd64 || arm64

package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Probe runs an embedded set of attacks in this very sandbox and reports, wall
// by wall, whether it held. The attacker is this binary; it is told where every
// bait lies. A row that did not hold means that nothing may be evaluated here.
// The error is about the probe itself.
func (s *Sandbox) Probe(ctx context.Context) ([]ProbeRow, error) {
	t, err := newTemp(os.TempDir())
	if err != nil {
		return nil, refusef("temporary folder", err, "")
	}
	defer t.remove()
	p := &probe{Sandbox: s, ctx: ctx, dir: t.dir}
	for _, step := range []func() error{p.attackAll, p.links, p.flood, p.wall, p.daemon, p.foreign, p.state, p.forks, p.memory} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.rows, nil
}

type probe struct {
	*Sandbox
	ctx  context.Context
	dir  string
	rows []ProbeRow
}

const (
	probeCap    = 1 << 20
	probeMemory = 12 << 20
	probePids   = 24
)

func (p *probe) row(name string, held bool, detail, cure string) {
	if held {
		cure = ""
	}
	p.rows = append(p.rows, ProbeRow{name, held, detail, cure})
}

// launch runs one attack with limits that are small enough to be felt.
func (p *probe) launch(spec Spec, name string, mounts ...mount) (Result, error) {
	spec.Argv = []string{probeName, name}
	if spec.Limits.Wall == 0 {
		spec.Limits.Wall = 20 * time.Second
	}
	spec.Limits.Output, spec.Limits.Temporary, spec.BestEffort = probeCap, probeCap, true
	q, budgets, err := p.plan(spec)
	if err != nil {
		return Result{}, err
	}
	// Put in here and not as a Bind: nobody protects this binary from itself.
	self, err := os.Executable()
	if err != nil {
		return Result{}, refusef("this program's own file", err, "")
	}
	q.add(append(mounts, mount{Source: self, Target: probeName, File: true})...)
	return p.run(p.ctx, spec, q, budgets)
}

// attackAll lays out the baits and runs every attack that needs no launch of
// its own.
func (p *probe) attackAll() error {
	b, done, err := p.lay()
	if err != nil {
		return err
	}
	defer done()
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	r, err := p.launch(Spec{Stdin: strings.NewReader(string(data))}, "all", mount{Source: filepath.Join(p.dir, "tree"), Target: b.Tree})
	if err != nil {
		return err
	}
	got := map[string]string{}
	if r.Outcome != Exited || r.Exit != 0 || json.Unmarshal(r.Stdout, &got) != nil {
		p.row("attacker", false, fmt.Sprintf("%s, exit %d, signal %d: %s", r.Outcome, r.Exit, r.Signal, r.Stderr), "process 1 must not fall to a signal, and the binary must be executable for everybody")
		return nil
	}
	for _, a := range attacks {
		found, tried := got[a.name]
		p.row(a.name, tried && found == "", found, a.cure)
	}
	kept, err := os.ReadFile(filepath.Join(p.dir, "tree", "kept"))
	p.row("host tree unchanged", err == nil && string(kept) == "kept", "", "every bind must be read-only")
	return nil
}

// lay makes the baits; done takes the listeners and the descriptor back.
func (p *probe) lay() (b *bait, done func(), err error) {
	b = &bait{
		Secret: rand.Text(), Abstract: "research-loop-" + rand.Text(), Socket: filepath.Join(p.dir, "socket"),
		Supervisor: os.Getpid(), Tree: "/tree", Temporary: probeCap, Namespaces: namespaces(),
		Environment: []string{"PATH", "HOME", "TMPDIR", "LANG"},
	}
	if err := os.Chmod(p.dir, 0o755); err != nil { // the walls must hold, not a mode
		return nil, nil, err
	}
	var open []int
	done = func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}
	for _, d := range []string{"tree", "other"} {
		if err := os.Mkdir(filepath.Join(p.dir, d), 0o755); err != nil {
			return nil, nil, err
		}
	}
	b.Files = []string{filepath.Join(p.dir, "secret"), filepath.Join(p.dir, "other", "secret")}
	for name, text := range map[string]string{b.Files[0]: b.Secret, b.Files[1]: b.Secret, filepath.Join(p.dir, "tree", "kept"): "kept"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, nil, err
		}
	}
	secret, err := unix.Open(b.Files[0], unix.O_RDONLY, 0) // without CLOEXEC: this is the bait
	if err != nil {
		return nil, nil, err
	}
	open = append(open, secret)
	for _, address := range []unix.Sockaddr{&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, &unix.SockaddrUnix{Name: "@" + b.Abstract}, &unix.SockaddrUnix{Name: b.Socket}} {
		fd, port, err := listen(address)
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("lay a bait: %w", err)
		}
		open, b.Port = append(open, fd), max(b.Port, port)
	}
	return b, done, nil
}

func listen(address unix.Sockaddr) (fd, port int, err error) {
	family := unix.AF_UNIX
	if _, ok := address.(*unix.SockaddrInet4); ok {
		family = unix.AF_INET
	}
	if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, 0, err
	}
	if err = unix.Bind(fd, address); err == nil {
		err = unix.Listen(fd, 8)
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	if name, err := unix.Getsockname(fd); err == nil {
		if in, ok := name.(*unix.SockaddrInet4); ok {
			port = in.Port
		}
	}
	return fd, port, nil
}

// links checks that only plain files leave a scratch.
func (p *probe) links() error {
	to := filepath.Join(p.dir, "collected")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	r, err := p.launch(Spec{Scratch: []Scratch{{Target: "/scratch", Bytes: probeCap, Collect: to}}}, "links")
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	held := r.Outcome == Unreadable && slices.Equal(names, []string{"good"})
	p.row("output links", held, "collected "+strings.Join(names, " "), "collection must open beneath the scratch and follow nothing")
	return nil
}

func (p *probe) flood() error {
	r, err := p.launch(Spec{}, "flood")
	if err != nil {
		return err
	}
	p.row("output cap", r.Outcome == OutputLimit && len(r.Stdout) <= probeCap, string(r.Outcome), "output must be cut by the supervisor")
	return nil
}

func (p *probe) wall() error {
	r, err := p.launch(Spec{Limits: Limits{Wall: 200 * time.Millisecond}}, "linger")
	if err != nil {
		return err
	}
	p.row("wall time", r.Outcome == TimedOut, string(r.Outcome), "the wall timer must kill process 1")
	return nil
}

// daemon checks on the host that a process left behind is gone: a token in its
// environment tells it from every other.
func (p *probe) daemon() error {
	token := "TOKEN=" + rand.Text()
	r, err := p.launch(Spec{Env: []string{token}}, "daemon")
	if err != nil {
		return err
	}
	alive := ""
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), token) {
			alive = f
		}
	}
	p.row("survivors", r.Outcome == Exited && r.Exit == 0 && alive == "", alive, "process 1 must be reaped before a launch counts as over")
	return nil
}

// foreign checks that a system call through another ABI is deadly.
func (p *probe) foreign() error {
	r, err := p.launch(Spec{}, "x32")
	if err != nil {
		return err
	}
	held := r.Outcome == Signalled && r.Signal == int(syscall.SIGSYS)
	p.row("foreign call numbers", held, fmt.Sprintf("%s %d", r.Outcome, max(r.Exit, r.Signal)), "the filter must kill numbers of another ABI")
	file := filepath.Join(p.dir, "foreign")
	if err := os.WriteFile(file, foreignProgram(), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(file, 0o755); err != nil { // whatever the umask
		return err
	}
	q, _, err := p.plan(Spec{Argv: []string{"/foreign"}, Limits: Limits{Wall: 20 * time.Second, Output: probeCap, Temporary: probeCap}})
	if err != nil {
		return err
	}
	q.Mounts = []mount{{Source: file, Target: "/foreign", File: true}}
	r, err = p.run(p.ctx, Spec{Argv: q.Argv, Limits: Limits{Wall: 20 * time.Second, Output: probeCap, Temporary: probeCap}}, q, nil)
	switch {
	case isCommandError(err):
		p.row("foreign architecture", true, "the kernel runs no 32-bit programs", "")
	case err != nil:
		return err
	default:
		p.row("foreign architecture", r.Outcome == Signalled && r.Exit != 77, fmt.Sprintf("%s %d", r.Outcome, max(r.Exit, r.Signal)), "the filter must ask for the architecture first")
	}
	return nil
}

// state checks that nothing passes from one launch to the next.
func (p *probe) state() error {
	scratch := []Scratch{{Target: "/scratch", Bytes: probeCap}}
	if _, err := p.launch(Spec{Scratch: scratch}, "leave"); err != nil {
		return err
	}
	r, err := p.launch(Spec{Scratch: scratch}, "find")
	if err != nil {
		return err
	}
	p.row("state between launches", r.Outcome == Exited && r.Exit == 0, "", "every launch must have its own namespaces and tmpfs")
	return nil
}

func (p *probe) forks() error {
	r, err := p.launch(Spec{Limits: Limits{Pids: probePids}}, "fork")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	held := err != nil && r.Outcome != Exited || err == nil && n <= probePids+initTasks
	p.row("process limit", held, fmt.Sprintf("%d processes", n), "the pids controller or RLIMIT_NPROC must hold")
	return nil
}

func (p *probe) memory() error {
	if !p.cgroups.has("memory") {
		return nil // not claimed
	}
	r, err := p.launch(Spec{Limits: Limits{Memory: probeMemory}}, "memory")
	if err != nil {
		return err
	}
	p.row("memory limit", r.Outcome == OutOfMemory && !strings.Contains(string(r.Stdout), "held"), string(r.Outcome), "the memory controller must hold")
	return nil
}
