package hook

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/repo"
)

// TestConfigMode runs what git 2.54 would run, the way it would run it: the
// git at hand may be older.
func TestConfigMode(t *testing.T) {
	ctx := context.Background()
	project := agentProject(t)
	work, err := repo.OpenWork(ctx, project)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	before, err := os.ReadFile(filepath.Join(project, ".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "it's a program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"\ncat\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := installConfig(work, program); err != nil {
			t.Fatal(err)
		}
	}
	if event, ok := work.Config("hook.research-loop.event"); !ok || event != "pre-push" {
		t.Errorf("the event is %q", event)
	}
	command, _ := work.Config("hook.research-loop.command")
	run := func(stdin string) (string, error) {
		cmd := exec.Command("sh", "-c", command+` "$@"`, command, "origin", "url")
		cmd.Dir, cmd.Stdin = project, strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	id := strings.Repeat("1", 40)
	line := "HEAD " + id + " refs/heads/research-loop/x " + id + "\n"
	if out, err := run(line); err == nil || out != "hook pre-push origin url\n"+line {
		t.Errorf("a run branch: %q, %v", out, err)
	}
	if out, err := run("HEAD " + id + " refs/heads/main " + id + "\n"); err != nil || out != "" {
		t.Errorf("another branch: %q, %v", out, err)
	}
	if err := Uninstall(ctx, work); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(project, ".git/config"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the configuration was\n%s\nand is\n%s\n%v", before, after, err)
	}
	if _, err := os.Stat(filepath.Join(work.CommonDir, configFolder, hookName)); err == nil {
		t.Error("the hook's file is still there")
	}
}
