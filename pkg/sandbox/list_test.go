//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runList starts the init's program with a list, without any walls, and returns
// what it wrote to the supervisor and its exit code.
func runList(t *testing.T, l *list) (said []byte, code int) {
	t.Helper()
	program, err := newProgram()
	must(t, err)
	defer program.Close()
	image, err := l.image()
	must(t, err)
	plan, err := memoryFile("list", image, 0)
	must(t, err)
	defer plan.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	must(t, err)
	defer out.Close()
	p, err := os.StartProcess(fmt.Sprintf("/proc/self/fd/%d", program.Fd()), []string{initName}, &os.ProcAttr{Env: []string{}, Files: []*os.File{os.Stdin, os.Stderr, os.Stderr, out, plan}})
	must(t, err)
	state, err := p.Wait()
	must(t, err)
	said, err = os.ReadFile(out.Name())
	must(t, err)
	return said, state.ExitCode()
}

// say adds a call that tells a word.
func (l *list) say(word string) { l.do(unix.SYS_WRITE, control, word, len(word)) }

// TestList goes through every kind of call that the init knows.
func TestList(t *testing.T) {
	l := newList()
	l.say("begin ")
	fd := l.opens(unix.SYS_OPENAT, unix.AT_FDCWD, "/dev/null", unix.O_RDONLY, 0)
	if fd != 5 {
		t.Errorf("the next descriptor is %d, want 5", fd)
	}
	l.close(fd)
	l.may(unix.EBADF, unix.SYS_CLOSE, 99)
	l.add(call{number: unix.SYS_CLOSE, args: [6]any{98}, tolerate: everything})
	pid := l.room(8)
	fork := l.add(call{number: unix.SYS_CLONE, args: [6]any{int(unix.SIGCHLD)}, store: pid})
	status := l.room(8)
	l.add(call{number: unix.SYS_WAIT4, args: [6]any{-1, status, 0, 0}, until: pid})
	l.do(unix.SYS_WRITE, control, status, 2)
	l.say(" end")
	l.do(unix.SYS_EXIT_GROUP, 7)
	l.calls[fork].zero = 1 + len(l.calls)
	grandchild := l.add(call{number: unix.SYS_CLONE, args: [6]any{int(unix.SIGCHLD)}})
	l.say("child ")
	l.do(unix.SYS_EXECVE, "/bin/sh", l.vector([]string{"sh", "-c", "echo $A $1 >&3; exit 65", "sh", "word"}), l.vector([]string{"A=b"}))
	l.calls[grandchild].zero = 1 + len(l.calls)
	l.do(unix.SYS_EXIT_GROUP, 1)
	said, code := runList(t, l)
	if want := "begin child b word\n\x00A end"; string(said) != want || code != 7 { // a status of 65 is 0x4100
		t.Errorf("said %q, want %q; exit %d", said, want, code)
	}
}

func TestListFails(t *testing.T) {
	for _, c := range []struct {
		tolerate, want unix.Errno
	}{{0, unix.EBADF}, {unix.EINVAL, unix.EBADF}, {unix.EBADF, 0}, {everything, 0}} {
		l := newList()
		l.topic = "before"
		l.say("x")
		l.topic = "the close"
		l.may(c.tolerate, unix.SYS_CLOSE, 99)
		l.topic = "after"
		l.do(unix.SYS_EXIT_GROUP, 3)
		said, code := runList(t, l)
		if c.want == 0 {
			if string(said) != "x" || code != 3 {
				t.Errorf("tolerating %d: %q, exit %d", c.tolerate, said, code)
			}
			continue
		}
		if code != 125 || len(said) != 1+messageBytes {
			t.Fatalf("%d bytes, exit %d", len(said), code)
		}
		if m := readMessage(said[1:]); m.Kind != kindFault || m.Result != int64(c.want) || l.name(m.Call) != "the close" {
			t.Errorf("fault %+v in %q", m, l.name(m.Call))
		}
	}
}

// TestListLayout holds the constants that the init's text repeats.
func TestListLayout(t *testing.T) {
	var m message
	for name, at := range map[string][2]uintptr{
		"clock": {unsafe.Offsetof(m.Clock), atClock}, "cpu": {unsafe.Offsetof(m.CPU), atCPU}, "result": {unsafe.Offsetof(m.Result), atResult},
		"call": {unsafe.Offsetof(m.Call), atCall}, "before": {unsafe.Offsetof(m.Before), atBefore}, "look": {unsafe.Offsetof(m.Look), atLook},
		"size": {unsafe.Sizeof(m), messageBytes},
	} {
		if at[0] != at[1] {
			t.Errorf("%s lies at %d, not at %d", name, at[0], at[1])
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		text, err := os.ReadFile("init_linux_" + arch + ".s")
		if os.IsNotExist(err) {
			t.Skip("the tests run without their sources")
		}
		must(t, err)
		for _, want := range []string{
			fmt.Sprintf("$%#x", listBase), fmt.Sprintf("$%d", messageBytes), fmt.Sprintf("$%d, R", callBytes), fmt.Sprintf("%d(R20)", atResult), fmt.Sprintf("%d(R20)", atCall),
		} {
			if arch == "amd64" {
				want = strings.ReplaceAll(want, "R20", "R13")
			}
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s: no %s", arch, want)
			}
		}
	}
}

func TestListTooLarge(t *testing.T) {
	if !long() {
		t.Skip("fills 256 MiB: set CI=true")
	}
	l := newList()
	l.room(listRoom)
	if _, err := l.image(); err == nil || !strings.Contains(err.Error(), "at most 268435456 are possible") {
		t.Error(err)
	}
}

// TestProgramSealed checks that nobody can change the init's program.
func TestProgramSealed(t *testing.T) {
	f, err := newProgram()
	must(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 200); err == nil {
		t.Error("the program can be written")
	}
	if w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDWR, 0); err == nil {
		if _, err := w.WriteAt([]byte("x"), 200); err == nil {
			t.Error("the program can be written by another descriptor")
		}
		w.Close()
	}
}
