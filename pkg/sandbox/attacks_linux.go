//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probeName is where the probe stands inside a sandbox: this binary, which Init
// turns into the attacker when it is started under that name.
const probeName = "/research-loop-probe"

// bait is what the supervisor has laid out for the attacker, who is told all
// of it: a wall must hold against one who knows what lies behind.
type bait struct {
	Secret      string            // must not be found
	Files       []string          // host files that hold it
	Port        int               // a listener on the host's 127.0.0.1
	Abstract    string            // a listener in the host's abstract namespace
	Socket      string            // a listener at a host path
	Supervisor  int               // its process number
	Tree        string            // a read-only bind with the file "kept"
	Scratch     string            // a writable folder
	Temporary   int64             // the cap of /tmp
	Environment []string          // all names that may be set
	Namespaces  map[string]string // the supervisor's
}

// attack tries one thing and says what it got; nothing means that the wall held.
type attack struct {
	name string
	cure string
	try  func(b *bait) string
}

var attacks = []attack{
	{"environment", "the init must be started with an empty environment", stealEnvironment},
	{"host files", "the host's tree must be gone after pivot_root", stealFiles},
	{"descriptors", "no descriptor above 2 may reach the candidate", stealDescriptors},
	{"tcp port", "the network namespace must be the sandbox's own", connectTCP},
	{"abstract socket", "the network namespace must be the sandbox's own", func(b *bait) string { return connectUnix("@" + b.Abstract) }},
	{"socket file", "the host's tree must be gone after pivot_root", func(b *bait) string { return connectUnix(b.Socket) }},
	{"standard streams", "standard streams must be pipes", reopenStreams},
	{"read-only trees", "every bind must be read-only", writeTrees},
	{"mounts", "the filter must deny mount calls", mountThings},
	{"nested namespaces", "the filter must deny new namespaces", nest},
	{"own namespaces", "the kernel must support all six namespaces", sharedNamespaces},
	{"tracing", "process 1 must keep capabilities and be non-dumpable", trace},
	{"signals", "the pid namespace must be the sandbox's own", signalOutside},
	{"privileges", "capabilities must be dropped and no_new_privs set", privileges},
	{"kernel settings", "/proc/sys must be read-only and /sys absent", settings},
	{"devices", "only null, zero, full, random and urandom may exist", openDevices},
	{"terminal", "no terminal may be reachable", typeAhead},
	{"address families", "the filter must deny other families", otherFamilies},
	{"keyrings", "the filter must deny keyring calls", keyrings},
	{"temporary space", "/tmp must be a capped tmpfs", overfill},
}

// runProbe is the whole life of the attacker; args[0] says which one.
func runProbe(args []string) int {
	if len(args) != 1 {
		return 2
	}
	if sole, ok := soleAttacks[args[0]]; ok {
		return sole()
	}
	data, err := io.ReadAll(os.Stdin)
	b := new(bait)
	if err != nil || json.Unmarshal(data, b) != nil || args[0] != "all" {
		return 2
	}
	got := map[string]string{}
	for _, a := range attacks {
		got[a.name] = a.try(b)
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		return 2
	}
	return 0
}

func stealEnvironment(b *bait) string {
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !slices.Contains(b.Environment, name) {
			return "variable " + name
		}
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && len(data) > 0 && f != fmt.Sprintf("/proc/%d/environ", os.Getpid()) {
			return f
		}
	}
	return ""
}

func stealFiles(b *bait) string {
	for _, f := range b.Files {
		for _, way := range []string{f, "/proc/1/root" + f, "/proc/1/cwd" + f, b.Tree + "/.." + f, "/proc/self/root/.." + f} {
			if data, err := os.ReadFile(way); err == nil && bytes.Contains(data, []byte(b.Secret)) {
				return way
			}
		}
	}
	return ""
}

func stealDescriptors(b *bait) string {
	buf := make([]byte, 4096)
	for fd := 3; fd < 1024; fd++ {
		if n, err := unix.Pread(fd, buf, 0); err == nil && bytes.Contains(buf[:n], []byte(b.Secret)) {
			return fmt.Sprintf("descriptor %d", fd)
		}
	}
	return ""
}

