package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	// foreignNumbers: no ABI shares this architecture, no number is that high.
	foreignNumbers = 0x40000000
)

// deniedHere are the denied calls that only this architecture has.
var deniedHere []uint32
