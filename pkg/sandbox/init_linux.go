//go:build amd64 || arm64

package sandbox

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// initName is the whole command line of the init. Nothing about the launch can
// be read from it.
const initName = "research-loop-sandbox-init"

// Init turns this process into the sandbox's probe or a driver's client, if it
// was started as one, and then never returns. It must be the first statement of
// main and of every TestMain whose package uses the sandbox.
func Init() {
	switch os.Args[0] {
	case probeName:
		syscall.Exit(runProbe(os.Args[1:]))
	case ClientPath:
		syscall.Exit(runClient(os.Args[1:]))
	}
}

// list is the whole life of the init of this plan. It waits for the first byte
// from the supervisor, which may have to put it into its cgroup first.
func (p *plan) list() *list {
	l := newList()
	l.topic = "descriptors"
	l.do(unix.SYS_CLOSE_RANGE, listFile+1, uint64(^uint32(0)), 0)
	l.close(listFile)
	l.do(unix.SYS_CLOSE_RANGE, control, control, unix.CLOSE_RANGE_CLOEXEC)
	one := l.room(8)
	first := l.add(call{number: unix.SYS_READ, args: [6]any{control, one, 1}})
	exec := l.bytes((&message{Kind: kindExec}).bytes())
	exit := l.bytes((&message{Kind: kindExit}).bytes())
	for _, m := range []address{exec, exit} {
		l.do(unix.SYS_CLOCK_GETTIME, unix.CLOCK_PROCESS_CPUTIME_ID, m+atBefore)
	}
	p.confine(l)
	if len(p.Argv) == 0 {
		l.topic = "message"
		l.do(unix.SYS_WRITE, control, (&message{Kind: kindReady}).bytes(), messageBytes)
	} else {
		p.command(l, exec, exit)
	}
	l.topic = "end"
	l.calls[first].zero = 1 + len(l.calls) // the supervisor is gone
	l.do(unix.SYS_EXIT_GROUP, 0)
	return l
}

// command starts the command, waits for it and, being process 1, for every
// orphan, and then for the supervisor to have read the counters: the end of the
// init is the end of its namespace.
func (p *plan) command(l *list, exec, exit address) {
	l.topic = "start of the command"
	l.stamp(exec)
	// Told before it is done: a candidate may write at once, and be killed for it
	// before this process runs again.
	l.do(unix.SYS_WRITE, control, exec, messageBytes)
	pid := l.room(8)
	fork := l.add(call{number: unix.SYS_CLONE, args: [6]any{int(unix.SIGCHLD)}, store: pid})
	for fd := range control {
		l.do(unix.SYS_CLOSE, fd) // the pipes end with the candidate
	}
	l.topic = "wait"
	l.add(call{number: unix.SYS_WAIT4, args: [6]any{-1, exit + atResult, 0, 0}, until: pid})
	l.stamp(exit)
	l.do(unix.SYS_WRITE, control, exit, messageBytes)
	nothing := l.room(8)
	l.add(call{number: unix.SYS_READ, args: [6]any{control, l.room(8), 1}, until: nothing})
	l.do(unix.SYS_EXIT_GROUP, 0)
	l.calls[fork].zero = 1 + len(l.calls)
	p.child(l)
}

// stamp puts CPU time and clock into a message.
func (l *list) stamp(m address) {
	l.do(unix.SYS_CLOCK_GETTIME, unix.CLOCK_PROCESS_CPUTIME_ID, m+atCPU)
	l.do(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, m+atClock)
}

// child is what the forked process does before it is the command. Each attempt
// that fails is told, with a look at what stands there.
func (p *plan) child(l *list) {
	l.topic = "user of the command"
	l.do(unix.SYS_SETSID)
	if p.SetUser {
		l.do(unix.SYS_SETGROUPS, 0, 0)
		l.do(unix.SYS_SETRESGID, p.UID, p.UID, p.UID)
		l.do(unix.SYS_SETRESUID, p.UID, p.UID, p.UID)
	}
	l.topic = "start of the command"
	argv, env := l.vector(p.Argv), l.vector(p.Env)
	for _, path := range p.places() {
		m := l.bytes((&message{Kind: kindCommand}).bytes())
		l.add(call{number: unix.SYS_EXECVE, args: [6]any{path, argv, env}, tolerate: everything, store: m + atResult})
		l.add(call{number: unix.SYS_STATX, args: [6]any{unix.AT_FDCWD, path, 0, unix.STATX_BASIC_STATS, m + atLook}, tolerate: everything, store: m + atCall})
		l.do(unix.SYS_WRITE, control, m, messageBytes)
	}
	l.do(unix.SYS_EXIT_GROUP, 127)
}

// places are the paths at which the command is tried, as a shell would find it
// by the PATH of its own environment.
func (p *plan) places() []string {
	name := p.Argv[0]
	if strings.Contains(name, "/") {
		return []string{name}
	}
	var out []string
	for _, d := range searchPath(p.Env) {
		out = append(out, d+"/"+name)
	}
	return out
}
