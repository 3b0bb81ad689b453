//go:build linux && (amd64 || arm64)

package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listing is what a folder holds: plain files with their content and the
// executable bit, folders with a slash.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil || rel == ".":
			return err
		case d.IsDir():
			out = append(out, rel+"/")
		case !d.Type().IsRegular():
			out = append(out, rel+" "+d.Type().String())
		default:
			info, err := d.Info()
			must(t, err)
			data, err := os.ReadFile(name)
			must(t, err)
			out = append(out, fmt.Sprintf("%s %v %s", rel, info.Mode().Perm()&0o100 != 0, data))
		}
		return nil
	}))
	return out
}

func TestScratch(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		out, second := sharedDir(t), sharedDir(t)
		spec := sh("cd /out && echo -n a >a && mkdir d && echo -n b >d/b && chmod +x d/b && mkdir e && echo -n c >/two/c; touch /arm/x; echo -n t >/tmp/t")
		spec.Scratch = []Scratch{{Target: "/two", Bytes: 1 << 20, Collect: second}, {Target: "/gone", Bytes: 1 << 20}, {Target: "/out", Bytes: 1 << 20, Collect: out}}
		output(t, s, spec)
		if got, want := listing(t, out), []string{"a false a", "d/", "d/b true b", "e/"}; !slices.Equal(got, want) {
			t.Errorf("collected %q, want %q", got, want)
		}
		if got, want := listing(t, second), []string{"c false c"}; !slices.Equal(got, want) {
			t.Errorf("collected %q, want %q", got, want)
		}
	})
}

func TestScratchCaps(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		out := sharedDir(t)
		spec := sh("cd /out; head -c 2000000 /dev/zero >big; for i in $(seq 50); do touch $i; done; cp /bin/true x; wc -c big; rm big; cp /bin/true x; ./x; exit 0")
		spec.Scratch = []Scratch{{Target: "/out", Bytes: 1 << 20, Inodes: 20, NoExec: true, Collect: out}}
		r := run(t, s, spec)
		if got := len(listing(t, out)); r.Outcome != Exited || got != 20 {
			t.Errorf("%d files, %s", got, r.Outcome)
		}
		if !strings.Contains(string(r.Stdout), "1048576 big") {
			t.Errorf("big: %s", r.Stdout)
		}
		for _, want := range []string{"No space left", "Permission denied"} {
			if !strings.Contains(string(r.Stderr), want) {
				t.Errorf("no %q in %s", want, r.Stderr)
			}
		}
	})
}

// TestCollectAfterKill checks that a scratch is read whatever the end.
func TestCollectAfterKill(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		out := sharedDir(t)
		spec := sh("echo -n a >/out/a; while :; do echo x; done")
		spec.Limits.Output = 100
		spec.Scratch = []Scratch{{Target: "/out", Bytes: 1 << 20, Collect: out}}
		if r := run(t, s, spec); r.Outcome != OutputLimit {
			t.Errorf("%s", r.Outcome)
		}
		if got := listing(t, out); !slices.Equal(got, []string{"a false a"}) {
			t.Errorf("collected %q", got)
		}
	})
}

func TestLower(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		lower := tree(t, map[string]string{"keep": "keep", "change": "old", "gone": "gone", "dir/deep": "deep", "odd,name:x\\y": "odd"})
		before, out := listing(t, lower), sharedDir(t)
		spec := sh("set -e; cd /room; echo -n new >change; rm gone; echo -n added >dir/added; echo -n x >>dir/deep; mv keep dir/kept; mkdir n; mv dir/deep n/; chmod 700 dir; ls")
		spec.Scratch = []Scratch{{Target: "/room", Lower: lower, Bytes: 1 << 20, Collect: out}}
		output(t, s, spec)
		want := []string{"change true new", "dir/", "dir/added false added", "dir/kept true keep", "n/", "n/deep true deepx", "odd,name:x\\y true odd"}
		if got := listing(t, out); !slices.Equal(got, want) {
			t.Errorf("merged view %q, want %q", got, want)
		}
		if got := listing(t, lower); !slices.Equal(got, before) {
			t.Errorf("the lower layer changed: %q, was %q", got, before)
		}
		spec = sh("head -c 3000000 /dev/zero >/room/big; exit 0")
		spec.Scratch = []Scratch{{Target: "/room", Lower: lower, Bytes: 1 << 20, Inodes: 8}}
		if r := run(t, s, spec); !strings.Contains(string(r.Stderr), "No space left") {
			t.Errorf("no cap on the upper layer: %s", r.Stderr)
		}
	})
}

