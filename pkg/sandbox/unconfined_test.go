//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func loose(script string) Spec {
	return Spec{Argv: []string{"sh", "-c", script}, Limits: Limits{Wall: 20 * time.Second, Output: 1 << 20, Temporary: 1}}
}

func TestUnconfined(t *testing.T) {
	inputs, lower, out, elsewhere := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{inputs + "/a": "input", lower + "/old": "old"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := loose(`cat "$IN/a" "$LOWER/old"; echo -n new >"$OUT/d"; echo -n x >>"$LOWER/old"; ln -s d "$OUT/l"; pwd; echo "$OTHER"; touch "$TMPDIR/x"; cat`)
	s.Dir, s.Stdin = "/inputs", strings.NewReader("stdin")
	s.Binds = []Bind{{inputs, "/inputs"}}
	s.Scratch = []Scratch{{Target: "/out", Bytes: 100, Collect: out}, {Target: "/lower", Lower: lower, Bytes: 100, Collect: elsewhere}}
	s.Env = []string{"IN=/inputs", "OUT=/out", "LOWER=/lower", "OTHER=/inputsx /out"}
	r, err := NewUnconfined().Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if want := "inputold" + real + "\n/inputsx /out\nstdin"; string(r.Stdout) != want && string(r.Stdout) != "inputold"+inputs+"\n/inputsx /out\nstdin" {
		t.Errorf("printed %q, want %q; %s", r.Stdout, want, r.Stderr)
	}
	if r.Outcome != Unreadable || fmt.Sprint(r.Refused) != "[/out/l: symbolic link]" {
		t.Errorf("%s, refused %q", r.Outcome, r.Refused)
	}
	for name, want := range map[string]string{out + "/d": "new", elsewhere + "/old": "oldx", lower + "/old": "old"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempName+"*")); slices.ContainsFunc(left, mine) {
		t.Logf("temporary folders of other processes: %q", left)
	}
}

func TestUnconfinedOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, script string
		change       func(*Spec)
		want         Outcome
		exit, signal int
	}{
		{"status", "exit 3", nil, Exited, 3, 0},
		{"signal", "kill -SEGV $$", nil, Signalled, 0, 11},
		{"wall", "sleep 60 & sleep 60", func(s *Spec) { s.Limits.Wall = 100 * time.Millisecond }, TimedOut, 0, 9},
		{"output", "while :; do echo x; done", func(s *Spec) { s.Limits.Output = 1000 }, OutputLimit, 0, 9},
		{"left behind", "sleep 60 & exit 4", nil, Exited, 4, 0},
	} {
		s := loose(c.script)
		if c.change != nil {
			c.change(&s)
		}
		begun := time.Now()
		r, err := NewUnconfined().Run(context.Background(), s)
		if err != nil || r.Outcome != c.want || r.Exit != c.exit || r.Signal != c.signal {
			t.Errorf("%s: %+v %v", c.name, r, err)
		}
		if time.Since(begun) > 15*time.Second {
			t.Errorf("%s took %v", c.name, time.Since(begun))
		}
	}
}

func TestUnconfinedRefused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"missing command": {func(s *Spec) { s.Argv = []string{"nowhere"} }, "not found"},
		"missing file":    {func(s *Spec) { s.Argv = []string{"./nowhere"} }, "no such file"},
		"folder":          {func(s *Spec) { s.Argv, s.Binds = []string{"/a"}, []Bind{{dir, "/a"}} }, "it is a folder"},
		"missing source":  {func(s *Spec) { s.Binds = []Bind{{dir + "/x", "/a"}} }, "no such file"},
		"scratch in bind": {func(s *Spec) { s.Binds, s.Scratch = []Bind{{dir, "/a"}}, []Scratch{{Target: "/a/b", Bytes: 1}} }, "cannot lie in /a"},
		"no wall":         {func(s *Spec) { s.Limits.Wall = 0 }, "limit wall"},
		"missing lower":   {func(s *Spec) { s.Scratch = []Scratch{{Target: "/a", Bytes: 1, Lower: dir + "/x"}} }, "no such file"},
		"working folder":  {func(s *Spec) { s.Dir = "/nowhere" }, "no such file"},
		"unclean target":  {func(s *Spec) { s.Binds = []Bind{{dir, "a"}} }, "clean absolute"},
		"collect nowhere": {func(s *Spec) { s.Scratch = []Scratch{{Target: "/a", Bytes: 1, Collect: dir + "/x"}} }, "no such file"},
	} {
		s := loose("true")
		c.change(&s)
		_, err := NewUnconfined().Run(context.Background(), s)
		var setup *SetupError
		if !errors.As(err, &setup) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestUnconfinedCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := loose("echo; sleep 60")
	s.Stdout = cancelling(cancel)
	if _, err := NewUnconfined().Run(ctx, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type cancelling func()

func (c cancelling) Write(p []byte) (int, error) { c(); return len(p), nil }

func TestTemp(t *testing.T) {
	parent := t.TempDir()
	alive, err := newTemp(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newTemp(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead.dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	syscall.Flock(int(dead.lock.Fd()), syscall.LOCK_UN) // as when its process dies
	victim := filepath.Join(parent, "victim")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(parent, tempName+"trap")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, tempName+"trap"+lockEnd), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sweepTemp(parent); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{alive.dir: true, alive.lock.Name(): true, dead.dir: false, dead.lock.Name(): false, victim: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", path, err == nil, want)
		}
	}
	if err := alive.remove(); err != nil {
		t.Error(err)
	}
}
