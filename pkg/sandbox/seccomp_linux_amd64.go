package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	// foreignNumbers and above are the x32 ABI, which has the same architecture.
	foreignNumbers = 0x40000000
)

// deniedHere are the denied calls that only this architecture has.
var deniedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL}
