//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The new root is assembled from detached mounts. Every source is opened while
// "/" is still the host's; then one tmpfs, the stage, is laid over a folder that
// every machine has, the root and the layers of overlays are put on it, and the
// host's tree is let go with everything else.
const (
	stagePath = "/usr"
	rootPath  = stagePath + "/root"
)

// systemFolders are shown as they are: bound, or the same symbolic link.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/libx32", "/lib64"}

var systemFiles = []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Parts of /proc that speak of the machine: the first can be written by a user
// who is root of the host, the second tell what nobody inside needs.
var (
	procReadOnly = []string{"sys", "irq", "bus", "fs"}
	procMasked   = []string{"sysrq-trigger", "kcore", "keys", "key-users", "timer_list", "cmdline"}
)

const (
	readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	device   = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// part is something that is about to appear at a path of the new root.
type part struct {
	target string
	tree   int    // a detached mount
	link   string // in place of tree: a symbolic link to this
}

// tree builds the root and enters it.
func (p *plan) tree() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	system, err := systemParts()
	if err != nil {
		return err
	}
	sources := make([]int, len(p.Mounts))
	for i, m := range p.Mounts {
		if m.Source == "" {
			continue
		}
		if sources[i], err = clone(m.Source, readOnly); err != nil {
			return err
		}
	}
	stage, root, err := newRoot()
	if err != nil {
		return err
	}
	for _, x := range system {
		if err := x.attach(root); err != nil {
			return err
		}
	}
	if err := p.base(root); err != nil {
		return err
	}
	if err := p.attachMounts(stage, root, sources); err != nil {
		return err
	}
	return enter(root)
}

func systemParts() ([]part, error) {
	var parts []part
	for _, d := range systemFolders {
		if to, err := os.Readlink(d); err == nil {
			parts = append(parts, part{target: d, link: to})
			continue
		}
		if err := addPart(&parts, d, readOnly); err != nil {
			return nil, err
		}
	}
	for _, f := range systemFiles {
		if err := addPart(&parts, f, readOnly); err != nil {
			return nil, err
		}
	}
	for _, d := range devices {
		if err := addPart(&parts, d, device); err != nil {
			return nil, err
		}
	}
	proc, err := filesystem("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	parts = append(parts, part{target: "/proc", tree: proc})
	for _, f := range procMasked {
		tree, err := clone("/dev/null", device)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{target: "/proc/" + f, tree: tree})
	}
	return parts, nil
}

