//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoreSignals gives every signal its default action. The kernel drops such a
// signal to process 1 when it comes from inside, so a candidate with the same
// user id cannot end or stop the init; the Go runtime's handlers would let it.
func ignoreSignals() error {
	var action [32]byte // struct sigaction: SIG_DFL, no flags, no mask
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig == uintptr(unix.SIGKILL) || sig == uintptr(unix.SIGSTOP) {
			continue
		}
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); errno != 0 {
			return errno
		}
	}
	return nil
}

// killFirst makes this tree the first that the kernel ends for want of memory.
func killFirst() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// loopback brings up the namespace's own lo; there is no other interface.
func (p *plan) loopback() error {
	if p.Network {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil // a kernel without IPv4
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// emptyKeyring joins a new session keyring; the user's own is out of reach by
// the filter.
func emptyKeyring() error {
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return nil
}

func (p *plan) rlimits() error {
	limits := []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_FSIZE, p.FileSize},
		{unix.RLIMIT_NOFILE, p.Files},
	}
	if p.Pids > 0 {
		limits = append(limits, struct {
			what  int
			value uint64
		}{unix.RLIMIT_NPROC, p.Pids})
	}
	if p.Data > 0 {
		limits = append(limits, struct {
			what  int
			value uint64
		}{unix.RLIMIT_DATA, p.Data})
	}
	for _, l := range limits {
		if err := lower(l.what, l.value, l.value); err != nil {
			return err
		}
	}
	if p.CPUSeconds == 0 {
		return nil
	}
	return lower(unix.RLIMIT_CPU, p.CPUSeconds, p.CPUSeconds+1) // SIGXCPU first, which tells what happened
}

// lower sets a limit, never above what is inherited: raising it is a privilege.
func lower(what int, soft, hard uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(what, &now); err != nil {
		return err
	}
	return unix.Setrlimit(what, &unix.Rlimit{Cur: min(soft, now.Max), Max: min(hard, now.Max)})
}

func (p *plan) affinity() error {
	if len(p.CPUs) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range p.CPUs {
		set.Set(c)
	}
	return unix.SchedSetaffinity(0, &set)
}

// dropCapabilities leaves nothing that a child of this thread could inherit or
// gain. The init keeps its own: a candidate without them may not trace it.
func dropCapabilities() error {
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last that the kernel knows
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	return unix.Capset(&header, &data[0])
}
