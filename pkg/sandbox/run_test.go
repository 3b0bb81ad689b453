//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOutcomes(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		for _, c := range []struct {
			name         string
			script       string
			change       func(*Limits)
			needs        string
			want         Outcome
			exit, signal int
		}{
			{"success", "true", nil, "", Exited, 0, 0},
			{"status", "exit 7", nil, "", Exited, 7, 0},
			{"status of a shell's signal", "exit 137", nil, "", Exited, 137, 0},
			{"signal", "kill -SEGV $$", nil, "", Signalled, 0, 11},
			{"kill of everything", "sleep 60 & kill -9 -1; exit 5", nil, "", Exited, 5, 0},
			{"wall", "sleep 60", func(l *Limits) { l.Wall = 150 * time.Millisecond }, "", TimedOut, 0, 9},
			{"wall, nothing listens", "trap '' TERM INT HUP; while :; do :; done", func(l *Limits) { l.Wall = 150 * time.Millisecond }, "", TimedOut, 0, 9},
			{"output", "while :; do echo xxxxxxxxxxxxxxxxxxxx; done", func(l *Limits) { l.Output = 10000 }, "", OutputLimit, 0, 9},
			{"output, both together", "head -c 6000 /dev/zero; head -c 6000 /dev/zero >&2", func(l *Limits) { l.Output = 10000 }, "", OutputLimit, -1, -1},
			{"output, to the byte", "head -c 10000 /dev/zero", func(l *Limits) { l.Output = 10000 }, "", Exited, 0, 0},
			{"output at once", "echo xxxx", func(l *Limits) { l.Output = 1 }, "", OutputLimit, -1, -1},
			{"cpu", "while :; do :; done", func(l *Limits) { l.CPU = 200 * time.Millisecond }, "cpu", CPULimit, -1, -1},
			{"cpu of hidden children", `perl -e '$SIG{CHLD}="IGNORE"; for (1..3) { if (!fork) { 1 while 1 } } sleep 60'`, func(l *Limits) { l.CPU = 200 * time.Millisecond }, "cpu", CPULimit, -1, -1},
			{"memory of one", `perl -e '$x = "x" x 100_000_000; print length $x'`, func(l *Limits) { l.Memory = 24 << 20 }, "memory", OutOfMemory, -1, -1},
			{"memory in files", "head -c 30000000 /dev/zero >/tmp/x", func(l *Limits) { l.Memory, l.Temporary = 16<<20, 100<<20 }, "memory", OutOfMemory, -1, -1},
			{"temporary", "head -c 9000000 /dev/zero >/tmp/x || exit 3", nil, "", Exited, 3, 0},
			{"inodes", "for i in $(seq 100); do : >/tmp/$i || exit 3; done", func(l *Limits) { l.Inodes = 50 }, "", Exited, 2, 0},
			{"open files", "perl -e 'for (1..64) { open($f[$_], q(<), q(/dev/null)) or exit 3 }'", func(l *Limits) { l.OpenFiles = 32 }, "", Exited, 3, 0},
		} {
			t.Run(c.name, func(t *testing.T) {
				spec := sh(c.script)
				if c.change != nil {
					c.change(&spec.Limits)
				}
				if c.needs != "" && !strings.Contains(strings.Join(s.Limits(), " ")+" ", c.needs+" ") && !contains(s.Limits(), c.needs) {
					t.Skipf("no cgroup for the limit %s here", c.needs)
				}
				r := run(t, s, spec)
				if r.Outcome != c.want || c.exit >= 0 && (r.Exit != c.exit || r.Signal != c.signal) {
					t.Errorf("%s, exit %d, signal %d, want %s, %d, %d: %.200s %s", r.Outcome, r.Exit, r.Signal, c.want, c.exit, c.signal, r.Stdout, r.Stderr)
				}
				if int64(len(r.Stdout)+len(r.Stderr)) > spec.Limits.Output {
					t.Errorf("kept %d bytes", len(r.Stdout)+len(r.Stderr))
				}
				if r.Wall <= 0 || r.Wall > r.Total {
					t.Errorf("wall %v of %v", r.Wall, r.Total)
				}
			})
		}
	})
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// TestUsage checks the measures against work of a known size.
func TestUsage(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		idle := run(t, s, sh("sleep 0.3"))
		if idle.Wall < 300*time.Millisecond || idle.Wall > 20*time.Second {
			t.Errorf("wall of a 0.3 s sleep: %v", idle.Wall)
		}
		if !contains(s.Metrics(), "cpu") {
			if idle.Usage != (Usage{}) {
				t.Errorf("usage %+v without a cgroup", idle.Usage)
			}
			t.Skip("no cgroup counts here")
		}
		if *idle.Usage.CPU > idle.Wall-280*time.Millisecond {
			t.Errorf("a sleep of 0.3 s in %v took %v CPU", idle.Wall, *idle.Usage.CPU)
		}
		hidden := run(t, s, sh(`perl -e '$SIG{CHLD}="IGNORE"; if (!fork) { 1 while (times)[0] < 0.2 } wait'`))
		if *hidden.Usage.CPU < 170*time.Millisecond {
			t.Errorf("0.2 s CPU of a child that nobody waits for count as %v", *hidden.Usage.CPU)
		}
		big := run(t, s, sh(`perl -e '$x = "x" x 25_000_000'`))
		if peak := *big.Usage.PeakMemory; peak < 25_000_000 || peak > 125_000_000 {
			t.Errorf("25 MB count as %d", peak)
		}
		if peak := *idle.Usage.PeakMemory; peak > 20<<20 {
			t.Errorf("sh and sleep count as %d bytes", peak)
		}
	})
}

