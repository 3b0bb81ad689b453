package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	// foreignNumbers: no ABI shares this architecture, no number is that high.
	foreignNumbers = 0x40000000
)

// deniedHere are the denied calls that only this architecture has.
var deniedHere []uint32

// The 32-bit relative, for the probe: mov r0, #77; mov r7, #1; svc 0.
const foreignMachine = 40 // EM_ARM

var foreignCode = []byte{0x4d, 0x00, 0xa0, 0xe3, 0x01, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef}
