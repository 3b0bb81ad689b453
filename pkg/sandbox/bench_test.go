//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkTrue compares the launch of /usr/bin/true: without walls, in both
// modes, and in bubblewrap where it is installed. On a busy machine the fastest
// launch tells more than the mean.
func BenchmarkTrue(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		fastest(b, func() error { return exec.Command("/usr/bin/true").Run() })
	})
	for _, mode := range []Mode{Root, User} {
		b.Run(string(mode), func(b *testing.B) {
			s, err := New(Options{Mode: mode})
			if err != nil {
				b.Skip(err)
			}
			defer s.Close()
			spec := Spec{Argv: []string{"/usr/bin/true"}, Limits: small()}
			fastest(b, func() error {
				_, err := s.Run(context.Background(), spec)
				return err
			})
		})
	}
	b.Run("bubblewrap", func(b *testing.B) {
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			b.Skip(err)
		}
		fastest(b, func() error {
			return exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/usr", "/usr",
				"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
				"--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/tmp", "--remount-ro", "/", "/usr/bin/true").Run()
		})
	})
}

func fastest(b *testing.B, launch func() error) {
	best := time.Hour
	for b.Loop() {
		begun := time.Now()
		if err := launch(); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(begun))
	}
	b.ReportMetric(float64(best.Microseconds())/1000, "fastest-ms")
}
