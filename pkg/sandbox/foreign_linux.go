//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"errors"
)

func isCommandError(err error) bool { return errors.Is(err, ErrCommand) }

// foreignProgram is a 32-bit program that does one thing: it exits with 77. A
// kernel that runs it takes its system call through the foreign ABI.
func foreignProgram() []byte {
	const base, header = 0x10000, 52 + 32
	le := binary.LittleEndian
	out := []byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0} // 32 bits, little endian
	half := func(v ...uint16) {
		for _, x := range v {
			out = le.AppendUint16(out, x)
		}
	}
	word := func(v ...uint32) {
		for _, x := range v {
			out = le.AppendUint32(out, x)
		}
	}
	size := uint32(header + len(foreignCode))
	half(2, foreignMachine)                       // executable
	word(1, base+header, 52, 0, 0)                // version, entry, program headers, no sections, flags
	half(52, 32, 1, 0, 0, 0)                      // sizes and counts
	word(1, 0, base, base, size, size, 5, 0x1000) // load all of it, to read and execute
	return append(out, foreignCode...)
}
