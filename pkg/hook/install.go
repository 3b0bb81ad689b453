package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/hooks"
	"github.com/research-loop/research-loop/pkg/repo"
)

// Mode says how the hook is installed.
type Mode string

const (
	// Auto is Config where git is 2.54 or newer, else File.
	Auto Mode = "auto"
	// File writes pre-push into git's hook folder and chains what stands there.
	File Mode = "file"
	// Config names the hook in the repository's configuration, which needs git
	// 2.54 and leaves every hook file alone.
	Config Mode = "config"
)

const (
	hookName     = "pre-push"
	earlierName  = "pre-push.research-loop-prev"
	configHook   = "hook.research-loop."
	configFolder = "research-loop" // in the common git folder, for Config
)

// ManagedError says that the hooks of a repository belong to another program
// or to more than this repository, so that nothing was installed.
type ManagedError struct {
	By    string // who owns them
	File  string // where Paste belongs
	Paste string // what to put there
}

func (e *ManagedError) Error() string {
	return fmt.Sprintf("the hooks of this repository belong to %s; nothing was changed. Put this into %s:\n%s", e.By, e.File, e.Paste)
}

// Snippet is what a pre-push hook in sh must hold to call the program and then
// go on with its own work.
func Snippet(program string) string {
	return "refs=$(cat); printf '%s' \"$refs\" | " + quote(program) + " hook pre-push \"$@\" || exit 1\nexec <<REFS\n$refs\nREFS\n"
}

// Install puts the hook into a repository, in the way that fits it, and says
// where it stands then. Installing twice changes nothing; a damaged or older
// hook of ours is written anew. program is the absolute path of this program.
func Install(ctx context.Context, work *repo.Work, program string) (*Status, error) {
	return InstallAs(ctx, work, program, Auto)
}

// InstallAs is Install in a chosen way.
func InstallAs(ctx context.Context, work *repo.Work, program string, mode Mode) (*Status, error) {
	if !filepath.IsAbs(program) || strings.ContainsAny(program, "\n\x00") {
		return nil, fmt.Errorf("%q is not the absolute path of a program", program)
	}
	modern := hasConfigHooks(work)
	switch {
	case mode == Config && !modern:
		major, minor := work.Version()
		return nil, fmt.Errorf("git %d.%d has no hooks in its configuration; 2.54 or newer is needed", major, minor)
	case mode == Config, mode == Auto && modern:
		if err := installConfig(work, program); err != nil {
			return nil, err
		}
	case mode == File, mode == Auto:
		if err := installFile(ctx, work, program, mode); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("mode %q is none of auto, file and config", mode)
	}
	return Inspect(ctx, work, program)
}

func hasConfigHooks(work *repo.Work) bool {
	major, minor := work.Version()
	return major > 2 || major == 2 && minor >= 54
}

func installConfig(work *repo.Work, program string) error {
	dir := filepath.Join(work.CommonDir, configFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, hookName)
	if err := replaceFile(file, hooks.PrePush(program)); err != nil {
		return err
	}
	if err := work.SetConfig(configHook+"command", "sh "+quote(file)); err != nil {
		return err
	}
	return work.SetConfig(configHook+"event", hookName)
}

// quote makes one word of a POSIX shell of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func installFile(ctx context.Context, work *repo.Work, program string, mode Mode) error {
	dir, err := work.HooksDir(ctx)
	if err != nil {
		return err
	}
	if err := checkOwner(work, dir, program, mode); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, hookName)
	if err := keepEarlier(dir, file); err != nil {
		return err
	}
	return replaceFile(file, hooks.PrePush(program))
}

// keepEarlier gives the hook that stands there a second name, under which ours
// will run it. It is not moved, so that there is a hook at every moment.
func keepEarlier(dir, file string) error {
	kind, err := classify(file)
	if err != nil || kind != foreign {
		return err
	}
	earlier := filepath.Join(dir, earlierName)
	err = os.Link(file, earlier)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	old, err := os.Lstat(earlier)
	if err != nil {
		return err
	}
	now, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if os.SameFile(old, now) {
		return nil // an installation was cut off between its two steps
	}
	return fmt.Errorf("%s was written after research-loop was installed, and %s holds the hook from before; delete the one that you do not need", file, earlier)
}

// kind is what stands at the path of a hook.
type kind int

