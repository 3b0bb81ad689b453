package evaluate

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWatchSees changes a folder in every way that leaves traces somewhere.
func TestWatchSees(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ctime and inode are read on Linux only, where evaluation counts")
	}
	at := func(dir string) string { return filepath.Join(dir, "a/file") }
	tests := []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"bytes", func(d string) error { return os.WriteFile(at(d), []byte("other"), 0o644) }, `"a/file"`},
		{"bytes, size and time kept", func(d string) error {
			info, err := os.Stat(at(d))
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(at(d), []byte("BYTES"), 0o644), os.Chtimes(at(d), info.ModTime(), info.ModTime()))
		}, `"a/file"`},
		{"mode", func(d string) error { return os.Chmod(at(d), 0o755) }, `"a/file"`},
		{"removed", func(d string) error { return os.Remove(at(d)) }, `"a/file"`},
		{"new file", func(d string) error { return os.WriteFile(filepath.Join(d, "b"), nil, 0o644) }, `"b"`},
		{"new folder", func(d string) error { return os.Mkdir(filepath.Join(d, "b"), 0o755) }, `"b"`},
		{"pipe", func(d string) error { return syscall.Mkfifo(filepath.Join(d, "b"), 0o644) }, `"b"`},
		{"link in place of file", func(d string) error { return errors.Join(os.Remove(at(d)), os.Symlink("/etc/passwd", at(d))) }, `"a/file"`},
		{"second name", func(d string) error { return os.Link(at(d), d+"-twin") }, `"a/file"`},
		{"replaced by a twin", func(d string) error {
			return errors.Join(os.WriteFile(d+"-twin", []byte("bytes"), 0o644), os.Rename(d+"-twin", at(d)))
		}, "touched or replaced"},
		{"touched", func(d string) error { return os.Chtimes(at(d), time.Now(), time.Now()) }, "touched or replaced"},
		{"gone", os.RemoveAll, "vanished"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{T: t}
			dir := b.folder(map[string]string{"a/file": "bytes", "c": "more"})
			w, err := newWatch("thing", dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, full := range []bool{false, true} {
				if diff, err := w.check(full); err != nil || len(diff) != 0 {
					t.Fatalf("before: %q, error %v", diff, err)
				}
			}
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			diff, err := w.check(false)
			if err != nil || len(diff) != 1 || !strings.HasPrefix(diff[0], "thing: ") || !strings.Contains(diff[0], tt.want) {
				t.Errorf("got %q, error %v; want %q", diff, err, tt.want)
			}
		})
	}
}

func TestSome(t *testing.T) {
	if got := some([]string{"a", "b"}); got != "a, b" {
		t.Errorf("got %q", got)
	}
	if got := some(strings.Split("abcdefg", "")); got != "a, b, c, d, e and 2 more" {
		t.Errorf("got %q", got)
	}
}