// addPart adds what the machine has; /usr and the devices it must have.
func addPart(parts *[]part, source string, attr uint64) error {
	tree, err := clone(source, attr)
	if errors.Is(err, fs.ErrNotExist) && source != "/usr" && attr != device {
		return nil
	}
	if err != nil {
		return err
	}
	*parts = append(*parts, part{target: source, tree: tree})
	return nil
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

func newRoot() (stage, root int, err error) {
	if stage, err = memory(1<<20, 16384, writable, "mode", "755"); err != nil {
		return -1, -1, err
	}
	if err := unix.MoveMount(stage, "", unix.AT_FDCWD, stagePath, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, -1, fmt.Errorf("attach stage: %w", err)
	}
	if root, err = memory(1<<20, 4096, writable, "mode", "755"); err != nil {
		return -1, -1, err
	}
	return stage, root, part{target: "/root", tree: root}.attach(stage)
}

// attach puts the part in its place below root.
func (x part) attach(root int) error {
	if x.link != "" {
		return unix.Symlinkat(x.link, root, strings.TrimPrefix(x.target, "/"))
	}
	folder, err := isFolder(x.tree)
	if err != nil {
		return err
	}
	if strings.HasPrefix(x.target, "/proc/") && !exists(root, x.target[1:]) {
		return unix.Close(x.tree) // a kernel without this file
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

// exists looks for a path below root without following any link.
func exists(root int, rel string) bool {
	fd, err := unix.Openat2(root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
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

// base adds what is the same in every sandbox: /proc, /tmp, /etc and links.
func (p *plan) base(root int) error {
	for _, d := range procReadOnly {
		if err := freeze(root, "proc/"+d); err != nil {
			return err
		}
	}
	temporary, err := memory(p.Temporary, p.Inodes, writable, "mode", "1777")
	if err != nil {
		return err
	}
	if err := (part{target: "/tmp", tree: temporary}).attach(root); err != nil {
		return err
	}
	for _, l := range []part{
		{target: "dev/fd", link: "/proc/self/fd"}, {target: "dev/stdin", link: "/proc/self/fd/0"},
		{target: "dev/stdout", link: "/proc/self/fd/1"}, {target: "dev/stderr", link: "/proc/self/fd/2"},
		{target: "dev/shm", link: "/tmp"}, {target: "var", link: ""}, {target: "var/tmp", link: "/tmp"},
	} {
		if l.link == "" {
			err = unix.Mkdirat(root, l.target, 0o755)
		} else {
			err = l.attach(root)
		}
		if err != nil {
			return fmt.Errorf("make /%s: %w", l.target, err)
		}
	}
	for name, text := range map[string]string{
		"etc/passwd":        fmt.Sprintf("root:x:0:0::/:/sbin/nologin\nsandbox:x:%d:%d::/tmp:/bin/sh\n", p.UID, p.UID),
		"etc/group":         fmt.Sprintf("root:x:0:\nsandbox:x:%d:\n", p.UID),
		"etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := writeFile(root, name, text); err != nil {
			return fmt.Errorf("write /%s: %w", name, err)
		}
	}
	return nil
}

// freeze lays a read-only copy of a mount over itself.
func freeze(root int, rel string) error {
	if !exists(root, rel) {
		return nil // a kernel without it
	}
	tree, err := cloneAt(root, rel, readOnly|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	return part{target: "/" + rel, tree: tree}.attach(root)
}

// attachMounts adds binds and scratches, parents first, and sends the
// descriptors of the scratches that are to be collected.
func (p *plan) attachMounts(stage, root int, sources []int) error {
	var collect []int
	for i, m := range p.Mounts {
		tree, err := sources[i], error(nil)
		if m.Scratch || len(p.missing(i, tree)) > 0 {
			tree, err = p.layers(i, stage, tree)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Target, err)
		}
		if err := (part{target: m.Target, tree: tree}).attach(root); err != nil {
			return err
		}
		if m.Scratch && m.Source != "" {
			if err := p.own(rootPath + m.Target); err != nil {
				return err
			}
		}
		if m.Collect {
			fd, err := unix.Openat(tree, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			collect = append(collect, fd)
		}
	}
	if len(collect) > 0 {
		tell(message{Phase: phaseScratch}, collect...)
	}
	return nil
}

// missing lists the mounts that lie in bind i, as places relative to it, and
// have no place there: a bind is read-only, so none can be made in it.
func (p *plan) missing(i, tree int) []mount {
	if p.Mounts[i].Scratch {
		return nil
	}
	var out []mount
	for _, m := range p.Mounts[i+1:] {
		if rel, in := strings.CutPrefix(m.Target, p.Mounts[i].Target+"/"); in && !exists(tree, rel) {
			m.Target = rel
			out = append(out, m)
		}
	}
	return out
}

// layers makes the mount of a scratch, or of a bind that needs places for what
// lies in it: an overlay, except for a scratch that starts empty.
func (p *plan) layers(i, stage, lower int) (int, error) {
	m := p.Mounts[i]
	attr := writable
	if m.NoExec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	id := strconv.Itoa(p.UID)
	if m.Scratch && m.Source == "" {
		return memory(m.Bytes, m.Inodes, attr, "mode", "755", "uid", id, "gid", id)
	}
	dir := "/" + strconv.Itoa(i)
	if err := (part{target: dir + "/lower", tree: lower}).attach(stage); err != nil {
		return -1, err
	}
	on := stagePath + dir
	options := []string{"userxattr", ""}
	if p.Privileged {
		options = []string{"metacopy", "on"} // own changes the owner only
	}
	if !m.Scratch {
		for _, x := range p.missing(i, lower) {
			at, err := place(stage, dir+"/places/"+x.Target, !x.File)
			if err != nil {
				return -1, err
			}
			unix.Close(at)
		}
		return filesystem("overlay", readOnly, append(options[:0:0], "lowerdir", on+"/places:"+on+"/lower")...)
	}
	upper, err := memory(m.Bytes, m.Inodes+8, writable, "mode", "700")
	if err != nil {
		return -1, err
	}
	if err := (part{target: dir + "/upper", tree: upper}).attach(stage); err != nil {
		return -1, err
	}
	for _, d := range []string{"/upper/files", "/upper/work"} {
		if err := os.Mkdir(on+d, 0o755); err != nil {
			return -1, err
		}
	}
	return filesystem("overlay", attr, append(options, "lowerdir", on+"/lower", "upperdir", on+"/upper/files", "workdir", on+"/upper/work")...)
}

// own gives everything in a lower layer to the candidate, who could not write
// what belongs to the supervisor.
func (p *plan) own(dir string) error {
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			return err
		}
		if int(st.Uid) == p.UID {
			return nil
		}
		if err := unix.Lchown(name, p.UID, p.UID); err != nil {
			return fmt.Errorf("give %s to the sandboxed user: %w", path.Join("/", strings.TrimPrefix(name, rootPath)), err)
		}
		return nil
	})
}

// enter seals the root, makes it "/" and lets the host's tree go.
func enter(root int) error {
	if err := unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: readOnly}); err != nil {
		return fmt.Errorf("seal root: %w", err)
	}
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let the host's tree go: %w", err)
	}
	return unix.Chdir("/")
}