// TestScratchInBind puts scratches and binds where the bind has no place.
func TestScratchInBind(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		arm, data, out := tree(t, map[string]string{"src/a": "a"}), tree(t, map[string]string{"one": "1"}), sharedDir(t)
		before := listing(t, arm)
		spec := sh("set -e; cat src/a build/in/one one; echo -n b >build/b; ! touch src/b 2>/dev/null; ! touch new 2>/dev/null; ls")
		spec.Dir = "/arm"
		spec.Binds = []Bind{{arm, "/arm"}, {data, "/arm/build/in"}, {filepath.Join(data, "one"), "/arm/one"}}
		spec.Scratch = []Scratch{{Target: "/arm/build", Bytes: 1 << 20, Collect: out}}
		if got := output(t, s, spec); got != "a11build\none\nsrc\n" {
			t.Errorf("saw %q", got)
		}
		if got := listing(t, out); !slices.Equal(got, []string{"b false b", "in/"}) {
			t.Errorf("collected %q", got)
		}
		if got := listing(t, arm); !slices.Equal(got, before) {
			t.Errorf("the bind changed: %q, was %q", got, before)
		}
	})
}

// TestHostileTarget puts links where mounts are to go: nothing may follow them.
func TestHostileTarget(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		arm := tree(t, map[string]string{"file": ""})
		must(t, os.Symlink("/usr", filepath.Join(arm, "build")))
		spec := sh("set -e; for d in build build/deep file; do echo x >/arm/$d/x; done; ls /usr/bin >/dev/null; test ! -L /arm/build")
		spec.Binds = []Bind{{arm, "/arm"}}
		for _, d := range []string{"build", "build/deep", "file"} {
			spec.Scratch = append(spec.Scratch, Scratch{Target: "/arm/" + d, Bytes: 1 << 20})
		}
		output(t, s, spec)
		spec = sh("true")
		spec.Scratch = []Scratch{{Target: "/room", Lower: arm, Bytes: 1 << 20}, {Target: "/room/build/x", Bytes: 1 << 20}}
		_, err := s.Run(context.Background(), spec)
		if err == nil || !strings.Contains(err.Error(), "/room/build/x") {
			t.Errorf("a mount behind a link in a scratch: %v", err)
		}
	})
}

// TestCollect reads a tree with everything that a hostile process can leave.
func TestCollect(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(from, name) }
	must(t, os.MkdirAll(in("sub/sub"), 0o755))
	for _, name := range []string{"plain", "sub/plain", "sub/sub/plain", "linked", "new\nline", "\xff"} {
		must(t, os.WriteFile(in(name), []byte("x"), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(from, "tool"), []byte("y"), 0o755))
	must(t, os.Chmod(in("tool"), 0o4755))
	must(t, os.Symlink("/etc/passwd", in("absolute")))
	must(t, os.Symlink("plain", in("inside")))
	must(t, os.Symlink("sub", in("folder")))
	must(t, os.Symlink("/proc/self/root", in("magic")))
	must(t, os.Link(in("linked"), in("sub/hard")))
	must(t, unix.Mkfifo(in("pipe"), 0o644))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: in("socket")}))
	must(t, os.WriteFile(in("sparse"), nil, 0o644))
	must(t, os.Truncate(in("sparse"), 1<<40))
	deep := from
	for range maxDepth + 3 {
		deep = filepath.Join(deep, "d")
		must(t, os.Mkdir(deep, 0o755))
	}
	dir, err := os.Open(from)
	must(t, err)
	defer dir.Close()
	left, err := collect(dir, to, 1000)
	must(t, err)
	var refused []string
	for _, r := range left {
		refused = append(refused, r.Path+": "+r.Why)
	}
	slices.Sort(refused)
	want := []string{
		"absolute: symbolic link", "folder: symbolic link", "inside: symbolic link", "linked: hard link", "magic: symbolic link",
		"pipe: named pipe", "socket: socket", "sparse: over the scratch's cap in bytes", "sub/hard: hard link",
	}
	if got := slices.DeleteFunc(slices.Clone(refused), func(s string) bool { return strings.HasPrefix(s, "d/") }); !slices.Equal(got, want) {
		t.Errorf("refused %q\nwant %q", got, want)
	}
	if len(refused) != len(want)+1 {
		t.Errorf("%d refusals, want one for the depth too", len(refused))
	}
	files := slices.DeleteFunc(listing(t, to), func(s string) bool { return strings.HasSuffix(s, "/") })
	if want := []string{"new\nline false x", "plain false x", "sub/plain false x", "sub/sub/plain false x", "tool true y", "\xff false x"}; !slices.Equal(files, want) {
		t.Errorf("collected %q\nwant %q", files, want)
	}
	if info, err := os.Stat(filepath.Join(to, "tool")); err != nil || info.Mode()&fs.ModeSetuid != 0 {
		t.Errorf("setuid came along: %v %v", info, err)
	}
}

// TestCollectBudget checks that many files within the cap are still capped
// together, holes included.
func TestCollectBudget(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for i := range 10 {
		name := filepath.Join(from, fmt.Sprint(i))
		must(t, os.WriteFile(name, nil, 0o644))
		must(t, os.Truncate(name, 300))
	}
	dir, err := os.Open(from)
	must(t, err)
	defer dir.Close()
	refused, err := collect(dir, to, 1000)
	if err != nil || len(refused) != 7 || len(listing(t, to)) != 3 {
		t.Errorf("refused %q, collected %q, %v", refused, listing(t, to), err)
	}
}

