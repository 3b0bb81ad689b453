//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leftovers lists what launches can leave: groups, temporary folders, and
// processes with a token in their environment.
func leftovers(t *testing.T, s *Sandbox, token string) []string {
	t.Helper()
	var out []string
	for _, d := range s.cgroups.folders() {
		found, err := filepath.Glob(filepath.Join(d, s.cgroups.owner+"*"))
		must(t, err)
		out = append(out, found...)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && token != "" && strings.Contains(string(data), token) {
			out = append(out, f)
		}
	}
	return out
}

// TestNothingLeft ends launches at random times, in every way, and looks for
// what is left at once.
func TestNothingLeft(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		rounds := 8
		if long() {
			rounds = 350
		}
		for i := range rounds {
			token := fmt.Sprintf("TOKEN=%d-%d", os.Getpid(), i)
			ctx, cancel := context.WithCancel(context.Background())
			spec := sh("for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.01; done' &) ; done; sleep 0.0$(($$ % 5)); [ $NEXT = exit ] || while :; do echo x; done")
			spec.Env = []string{token, "NEXT=" + []string{"exit", "stay"}[i%2]}
			after := time.Duration(rand.IntN(60)) * time.Millisecond
			switch i % 4 {
			case 1:
				spec.Limits.Wall = max(after, 1)
			case 2:
				spec.Limits.Output = 1000
			case 3:
				time.AfterFunc(after, cancel)
			}
			_, err := s.Run(ctx, spec)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("round %d: %v", i, err)
			}
			if left := leftovers(t, s, token); len(left) > 0 {
				t.Errorf("round %d left %q", i, left)
			}
			cancel()
		}
	})
}

// TestCallsNothingLeft kills drivers and their clients at random times.
func TestCallsNothingLeft(t *testing.T) {
	tmp := sharedDir(t)
	t.Setenv("TMPDIR", tmp)
	inModes(t, func(t *testing.T, s *Sandbox) {
		rounds := 4
		if long() {
			rounds = 100
		}
		for i := range rounds {
			token := fmt.Sprintf("TOKEN=%d-calls-%d", os.Getpid(), i)
			ctx, cancel := context.WithCancel(context.Background())
			whom := []string{"kill -9 $c", "kill -9 $$", "kill -9 $c $$", "sleep 60"}[i%4]
			spec := sh(fmt.Sprintf("for i in 1 2; do %sx </dev/null & c=$!; done; sleep 0.%03d; %s", ask, rand.IntN(150), whom))
			spec.Env = []string{token}
			spec.Calls = func(ctx context.Context, c Call) (Result, error) {
				called := sh("setsid sleep 60 & while :; do echo x; sleep 0.01; done")
				called.Env, called.Stdout = spec.Env, c.Stdout
				return s.Run(ctx, called)
			}
			if i%4 == 3 {
				time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, cancel)
			}
			_, err := s.Run(ctx, spec)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("round %d: %v", i, err)
			}
			left := leftovers(t, s, token)
			if entries, err := os.ReadDir(tmp); err != nil || len(left)+len(entries) > 0 {
				t.Errorf("round %d left %q, %v, %v", i, left, entries, err)
			}
			cancel()
		}
	})
}

// supervisorRole makes this test binary a supervisor to be killed: it launches a
// command that would run for ever, and says when it runs.
const supervisorRole = "SANDBOX_TEST_SUPERVISOR"

func TestSupervisorRole(t *testing.T) {
	mode := os.Getenv(supervisorRole)
	if mode == "" {
		t.Skip("this is a part of TestSupervisorKilled")
	}
	s, err := New(Options{Mode: Mode(mode)})
	must(t, err)
	spec := sh("setsid sleep 1000 & " + ask + "sleep </dev/null")
	spec.Limits.Wall = time.Hour
	spec.Env = []string{"TOKEN=" + os.Getenv("TOKEN")}
	spec.Stdout = os.Stderr
	spec.Calls = func(ctx context.Context, c Call) (Result, error) {
		called := sh("setsid sleep 1000 & echo running; sleep 1000")
		called.Limits.Wall, called.Env, called.Stdout = time.Hour, spec.Env, c.Stdout
		return s.Run(ctx, called)
	}
	_, err = s.Run(context.Background(), spec)
	t.Fatal("the launch ended", err)
}

