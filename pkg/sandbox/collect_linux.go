package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openPlain opens one name in dir for reading, if it is a folder or a regular
// file with one link. It cannot leave dir, follow a link, cross into another
// mount or wait for a writer.
func openPlain(dir *os.File, name string) (*os.File, fs.FileInfo, error) {
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, nil, errors.New("symbolic link")
	case errors.Is(err, unix.ENXIO):
		return nil, nil, errors.New("socket")
	case errors.Is(err, unix.EXDEV):
		return nil, nil, errors.New("another mount")
	case err != nil:
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if why := plainKind(info, uint64(info.Sys().(*syscall.Stat_t).Nlink)); why != "" {
		f.Close()
		return nil, nil, errors.New(why)
	}
	return f, info, nil
}