const (
	absent  kind = iota
	foreign      // somebody else's
	broken       // nothing that could run: empty, or full of zeros after a crash
	own          // ours, of whatever version
)

func classify(file string) (kind, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	if info.IsDir() {
		return absent, fmt.Errorf("%s is a folder", file)
	}
	if !info.Mode().IsRegular() {
		return foreign, nil // a link or worse: left as it is
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return absent, err
	}
	switch {
	case isOwn(text):
		return own, nil
	case len(bytes.Trim(text, "\x00 \t\r\n")) == 0:
		return broken, nil
	}
	return foreign, nil
}

// isOwn looks for the marker in the second line.
func isOwn(text []byte) bool {
	_, rest, _ := bytes.Cut(text, []byte{'\n'})
	return bytes.HasPrefix(rest, []byte(hooks.Marker))
}

// replaceFile writes an executable file in one step.
func replaceFile(file, text string) error {
	if old, err := os.ReadFile(file); err == nil && string(old) == text {
		if info, err := os.Lstat(file); err == nil && info.Mode() == 0o755 {
			return nil
		}
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".research-loop-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// checkOwner refuses a hook folder that is not this repository's alone. With
// mode File the person has decided that a hook manager may be chained.
func checkOwner(work *repo.Work, dir, program string, mode Mode) error {
	value, scope, ok := work.ConfigScope("core.hooksPath")
	switch {
	case !ok || within(work.CommonDir, dir):
		if mode == File {
			return nil
		}
		return checkManagers(work.Top(), dir, program)
	case strings.Contains(filepath.ToSlash(value), ".husky"):
		return &ManagedError{By: "husky", File: filepath.Join(work.Top(), ".husky", hookName), Paste: Snippet(program)}
	case within(work.Top(), dir):
		return &ManagedError{By: "core.hooksPath = " + value + ", a folder of the work tree", File: filepath.Join(dir, hookName), Paste: Snippet(program)}
	}
	return &ManagedError{By: fmt.Sprintf("core.hooksPath = %s (%s configuration), outside this repository", value, scope),
		File: filepath.Join(dir, hookName), Paste: Snippet(program)}
}

// checkManagers looks for programs that write git's hook folder themselves and
// would overwrite ours, or be cut off by it.
func checkManagers(top, dir, program string) error {
	if top == "" {
		return nil
	}
	lefthook := "pre-push:\n  jobs:\n    - run: " + quote(program) + " hook pre-push {1} {2}\n      use_stdin: true\n"
	legacy := "#!/bin/sh\n" + Snippet(program)
	chain := "research-loop hook install --mode file   # once more after each `prek install`"
	for _, m := range []struct{ by, sign, file, paste string }{
		{"lefthook", "lefthook.yml", "lefthook.yml", lefthook},
		{"lefthook", "lefthook.yaml", "lefthook.yaml", lefthook},
		{"lefthook", ".lefthook.yml", ".lefthook.yml", lefthook},
		{"lefthook", ".lefthook.yaml", ".lefthook.yaml", lefthook},
		{"lefthook", "lefthook.toml", "a lefthook.yml beside lefthook.toml", lefthook},
		{"lefthook", "lefthook.json", "a lefthook.yml beside lefthook.json", lefthook},
		{"pre-commit", ".pre-commit-config.yaml", filepath.Join(dir, hookName+".legacy") + ", executable", legacy},
		{"prek", "prek.toml", "a terminal", chain},
	} {
		if _, err := os.Lstat(filepath.Join(top, m.sign)); err == nil {
			return &ManagedError{By: m.by, File: m.file, Paste: m.paste}
		}
	}
	return nil
}

func within(dir, path string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Uninstall takes the hook out again and puts back, byte for byte, what stood
// there before.
func Uninstall(ctx context.Context, work *repo.Work) error {
	for _, key := range []string{"event", "command"} {
		if err := work.UnsetConfig(configHook + key); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(work.CommonDir, configFolder, hookName)); err != nil {
		return err
	}
	dir, err := work.HooksDir(ctx)
	if err != nil {
		return err
	}
	file, earlier := filepath.Join(dir, hookName), filepath.Join(dir, earlierName)
	kind, err := classify(file)
	if err != nil || kind == foreign || kind == absent {
		return err
	}
	if _, err := os.Lstat(earlier); err == nil {
		return os.Rename(earlier, file)
	}
	if kind == broken {
		return nil
	}
	return os.Remove(file)
}
