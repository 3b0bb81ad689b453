//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine makes the walls, in an order in which each step still has the rights
// that it needs.
func (p *plan) confine(l *list) {
	for _, step := range []struct {
		topic string
		add   func(*list)
	}{
		{"signals", defaultSignals},
		{"memory priority", killFirst},
		{"trace protection", func(l *list) { l.do(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"cgroup namespace", func(l *list) { l.do(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP) }},
		{"host name", func(l *list) { l.do(unix.SYS_SETHOSTNAME, "sandbox", len("sandbox")) }},
		{"file tree", p.tree},
		{"loopback", p.loopback},
		{"session keyring", func(l *list) { l.may(unix.ENOSYS, unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0) }},
		{"working folder " + p.dir(), func(l *list) { l.do(unix.SYS_CHDIR, p.dir()) }},
		{"limits", p.rlimits},
		{"processors", p.affinity},
		{"capabilities", dropCapabilities},
		{"new privileges", func(l *list) { l.do(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"system call filter", func(l *list) { installFilter(l, len(p.CPUs) > 0) }},
	} {
		l.topic = step.topic
		step.add(l)
	}
}

func (p *plan) dir() string {
	if p.Dir == "" {
		return "/"
	}
	return p.Dir
}

// defaultSignals gives every signal its default action, whatever the supervisor
// ignores. The kernel drops such a signal to process 1 when it comes from
// inside, so a candidate with the same user id cannot end or stop the init.
func defaultSignals(l *list) {
	action := l.room(32) // struct sigaction: SIG_DFL, no flags, no mask
	for sig := 1; sig <= 64; sig++ {
		if sig != int(unix.SIGKILL) && sig != int(unix.SIGSTOP) {
			l.do(unix.SYS_RT_SIGACTION, sig, action, 0, 8)
		}
	}
	l.do(unix.SYS_UMASK, 0o022)
}

// killFirst makes this tree the first that the kernel ends for want of memory.
func killFirst(l *list) {
	fd := l.opens(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/self/oom_score_adj", unix.O_WRONLY)
	l.do(unix.SYS_WRITE, fd, "1000", 4)
	l.close(fd)
}

// loopback brings up the namespace's own lo; there is no other interface.
func (p *plan) loopback(l *list) {
	if p.Network || !p.Loopback {
		return
	}
	fd := l.opens(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, 0)
	request := l.room(40) // struct ifreq
	copy(l.data[request-1:], "lo")
	l.data[request-1+16] = unix.IFF_UP | unix.IFF_RUNNING
	l.do(unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, request)
	l.close(fd)
}

// hasIPv4 says whether there is a loopback to bring up.
func hasIPv4() bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

func (p *plan) rlimits(l *list) {
	p.lower(l, unix.RLIMIT_CORE, 0, 0)
	p.lower(l, unix.RLIMIT_MSGQUEUE, 0, 0)
	p.lower(l, unix.RLIMIT_FSIZE, p.FileSize, p.FileSize)
	p.lower(l, unix.RLIMIT_NOFILE, p.Files, p.Files)
	if p.Pids > 0 {
		p.lower(l, unix.RLIMIT_NPROC, p.Pids, p.Pids)
	}
	if p.Data > 0 {
		p.lower(l, unix.RLIMIT_DATA, p.Data, p.Data)
	}
	if p.CPUSeconds > 0 {
		p.lower(l, unix.RLIMIT_CPU, p.CPUSeconds, p.CPUSeconds+1) // SIGXCPU first, which tells what happened
	}
}

// lower sets a limit, never above what the init inherits from this process:
// raising it is a privilege.
func (p *plan) lower(l *list, what int, soft, hard uint64) {
	now := unix.Rlimit{Max: unix.RLIM_INFINITY}
	unix.Getrlimit(what, &now) // what cannot be read will not be set either
	l.do(unix.SYS_PRLIMIT64, 0, what, value(l, unix.Rlimit{Cur: min(soft, now.Max), Max: min(hard, now.Max)}), 0)
}

func (p *plan) affinity(l *list) {
	if len(p.CPUs) == 0 {
		return
	}
	var set unix.CPUSet
	for _, c := range p.CPUs {
		set.Set(c)
	}
	l.do(unix.SYS_SCHED_SETAFFINITY, 0, int(unsafe.Sizeof(set)), value(l, set))
}

// dropCapabilities leaves nothing that a child of this process could inherit or
// gain. The init keeps its own: a candidate without them may not trace it.
func dropCapabilities(l *list) {
	for c := range 64 {
		l.may(unix.EINVAL, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0) // past the last that the kernel knows
	}
	l.do(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := value(l, unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3})
	data := l.room(int(2 * unsafe.Sizeof(unix.CapUserData{})))
	l.do(unix.SYS_CAPGET, header, data)
	// A list cannot clear a word, but this call writes one: the init has no
	// orphans but those of its namespace to care for, so the answer is 0.
	for _, inheritable := range []address{8, 20} {
		l.do(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, data+inheritable, 0, 0, 0)
	}
	l.do(unix.SYS_CAPSET, header, data)
}
