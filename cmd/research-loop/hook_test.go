package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/research-loop/research-loop/hooks"
)

// TestHookInstallKilled kills an installation at many moments: the hook is
// then the one that stood there or ours, whole, and the next installation and
// its end put everything right.
func TestHookInstallKilled(t *testing.T) {
	t.Parallel()
	p := newPerson(t, t.TempDir())
	must(t, copyMissing(p.dir, filepath.Join("testdata", "project")))
	p.publish()
	const theirs = "#!/bin/sh\n# theirs\nexit 0\n"
	hook := filepath.Join(p.dir, ".git", "hooks", "pre-push")
	must(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	must(t, os.WriteFile(hook, []byte(theirs), 0o755))
	program, err := exec.LookPath("research-loop")
	must(t, err)
	ours := hooks.PrePush(program)
	for i := range 12 {
		cmd := exec.Command("research-loop", "hook", "install", "--mode", "file")
		cmd.Dir, cmd.Env = p.dir, append(append(os.Environ(), p.env...), "PWD="+p.dir)
		must(t, cmd.Start())
		time.Sleep(time.Duration(i) * 6 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		text, err := os.ReadFile(hook)
		earlier, _ := os.ReadFile(hook + ".research-loop-prev")
		switch {
		case err == nil && string(text) == theirs:
		case os.IsNotExist(err) && string(earlier) == theirs: // between its two steps
		case err == nil && string(text) == ours && string(earlier) == theirs:
		default:
			t.Fatalf("killed after %d steps of 6 ms the hook is %q (%v), the one before %q", i, text, err, earlier)
		}
	}
	p.run("research-loop", "hook", "install", "--mode", "file")
	p.run("research-loop", "hook", "uninstall")
	if text, err := os.ReadFile(hook); err != nil || string(text) != theirs {
		t.Errorf("afterwards the hook is %q: %v", text, err)
	}
}
