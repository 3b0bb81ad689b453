//go:build amd64 || arm64

package sandbox

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	device   = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

const cloneTree = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE

// setattr is struct mount_attr of a tree that nobody else sees change.
func (l *list) setattr(attr uint64) address {
	return value(l, unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE})
}

// clone copies the mounts at and below a host path into a detached tree.
func (l *list) clone(source string, attr uint64) int {
	defer l.about("source " + source)()
	fd := l.opens(unix.SYS_OPEN_TREE, unix.AT_FDCWD, source, cloneTree)
	l.do(unix.SYS_MOUNT_SETATTR, fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, l.setattr(attr), unix.MOUNT_ATTR_SIZE_VER0)
	return fd
}

// about narrows the topic of the calls that are added until its result is
// called.
func (l *list) about(part string) func() {
	outer := l.topic
	l.topic += ", " + part
	return func() { l.topic = outer }
}

// filesystem makes a detached mount of a new file system; options are pairs,
// one with an empty value is a flag.
func (l *list) filesystem(kind string, attr int, options ...string) int {
	defer l.about(kind)()
	fd := l.opens(unix.SYS_FSOPEN, kind, unix.FSOPEN_CLOEXEC)
	for i := 0; i < len(options); i += 2 {
		key, value := options[i], options[i+1]
		if value == "" {
			l.do(unix.SYS_FSCONFIG, fd, unix.FSCONFIG_SET_FLAG, key, 0, 0)
		} else {
			l.do(unix.SYS_FSCONFIG, fd, unix.FSCONFIG_SET_STRING, key, value, 0)
		}
	}
	l.do(unix.SYS_FSCONFIG, fd, unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
	mnt := l.opens(unix.SYS_FSMOUNT, fd, unix.FSMOUNT_CLOEXEC, attr)
	l.close(fd)
	return mnt
}

// memory makes a tmpfs with a cap in bytes and inodes.
func (l *list) memory(bytes, inodes int64, attr int, options ...string) int {
	return l.filesystem("tmpfs", attr, append([]string{
		"size", strconv.FormatInt(bytes, 10), "nr_inodes", strconv.FormatInt(inodes+1, 10),
	}, options...)...)
}

// attach puts a detached tree in its place below root, and closes it.
func (l *list) attach(tree, root int, target string, folder bool) {
	defer l.about(path.Join("/", target))()
	at := l.place(root, target, folder)
	l.do(unix.SYS_MOVE_MOUNT, tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	l.close(at)
	l.close(tree)
}

// place opens target below root, making what is missing. It follows no link,
// because a part of the way may be a tree of the author.
func (l *list) place(root int, target string, folder bool) int {
	names := strings.Split(strings.Trim(target, "/"), "/")
	at := root
	for i, name := range names {
		flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if folder || i < len(names)-1 {
			flags |= unix.O_DIRECTORY
			l.may(unix.EEXIST, unix.SYS_MKDIRAT, at, name, 0o755)
		} else {
			l.may(unix.EEXIST, unix.SYS_MKNODAT, at, name, unix.S_IFREG|0o644, 0)
		}
		next := l.opens(unix.SYS_OPENAT, at, name, flags, 0)
		if at != root {
			l.close(at)
		}
		at = next
	}
	return at
}

// writeFile makes a file below root.
func (l *list) writeFile(root int, name, text string) {
	fd := l.opens(unix.SYS_OPENAT, root, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	l.do(unix.SYS_WRITE, fd, text, len(text))
	l.close(fd)
}

// freeze lays a read-only copy of a mount over itself, where it is there.
func (l *list) freeze(root int, rel string) {
	// Where this fails the number stays free, and nothing else is opened before
	// it is closed.
	l.may(unix.ENOENT, unix.SYS_OPEN_TREE, root, rel, cloneTree)
	fd := l.lowest()
	l.may(unix.EBADF, unix.SYS_MOUNT_SETATTR, fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, l.setattr(readOnly|unix.MOUNT_ATTR_NOEXEC), unix.MOUNT_ATTR_SIZE_VER0)
	l.may(unix.EBADF, unix.SYS_MOVE_MOUNT, fd, "", root, rel, unix.MOVE_MOUNT_F_EMPTY_PATH)
	l.may(unix.EBADF, unix.SYS_CLOSE, fd)
}

// kindOf tells what stands at a path below an open folder of the host, reached
// without any link.
func kindOf(root int, rel string) (folder, there bool) {
	fd, err := unix.Openat2(root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, err == nil
}
