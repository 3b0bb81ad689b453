package repo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Fetch brings the tracking branches of a named remote up to date, as the
// person's own `git fetch` would, but without hooks and without tags.
func (w *Work) Fetch(ctx context.Context, remote string) error {
	g := w.git
	g.person, g.set = true, noHooks()
	_, err := g.run(ctx, "fetch", "--quiet", "--prune", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules", "--", remote)
	return err
}

// Person runs git in a folder exactly as a person who types it there: with
// their configuration and their hooks. env is added to the process's own.
// What git printed, stdout and stderr as they came, is returned in any case.
func Person(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.String(), nil
}
