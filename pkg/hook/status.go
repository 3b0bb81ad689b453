package hook

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/hooks"
	"github.com/research-loop/research-loop/pkg/repo"
)

// State says what a push from one work tree would meet.
type State string

const (
	Active   State = "active"   // our hook, as this program would install it
	Stale    State = "stale"    // our hook, for another program or of another version
	Damaged  State = "damaged"  // our hook or an empty file, but git would not run it
	Foreign  State = "foreign"  // another hook
	Inactive State = "inactive" // no hook at all
)

// Status says where the hook stands for every work tree of a repository.
type Status struct {
	Worktrees []Worktree
	// Config says that git calls the hook from its configuration.
	Config bool
}

// Worktree is the hook as one work tree sees it: a relative core.hooksPath
// means another folder in each of them.
type Worktree struct {
	Dir   string
	File  string // what git runs
	State State
	Why   string // what is wrong, "" if active
}

// Active says whether pushes from every work tree are audited.
func (s *Status) Active() bool {
	for _, w := range s.Worktrees {
		if w.State != Active {
			return false
		}
	}
	return len(s.Worktrees) > 0
}

// Inspect finds out where the hook stands. It changes nothing.
func Inspect(ctx context.Context, work *repo.Work, program string) (*Status, error) {
	s := &Status{}
	file := filepath.Join(work.CommonDir, configFolder, hookName)
	event, ok := work.Config(configHook + "event")
	s.Config = ok && event == hookName && hasConfigHooks(work)
	dirs, err := work.Worktrees()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		w := Worktree{Dir: dir, File: file}
		if !s.Config {
			if w.File, err = hookFile(ctx, dir); err != nil {
				// A work tree whose folder is gone pushes nothing.
				continue
			}
		}
		w.State, w.Why = inspectFile(w.File, program)
		if w.State == Foreign && delegates(dir, filepath.Dir(w.File)) {
			w.State, w.Why = Active, ""
		}
		s.Worktrees = append(s.Worktrees, w)
	}
	return s, nil
}

// hookFile is the file that git runs for a push from dir.
func hookFile(ctx context.Context, dir string) (string, error) {
	work, err := repo.OpenWork(ctx, dir)
	if err != nil {
		return "", err
	}
	defer work.Close()
	hooksDir, err := work.HooksDir(ctx)
	return filepath.Join(hooksDir, hookName), err
}

func inspectFile(file, program string) (State, string) {
	info, err := os.Stat(file)
	if err != nil {
		return Inactive, "there is no hook"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Damaged, err.Error()
	}
	kind, err := classify(file)
	switch {
	case err != nil:
		return Damaged, err.Error()
	case kind == broken:
		return Damaged, "the file is empty or holds zeros only"
	case kind == foreign && !calls(text):
		return Foreign, "another hook stands there and does not call research-loop"
	case info.Mode()&0o111 == 0:
		return Damaged, "the file is not executable, so git passes it over"
	case kind == foreign:
		return Active, ""
	case bytes.HasPrefix(text, []byte("#!/bin/sh\r")):
		return Damaged, "its first line ends in a carriage return: no shell is found"
	case string(text) == hooks.PrePush(program):
		return Active, ""
	}
	return Stale, "it was installed by another version or for a program elsewhere"
}

// delegates says whether the hook of a hook manager calls ours: managers keep
// what they run in a file of their own.
func delegates(top, hooksDir string) bool {
	files := []string{filepath.Join(hooksDir, hookName+".legacy"), filepath.Join(top, ".husky", hookName)}
	for _, name := range []string{"lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"} {
		files = append(files, filepath.Join(top, name))
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && calls(text) {
			return true
		}
	}
	return false
}

// calls says whether a hook of somebody else's hands its refs to the program,
// as Snippet does.
func calls(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") && strings.Contains(line, " hook pre-push") && strings.Contains(line, "research-loop") {
			return true
		}
	}
	return false
}