// TestLimitsRefused checks that a limit which the machine cannot hold is refused
// by name, and accepted as best effort.
func TestLimitsRefused(t *testing.T) {
	s := open(t, User)
	bare := *s
	bare.cgroups = &cgroups{}
	for name, change := range map[string]func(*Limits){
		"memory": func(l *Limits) { l.Memory = 1 << 30 },
		"cpu":    func(l *Limits) { l.CPU = time.Minute },
		"cpus":   func(l *Limits) { l.CPUs = 0.5 },
	} {
		spec := sh("true")
		change(&spec.Limits)
		_, err := bare.Run(context.Background(), spec)
		var setup *SetupError
		if !errors.As(err, &setup) || setup.What != "limit "+name || setup.Fix == "" {
			t.Errorf("limit %s without a cgroup: %v", name, err)
		}
		spec.BestEffort = true
		if _, err := bare.Run(context.Background(), spec); err != nil {
			t.Errorf("limit %s as best effort: %v", name, err)
		}
	}
	spec := sh(`perl -e '$x = "x" x 200_000_000; print "held"'`)
	spec.Limits.Memory, spec.BestEffort = 64<<20, true
	if r, err := bare.Run(context.Background(), spec); err != nil || bytes.Contains(r.Stdout, []byte("held")) {
		t.Errorf("memory of one process as best effort: %s %v", r.Stdout, err)
	}
	if contains(s.Limits(), "memory") {
		spec = sh("true")
		spec.Limits.Memory = 64 << 10
		if _, err := s.Run(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "limit memory: too small") {
			t.Errorf("64 KiB of memory: %v", err)
		}
	}
	spec = sh("true")
	spec.Limits.CPUs = 4096
	if _, err := s.Run(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "limit cpus") {
		t.Errorf("4096 processors: %v", err)
	}
}

func TestProcessLimit(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		const script = `perl -e '$n = 0; while ($n < 60) { my $p = fork; last unless defined $p; if (!$p) { sleep 60; exit } $n++ } print $n'`
		spec := sh(script)
		spec.Limits.Pids = 20
		r := run(t, s, spec)
		var n int
		fmt.Sscan(string(r.Stdout), &n)
		if r.Outcome != Exited || n < 5 || n > 20+initTasks {
			t.Errorf("limit 20: %d forks, %s %s", n, r.Outcome, r.Stderr)
		}
		spec.Limits.Pids = 0
		if r := run(t, s, spec); string(r.Stdout) != "60" {
			t.Errorf("no limit: %s forks, %s", r.Stdout, r.Stderr)
		}
	})
}

func TestProcessors(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		spec := sh("nproc; taskset -p ffff $$ >/dev/null 2>&1; nproc")
		spec.Limits.CPUs = 1
		if got := output(t, s, spec); got != "1\n1\n" {
			t.Errorf("one processor: %q", got)
		}
		spec.Limits.CPUs = 0
		if got, want := output(t, s, sh("nproc")), fmt.Sprintln(runtime.NumCPU()); got != want {
			t.Errorf("no limit: %q, want %q", got, want)
		}
		if !contains(s.Limits(), "fractions of cpus") {
			t.Skip("no cgroup for fractions of a processor")
		}
		spec = sh("perl -e '1 while (times)[0] < 0.1'")
		spec.Limits.CPUs = 0.25
		if r := run(t, s, spec); r.Outcome != Exited || r.Wall < 250*time.Millisecond {
			t.Errorf("0.1 s of work with a quarter processor took %v", r.Wall)
		}
	})
}

