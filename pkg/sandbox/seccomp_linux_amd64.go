package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	// foreignNumbers and above are the x32 ABI, which has the same architecture.
	foreignNumbers = 0x40000000
)

// deniedHere are the denied calls that only this architecture has.
var deniedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL}

// The 32-bit relative, for the probe: mov eax, 1; mov ebx, 77; int 0x80.
const foreignMachine = 3 // EM_386

var foreignCode = []byte{0xb8, 1, 0, 0, 0, 0xbb, 77, 0, 0, 0, 0xcd, 0x80}