func connectTCP(b *bait) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	if unix.Connect(fd, &unix.SockaddrInet4{Port: b.Port, Addr: [4]byte{127, 0, 0, 1}}) == nil {
		return fmt.Sprintf("a connection to port %d of the host", b.Port)
	}
	return ""
}

func connectUnix(name string) string {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	if unix.Connect(fd, &unix.SockaddrUnix{Name: name}) == nil {
		return "a connection to " + name
	}
	return ""
}

func reopenStreams(*bait) string {
	for i := range 3 {
		var st unix.Stat_t
		if unix.Fstat(i, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFIFO {
			continue
		}
		name := fmt.Sprintf("/proc/self/fd/%d", i)
		if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
			f.Close()
			return name + " for writing"
		}
	}
	return ""
}

func writeTrees(b *bait) string {
	for _, dir := range []string{b.Tree, "/", "/usr", "/etc", "/dev", "/proc"} {
		name := filepath.Join(dir, "planted")
		if os.WriteFile(name, nil, 0o644) == nil {
			os.Remove(name)
			return "a new file in " + dir
		}
	}
	kept := filepath.Join(b.Tree, "kept")
	if f, err := os.Open(kept); err == nil {
		defer f.Close()
		for _, way := range []string{kept, fmt.Sprintf("/proc/self/fd/%d", f.Fd())} {
			if w, err := os.OpenFile(way, os.O_RDWR, 0); err == nil {
				w.Close()
				return way + " for writing"
			}
		}
		if f.Chmod(0o666) == nil || os.Rename(kept, kept+"2") == nil || os.Chtimes(kept, time.Unix(1, 0), time.Unix(1, 0)) == nil {
			return "changed " + kept
		}
	}
	return ""
}

// calls tries raw system calls and names the first that is not refused.
func calls(list map[string][]uintptr) string {
	for name, c := range list {
		args := append(slices.Clone(c), 0, 0, 0, 0, 0, 0)
		if _, _, errno := unix.Syscall6(args[0], args[1], args[2], args[3], args[4], args[5], args[6]); errno != unix.EPERM && errno != unix.ENOSYS && errno != unix.EACCES {
			return fmt.Sprintf("%s answered %d", name, errno)
		}
	}
	return ""
}

func text(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

func mountThings(*bait) string {
	if unix.Mount("none", "/tmp", "tmpfs", 0, "") == nil {
		return "mounted a tmpfs"
	}
	if unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") == nil {
		return "made / writable"
	}
	if unix.Unmount("/proc/sys", unix.MNT_DETACH) == nil || unix.Chroot("/tmp") == nil || unix.PivotRoot("/tmp", "/tmp") == nil {
		return "moved a mount"
	}
	return calls(map[string][]uintptr{"open_tree": {unix.SYS_OPEN_TREE, 0, 0, 1}, "fsopen": {unix.SYS_FSOPEN, 0, 0}, "mount_setattr": {unix.SYS_MOUNT_SETATTR}})
}

