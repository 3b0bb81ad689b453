//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The new root is assembled from detached mounts. Every source is opened while
// "/" is still the host's; then one tmpfs, the stage, is laid over a folder that
// every machine has, the root and the layers of overlays are put on it, and the
// host's tree is let go with everything else.
const stagePath = "/usr"

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
func (p *plan) tree(l *list) {
	l.do(unix.SYS_MOUNT, "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	parts := p.systemParts(l)
	sources := make([]int, len(p.Mounts))
	for i, m := range p.Mounts {
		if m.Source != "" {
			sources[i] = l.clone(m.Source, readOnly)
		}
	}
	stage := l.memory(1<<20, 16384, writable, "mode", "755")
	l.do(unix.SYS_MOVE_MOUNT, stage, "", unix.AT_FDCWD, stagePath, unix.MOVE_MOUNT_F_EMPTY_PATH)
	root := l.memory(1<<20, 4096, writable, "mode", "755")
	l.attach(l.opens(unix.SYS_DUP, root), stage, "/root", true)
	for _, x := range parts {
		if x.link != "" {
			l.do(unix.SYS_SYMLINKAT, x.link, root, x.target[1:])
		} else {
			l.attach(x.tree, root, x.target, x.folder)
		}
	}
	p.base(l, root)
	p.attachMounts(l, stage, root, sources)
	// Sealed, and the host's tree let go.
	l.do(unix.SYS_MOUNT_SETATTR, root, "", unix.AT_EMPTY_PATH, l.setattr(readOnly), unix.MOUNT_ATTR_SIZE_VER0)
	l.do(unix.SYS_FCHDIR, root)
	l.close(root)
	l.close(stage)
	l.do(unix.SYS_PIVOT_ROOT, ".", ".")
	l.do(unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	l.do(unix.SYS_CHDIR, "/")
}

// part is something of the machine that is about to appear at the same path.
type part struct {
	target string
	tree   int // a detached mount
	folder bool
	link   string // a symbolic link to this instead
}

// systemParts clones what the machine has; /usr and the devices it must have.
func (p *plan) systemParts(l *list) []part {
	var parts []part
	add := func(source string, attr uint64) {
		info, err := os.Stat(source)
		if err != nil && source != "/usr" && attr != device {
			return
		}
		parts = append(parts, part{target: source, tree: l.clone(source, attr), folder: err == nil && info.IsDir()})
	}
	for _, d := range systemFolders {
		if to, err := os.Readlink(d); err == nil {
			parts = append(parts, part{target: d, link: to})
			continue
		}
		add(d, readOnly)
	}
	files := systemFiles
	if p.Network {
		files = append(slices.Clone(files), networkFiles...)
	}
	for _, f := range files {
		add(f, readOnly)
	}
	for _, d := range devices {
		add(d, device)
	}
	return parts
}

// base adds what is the same in every sandbox: /proc, /tmp, /etc and links.
func (p *plan) base(l *list, root int) {
	l.attach(l.filesystem("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC), root, "/proc", true)
	for _, f := range procMasked {
		tree := l.clone("/dev/null", device)
		l.may(unix.ENOENT, unix.SYS_MOVE_MOUNT, tree, "", root, "proc/"+f, unix.MOVE_MOUNT_F_EMPTY_PATH) // a kernel without it
		l.close(tree)
	}
	for _, d := range procReadOnly {
		l.freeze(root, "proc/"+d)
	}
	l.attach(l.memory(p.Temporary, p.Inodes, writable, "mode", "1777"), root, "/tmp", true)
	for _, d := range []string{"var", "etc"} {
		l.may(unix.EEXIST, unix.SYS_MKDIRAT, root, d, 0o755)
	}
	links := map[string]string{
		"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2",
		"dev/shm": "/tmp", "var/tmp": "/tmp",
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		l.do(unix.SYS_SYMLINKAT, links[name], root, name)
	}
	files := p.files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		l.writeFile(root, name, files[name])
	}
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
func (p *plan) attachMounts(l *list, stage, root int, sources []int) {
	var collect []int
	for i, m := range p.Mounts {
		tree := p.layer(l, i, stage, sources[i])
		if m.Collect {
			collect = append(collect, l.opens(unix.SYS_OPENAT, tree, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
		}
		own := -1
		if len(m.Give) > 0 {
			own = l.opens(unix.SYS_DUP, tree)
		}
		l.attach(tree, root, m.Target, !m.File)
		if own >= 0 {
			p.own(l, own, m)
		}
	}
	if len(collect) > 0 {
		l.send((&message{Kind: kindScratch}).bytes(), collect)
		for _, fd := range collect {
			l.close(fd)
		}
	}
}

// send sends a message with descriptors.
func (l *list) send(text []byte, descriptors []int) {
	rights := unix.UnixRights(descriptors...)
	vector := value(l, [2]uint64{0, uint64(len(text))})
	l.point(vector, l.bytes(text))
	header := value(l, unix.Msghdr{Iovlen: 1, Controllen: uint64(len(rights))})
	l.point(header+16, vector)          // iov
	l.point(header+32, l.bytes(rights)) // control
	l.do(unix.SYS_SENDMSG, control, header, 0)
}

// layer makes the detached mount of entry i out of its source, if it has one.
func (p *plan) layer(l *list, i, stage, source int) int {
	m := p.Mounts[i]
	defer l.about(m.Target)()
	attr, id := writable, strconv.Itoa(p.UID)
	if m.NoExec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	if m.Scratch && m.Source != "" {
		return p.overlay(l, i, stage, source, attr)
	}
	if m.Scratch {
		return l.memory(m.Bytes, m.Inodes, attr, "mode", "755", "uid", id, "gid", id)
	}
	if missing := p.missing(i); len(missing) > 0 {
		return l.withPlaces(i, stage, source, missing)
	}
	return source
}

// missing lists the mounts that lie in bind i, by their path in it, and have no
// place of the right kind there: a bind is read-only, so none can be made in it.
func (p *plan) missing(i int) []mount {
	var out []mount
	source := -1
	for _, m := range p.Mounts[i+1:] {
		rel, in := strings.CutPrefix(m.Target, p.Mounts[i].Target+"/")
		if !in {
			continue
		}
		if source < 0 {
			fd, err := unix.Open(p.Mounts[i].Source, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err == nil { // else the init will fail to open it too
				source = fd
				defer unix.Close(fd)
			}
		}
		if folder, there := kindOf(source, rel); !there || folder == m.File {
			m.Target = rel
			out = append(out, m)
		}
	}
	return out
}

// withPlaces lays a tree of empty places under a bind, as a read-only overlay.
func (l *list) withPlaces(i, stage, source int, missing []mount) int {
	dir := "/" + strconv.Itoa(i)
	l.attach(source, stage, dir+"/lower", true)
	for _, m := range missing {
		l.close(l.place(stage, dir+"/places/"+m.Target, !m.File))
	}
	return l.filesystem("overlay", readOnly, "lowerdir", stagePath+dir+"/places:"+stagePath+dir+"/lower")
}

// overlay makes a scratch that starts with the content of its lower layer.
func (p *plan) overlay(l *list, i, stage, lower, attr int) int {
	m, dir := p.Mounts[i], "/"+strconv.Itoa(i)
	upper := l.memory(m.Bytes, m.Inodes, writable, "mode", "700")
	l.attach(lower, stage, dir+"/lower", true)
	l.attach(upper, stage, dir+"/upper", true)
	on := stagePath + dir
	for _, d := range []string{"/upper/files", "/upper/work"} {
		l.do(unix.SYS_MKDIRAT, unix.AT_FDCWD, on+d, 0o755)
	}
	options := []string{"lowerdir", on + "/lower", "upperdir", on + "/upper/files", "workdir", on + "/upper/work"}
	if p.Privileged {
		options = append(options, "metacopy", "on") // a change of owner then copies no data
	} else {
		options = append(options, "userxattr", "")
	}
	return l.filesystem("overlay", attr, options...)
}

// own gives what is in a lower layer to the candidate, who could not write what
// belongs to the supervisor. The tree is read-only below and new above, so no
// part of a path can be a link.
func (p *plan) own(l *list, tree int, m mount) {
	defer l.about("owner of " + m.Target)()
	for _, rel := range m.Give {
		l.do(unix.SYS_FCHOWNAT, tree, rel, p.UID, p.UID, unix.AT_SYMLINK_NOFOLLOW)
	}
	l.close(tree)
}
