//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// drive runs a shell script as a driver whose calls launch the script whose
// name is their first word, in a sandbox of their own.
func drive(t *testing.T, s *Sandbox, script string, scripts map[string]string) (Result, []Result) {
	t.Helper()
	var mu sync.Mutex
	var calls []Result
	spec := sh(script)
	spec.Calls = func(ctx context.Context, c Call) (Result, error) {
		text, ok := scripts[c.Argv[0]]
		if !ok {
			return Result{}, fmt.Errorf("no script %q", c.Argv[0])
		}
		r, err := s.Run(ctx, Spec{Argv: append([]string{"sh", "-c", text}, c.Argv...), Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Limits: small()})
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, r)
		return r, err
	}
	r := run(t, s, spec)
	return r, calls
}

const ask = ClientPath + " -- "

func TestCalls(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		for i, c := range []struct{ name, script, called, want string }{
			{"words", ask + `echo "a b" '' "$(printf 'c\nd')" </dev/null`, `printf '%s.' "$@"`, "a b..c\nd."},
			{"stdin", `printf input | ` + ask + `echo`, `tr a-z A-Z`, "INPUT"},
			{"large stdin and stdout", `head -c 900000 /dev/zero | ` + ask + `echo | wc -c`, `cat`, "900000\n"},
			{"stdin left alone", `head -c 3000000 /dev/zero | ` + ask + `echo`, `echo done`, "done\n"},
			{"endless stdin", `yes | ` + ask + `echo`, `head -n 2`, "y\ny\n"},
			{"stderr apart", ask + `echo 2>/tmp/e </dev/null; echo; cat /tmp/e`, `echo out; echo err >&2`, "out\n\nerr\n"},
			{"exit code", ask + `echo </dev/null; echo $?`, `exit 7`, "7\n"},
			{"signal", ask + `echo </dev/null; echo $?`, `kill -SEGV $$`, "139\n"},
			{"output limit", ask + `echo </dev/null >/dev/null; echo $?`, `yes`, "122\n"},
			{"no such script", ask + `nothing </dev/null 2>&1; echo $?`, ``, "research-loop: no script \"nothing\"\n125\n"},
			{"no words", ClientPath + ` echo </dev/null 2>&1; echo $?`, ``, "usage: $RESEARCH_LOOP_CANDIDATE -- ARG…\n125\n"},
			{"two at once", `for i in 1 2; do ` + ask + `echo $i </dev/null & done; wait`, `echo x`, "x\nx\n"},
			{"killed client", `mkfifo /tmp/up; ` + ask + `echo </dev/null >/tmp/up & read up </tmp/up; kill -9 $!; wait $!; echo $?`, `echo up; sleep 60`, "137\n"},
			{"client that stops reading", ask + `echo </dev/null | head -c 4`, `yes 0123 | head -c 900000; sleep 60`, "0123"},
		} {
			if elsewhere(s, i) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				begun := time.Now()
				r, _ := drive(t, s, c.script, map[string]string{"echo": c.called})
				if string(r.Stdout) != c.want || r.Outcome != Exited {
					t.Errorf("%s, %d bytes: %.200q, want %.200q; %s", r.Outcome, len(r.Stdout), r.Stdout, c.want, r.Stderr)
				}
				if took := time.Since(begun); took > 25*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	})
}

// TestCallsEnd leaves launches behind in every way and finds them dead.
func TestCallsEnd(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		for name, script := range map[string]string{
			"driver ends first":  ask + `sleep </dev/null >/tmp/up & read up </tmp/up`,
			"driver is killed":   ask + `sleep </dev/null >/tmp/up & read up </tmp/up; kill -9 $$`,
			"client is killed":   ask + `sleep </dev/null >/tmp/up & read up </tmp/up; kill -9 $!; wait`,
			"client is a daemon": `(setsid ` + ask + `sleep </dev/null >/tmp/up &); read up </tmp/up`,
			"stopped client":     ask + `flood </dev/null >/tmp/up & read up </tmp/up; kill -STOP $!`,
		} {
			script = "mkfifo /tmp/up; " + script // read when the launch is up
			_, calls := drive(t, s, script, map[string]string{"sleep": "echo up; sleep 60", "flood": "yes up | head -c 900000; sleep 60"})
			if len(calls) != 1 || calls[0].Outcome != Cancelled || calls[0].Wall <= 0 || calls[0].Code() != 137 {
				t.Errorf("%s: %+v", name, calls)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		spec := sh(ask + `sleep </dev/null`)
		spec.Calls = func(ctx context.Context, c Call) (Result, error) {
			cancel()
			<-ctx.Done()
			return Result{}, ctx.Err()
		}
		if _, err := s.Run(ctx, spec); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled driver: %v", err)
		}
	})
}