func nest(*bait) string {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{probeName, "nothing"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if err == nil {
		syscall.Wait4(pid, nil, 0, nil)
		return "a user namespace by clone"
	}
	runtime.LockOSThread() // and never unlocked: a thread that succeeds is tainted
	if unix.Unshare(unix.CLONE_NEWNS) == nil || unix.Unshare(unix.CLONE_NEWNET) == nil {
		return "a namespace by unshare"
	}
	return calls(map[string][]uintptr{"clone3": {unix.SYS_CLONE3, 0, 0}, "setns": {unix.SYS_SETNS, ^uintptr(0), 0}})
}

// namespaces reads the six namespaces of this process.
func namespaces() map[string]string {
	out := map[string]string{}
	for _, n := range []string{"mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		out[n], _ = os.Readlink("/proc/self/ns/" + n)
	}
	return out
}

func sharedNamespaces(b *bait) string {
	for n, mine := range namespaces() {
		if mine == "" || mine == b.Namespaces[n] {
			return "the supervisor's namespace " + n
		}
	}
	return ""
}

func trace(b *bait) string {
	for _, pid := range []int{1, b.Supervisor} {
		if pid != os.Getpid() && unix.PtraceAttach(pid) == nil {
			unix.PtraceDetach(pid)
			return fmt.Sprintf("traced process %d", pid)
		}
	}
	for _, f := range []string{"mem", "maps", "root", "cwd", "fd/3"} {
		if file, err := os.Open("/proc/1/" + f); err == nil {
			file.Close()
			return "/proc/1/" + f
		}
	}
	return ""
}

// signalOutside shoots at the supervisor and at process 1; if one of them falls
// this launch has no proper end, which is how the supervisor finds out.
func signalOutside(b *bait) string {
	if os.Getpid() == 1 || unix.Kill(b.Supervisor, 0) == nil {
		return fmt.Sprintf("process %d", b.Supervisor)
	}
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGQUIT, unix.SIGSEGV, unix.SIGSTOP, unix.SIGKILL} {
		unix.Kill(1, sig)
	}
	unix.Kill(-1, unix.SIGCONT)
	return ""
}

func privileges(*bait) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "no /proc/self/status to judge by"
	}
	for _, want := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !bytes.Contains(status, []byte("\n"+want+"\n")) {
			return "not " + strings.ReplaceAll(want, "\t", " ")
		}
	}
	if unix.Setuid(0) == nil || os.Getuid() == 0 {
		return "user 0"
	}
	return ""
}

func settings(*bait) string {
	for _, f := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname", "/sys/kernel", "/proc/irq/default_smp_affinity"} {
		if file, err := os.OpenFile(f, os.O_WRONLY, 0); err == nil {
			file.Close()
			return f + " for writing"
		}
	}
	if entries, err := os.ReadDir("/sys"); err == nil && len(entries) > 0 {
		return "/sys"
	}
	if unix.Sethostname([]byte("planted")) == nil {
		return "the host name"
	}
	return ""
}

func openDevices(*bait) string {
	if unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil {
		return "a device made by mknod"
	}
	for _, d := range []string{"mem", "kmsg", "port", "tty", "ptmx", "fuse", "kvm", "net/tun", "vda", "sda", "console"} {
		if _, err := os.Stat("/dev/" + d); err == nil {
			return "/dev/" + d
		}
	}
	return ""
}

func typeAhead(*bait) string {
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		f.Close()
		return "/dev/tty"
	}
	high := uintptr(1) << 40 // the kernel ignores the high half
	c := text("x")
	return calls(map[string][]uintptr{"TIOCSTI": {unix.SYS_IOCTL, 0, unix.TIOCSTI, c}, "TIOCSTI with a high half": {unix.SYS_IOCTL, 0, unix.TIOCSTI | high, c}, "TIOCLINUX": {unix.SYS_IOCTL, 0, 0x541c, c}})
}

func otherFamilies(*bait) string {
	for _, f := range []int{unix.AF_VSOCK, unix.AF_ALG, unix.AF_PACKET, unix.AF_BLUETOOTH, unix.AF_KEY, unix.AF_XDP} {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET, unix.SOCK_RAW} {
			if fd, err := unix.Socket(f, kind, 0); err == nil {
				unix.Close(fd)
				return fmt.Sprintf("a socket of family %d", f)
			}
		}
	}
	return ""
}

func keyrings(*bait) string {
	if _, err := unix.AddKey("user", "planted", []byte("x"), unix.KEY_SPEC_USER_KEYRING); err == nil {
		return "a key in the user keyring"
	}
	return calls(map[string][]uintptr{"keyctl": {unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 0}})
}

func overfill(b *bait) string {
	for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp"} {
		name := filepath.Join(dir, "full")
		n, _ := writeMuch(name, b.Temporary+1<<20)
		os.Remove(name)
		if n > b.Temporary {
			return fmt.Sprintf("%d bytes in %s", n, dir)
		}
	}
	return ""
}

