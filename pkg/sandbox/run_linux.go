//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run launches one command and returns when every process of it is proven dead.
// A candidate's failure is a Result. The error is a *SetupError (nothing was
// measured; ErrCommand in its chain where only the command could not be
// started), an *IntegrityError (stop the run), ctx's error (with a Result where
// the command ran), or an error of the host's disk or of the Spec's writers.
func (s *Sandbox) Run(ctx context.Context, spec Spec) (Result, error) {
	p, budgets, err := s.plan(spec)
	if err != nil {
		return Result{}, err
	}
	if spec.Calls != nil {
		return s.runDriver(ctx, spec, p, budgets)
	}
	return s.run(ctx, spec, p, budgets)
}

func (s *Sandbox) run(ctx context.Context, spec Spec, p *plan, budgets []int64) (Result, error) {
	begun := monotonic()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	place, err := s.slots.take()
	if err != nil {
		return Result{}, err
	}
	p.CPUs = s.pin(spec.Limits.CPUs, place.number)
	l := &launch{Sandbox: s, spec: spec, plan: p, slot: place, dead: make(chan struct{}), executed: make(chan struct{}), killed: make(chan struct{})}
	err = l.live(ctx)
	var integrity *IntegrityError
	if errors.As(err, &integrity) {
		return Result{}, err // the slot is not given back: something may still live in it
	}
	s.slots.give(place)
	var r Result
	switch {
	case err == nil:
		r, err = l.result(budgets)
	case l.cause == cancelled && l.exec != nil:
		l.outcome(&r)
		r.Usage, r.Outcome = l.usage, Cancelled
		err = errors.Join(err, l.streams.into(&r))
	}
	for _, f := range l.scratch {
		f.Close()
	}
	r.Total = monotonic() - begun
	return r, err
}

// launch is one run of one plan.
type launch struct {
	*Sandbox
	spec     Spec
	plan     *plan
	list     *list
	slot     slot
	group    *group
	starved  int64 // processes that the kernel killed for want of memory
	usage    Usage
	process  *os.Process
	streams  streams
	dead     chan struct{} // closed when process 1 has been reaped, at ended
	ended    time.Duration
	executed chan struct{} // closed by the exec stamp
	killed   chan struct{} // closed with the cause

	mu      sync.Mutex
	cause   cause
	scratch []*os.File // folders, in the order of the plan's mounts to collect
	exec    *message
	exit    *message
	fault   *message
	tried   []message // of each attempt to start the command that failed
}

// live takes the launch from its cgroup to the proof that nothing is left.
func (l *launch) live(ctx context.Context) error {
	group, err := l.cgroups.create(l.spec.Limits)
	if err != nil {
		return err
	}
	l.group = group
	talk, err := l.start()
	if err != nil {
		return errors.Join(err, l.group.remove())
	}
	heard := make(chan struct{})
	go func() { defer close(heard); l.listen(talk) }()
	unsent := l.send(talk)
	if unsent != nil {
		l.kill(broken)
	}
	if err := l.watch(ctx); err != nil {
		return err
	}
	<-heard
	talk.Close()
	if l.starved, err = l.group.killed(); err != nil {
		return errors.Join(refusef("cgroup", err, ""), l.group.remove())
	}
	if l.usage.CPU == nil { // the init did not live to tell of an exit
		l.usage.CPU = l.cpu()
	}
	l.group.usage(&l.usage)
	if err := l.group.remove(); err != nil {
		return err
	}
	if unsent != nil {
		return refusef("cgroup", unsent, "")
	}
	return l.failure(ctx)
}

