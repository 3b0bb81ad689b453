package evaluate

import (
	"io/fs"
	"syscall"
)

// inode is what a change of a file moves beside its size and mtime.
func inode(info fs.FileInfo) []int64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return []int64{int64(s.Dev), int64(s.Ino), int64(s.Ctim.Sec), int64(s.Ctim.Nsec), int64(s.Nlink), int64(s.Uid), int64(s.Gid)}
}