func writeMuch(name string, bytes int64) (written int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for written < bytes && err == nil {
		var n int
		n, err = f.Write(block)
		written += int64(n)
	}
	return written, err
}

// soleAttacks each need a launch of their own; the number is the exit status.
var soleAttacks = map[string]func() int{
	"nothing": func() int { return 0 },
	"links":   plantLinks,
	"flood":   flood,
	"linger":  func() int { time.Sleep(time.Hour); return 0 },
	"daemon":  daemon,
	"fork":    forkMuch,
	"memory":  holdMuch,
	"x32":     callX32,
	"leave":   leaveState,
	"find":    findState,
}

// plantLinks fills the scratch with everything that is not a plain file.
func plantLinks() int {
	const dir = "/scratch/"
	unix.Mknod(dir+"pipe", unix.S_IFIFO|0o644, 0)
	fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	for _, err := range []error{
		os.WriteFile(dir+"plain", []byte("plain"), 0o644),
		os.Symlink("/etc/passwd", dir+"absolute"), os.Symlink("../../etc/passwd", dir+"relative"), os.Symlink("plain", dir+"inside"),
		os.Symlink("/proc/self/root", dir+"magic"), os.Link(dir+"plain", dir+"hard"),
		unix.Bind(fd, &unix.SockaddrUnix{Name: dir + "socket"}),
		os.WriteFile(dir+"good", []byte("good"), 0o644),
	} {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.WriteFile(dir+"huge", nil, 0o644)
	if os.Truncate(dir+"huge", 1<<40) != nil {
		os.Remove(dir + "huge") // the limit on file sizes was faster than the cap
	}
	return 0
}

func flood() int {
	block := make([]byte, 64<<10)
	for {
		if _, err := os.Stdout.Write(block); err != nil {
			return 1
		}
	}
}

// spawn forks without another program: the child shares nothing that counts
// with this process, leads its own session, keeps the streams open and waits to
// be killed. It may make raw calls only, for it has none of the runtime's other
// threads.
func spawn() error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		for {
			unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return nil
}

// daemon leaves a process that has its own session and parent behind.
func daemon() int {
	if err := spawn(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// forkMuch starts processes until it may not, and prints how many it got.
func forkMuch() int {
	n := 0
	for ; n < 64; n++ {
		if err := spawn(); err != nil {
			break
		}
	}
	fmt.Println(n)
	return 0
}

// holdMuch divides the memory between processes, so that no limit of a single
// one helps: this one fills the first of eight blocks and forks the next, which
// fills the second. As in spawn, a child makes raw calls only.
func holdMuch() int {
	var blocks [8][]byte
	for i := range blocks {
		var err error
		if blocks[i], err = unix.Mmap(-1, 0, probeMemory/6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
			return 3
		}
	}
	held := []byte("held\n")
	for _, block := range blocks {
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 3, 0, 0)
		}
		if pid != 0 {
			unix.RawSyscall6(unix.SYS_WAIT4, pid, 0, 0, 0, 0, 0)
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	unix.RawSyscall(unix.SYS_WRITE, 1, uintptr(unsafe.Pointer(&held[0])), uintptr(len(held)))
	unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	return 0
}

// callX32 makes a call with a number of the x32 ABI.
func callX32() int {
	if _, _, errno := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0); errno != 0 {
		return 0
	}
	return 77
}

const stateKey = 0x726c7362

func leaveState() int {
	os.WriteFile("/tmp/state", []byte("state"), 0o644)
	os.WriteFile("/scratch/state", []byte("state"), 0o644)
	unix.SysvShmGet(stateKey, 4096, unix.IPC_CREAT|0o600)
	return 0
}

func findState() int {
	for _, f := range []string{"/tmp/state", "/scratch/state", "/dev/shm/state"} {
		if _, err := os.Stat(f); err == nil {
			return 77
		}
	}
	if _, err := unix.SysvShmGet(stateKey, 4096, 0o600); err == nil {
		return 77
	}
	return 0
}
