package repo

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMaterialise(t *testing.T) {
	remote, person := newRemote(t)
	write(t, filepath.Join(person, "bin/run"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(person, "bin/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	id := commit(t, person, map[string]string{"a/b/c": "c", "ü": "", ".gitattributes": "* text\n"})
	sh(t, person, "push", "--quiet", "origin", "main")
	c := fetched(t, remote)
	entries, err := c.Tree(id)
	if err != nil {
		t.Fatal(err)
	}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	one, two := t.TempDir(), t.TempDir()
	s, err := c.Materialise(entries, one)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Fingerprint(one)
	if err != nil || s.Digest() != found.Digest() || len(s.Diff(found)) != 0 {
		t.Errorf("wrote %v\nfound %v, %v", s.Files, found.Files, err)
	}
	if s, err := c.Materialise(entries, two); err != nil || s.Digest() != found.Digest() {
		t.Errorf("the second folder differs: %v, %v", s.Diff(found), err)
	}
	for name, mode := range map[string]os.FileMode{"bin/run": 0o755, "README": 0o644, "a/b": 0o755 | os.ModeDir, "a/b/c": 0o644} {
		info, err := os.Lstat(filepath.Join(one, name))
		if err != nil || info.Mode() != mode || !info.ModTime().Equal(time.Unix(written, 0)) {
			t.Errorf("%s: %v, %v, %v", name, info.Mode(), info.ModTime(), err)
		}
	}
	if _, err := c.Materialise(entries, one); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a full folder: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{link, filepath.Join(two, "README"), filepath.Join(two, "none")} {
		if _, err := c.Materialise(entries, dir); err == nil {
			t.Errorf("into %s: no error", dir)
		}
	}
}

// TestFingerprintSees changes one thing at a time in a folder.
func TestFingerprintSees(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string) error
		want   []string
	}{
		{"nothing", func(string) error { return nil }, nil},
		{"time alone", func(d string) error { return os.Chtimes(d+"/a", time.Now(), time.Unix(5, 0)) }, nil},
		{"contents", func(d string) error { return os.WriteFile(d+"/a", []byte("2"), 0o644) }, []string{`"a": contents differ`}},
		{"length", func(d string) error { return os.WriteFile(d+"/a", []byte("22"), 0o644) }, []string{`"a": contents differ`}},
		{"mode", func(d string) error { return os.Chmod(d+"/a", 0o755) }, []string{`"a": mode 100644 became 100755`}},
		{"set-uid", func(d string) error { return os.Chmod(d+"/a", 0o755|os.ModeSetuid) }, []string{`"a": mode 100644 became 104755`}},
		{"missing", func(d string) error { return os.Remove(d + "/f/b") }, []string{`"f/b": missing`}},
		{"new file", func(d string) error { return os.WriteFile(d+"/x\n", nil, 0o644) }, []string{`"x\n": unexpected file`}},
		{"new folder", func(d string) error { return os.Mkdir(d+"/x", 0o755) }, []string{`"x": unexpected folder`}},
		{"folder mode", func(d string) error { return os.Chmod(d+"/f", 0o700) }, []string{`"f": mode 040755 became 040700`}},
		{"link", func(d string) error { return os.Symlink("/etc/passwd", d+"/x") }, []string{`"x": unexpected symbolic link`}},
		{"file became link", func(d string) error { os.Remove(d + "/a"); return os.Symlink("f/b", d+"/a") }, []string{`"a": file became symbolic link`}},
		{"folder became link", func(d string) error { os.Rename(d+"/f", d+"/g"); return os.Symlink("g", d+"/f") },
			[]string{`"f": folder became symbolic link`, `"f/b": missing`, `"g": unexpected folder`, `"g/b": unexpected file`}},
		{"link turned", func(d string) error { os.Remove(d + "/l"); return os.Symlink("f", d+"/l") }, []string{`"l": contents differ`}},
		{"hard link", func(d string) error { return os.Link(d+"/a", d+"/h") }, []string{`"a": has further names (hard links)`, `"h": unexpected file`}},
		{"pipe", func(d string) error { return syscall.Mkfifo(d+"/p", 0o644) }, []string{`"p": unexpected pipe`}},
		{"file became pipe", func(d string) error { os.Remove(d + "/a"); return syscall.Mkfifo(d+"/a", 0o644) }, []string{`"a": file became pipe`}},
		{"huge", func(d string) error { return os.Truncate(d+"/a", maxHashed+1) }, []string{`"a": larger than 4294967296 bytes`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, err := range []error{os.Mkdir(dir+"/f", 0o755), os.WriteFile(dir+"/a", []byte("1"), 0o644),
				os.WriteFile(dir+"/f/b", []byte("1"), 0o644), os.Symlink("a", dir+"/l")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			before, err := Fingerprint(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			after, err := Fingerprint(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := before.Diff(after); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if same := before.Digest() == after.Digest(); same != (tt.want == nil) {
				t.Errorf("digests equal: %v", same)
			}
		})
	}
}

func TestFingerprintSockets(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := Fingerprint(dir)
	if got := (Snapshot{}).Diff(s); err != nil || !slices.Equal(got, []string{`"s": unexpected socket`}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFingerprintDevices(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mknod(dir+"/zero", syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
		t.Skipf("only root can make a device: %v", err)
	}
	s, err := Fingerprint(dir)
	if got := (Snapshot{}).Diff(s); err != nil || !slices.Equal(got, []string{`"zero": unexpected device`}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestFingerprintOfTheUnreadable has faults where a candidate could have made
// them; they are differences, not errors.
func TestFingerprintOfTheUnreadable(t *testing.T) {
	dir := t.TempDir()
	deep := dir
	for range 3 { // deeper than a path can be named, made step by step
		deep = filepath.Join(deep, strings.Repeat("d", 250))
		if err := os.Mkdir(deep, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(deep)
	for range 20 {
		if err := os.Mkdir(strings.Repeat("e", 250), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Chdir(strings.Repeat("e", 250)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Fingerprint(dir)
	if err != nil {
		t.Fatal(err)
	}
	if last := s.Files[len(s.Files)-1]; last.Fault == "" {
		t.Errorf("the deepest path seen has no fault: %d files", len(s.Files))
	}
	if os.Getuid() != 0 {
		write(t, filepath.Join(dir, "closed"), "x")
		os.Chmod(filepath.Join(dir, "closed"), 0)
		s, err := Fingerprint(dir)
		if err != nil || s.Files[0].Fault != "permission denied" {
			t.Errorf("unreadable file: %+v, %v", s.Files[0], err)
		}
	}
	if _, err := Fingerprint(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has a fingerprint")
	}
}
