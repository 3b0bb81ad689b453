//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
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

// networkFiles say how names and certificates are looked up.
var networkFiles = []string{"/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted"}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Parts of /proc that speak of the machine: the first can be written by a user
// who is root of the host, the second tell what nobody inside needs.
var (
	procReadOnly = []string{"sys", "irq", "bus", "fs"}
	procMasked   = []string{"sysrq-trigger", "kcore", "keys", "key-users", "timer_list", "cmdline"}
)

// tree builds the root and enters it.
func (p *plan) tree() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	system, err := p.systemParts()
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
	defer unix.Close(stage)
	defer unix.Close(root)
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

func (p *plan) systemParts() ([]part, error) {
	var parts []part
	for _, d := range systemFolders {
		if to, err := os.Readlink(d); err == nil {
			parts = append(parts, part{target: d, tree: -1, link: to})
			continue
		}
		if err := addPart(&parts, d, readOnly); err != nil {
			return nil, err
		}
	}
	files := systemFiles
	if p.Network {
		files = append(slices.Clone(files), networkFiles...)
	}
	for _, f := range files {
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
	again, err := unix.Dup(root)
	if err != nil {
		return -1, -1, err
	}
	return stage, root, part{target: "/root", tree: again}.attach(stage)
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
	for _, d := range []string{"var", "etc"} {
		if err := unix.Mkdirat(root, d, 0o755); err != nil && err != unix.EEXIST {
			return err
		}
	}
	for name, to := range map[string]string{
		"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2",
		"dev/shm": "/tmp", "var/tmp": "/tmp",
	} {
		if err := unix.Symlinkat(to, root, name); err != nil {
			return fmt.Errorf("make /%s: %w", name, err)
		}
	}
	for name, text := range p.files() {
		if err := writeFile(root, name, text); err != nil {
			return fmt.Errorf("write /%s: %w", name, err)
		}
	}
	return nil
}

// files is the synthetic part of /etc.
func (p *plan) files() map[string]string {
	files := map[string]string{
		"etc/passwd":        fmt.Sprintf("root:x:0:0::/:/sbin/nologin\nsandbox:x:%d:%d::/tmp:/bin/sh\n", p.UID, p.UID),
		"etc/group":         fmt.Sprintf("root:x:0:\nsandbox:x:%d:\n", p.UID),
		"etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	}
	if p.Network {
		delete(files, "etc/hosts") // the machine's own, where it has one
		files["etc/nsswitch.conf"] = "passwd: files\ngroup: files\nhosts: files dns\n"
	}
	return files
}

// attachMounts adds binds and scratches, parents first, and sends the
// descriptors of the scratches that are to be collected.
func (p *plan) attachMounts(stage, root int, sources []int) error {
	var collect []int
	for i, m := range p.Mounts {
		tree, err := p.layer(i, stage, sources[i])
		if err != nil {
			return fmt.Errorf("%s: %w", m.Target, err)
		}
		if m.Collect {
			fd, err := unix.Openat(tree, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("open %s: %w", m.Target, err)
			}
			defer unix.Close(fd)
			collect = append(collect, fd)
		}
		if err := (part{target: m.Target, tree: tree}).attach(root); err != nil {
			return err
		}
		if m.Scratch && m.Source != "" {
			if err := p.own(rootPath + m.Target); err != nil {
				return err
			}
		}
	}
	if len(collect) > 0 {
		tell(message{Phase: phaseScratch}, collect...)
	}
	return nil
}

// layer makes the detached mount of entry i out of its source, if it has one.
func (p *plan) layer(i, stage, source int) (int, error) {
	m := p.Mounts[i]
	attr, id := writable, strconv.Itoa(p.UID)
	if m.NoExec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	if m.Scratch && m.Source != "" {
		return p.overlay(i, stage, source, attr)
	}
	if m.Scratch {
		return memory(m.Bytes, m.Inodes, attr, "mode", "755", "uid", id, "gid", id)
	}
	if missing := p.missing(i, source); len(missing) > 0 {
		return withPlaces(i, stage, source, missing)
	}
	return source, nil
}

// missing lists the mounts that lie in bind i, by their path in it, and have no
// place of the right kind there: a bind is read-only, so none can be made in it.
func (p *plan) missing(i, source int) []mount {
	var out []mount
	for _, m := range p.Mounts[i+1:] {
		rel, in := strings.CutPrefix(m.Target, p.Mounts[i].Target+"/")
		if !in {
			continue
		}
		if folder, there := kind(source, rel); !there || folder == m.File {
			m.Target = rel
			out = append(out, m)
		}
	}
	return out
}

// withPlaces lays a tree of empty places under a bind, as a read-only overlay.
func withPlaces(i, stage, source int, missing []mount) (int, error) {
	dir := "/" + strconv.Itoa(i)
	if err := (part{target: dir + "/lower", tree: source}).attach(stage); err != nil {
		return -1, err
	}
	for _, m := range missing {
		at, err := place(stage, dir+"/places/"+m.Target, !m.File)
		if err != nil {
			return -1, err
		}
		unix.Close(at)
	}
	return filesystem("overlay", readOnly, "lowerdir", stagePath+dir+"/places:"+stagePath+dir+"/lower")
}

// overlay makes a scratch that starts with the content of its lower layer.
func (p *plan) overlay(i, stage, lower, attr int) (int, error) {
	m, dir := p.Mounts[i], "/"+strconv.Itoa(i)
	upper, err := memory(m.Bytes, m.Inodes, writable, "mode", "700")
	if err != nil {
		return -1, err
	}
	for _, x := range []part{{target: dir + "/lower", tree: lower}, {target: dir + "/upper", tree: upper}} {
		if err := x.attach(stage); err != nil {
			return -1, err
		}
	}
	on := stagePath + dir
	for _, d := range []string{"/upper/files", "/upper/work"} {
		if err := os.Mkdir(on+d, 0o755); err != nil {
			return -1, err
		}
	}
	options := []string{"lowerdir", on + "/lower", "upperdir", on + "/upper/files", "workdir", on + "/upper/work"}
	if p.Privileged {
		options = append(options, "metacopy", "on") // a change of owner then copies no data
	} else {
		options = append(options, "userxattr", "")
	}
	return filesystem("overlay", attr, options...)
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