// start makes pipes and socket and starts the init.
func (l *launch) start() (talk *os.File, err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	var ours [3]*os.File
	for i := range ours {
		read, write, err := pipe(i == 0)
		if err != nil {
			return nil, refusef("pipe", err, "")
		}
		mine, other := read, write
		if i == 0 {
			mine, other = write, read
		}
		ours[i], theirs = mine, append(theirs, other)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, refusef("socket", err, "")
	}
	theirs = append(theirs, os.NewFile(uintptr(pair[1]), "control"))
	unix.SetNonblock(pair[0], true)
	talk = os.NewFile(uintptr(pair[0]), "control")
	if err = l.launchInit(&theirs); err != nil {
		for _, f := range append(ours[:], talk) {
			f.Close()
		}
		return nil, err
	}
	l.streams.limit, l.streams.over = l.spec.Limits.Output, func() { l.kill(overWrite) }
	feed(ours[0], l.spec.Stdin)
	l.streams.copy(&l.streams.out, "standard output", l.spec.Stdout, ours[1])
	l.streams.copy(&l.streams.err, "standard error", l.spec.Stderr, ours[2])
	return talk, nil
}

// launchInit writes the list of calls and starts the init with it as its last
// descriptor.
func (l *launch) launchInit(files *[]*os.File) error {
	attr := l.attributes() // tells the plan who the candidate is
	l.list = l.plan.list()
	image, err := l.list.image()
	if err != nil {
		return refusef("plan of the launch", err, "give it fewer files in lower layers")
	}
	plan, err := memoryFile(initName, image, unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return refusef("plan of the launch", err, "")
	}
	*files = append(*files, plan)
	started := make(chan error)
	go l.keep(*files, attr, started)
	return <-started
}

// pipe makes a pipe whose far end blocks, as a program expects of its stdio.
func pipe(weWrite bool) (read, write *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	mine := fd[0]
	if weWrite {
		mine = fd[1]
	}
	if err := unix.SetNonblock(mine, true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd[0]), "pipe"), os.NewFile(uintptr(fd[1]), "pipe"), nil
}

// keep starts the init and waits for its end on one thread: the init dies with
// the thread that started it, so that thread must live as long as the init.
func (l *launch) keep(files []*os.File, attr *syscall.SysProcAttr, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := l.startInit(files, attr)
	if err != nil {
		started <- refusef("start of the sandbox", err, hint())
		return
	}
	l.process = p
	started <- nil
	if _, err := p.Wait(); err != nil {
		return // never dead: awaitDeath reports it
	}
	l.ended = monotonic()
	close(l.dead)
}

// startInit starts the init's program by a descriptor of its own. A new process
// moves its files about before it becomes that program, and takes the numbers
// that follow the highest of them for that: the program's lies beyond those.
func (l *launch) startInit(files []*os.File, attr *syscall.SysProcAttr) (*os.Process, error) {
	highest := 0
	for _, f := range files {
		highest = max(highest, int(f.Fd()))
	}
	fd, err := unix.FcntlInt(l.program.Fd(), unix.F_DUPFD_CLOEXEC, highest+len(files)+8)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	program := fmt.Sprintf("/proc/self/fd/%d", fd)
	return os.StartProcess(program, []string{initName}, &os.ProcAttr{Env: []string{}, Files: files, Sys: attr})
}

// attributes are the namespaces and ids of the init. It also tells the plan.
func (l *launch) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	if !l.plan.Network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if l.group != nil && l.group.dir != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(l.group.dir.Fd())
	}
	l.plan.UID, l.plan.SetUser = l.slot.uid(), l.slots.own
	if l.mode == Root {
		return a
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	if l.slots.own { // run by root: the init is root of its namespace, the candidate another id
		own := syscall.SysProcIDMap{ContainerID: l.plan.UID, HostID: l.plan.UID, Size: 1}
		a.UidMappings = []syscall.SysProcIDMap{{Size: 1}, own}
		a.GidMappings, a.GidMappingsEnableSetgroups = a.UidMappings, true
		return a
	}
	l.plan.UID = firstUID
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: firstUID, HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: firstUID, HostID: os.Getegid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE} // the last for the work folder of an overlay
	return a
}

// send moves the init into its cgroup, if it was not born there, and only then
// lets it begin.
func (l *launch) send(talk *os.File) error {
	if err := l.group.add(l.process.Pid); err != nil {
		return err
	}
	_, err := talk.Write([]byte{0})
	return err
}