// TestCallsMany starts many clients at a time; the answers bound how many
// launches that makes.
func TestCallsMany(t *testing.T) {
	s := open(t, User)
	var now, most, all atomic.Int64
	slots := make(chan struct{}, 3)
	asked := 12
	if long() {
		asked = 40
	}
	spec := sh(fmt.Sprintf("for i in $(seq %d); do ", asked) + ask + `$i </dev/null & done; wait`)
	spec.Calls = func(ctx context.Context, c Call) (Result, error) {
		slots <- struct{}{}
		defer func() { <-slots }()
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		all.Add(1)
		return s.Run(ctx, Spec{Argv: []string{"echo", c.Argv[0]}, Stdout: c.Stdout, Limits: small()})
	}
	r := run(t, s, spec)
	if got := len(strings.Fields(string(r.Stdout))); got != asked || all.Load() != int64(asked) || most.Load() > 3 {
		t.Errorf("%d of %d answers, %d at once; %s", got, all.Load(), most.Load(), r.Stderr)
	}
}

// TestCallsHidden looks from a candidate for what its driver has.
func TestCallsHidden(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		inputs := tree(t, map[string]string{"case": "the input"})
		spec := sh(`test -S ` + ClientSocket + ` && test -e /inputs/case || exit 3; ` + ask + `x </dev/null`)
		spec.Binds = []Bind{{inputs, "/inputs"}}
		spec.Env = []string{"OF_THE_DRIVER=yes"}
		spec.Calls = func(ctx context.Context, c Call) (Result, error) {
			look := `ls -d /inputs /research-loop* 2>/dev/null; env | grep -e OF_THE -e RESEARCH; grep -e inputs -e research /proc/self/mountinfo; grep -v '^Num' /proc/net/unix; cat /proc/*/environ | tr '\0' '\n' | grep OF_THE; ls /proc | grep -c '^[0-9]'`
			return s.Run(ctx, Spec{Argv: []string{"sh", "-c", look}, Stdout: c.Stdout, Stderr: c.Stderr, Limits: small()})
		}
		if got := output(t, s, spec); got != "4\n" { // init, sh, ls, grep
			t.Errorf("a candidate sees %q", got)
		}
	})
}

// TestCallsNonsense speaks to the supervisor as no client does.
func TestCallsNonsense(t *testing.T) {
	s := open(t, User)
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		t.Skip("no perl to open a socket with")
	}
	speak := func(bytes string) string {
		return `perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new("` + ClientSocket + `") or exit 9; print $s "` + bytes + `"; read $s, $x, 1; print length $x'; `
	}
	asked := 0
	spec := sh(speak(`hello, this is no frame`) + speak(`c\377\377\377\377`) + speak(`c\0\0\0\2{}`) + speak(`i\0\0\0\1x`) + "echo; " + ask + "x </dev/null")
	spec.Calls = func(context.Context, Call) (Result, error) { asked++; return Result{Exit: 0}, nil }
	if got := output(t, s, spec); got != "0000\n" || asked != 1 {
		t.Errorf("answered %q, %d calls", got, asked)
	}
	spec = sh(speak(`c\0\0\0\5[\"x\"]i\0\0\0\1xi\0\0\0\1yi\0\0\0\1z`))
	ended := make(chan struct{})
	spec.Calls = func(ctx context.Context, _ Call) (Result, error) {
		<-ctx.Done()
		close(ended)
		return Result{}, ctx.Err()
	}
	run(t, s, spec)
	<-ended // input that nobody asked for ends the call
}

// TestAsk is a client without a supervisor.
func TestAsk(t *testing.T) {
	code, err := Ask(t.TempDir()+"/none", []string{"x"}, strings.NewReader(""), io.Discard, io.Discard)
	if code != 125 || err == nil || !strings.Contains(err.Error(), "only a driver can") {
		t.Errorf("%d, %v", code, err)
	}
	code, err = Ask("", []string{"x", "\xff"}, nil, nil, nil)
	if code != 125 || err == nil || !strings.Contains(err.Error(), "word 2") {
		t.Errorf("%d, %v", code, err)
	}
	code, err = Ask("", []string{strings.Repeat("x", maxWords)}, nil, nil, nil)
	if code != 125 || err == nil || !strings.Contains(err.Error(), "pass them as standard input") {
		t.Errorf("%d, %v", code, err)
	}
}

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind byte
		data string
		err  string
	}{
		{"m\x00\x00\x00\x00", frameMore, "", ""},
		{"i\x00\x00\x00\x02abrest", frameInput, "ab", ""},
		{"", 0, "", "EOF"},
		{"i\x00\x00", 0, "", "unexpected EOF"},
		{"i\x00\x00\x00\x02a", 0, "", "unexpected EOF"},
		{"i\x00\x00\x00\x02", 0, "", "unexpected EOF"},
		{"i\x00\x01\x00\x01", 0, "", "at most 65536"},
		{"m\x00\x00\x00\x01x", 0, "", "at most 0"},
		{"c\xff\xff\xff\xff", 0, "", "at most 1048576"},
		{"x\x00\x00\x00\x00", 0, "", "no frame"},
	} {
		f, err := readFrame(strings.NewReader(c.in))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, want %q", c.in, err, c.err)
		}
		if err == nil && (f.kind != c.kind || string(f.data) != c.data) {
			t.Errorf("%q: %+v", c.in, f)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("c\x00\x00\x00\x05[\"x\"]i\x00\x00\x00\x01ye\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var again bytes.Buffer
		w := &frameWriter{w: &again}
		for {
			fr, err := readFrame(r)
			if err != nil {
				break
			}
			must(t, w.write(fr.kind, fr.data))
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Errorf("%q was read as %q", data, again.Bytes())
		}
	})
}
