//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter is a list of what is denied: it takes away the system calls that
// reach for the walls or for parts of the kernel that no program here needs.
// The walls themselves are the namespaces, the mounts and the user id.
//
// Its first question is for the architecture. A number means another call in a
// foreign ABI (int 0x80, x32), so whoever asks through one is killed; a list of
// numbers without that question stops nobody.

// deniedEverywhere answer EPERM.
var deniedEverywhere = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_VHANGUP, unix.SYS_PERSONALITY,
}

// absent answer ENOSYS, as an older kernel would: the C library then uses
// clone, whose flags the filter can read, and plain reads and writes.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// families are the address families that socket may ask for.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// typing are the terminal requests that put words into somebody's mouth.
var typing = []uint32{unix.TIOCSTI, 0x541c /* TIOCLINUX */}

const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Offsets in struct seccomp_data. Arguments are compared by their low halves,
// which is all that the kernel looks at for these; a test of all 64 bits could
// be passed by with rubbish in the high half.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg0   = 16
	offsetArg1   = 24
)

const (
	retKill   = 0x80000000
	retErrno  = 0x00050000
	retAllow  = 0x7fff0000
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpSet   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	jumpAbove = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ret       = unix.BPF_RET | unix.BPF_K
)

// filter builds the program; frozen also denies a change of processors.
func filter(frozen bool) []unix.SockFilter {
	prog := []unix.SockFilter{
		{Code: loadWord, K: offsetArch},
		{Code: jumpEqual, K: nativeArch, Jt: 1},
		{Code: ret, K: retKill},
		{Code: loadWord, K: offsetNumber},
		{Code: jumpAbove, K: foreignNumbers, Jf: 1},
		{Code: ret, K: retKill},
	}
	answer := func(errno, number uint32) {
		prog = append(prog,
			unix.SockFilter{Code: jumpEqual, K: number, Jf: 1},
			unix.SockFilter{Code: ret, K: retErrno | errno})
	}
	for _, n := range deniedEverywhere {
		answer(uint32(unix.EPERM), n)
	}
	for _, n := range deniedHere {
		answer(uint32(unix.EPERM), n)
	}
	for _, n := range absent {
		answer(uint32(unix.ENOSYS), n)
	}
	if frozen {
		answer(uint32(unix.EPERM), unix.SYS_SCHED_SETAFFINITY)
	}
	prog = append(prog, byArgument(unix.SYS_CLONE, offsetArg0, jumpSet, []uint32{newNamespace}, unix.EPERM, false)...)
	prog = append(prog, byArgument(unix.SYS_IOCTL, offsetArg1, jumpEqual, typing, unix.EPERM, false)...)
	prog = append(prog, byArgument(unix.SYS_SOCKET, offsetArg0, jumpEqual, families, unix.EAFNOSUPPORT, true)...)
	return append(prog, unix.SockFilter{Code: ret, K: retAllow})
}

// byArgument judges one call by one argument and always ends with an answer:
// a value that matches is denied, or, where allow is set, allowed.
func byArgument(number, offset uint32, test uint16, values []uint32, errno unix.Errno, allow bool) []unix.SockFilter {
	match, other := unix.SockFilter{Code: ret, K: retErrno | uint32(errno)}, unix.SockFilter{Code: ret, K: retAllow}
	if allow {
		match, other = other, match
	}
	block := []unix.SockFilter{{Code: loadWord, K: offset}}
	for i, v := range values {
		block = append(block, unix.SockFilter{Code: test, K: v, Jt: uint8(len(values) - i)})
	}
	block = append(block, other, match)
	return append([]unix.SockFilter{{Code: jumpEqual, K: number, Jf: uint8(len(block))}}, block...)
}

// installFilter puts the filter on the init and all that it will start.
func installFilter(l *list, frozen bool) {
	prog := filter(frozen)
	instructions := l.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&prog[0])), len(prog)*int(unsafe.Sizeof(prog[0]))))
	program := value(l, struct {
		length uint64 // of which the kernel reads 16 bits
		filter uint64
	}{length: uint64(len(prog))})
	l.point(program+8, instructions)
	l.do(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, program)
}