// kill ends process 1, and with it every process of its namespace.
func (l *launch) kill(why cause) {
	l.mu.Lock()
	if l.cause == none {
		l.cause = why
		close(l.killed)
	}
	l.mu.Unlock()
	l.process.Kill() // an error means that it is dead already
}

// watch waits for the end and brings it about where a limit is passed.
func (l *launch) watch(ctx context.Context) error {
	limit, why, executed := time.NewTimer(setupTime), stuck, l.executed
	defer limit.Stop()
	var tick <-chan time.Time
	if cpu := l.spec.Limits.CPU; cpu > 0 {
		t := time.NewTicker(max(10*time.Millisecond, min(cpu/20, 200*time.Millisecond)))
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-l.dead:
			return nil
		case <-l.killed:
			return l.awaitDeath()
		case <-ctx.Done():
			l.kill(cancelled)
		case <-limit.C:
			l.kill(why)
		case <-executed:
			executed, why = nil, overWall
			limit.Reset(l.spec.Limits.Wall)
		case <-tick:
			// Before the exec stamp there is nothing to take off the init's part.
			if used := l.cpu(); executed == nil && used != nil && *used > l.spec.Limits.CPU {
				l.kill(overCPU)
			}
		}
	}
}

func (l *launch) awaitDeath() error {
	grace := time.NewTimer(setupTime)
	defer grace.Stop()
	select {
	case <-l.dead:
		return nil
	case <-grace.C:
		return &IntegrityError{What: "process 1 of a sandbox", Why: fmt.Sprintf("killed, but not gone after %v", setupTime)}
	}
}

// cpu is what the candidate used up to now: the group's CPU time without the
// init's own, as far as that is known.
func (l *launch) cpu() *time.Duration {
	used, ok := l.group.cpu()
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.exit
	if last == nil {
		last = l.exec
	}
	if last != nil {
		used -= span(last.CPU)
		if l.group.version != 2 { // it came into the group when the plan began
			used += span(last.Before)
		}
	}
	used = max(used, 0)
	return &used
}

func span(t unix.Timespec) time.Duration { return time.Duration(t.Nano()) }

// listen takes the init's messages until its end of the socket is closed.
func (l *launch) listen(talk *os.File) {
	raw, err := talk.SyscallConn()
	if err != nil {
		return
	}
	var text []byte
	var descriptors []int
	for {
		data, got := receive(raw)
		descriptors = append(descriptors, got...)
		if len(data) == 0 {
			return
		}
		for text = append(text, data...); len(text) >= messageBytes; text = text[messageBytes:] {
			m := readMessage(text)
			l.note(m, descriptors)
			if m.Kind == kindExit {
				l.release(raw)
			}
		}
	}
}

// release reads the CPU time while the init is still there and idle, and then
// lets it end: what the kernel spends on the end of a namespace is not the
// candidate's.
func (l *launch) release(raw syscall.RawConn) {
	l.usage.CPU = l.cpu()
	raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
}

func receive(raw syscall.RawConn) (data []byte, descriptors []int) {
	buf, oob := make([]byte, 16<<10), make([]byte, unix.CmsgSpace(4*maxCollect))
	raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, err := unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EAGAIN || err == unix.EINTR {
			return false
		}
		if err != nil {
			return true
		}
		data = buf[:n]
		messages, _ := unix.ParseSocketControlMessage(oob[:oobn])
		for _, m := range messages {
			fds, _ := unix.ParseUnixRights(&m)
			descriptors = append(descriptors, fds...)
		}
		return true
	})
	return data, descriptors
}

func (l *launch) note(m message, descriptors []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.Kind {
	case kindScratch:
		for _, fd := range descriptors {
			l.scratch = append(l.scratch, os.NewFile(uintptr(fd), "scratch"))
		}
	case kindExec:
		l.exec = &m
		close(l.executed)
	case kindExit:
		l.exit = &m
	case kindCommand:
		l.tried = append(l.tried, m)
	case kindFault:
		if l.fault == nil {
			l.fault = &m
		}
	}
}