// TestSupervisorKilled kills supervisors with a driver and its call under way,
// and checks that both trees die with their launcher, and that the next New
// clears what the dead one left.
func TestSupervisorKilled(t *testing.T) {
	tmp := sharedDir(t)
	t.Setenv("TMPDIR", tmp)
	inModes(t, func(t *testing.T, s *Sandbox) {
		rounds := 2
		if long() {
			rounds = 60
		}
		for i := range rounds {
			token := fmt.Sprintf("killed-%d-%d", os.Getpid(), i)
			c := exec.Command("/proc/self/exe", "-test.run=^TestSupervisorRole$")
			c.Env = append(os.Environ(), supervisorRole+"="+string(s.Mode()), "TOKEN="+token)
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			errs, err := c.StderrPipe()
			must(t, err)
			must(t, c.Start())
			line, err := bufio.NewReader(errs).ReadString('\n')
			if line != "running\n" {
				t.Fatalf("%q %v", line, err)
			}
			name := fmt.Sprintf("%s%d-", groupName, c.Process.Pid)
			must(t, c.Process.Kill())
			c.Wait()
			waitGone(t, token)
			if entries, err := os.ReadDir(tmp); err != nil || len(entries) != 2 {
				t.Errorf("round %d: a folder and its lock are expected before New, there are %v, %v", i, entries, err)
			}
			next, err := New(Options{Mode: s.Mode()})
			must(t, err)
			if entries, err := os.ReadDir(tmp); err != nil || len(entries) != 0 {
				t.Errorf("round %d: after New there are %v, %v", i, entries, err)
			}
			for _, d := range next.cgroups.folders() {
				if found, _ := filepath.Glob(filepath.Join(d, name+"*")); len(found) > 0 {
					t.Errorf("round %d: %q after New", i, found)
				}
			}
			must(t, next.Close())
		}
	})
}

// waitGone waits until no process has the token; ten seconds are for ever.
func waitGone(t *testing.T, token string) {
	t.Helper()
	s := &Sandbox{cgroups: &cgroups{}}
	for end := time.Now().Add(10 * time.Second); len(leftovers(t, s, token)) > 0; {
		if time.Now().After(end) {
			t.Fatalf("still alive: %q", leftovers(t, s, token))
		}
	}
}

// TestSweep gives New groups of a supervisor that is gone: an empty one, and
// one with a process in it.
func TestSweep(t *testing.T) {
	c, err := findCgroups()
	must(t, err)
	if c.version == 0 {
		t.Skip("no cgroup can be made here")
	}
	gone := exec.Command("/bin/true")
	must(t, gone.Run())
	dead := *c
	dead.owner = fmt.Sprintf("%s%d-1-", groupName, gone.Process.Pid)
	empty, err := dead.create(Limits{})
	must(t, err)
	full, err := dead.create(Limits{})
	must(t, err)
	mine, err := c.create(Limits{})
	must(t, err)
	defer mine.remove()
	sleeper := exec.Command("/bin/sleep", "1000")
	must(t, sleeper.Start())
	for _, d := range full.folders() {
		must(t, write(filepath.Join(d, full.name), "cgroup.procs", strconv.Itoa(sleeper.Process.Pid)))
	}
	ended := make(chan error)
	go func() { ended <- sleeper.Wait() }()
	must(t, c.sweep())
	if err := <-ended; err == nil {
		t.Error("the process was not killed")
	}
	for _, d := range c.folders() {
		for _, g := range []*group{empty, full} {
			if _, err := os.Stat(filepath.Join(d, g.name)); err == nil {
				t.Errorf("%s is still there", g.name)
			}
		}
	}
	for _, d := range mine.folders() {
		if _, err := os.Stat(filepath.Join(d, mine.name)); err != nil {
			t.Errorf("the group of a living supervisor is gone: %v", err)
		}
	}
}

// TestCleanupNotProven holds a launch's group open with a process from outside:
// the launch must end in an integrity error.
func TestCleanupNotProven(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("needs root, and the time in which a group may empty")
	}
	s := open(t, Root)
	if s.cgroups.version == 0 {
		t.Skip("no cgroup can be made here")
	}
	if !long() {
		s.cgroups.settle = 300 * time.Millisecond
	}
	intruder := exec.Command("/bin/sleep", "1000")
	must(t, intruder.Start())
	defer func() {
		intruder.Process.Kill()
		intruder.Wait()
		must(t, s.cgroups.sweepAll())
	}()
	spec := sh("echo; sleep 0.2")
	spec.Stdout = writerFunc(func(p []byte) (int, error) {
		for _, d := range s.cgroups.folders() {
			groups, _ := filepath.Glob(filepath.Join(d, s.cgroups.owner+"*"))
			for _, g := range groups {
				if err := write(g, "cgroup.procs", strconv.Itoa(intruder.Process.Pid)); err != nil {
					t.Error(err)
				}
			}
		}
		return len(p), nil
	})
	_, err := s.Run(context.Background(), spec)
	var integrity *IntegrityError
	if !errors.As(err, &integrity) {
		t.Errorf("a group that does not empty: %v", err)
	}
}

