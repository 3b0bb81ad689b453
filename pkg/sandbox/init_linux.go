//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// initName is the whole command line of the init. Nothing about the launch can
// be read from it.
const initName = "research-loop-sandbox-init"

// control is the init's only descriptor besides the standard streams: a socket
// that brings the plan, takes scratch descriptors and messages back.
const control = 3

// message is what the init tells the supervisor, one JSON object a line.
type message struct {
	Phase        phase
	Clock        time.Duration `json:",omitempty"` // monotonic
	CPU          time.Duration `json:",omitempty"` // the init's own, from the plan to this message
	Before       time.Duration `json:",omitempty"` // the init's own, before the plan came
	Exit, Signal int           `json:",omitempty"`
	What, Why    string        `json:",omitempty"`
}

type phase string

const (
	phaseScratch phase = "scratch" // with one descriptor for each scratch to collect
	phaseReady   phase = "ready"   // a plan without command stands
	phaseExec    phase = "exec"    // the command is about to be started
	phaseExit    phase = "exit"
	phaseFault   phase = "fault"   // the sandbox could not be set up
	phaseCommand phase = "command" // the command could not be started in it
)

// Init turns this process into the sandbox's init, probe or client, if it was
// started as one, and then never returns. It must be the first statement of main and of
// every TestMain whose package uses the sandbox.
func Init() {
	switch os.Args[0] {
	case initName:
		syscall.Exit(runInit())
	case probeName:
		syscall.Exit(runProbe(os.Args[1:]))
	case ClientPath:
		syscall.Exit(runClient(os.Args[1:]))
	}
}

// runInit is the whole life of process 1; the number is its exit status.
func runInit() int {
	runtime.LockOSThread() // what is given up below is a thread's
	runtime.GOMAXPROCS(1)  // for this and the next see reap
	debug.SetGCPercent(-1)
	before := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	if err := unix.CloseRange(control, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return tell(message{Phase: phaseFault, What: "descriptors", Why: err.Error()})
	}
	p, err := readPlan()
	if err != nil {
		return tell(message{Phase: phaseFault, What: "plan", Why: err.Error()})
	}
	start := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	if what, err := p.confine(); err != nil {
		return tell(message{Phase: phaseFault, What: what, Why: err.Error()})
	}
	if len(p.Argv) == 0 {
		tell(message{Phase: phaseReady})
		return 0
	}
	// Told before it is done: a candidate may write at once, and be killed for it
	// before this process runs again.
	tell(message{Phase: phaseExec, Before: before, CPU: clock(unix.CLOCK_PROCESS_CPUTIME_ID) - start, Clock: monotonic()})
	pid, err := p.start()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) { // says nothing of the command
		return tell(message{Phase: phaseFault, What: "start of the command", Why: err.Error()})
	}
	if err != nil {
		return tell(message{Phase: phaseCommand, What: p.Argv[0], Why: err.Error()})
	}
	for i := range control {
		unix.Close(i) // the pipes end with the candidate
	}
	reap(pid, start)
	return 0
}

// confine makes the walls, in an order in which each step still has the rights
// that it needs.
func (p *plan) confine() (what string, err error) {
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"signals", ignoreSignals},
		{"memory priority", killFirst},
		{"trace protection", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"cgroup namespace", func() error { return unix.Unshare(unix.CLONE_NEWCGROUP) }},
		{"host name", func() error { return unix.Sethostname([]byte("sandbox")) }},
		{"file tree", p.tree},
		{"loopback", p.loopback},
		{"session keyring", emptyKeyring},
		{"working folder " + p.Dir, func() error { return unix.Chdir(p.dir()) }},
		{"limits", p.rlimits},
		{"processors", p.affinity},
		{"capabilities", dropCapabilities},
		{"new privileges", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"system call filter", func() error { return installFilter(len(p.CPUs) > 0) }},
	} {
		if err := step.do(); err != nil {
			return step.what, err
		}
	}
	return "", nil
}

func (p *plan) dir() string {
	if p.Dir == "" {
		return "/"
	}
	return p.Dir
}

// start forks and execs the candidate. It returns once the exec has succeeded.
func (p *plan) start() (int, error) {
	path, err := lookup(p.Argv[0], p.Env)
	if err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if p.SetUser {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.UID)}
	}
	pid, err := syscall.ForkExec(path, p.Argv, attr)
	if err != nil {
		return 0, explainExec(path, err)
	}
	return pid, nil
}

// reap waits for the candidate, as process 1 also for every orphan, stamps its
// exit, waits until the supervisor has read the counters, and returns. Returning
// ends process 1 and with it the namespace. start is the init's own CPU time when
// the plan came.
//
// The wait is a raw system call: the Go scheduler must not want another thread
// while the candidate may have used up the process limit. So this thread keeps
// its processor to the end, and nothing may want to stop it: the collector is
// off, the number of processors is fixed, the signal that preempts is ignored.
func reap(candidate int, start time.Duration) {
	var status syscall.WaitStatus
	for {
		pid, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&status)), 0, 0, 0, 0)
		if errno == unix.EINTR || errno == 0 && int(pid) != candidate {
			continue
		}
		m := message{Phase: phaseExit, Clock: monotonic(), CPU: clock(unix.CLOCK_PROCESS_CPUTIME_ID) - start}
		switch {
		case errno != 0:
			m = message{Phase: phaseFault, What: "wait", Why: errno.Error()}
		case status.Signaled():
			m.Signal = int(status.Signal())
		default:
			m.Exit = status.ExitStatus()
		}
		tell(m)
		awaitRelease()
		return
	}
}

// awaitRelease reads to the end of what the supervisor has to say.
func awaitRelease() {
	var b [1]byte
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, control, uintptr(unsafe.Pointer(&b)), 1)
		if errno != unix.EINTR && (errno != 0 || n == 0) {
			return
		}
	}
}

// readPlan reads one line of JSON.
func readPlan() (*plan, error) {
	var data []byte
	buf := make([]byte, 32<<10)
	for !bytes.HasSuffix(data, []byte("\n")) {
		n, err := unix.Read(control, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		data = append(data, buf[:n]...)
	}
	p := new(plan)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, err
	}
	return p, nil
}

// tell sends one message; the number is the exit status of an init that has
// nothing more to say. A supervisor that is gone cannot be told anything.
func tell(m message, descriptors ...int) int {
	line, err := json.Marshal(m)
	if err != nil {
		return 125
	}
	line = append(line, '\n')
	if len(descriptors) > 0 {
		unix.Sendmsg(control, line, unix.UnixRights(descriptors...), nil, 0)
		return 125
	}
	for len(line) > 0 {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, control, uintptr(unsafe.Pointer(&line[0])), uintptr(len(line)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			break
		}
		line = line[n:]
	}
	return 125
}
