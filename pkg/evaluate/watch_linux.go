package evaluate

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inode is what a change of a file moves beside its size and mtime.
func inode(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d %d %d.%09d %d %d %d", s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec, s.Nlink, s.Uid, s.Gid)
}
