package repo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPushToLocalIsDurable reads what git says it runs: a local remote must be
// told to write refs and objects through to the disk.
func TestPushToLocalIsDurable(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	remote := filepath.Join(dir, "origin.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", remote).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := filepath.Join(dir, "seen")
	script := "#!/bin/sh\ngit config core.fsync > " + seen + "\n"
	if err := os.WriteFile(filepath.Join(remote, "hooks", "pre-receive"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := OpenClone(ctx, filepath.Join(dir, "clone.git"), remote)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := pushOne(ctx, c); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(seen)
	if err != nil || strings.TrimSpace(string(got)) != "all" {
		t.Errorf("the remote ran with core.fsync %q (%v), want all", got, err)
	}
}

// TestPushWithoutRoom pushes to a remote on a disk that is full, and to one
// that nobody may write: both are faults that trying again may cure, not a
// refusal, and nothing is half there afterwards.
func TestPushWithoutRoom(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	ctx := context.Background()
	for name, options := range map[string]string{"full": "size=400k", "read-only": "size=4m"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			disk := filepath.Join(dir, "disk")
			if err := os.Mkdir(disk, 0o755); err != nil {
				t.Fatal(err)
			}
			mount(t, "-t", "tmpfs", "-o", options, "tmpfs", disk)
			t.Cleanup(func() { exec.Command("umount", disk).Run() })
			remote := filepath.Join(disk, "origin.git")
			if out, err := exec.Command("git", "init", "--quiet", "--bare", "--template=", remote).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if name == "full" {
				fill(t, filepath.Join(disk, "filler"))
			} else {
				mount(t, "-o", "remount,ro", disk)
			}
			c, err := OpenClone(ctx, filepath.Join(dir, "clone.git"), remote)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = pushOne(ctx, c)
			e, ok := err.(*RemoteError)
			if !ok || e.Refused || e.Denied || e.Fix == "" {
				t.Fatalf("%T %+v, want a RemoteError with a cure that is no refusal", err, err)
			}
			if err := c.Fetch(ctx); err != nil || len(c.Branches()) != 0 {
				t.Errorf("after it the remote has %v (%v)", c.Branches(), err)
			}
		})
	}
}

// pushOne pushes a commit that does not fit a small disk.
func pushOne(ctx context.Context, c *Clone) error {
	noise := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	tree, err := c.WriteTree("", map[string][]byte{"noise": noise})
	if err != nil {
		return err
	}
	id, err := c.WriteCommit(tree, nil, "noise\n", time.Unix(0, 0))
	if err != nil {
		return err
	}
	return c.Push(ctx, "main", id, "")
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v: %s", err, out)
	}
}

// fill writes until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return
		}
	}
}