func TestStreams(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		spec := sh("cat; echo oops >&2")
		spec.Stdin = strings.NewReader(strings.Repeat("x", 300_000))
		r := run(t, s, spec)
		if len(r.Stdout) != 300_000 || string(r.Stderr) != "oops\n" || r.StdoutBytes != 300_000 || r.StderrBytes != 5 {
			t.Errorf("copied %d, %q", len(r.Stdout), r.Stderr)
		}
		if got := output(t, s, sh("cat; wc -c </dev/null")); got != "0\n" {
			t.Errorf("no input: %q", got)
		}
		spec = sh("head -c 3") // leaves the rest
		spec.Stdin = bytes.NewReader(make([]byte, 1<<22))
		if got := output(t, s, spec); len(got) != 3 {
			t.Errorf("input left alone: %q", got)
		}
		reader, writer, err := os.Pipe()
		must(t, err)
		spec = sh("echo done") // does not read a source that never ends
		spec.Stdin = reader
		if got := output(t, s, spec); got != "done\n" {
			t.Errorf("endless input: %q", got)
		}
		writer.Close()
		reader.Close()
		var out, errs bytes.Buffer
		spec = sh("echo a; echo b >&2")
		spec.Stdout, spec.Stderr = &out, &errs
		if r := run(t, s, spec); out.String() != "a\n" || errs.String() != "b\n" || r.Stdout != nil || r.StdoutBytes != 2 {
			t.Errorf("writers: %q %q %+v", out.String(), errs.String(), r)
		}
		spec = sh("while :; do echo a; done")
		spec.Stdout = brokenWriter{}
		if _, err := s.Run(context.Background(), spec); !errors.Is(err, errBroken) {
			t.Errorf("a writer that fails: %v", err)
		}
	})
}

// TestFlood has a candidate print a gigabyte: it is cut at once, and nothing is
// held but what may be kept.
func TestFlood(t *testing.T) {
	s := open(t, User)
	spec := sh("head -c 1000000000 /dev/zero")
	spec.Limits.Output = 4 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := run(t, s, spec)
	runtime.ReadMemStats(&after)
	if r.Outcome != OutputLimit || int64(len(r.Stdout)) != spec.Limits.Output || r.StdoutBytes > 64<<20 {
		t.Errorf("%s, kept %d of %d bytes", r.Outcome, len(r.Stdout), r.StdoutBytes)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d bytes were allocated for %d", grown, spec.Limits.Output)
	}
	if long() && r.Wall > time.Second {
		t.Errorf("cut after %v", r.Wall)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("no room")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestCommandRefused(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		arm := tree(t, map[string]string{"script": "#!/nowhere/interpreter\n", "text": "no program", "dir/x": "", "plain": "#!/bin/sh\n"})
		must(t, os.Chmod(filepath.Join(arm, "plain"), 0o644))
		for _, c := range []struct{ name, why string }{
			{"nowhere", "not found in"}, {"/arm/nowhere", "no such file"}, {"./nowhere", "no such file"},
			{"/arm/dir", "it is a folder"}, {"/arm/plain", "not executable"}, {"/arm/script", "interpreter"}, {"/arm/text", "no program"},
		} {
			_, err := s.Run(context.Background(), Spec{Argv: []string{c.name}, Dir: "/arm", Binds: []Bind{{arm, "/arm"}}, Limits: small()})
			if !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), c.name) {
				t.Errorf("%s: %v, want %q", c.name, err, c.why)
			}
		}
		_, err := s.Run(context.Background(), Spec{Argv: []string{"true"}, Dir: "/nowhere", Limits: small()})
		if err == nil || errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "working folder /nowhere") {
			t.Errorf("missing working folder: %v", err)
		}
	})
}

func TestCancel(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		ctx, cancel := context.WithCancel(context.Background())
		spec := sh("echo go; sleep 60")
		spec.Stdout = writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
		begun := time.Now()
		_, err := s.Run(ctx, spec)
		if !errors.Is(err, context.Canceled) || time.Since(begun) > 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if _, err := s.Run(ctx, spec); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestConcurrent launches eight at a time; each has a user id of its own and
// nothing of another.
func TestConcurrent(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		rounds := 1
		if long() {
			rounds = 20
		}
		for range rounds {
			var wg, begun sync.WaitGroup
			begun.Add(8)
			ids := make([]string, 8)
			for i := range ids {
				wg.Add(1)
				go func() {
					defer wg.Done()
					spec := sh(fmt.Sprintf("read all; id -u; echo %d >/tmp/x; cat /tmp/x; set -- /proc/[0-9]*; echo $#", i))
					reader, writer := io.Pipe()
					spec.Stdin = reader
					go func() { // answered when all eight run
						begun.Wait()
						writer.Close()
					}()
					spec.Argv[2] = "echo >&2; " + spec.Argv[2]
					var once sync.Once
					spec.Stderr = writerFunc(func(p []byte) (int, error) { once.Do(begun.Done); return len(p), nil })
					spec.Limits.Pids = 10
					spec.Limits.CPUs = 1
					r, err := s.Run(context.Background(), spec)
					if err != nil || r.Exit != 0 {
						t.Errorf("%v %+v %s", err, r, r.Stderr)
						return
					}
					lines := strings.Fields(string(r.Stdout))
					ids[i] = lines[0]
					if lines[1] != fmt.Sprint(i) || lines[2] != "2" { // init, sh: nobody else is started, who might be late
						t.Errorf("launch %d saw %q", i, lines)
					}
				}()
			}
			wg.Wait()
			seen := map[string]bool{}
			for _, id := range ids {
				seen[id] = true
			}
			if want := map[bool]int{true: 8, false: 1}[os.Geteuid() == 0]; len(seen) != want && !t.Failed() {
				t.Errorf("%d user ids for 8 launches: %v", len(seen), ids)
			}
		}
	})
}

