package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func valid() Spec {
	return Spec{Argv: []string{"true"}, Limits: Limits{Wall: time.Second, Output: 1, Temporary: 1}}
}

func TestSpecRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	scratch := func(s Scratch) func(*Spec) { return func(x *Spec) { x.Scratch = []Scratch{s} } }
	target := func(s string) func(*Spec) { return func(x *Spec) { x.Binds = []Bind{{"/usr", s}} } }
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   string // in the error; empty: accepted
	}{
		{"minimal", func(*Spec) {}, ""},
		{"no command", func(s *Spec) { s.Argv = nil }, "no command"},
		{"empty command", func(s *Spec) { s.Argv = []string{""} }, "no command"},
		{"NUL in a word", func(s *Spec) { s.Argv = []string{"a", "b\x00"} }, "word 2"},
		{"bytes in a word", func(s *Spec) { s.Argv = []string{"\xff"} }, "word 1"},
		{"relative folder", func(s *Spec) { s.Dir = "arm" }, "working folder"},
		{"unclean folder", func(s *Spec) { s.Dir = "/arm/.." }, "working folder"},
		{"folder", func(s *Spec) { s.Dir = "/arm" }, ""},
		{"environment without name", func(s *Spec) { s.Env = []string{"=x"} }, "NAME=value"},
		{"environment without value", func(s *Spec) { s.Env = []string{"X"} }, "NAME=value"},
		{"NUL in the environment", func(s *Spec) { s.Env = []string{"X=\x00"} }, "environment"},
		{"wall zero", func(s *Spec) { s.Limits.Wall = 0 }, "limit wall"},
		{"wall negative", func(s *Spec) { s.Limits.Wall = -time.Second }, "limit wall: -1s is not more than zero"},
		{"output zero", func(s *Spec) { s.Limits.Output = 0 }, "limit output"},
		{"temporary zero", func(s *Spec) { s.Limits.Temporary = 0 }, "limit temporary"},
		{"memory negative", func(s *Spec) { s.Limits.Memory = -1 }, "limit memory"},
		{"pids beyond all kernels", func(s *Spec) { s.Limits.Pids = maxPids + 1 }, "limit pids: 4194305 are more than a kernel can hold"},
		{"pids negative", func(s *Spec) { s.Limits.Pids = -1 }, "limit pids"},
		{"cpu negative", func(s *Spec) { s.Limits.CPU = -1 }, "limit cpu"},
		{"cpus negative", func(s *Spec) { s.Limits.CPUs = -0.5 }, "limit cpus"},
		{"cpus no number", func(s *Spec) { s.Limits.CPUs = nan() }, "limit cpus"},
		{"relative target", target("x"), "clean absolute"},
		{"root as target", target("/"), "clean absolute"},
		{"unclean target", target("/a/../b"), "clean absolute"},
		{"target over /usr", target("/usr"), "/usr belongs to the sandbox"},
		{"target in /proc", target("/proc/1"), "/proc belongs to the sandbox"},
		{"target in /tmp", target("/tmp/x"), "/tmp belongs to the sandbox"},
		{"target beside /tmp", target("/tmpx"), ""},
		{"two at one target", func(s *Spec) { s.Binds = []Bind{{"/usr", "/a"}, {"/usr", "/a"}} }, "named twice"},
		{"bind and scratch at one target", func(s *Spec) {
			s.Binds, s.Scratch = []Bind{{"/usr", "/a"}}, []Scratch{{Target: "/a", Bytes: 1}}
		}, "named twice"},
		{"scratch without size", scratch(Scratch{Target: "/a"}), "cap of 0 bytes"},
		{"scratch with a negative size", scratch(Scratch{Target: "/a", Bytes: -1}), "cap of -1 bytes"},
		{"scratch with negative inodes", scratch(Scratch{Target: "/a", Bytes: 1, Inodes: -1}), "-1 files"},
		{"collect into nothing", scratch(Scratch{Target: "/a", Bytes: 1, Collect: filepath.Join(full, "no")}), "no such file"},
		{"collect into a full folder", scratch(Scratch{Target: "/a", Bytes: 1, Collect: full}), `holds "x"`},
		{"too many scratches", func(s *Spec) { s.Scratch = make([]Scratch, maxCollect+1) }, "65 are more than 64"},
	} {
		s := valid()
		c.change(&s)
		err := s.check()
		var setup *SetupError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.As(err, &setup) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestSources(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"arm", "secret/deep", "repo/.git/objects", "tools/bin", "harness"} {
		if err := os.MkdirAll(in(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{in("secret"): "to-secret", in("tools"): "to-tools", "/usr": "to-usr", "/proc": "to-proc", in("arm"): "to-arm"} {
		if err := os.Symlink(from, in(to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in("file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := newProtected([]string{in("secret"), in("to-arm") + "/../harness", in("not-yet")})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		in("arm"): "", in("to-arm"): "", in("file"): "",
		in("secret"): "protected", in("secret/deep"): "protected", dir: "protected", "/": "protected", in("to-secret"): "protected",
		in("to-secret/deep"): "protected", in("harness"): "protected", in("to-proc"): "protected", "/proc/self": "protected", "/sys": "protected", "/dev/null": "protected",
		"/root": "protected", "/run": "protected", "/var/run": "protected",
		in("repo"): "holds a .git", in("repo/.git/objects"): "lies in a .git", in("none"): "no such file", "arm": "not an absolute", "": "not an absolute",
		in("a\x00"): "UTF-8",
	} {
		s := valid()
		s.Binds = []Bind{{source, "/arm"}}
		err := s.sources(p)
		var setup *SetupError
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", source, err)
		case want != "" && (!errors.As(err, &setup) || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", source, err, want)
		}
	}
	s := valid()
	s.Scratch = []Scratch{{Target: "/x", Lower: in("to-secret"), Bytes: 1}}
	if err := s.sources(p); err == nil || !strings.Contains(err.Error(), "protected") {
		t.Errorf("protected lower layer: %v", err)
	}
	s.Scratch = []Scratch{{Target: "/x", Lower: in("file"), Bytes: 1}}
	if err := s.sources(p); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("file as lower layer: %v", err)
	}
}

func TestToolchains(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools, link := filepath.Join(dir, "tools"), filepath.Join(dir, "link")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tools, link); err != nil {
		t.Fatal(err)
	}
	p, err := newProtected(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := valid()
	s.Toolchains = []string{link, "/usr/local"}
	if got := s.environment()[0]; got != "PATH="+link+"/bin:/usr/local/bin:"+systemPath {
		t.Errorf("%s", got)
	}
	reservedTemp := slices.ContainsFunc(reserved, func(r string) bool { return overlap(r, link) })
	err = s.sources(p)
	if reservedTemp {
		if err == nil || !strings.Contains(err.Error(), "belongs to the sandbox") {
			t.Errorf("a toolchain in /tmp, which is the sandbox's own: %v", err)
		}
	} else if err != nil || !slices.Equal(s.Binds, []Bind{{tools, link}}) {
		t.Errorf("%v %v", s.Binds, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self", link); err != nil {
		t.Fatal(err)
	}
	if err := s.sources(p); err == nil || !strings.Contains(err.Error(), "protected") {
		t.Errorf("a toolchain that links into a protected place: %v", err)
	}
}

// TestNoValueShown holds back what may be a secret.
func TestNoValueShown(t *testing.T) {
	s := valid()
	s.Env = []string{"A_KEY=hidden\x00"}
	if err := s.check(); err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "A_KEY") {
		t.Error(err)
	}
	s.Env = []string{"hidden"}
	if err := s.check(); err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "entry 1") {
		t.Error(err)
	}
}

func TestProtectedRefused(t *testing.T) {
	for path, want := range map[string]string{"relative": "not absolute", "/usr/share": "lies in /usr"} {
		if _, err := newProtected([]string{path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	err := refuse("limit memory", "no cgroup", "run as root")
	if err.Error() != "limit memory: no cgroup (run as root)" {
		t.Error(err)
	}
	integrity := &IntegrityError{What: "cgroup x", Why: "busy"}
	if integrity.Error() != "evaluation integrity cannot be guaranteed: cgroup x: busy" {
		t.Error(integrity)
	}
}
