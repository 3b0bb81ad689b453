//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	device   = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// part is something that is about to appear at a path of the new root.
type part struct {
	target string
	tree   int    // a detached mount; -1 for a link
	link   string // a symbolic link to this
}

// clone copies the mounts at and below a host path into a detached tree.
func clone(source string, attr uint64) (int, error) { return cloneAt(unix.AT_FDCWD, source, attr) }

func cloneAt(at int, source string, attr uint64) (int, error) {
	fd, err := unix.OpenTree(at, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("open_tree %s: %w", source, err)
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE})
	if err != nil {
		return -1, fmt.Errorf("mount_setattr %s: %w", source, err)
	}
	return fd, nil
}

// filesystem makes a detached mount of a new file system; options are pairs,
// one with an empty value is a flag.
func filesystem(kind string, attr int, options ...string) (int, error) {
	fd, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen %s: %w", kind, err)
	}
	defer unix.Close(fd)
	for i := 0; i < len(options); i += 2 {
		key, value := options[i], options[i+1]
		if value == "" {
			err = unix.FsconfigSetFlag(fd, key)
		} else {
			err = unix.FsconfigSetString(fd, key, value)
		}
		if err != nil {
			return -1, fmt.Errorf("%s option %s=%s: %w", kind, key, value, err)
		}
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return -1, fmt.Errorf("make %s: %w", kind, err)
	}
	mnt, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, fmt.Errorf("fsmount %s: %w", kind, err)
	}
	return mnt, nil
}

// memory makes a tmpfs with a cap in bytes and inodes.
func memory(bytes, inodes int64, attr int, options ...string) (int, error) {
	return filesystem("tmpfs", attr, append([]string{
		"size", strconv.FormatInt(bytes, 10), "nr_inodes", strconv.FormatInt(inodes+1, 10),
	}, options...)...)
}

// attach puts the part in its place below root and closes its descriptor: each
// counts against the candidate's limit as long as it is open.
func (x part) attach(root int) error {
	defer unix.Close(x.tree)
	if x.link != "" {
		return unix.Symlinkat(x.link, root, strings.TrimPrefix(x.target, "/"))
	}
	folder, err := isFolder(x.tree)
	if err != nil {
		return err
	}
	if _, there := kind(root, x.target[1:]); !there && strings.HasPrefix(x.target, "/proc/") {
		return nil // a kernel without this file
	}
	at, err := place(root, x.target, folder)
	if err != nil {
		return fmt.Errorf("make %s: %w", x.target, err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(x.tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach %s: %w", x.target, err)
	}
	return nil
}

func isFolder(fd int) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, err
}

// kind tells what stands at a path below root, reached without any link.
func kind(root int, rel string) (folder, there bool) {
	fd, err := unix.Openat2(root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	folder, err = isFolder(fd)
	return folder, err == nil
}

// place opens target below root, making what is missing. It follows no link,
// because a part of the way may be a tree of the author.
func place(root int, target string, folder bool) (int, error) {
	names := strings.Split(strings.Trim(target, "/"), "/")
	at, err := unix.Dup(root)
	if err != nil {
		return -1, err
	}
	for i, name := range names {
		next, err := step(at, name, folder || i < len(names)-1)
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

func step(at int, name string, folder bool) (int, error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if folder {
		if fd, err := unix.Openat(at, name, flags|unix.O_DIRECTORY, 0); err != unix.ENOENT {
			return fd, err
		}
		if err := unix.Mkdirat(at, name, 0o755); err != nil {
			return -1, err
		}
		return unix.Openat(at, name, flags|unix.O_DIRECTORY, 0)
	}
	if fd, err := unix.Openat(at, name, flags, 0); err != unix.ENOENT {
		return fd, err
	}
	if err := writeFile(at, name, ""); err != nil {
		return -1, err
	}
	return unix.Openat(at, name, flags, 0)
}

func writeFile(at int, name, text string) error {
	fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if text == "" {
		return nil
	}
	_, err = unix.Write(fd, []byte(text))
	return err
}

// freeze lays a read-only copy of a mount over itself.
func freeze(root int, rel string) error {
	if _, there := kind(root, rel); !there {
		return nil // a kernel without it
	}
	tree, err := cloneAt(root, rel, readOnly|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	return part{target: "/" + rel, tree: tree}.attach(root)
}