// sweepAll clears this supervisor's own groups too.
func (c *cgroups) sweepAll() error {
	for _, d := range c.folders() {
		groups, _ := filepath.Glob(filepath.Join(d, c.owner+"*"))
		for _, g := range groups {
			if err := c.clearGroup(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestOwnerLives(t *testing.T) {
	start, err := startTime(os.Getpid())
	must(t, err)
	for name, want := range map[string]bool{
		fmt.Sprintf("rl-%d-%s-X", os.Getpid(), start): true,
		fmt.Sprintf("rl-%d-1-X", os.Getpid()):         false, // a later process with the same number
		"rl-0-1-X":                                    false, "rl-x-1-X": false, "rl-": false, "rl-1": false,
	} {
		if got := ownerLives(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBornInGroup runs the version 2 path as far as this machine has it: on a
// hybrid one the unified tree has no controllers, but launches are born in it.
func TestBornInGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	_, two, err := hierarchies()
	must(t, err)
	if two == "" {
		t.Skip("no cgroup version 2 here")
	}
	parent := filepath.Join(two, parentName)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Skip(err)
	}
	s := *open(t, Root)
	c := *s.cgroups
	c.version, c.parents = 2, map[string]string{"cpuacct": parent}
	s.cgroups = &c
	r := run(t, &s, sh("cat /proc/self/cgroup; perl -e '1 while (times)[0] < 0.2'"))
	if !strings.Contains(string(r.Stdout), "0::/\n") {
		t.Errorf("not at the root of its own group: %s", r.Stdout)
	}
	if r.Usage.CPU == nil || *r.Usage.CPU < 150*time.Millisecond || *r.Usage.CPU > r.Wall+20*time.Millisecond {
		t.Errorf("0.2 s of work, one process after the other, count as %v in %v", r.Usage.CPU, r.Wall)
	}
	if left := leftovers(t, &s, ""); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestParseStart(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	for stat, want := range map[string]string{
		"7 (sh)" + rest: "4711", "7 (a b)" + rest: "4711", "7 (x) S 1 2)" + rest: "4711", "7 ()))" + rest: "4711",
		"": "", "7 (sh) S 1 2": "", "7 (sh" + rest[:20]: "",
	} {
		got, err := parseStart([]byte(stat))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v, want %q", stat, got, err, want)
		}
	}
}

func TestParseMounts(t *testing.T) {
	one, two := parseMounts("24 18 0:22 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n" +
		"25 18 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"26 18 0:24 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n" +
		"27 18 0:25 / /mnt/memory rw - ext4 /dev/memory rw,memory\nshort\n - \n")
	if one["memory"] != "/sys/fs/cgroup/memory" || one["cpuacct"] != "/sys/fs/cgroup/cpu,cpuacct" || one["cpu"] != one["cpuacct"] || two != "/sys/fs/cgroup/unified" {
		t.Errorf("%v %q", one, two)
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add([]byte("7 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if got, err := parseStart(stat); err == nil && (got == "" || strings.ContainsAny(got, " \n)")) {
			t.Errorf("%q gives %q", stat, got)
		}
	})
}

func FuzzParseMounts(f *testing.F) {
	f.Add("24 18 0:22 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n")
	f.Fuzz(func(t *testing.T, mountinfo string) {
		one, two := parseMounts(mountinfo)
		for option, at := range one {
			if !strings.Contains(mountinfo, option) || !strings.Contains(mountinfo, at) || !strings.Contains(mountinfo, two) {
				t.Errorf("%q gives %q at %q", mountinfo, option, at)
			}
		}
	})
}

func TestSlots(t *testing.T) {
	if os.Geteuid() != 0 {
		s := &slots{}
		a, _ := s.take()
		b, _ := s.take()
		s.give(a)
		c, _ := s.take()
		if a.number != 0 || b.number != 1 || c.number != 0 {
			t.Errorf("%v %v %v", a, b, c)
		}
		return
	}
	one, other := &slots{own: true}, &slots{own: true}
	defer one.close()
	defer other.close()
	a, err := one.take()
	must(t, err)
	b, err := other.take()
	must(t, err)
	if a.uid() == b.uid() {
		t.Errorf("two supervisors share %d", a.uid())
	}
	one.give(a)
	if c, err := other.take(); err != nil || c.uid() == a.uid() {
		t.Errorf("an idle supervisor's %d was taken: %v", c.uid(), err)
	}
	other.give(b)
	c := exec.Command("/bin/sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: firstUID + 255}}
	must(t, c.Start())
	defer func() { c.Process.Kill(); c.Wait() }()
	if lock, err := lockSlot(firstUID + 255); lock != nil || err != nil {
		t.Errorf("an id with a process was given: %v", err)
	}
}

func TestKernelKeyring(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		if got := output(t, s, sh("cat /proc/keys /proc/key-users 2>&1 | wc -c")); strings.TrimSpace(got) != "0" {
			t.Errorf("%s bytes of keys are seen", got)
		}
	})
}

// TestInitDies takes away the init's right to run: what is left is a signal.
func TestInitDies(t *testing.T) {
	s := open(t, User)
	if s.slots.own {
		t.Skip("the candidate of root has another user id than its init")
	}
	spec := sh("prlimit --pid 1 --cpu=0:0 && sleep 60")
	spec.Limits.Wall = 10 * time.Second
	r := run(t, s, spec)
	if r.Outcome == Exited && r.Exit == 0 || r.Wall <= 0 {
		t.Errorf("%s, exit %d, %v", r.Outcome, r.Exit, r.Wall)
	}
}

// TestDescriptorsClosed leaks a descriptor on purpose.
func TestDescriptorsClosed(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0)
		must(t, err)
		defer unix.Close(fd)
		got := output(t, s, Spec{Argv: []string{"ls", "/proc/self/fd"}})
		if got != "0\n1\n2\n3\n" { // 3 is the folder that ls reads
			t.Errorf("open: %q", got)
		}
	})
}
