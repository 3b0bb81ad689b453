//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// verdict runs the filter as the kernel would.
func verdict(t *testing.T, prog []unix.SockFilter, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data[0:], number)
	binary.LittleEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.LittleEndian.PutUint64(data[16+8*i:], a)
	}
	var acc uint32
	for pc := 0; pc < len(prog); pc++ {
		x := prog[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(x.Jt)
			} else {
				pc += int(x.Jf)
			}
		}
		switch x.Code {
		case loadWord:
			acc = binary.LittleEndian.Uint32(data[x.K:])
		case jumpEqual:
			jump(acc == x.K)
		case jumpSet:
			jump(acc&x.K != 0)
		case jumpAbove:
			jump(acc >= x.K)
		case ret:
			return x.K
		default:
			t.Fatalf("instruction %d: unknown code %#x", pc, x.Code)
		}
	}
	t.Fatal("the program has no end")
	return 0
}

const (
	eperm  = retErrno | uint32(unix.EPERM)
	enosys = retErrno | uint32(unix.ENOSYS)
	family = retErrno | uint32(unix.EAFNOSUPPORT)
)

func TestFilter(t *testing.T) {
	const high = 1 << 40
	prog := filter(false)
	for _, c := range []struct {
		name   string
		number uint32
		args   []uint64
		want   uint32
	}{
		{"read", unix.SYS_READ, nil, retAllow},
		{"execve", unix.SYS_EXECVE, nil, retAllow},
		{"mount", unix.SYS_MOUNT, nil, eperm},
		{"personality", unix.SYS_PERSONALITY, nil, eperm},
		{"open_tree_attr", unix.SYS_OPEN_TREE_ATTR, nil, eperm},
		{"clone3", unix.SYS_CLONE3, nil, enosys},
		{"io_uring", unix.SYS_IO_URING_SETUP, nil, enosys},
		{"fork", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, retAllow},
		{"thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID}, retAllow},
		{"clone with high rubbish", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | high}, eperm},
		{"ioctl", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, retAllow},
		{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, eperm},
		{"TIOCSTI with high rubbish", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI | high}, eperm},
		{"TIOCLINUX", unix.SYS_IOCTL, []uint64{0, 0x541c}, eperm},
		{"socket unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, retAllow},
		{"socket inet6", unix.SYS_SOCKET, []uint64{unix.AF_INET6}, retAllow},
		{"socket vsock", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK}, family},
		{"socket alg", unix.SYS_SOCKET, []uint64{unix.AF_ALG}, family},
		{"socket packet", unix.SYS_SOCKET, []uint64{unix.AF_PACKET | high}, family},
		{"affinity", unix.SYS_SCHED_SETAFFINITY, nil, retAllow},
		{"x32", 0x40000000 | unix.SYS_READ, nil, retKill},
		{"no number", ^uint32(0), nil, retKill},
	} {
		if got := verdict(t, prog, nativeArch, c.number, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	for _, flag := range []uint64{unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET} {
		if got := verdict(t, prog, nativeArch, unix.SYS_CLONE, flag|uint64(unix.SIGCHLD)); got != eperm {
			t.Errorf("clone with %#x: %#x", flag, got)
		}
	}
	for _, n := range slices.Concat(deniedEverywhere, deniedHere) {
		if got := verdict(t, prog, nativeArch, n); got != eperm {
			t.Errorf("call %d: %#x, want EPERM", n, got)
		}
	}
	if got := verdict(t, filter(true), nativeArch, unix.SYS_SCHED_SETAFFINITY); got != eperm {
		t.Errorf("affinity of a pinned launch: %#x", got)
	}
}

// TestFilterForeign asks every number in every other architecture: the answer
// must not depend on the number.
func TestFilterForeign(t *testing.T) {
	prog := filter(false)
	for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_RISCV64, 0, ^uint32(0)} {
		if arch == nativeArch {
			continue
		}
		for n := range uint32(600) {
			if got := verdict(t, prog, arch, n); got != retKill {
				t.Fatalf("architecture %#x, call %d: %#x", arch, n, got)
			}
		}
	}
	if len(prog) > 4096 {
		t.Errorf("%d instructions are more than the kernel takes", len(prog))
	}
}