// TestWorksInside runs what candidates are made of.
func TestWorksInside(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		arm := tree(t, map[string]string{
			"main.c": "#include <stdio.h>\nint main(void) { puts(\"c\"); return 0; }\n",
			"pool.py": "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n" +
				"    with m.Pool(2) as p: print(sum(p.map(f, range(4))))\n    with m.Manager() as g: print(g.list([1]))\n",
			"map.py": "import mmap\nm = mmap.mmap(-1, 4 << 30)\nfor i in range(0, 16 << 20, 4096): m[i] = 1\nn = mmap.mmap(-1, 1 << 20)\nprint(len(m) >> 20)\n",
			"net.py": "import socket\ns = socket.create_server(('127.0.0.1', 0))\nc = socket.create_connection(s.getsockname())\nprint('loop')\n",
		})
		for i, c := range []struct{ needs, script, want string }{
			{"sh", "echo a | tr a b", "b\n"},
			{"awk", "echo 1 2 | awk '{print $1 + $2}'", "3\n"},
			{"perl", "perl -e 'print 6 * 7'", "42"},
			{"/usr/bin/python3", "/usr/bin/python3 pool.py", "14\n[1]\n"},
			{"/usr/bin/python3", "/usr/bin/python3 net.py", "loop\n"},
			{"/usr/bin/python3", "/usr/bin/python3 map.py", "4096\n"},
			{"/usr/bin/python3", "/usr/bin/python3 -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -c 'import sys; print(sys.prefix)'", "/tmp/venv\n"},
			{"gcc", "gcc -o /tmp/main main.c && /tmp/main", "c\n"},
			{"node", "node -e 'console.log(1 + 1)'", "2\n"},
			{"git", "git init -q /tmp/r && cd /tmp/r && git status --short", ""},
		} {
			if elsewhere(s, i) {
				continue
			}
			t.Run(c.script, func(t *testing.T) {
				path, err := exec.LookPath(c.needs)
				if err != nil || !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/bin/") {
					t.Skipf("%s is not installed in /usr", c.needs)
				}
				spec := sh(c.script)
				spec.Dir, spec.Binds = "/arm", []Bind{{arm, "/arm"}}
				spec.Limits.Temporary = 64 << 20
				if got := output(t, s, spec); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		}
	})
}

// TestSetuid starts a program that belongs to root and takes root's rights for
// whoever starts it.
func TestSetuid(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("root and a C compiler are needed to make a setuid program: uid %d, %v", os.Geteuid(), err)
	}
	arm := tree(t, map[string]string{"main.c": "#include <unistd.h>\n#include <stdio.h>\nint main(void) { printf(\"%d\", setuid(0) || geteuid() || seteuid(0)); return 0; }\n"})
	program := filepath.Join(arm, "program")
	if out, err := exec.Command(cc, "-o", program, filepath.Join(arm, "main.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, os.Chmod(program, 0o755|os.ModeSetuid))
	if out, err := ordinaryCommand(program).Output(); err != nil || string(out) != "0" {
		t.Fatalf("the program gives no rights outside: %q, %v", out, err)
	}
	inModes(t, func(t *testing.T, s *Sandbox) {
		if got := output(t, s, Spec{Argv: []string{"/arm/program"}, Binds: []Bind{{arm, "/arm"}}}); got != "1" {
			t.Errorf("the program gives rights inside: %q", got)
		}
	})
}

func TestEnvironment(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		spec := Spec{Argv: []string{"env"}, Env: []string{"LANG=de_DE", "A=b=c", "EMPTY="}}
		want := "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp\nTMPDIR=/tmp\nLANG=de_DE\nA=b=c\nEMPTY=\n"
		if got := output(t, s, spec); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := output(t, s, sh("cat /proc/1/cmdline; hostname; pwd; umask")); got != initName+"\x00sandbox\n/\n0022\n" {
			t.Errorf("identity: %q", got)
		}
	})
}
