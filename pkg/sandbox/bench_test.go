//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkTrue launches /usr/bin/true without walls, in both modes, and in
// bubblewrap where it is installed, in turn, so that a busy machine is as busy
// for one as for the other.
func BenchmarkTrue(b *testing.B) {
	type contender struct {
		name   string
		launch func() error
		took   []time.Duration
	}
	all := []*contender{{name: "exec", launch: exec.Command("/usr/bin/true").Run}}
	all[0].launch = func() error { return exec.Command("/usr/bin/true").Run() }
	for _, mode := range []Mode{Root, User} {
		s, err := New(Options{Mode: mode})
		if err != nil {
			b.Logf("no %s mode: %v", mode, err)
			continue
		}
		defer s.Close()
		spec := Spec{Argv: []string{"/usr/bin/true"}, Limits: small()}
		all = append(all, &contender{name: string(mode), launch: func() error {
			_, err := s.Run(context.Background(), spec)
			return err
		}})
	}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		all = append(all, &contender{name: "bwrap", launch: func() error {
			return exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/usr", "/usr",
				"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
				"--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/tmp", "--remount-ro", "/", "/usr/bin/true").Run()
		}})
	}
	for b.Loop() {
		for _, c := range all {
			begun := time.Now()
			if err := c.launch(); err != nil {
				b.Fatalf("%s: %v", c.name, err)
			}
			c.took = append(c.took, time.Since(begun))
		}
	}
	for _, c := range all {
		slices.Sort(c.took)
		b.ReportMetric(float64(c.took[0].Microseconds())/1000, c.name+"-least-ms")
		b.ReportMetric(float64(c.took[len(c.took)/2].Microseconds())/1000, c.name+"-median-ms")
	}
}

// BenchmarkWork compares the CPU time of the same work outside and inside.
func BenchmarkWork(b *testing.B) {
	perl, err := exec.LookPath("perl")
	if err != nil {
		b.Skip(err)
	}
	const work = "for (1 .. 4_000_000) { $x += $_ * 3 % 7 }"
	s, err := New(Options{})
	if err != nil {
		b.Skip(err)
	}
	defer s.Close()
	var outside, inside []float64
	for b.Loop() {
		c := exec.Command(perl, "-e", work)
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
		outside = append(outside, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
		r, err := s.Run(context.Background(), Spec{Argv: []string{perl, "-e", work}, Limits: small()})
		if err != nil || r.Usage.CPU == nil {
			b.Skipf("nobody counts CPU time here: %v", err)
		}
		inside = append(inside, r.Usage.CPU.Seconds())
	}
	slices.Sort(outside)
	slices.Sort(inside)
	b.ReportMetric(inside[0]/outside[0], "inside/outside-least")
	b.ReportMetric(inside[len(inside)/2]/outside[len(outside)/2], "inside/outside-median")
}
