//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkTrue compares the launch of /usr/bin/true: without walls, in both
// modes, and in bubblewrap where it is installed.
func BenchmarkTrue(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, mode := range []Mode{Root, User} {
		b.Run(string(mode), func(b *testing.B) {
			s, err := New(Options{Mode: mode})
			if err != nil {
				b.Skip(err)
			}
			defer s.Close()
			for b.Loop() {
				r, err := s.Run(context.Background(), Spec{Argv: []string{"/usr/bin/true"}, Limits: Limits{Wall: time.Minute, Output: 1 << 20, Temporary: 1 << 20, Memory: 64 << 20, Pids: 16}})
				if err != nil || r.Exit != 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
	b.Run("bubblewrap", func(b *testing.B) {
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			b.Skip(err)
		}
		for b.Loop() {
			c := exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/usr", "/usr",
				"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
				"--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/tmp", "--remount-ro", "/", "/usr/bin/true")
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatal(err, string(out))
			}
		}
	})
}