// TestManyFiles bounds the time that a lower layer takes.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("xy"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if all, bytes, err := measure(dir, 4); !slices.Equal(all, []string{".", "a", "b", "c"}) || bytes != 6 || err != nil {
		t.Errorf("%q of %d bytes, %v", all, bytes, err)
	}
	if _, _, err := measure(dir, 3); err == nil || err.Error() != "more than 3 files and folders" {
		t.Errorf("one too many: %v", err)
	}
}

// TestCollectNamesFew checks that refusals cannot flood a record.
func TestCollectNamesFew(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for i := range 150 {
		must(t, os.Symlink("x", filepath.Join(from, fmt.Sprint(i))))
	}
	dir, err := os.Open(from)
	must(t, err)
	defer dir.Close()
	refused, err := collect(dir, to, 1000)
	if err != nil || len(refused) != maxNamed+1 || refused[maxNamed] != (Refusal{Why: "50 more"}) {
		t.Errorf("%d refusals, %v", len(refused), err)
	}
}

func TestVisibleName(t *testing.T) {
	for in, want := range map[string]string{"a/b": "a/b", "a b": "a b", "a\nb": `"a\nb"`, "\xff": `"\xff"`, "\u202e": `"\u202e"`, `q"`: `"q\""`} {
		if got := visibleName(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestGoBuild fills a build cache in one launch and uses it in the next, as a
// candidate's build does.
func TestGoBuild(t *testing.T) {
	if !long() {
		t.Skip("compiles the standard library: CI=true only")
	}
	goroot := strings.TrimSpace(runOutside(t, "go", "env", "GOROOT"))
	modules, sums := moduleCache(t)
	inModes(t, func(t *testing.T, s *Sandbox) {
		arm := tree(t, map[string]string{
			"go.sum":  sums,
			"go.mod":  "module widget\n\ngo 1.26\n\nrequire example.com/dep v1.0.0\n",
			"main.go": "package main\n\nimport \"example.com/dep\"\n\nfunc main() { println(dep.Word) }\n",
		})
		cache := sharedDir(t)
		build := func(lower, collect string) (Result, string) {
			out := sharedDir(t)
			spec := Spec{
				Argv: []string{"sh", "-c", "go build -o build/widget . && build/widget"}, Dir: "/arm", Toolchains: []string{goroot},
				Env:     []string{"GOCACHE=/cache", "GOTOOLCHAIN=local", "GOMODCACHE=/modules", "GOPROXY=off", "GONOSUMDB=*"},
				Binds:   []Bind{{arm, "/arm"}, {modules, "/modules"}}, // a Toolchain cannot lie in /tmp
				Scratch: []Scratch{{Target: "/arm/build", Bytes: 64 << 20, Collect: out}, {Target: "/cache", Lower: lower, Bytes: 512 << 20, Collect: collect}},
				Limits:  Limits{Wall: 5 * time.Minute, Output: 1 << 20, Temporary: 512 << 20, Pids: 256},
			}
			r := run(t, s, spec)
			if r.Outcome != Exited || r.Exit != 0 || string(r.Stderr) != "built\n" {
				t.Fatalf("%+v\n%s", r, r.Stderr)
			}
			return r, out
		}
		cold, _ := build("", cache)
		warm, out := build(cache, "")
		t.Logf("cold %v, warm %v, total %v", cold.Wall, warm.Wall, warm.Total)
		if warm.Wall > cold.Wall/2 {
			t.Errorf("a warm cache takes %v, a cold one %v", warm.Wall, cold.Wall)
		}
		if got := runOutside(t, filepath.Join(out, "widget")); got != "built\n" {
			t.Errorf("the collected binary says %q", got)
		}
	})
}

// moduleCache is a warm module cache with one module, made without a network,
// and the lines of go.sum for it.
func moduleCache(t *testing.T) (dir, sums string) {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": "module example.com/dep\n", "dep.go": "package dep\n\nconst Word = \"built\"\n"} {
		w, err := z.Create("example.com/dep@v1.0.0/" + name)
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	must(t, z.Close())
	proxy := tree(t, map[string]string{
		"example.com/dep/@v/list": "v1.0.0\n", "example.com/dep/@v/v1.0.0.info": `{"Version":"v1.0.0"}`,
		"example.com/dep/@v/v1.0.0.mod": "module example.com/dep\n", "example.com/dep/@v/v1.0.0.zip": archive.String(),
	})
	dir = sharedDir(t)
	c := exec.Command("go", "mod", "download", "-json", "-modcacherw", "example.com/dep@v1.0.0")
	c.Dir, c.Env = tree(t, map[string]string{"go.mod": "module x\n"}), append(os.Environ(), "GOMODCACHE="+dir, "GOPROXY=file://"+proxy, "GONOSUMDB=*", "GOFLAGS=-mod=mod")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct{ Sum, GoModSum string }
	must(t, json.Unmarshal(out, &got))
	const module = "example.com/dep v1.0.0"
	return dir, fmt.Sprintf("%s %s\n%s/go.mod %s\n", module, got.Sum, module, got.GoModSum)
}

func runOutside(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
