package repo

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// widen makes a pipe larger. One that stays as it is is slower and no worse.
func widen(pipe io.Reader) {
	conn, ok := pipe.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
