package evaluate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// MissingTool says that the sandbox does not have what the contract requires.
type MissingTool struct {
	Names []string // required tools and toolchain folders, in the contract's order
}

func (e *MissingTool) Error() string {
	return fmt.Sprintf("evaluation.requires: not found in the sandbox: %s", strings.Join(e.Names, ", "))
}

// lookUp prints a line for each tool named: its number, the SHA-256 of the
// file that it is, and that file's path.
const lookUp = `n=0
for tool; do
  if found=$(command -v -- "$tool"); then
    case $found in
    /*) file=$(readlink -f -- "$found"); sum=$(sha256sum <"$file"); printf '%s %s %s\n' $n "${sum%% *}" "$file";;
    *) printf '%s - shell\n' $n;;
    esac
  fi
  n=$((n+1))
done`

// Tools finds out what the contract's required tools and toolchains are, as a
// launch would find them on its PATH: a tool's name gives its file's digest
// and path, a toolchain's folder a digest of its version file and programs. An
// error is of the machine; *MissingTool names what is not there.
func Tools(ctx context.Context, l Launcher, c *contract.Contract) (map[string]string, error) {
	tools := map[string]string{}
	var missing []string
	for _, dir := range c.Candidate.Toolchains {
		digest, err := toolchain(dir)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, dir)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("toolchain %s: %w", dir, err)
		}
		tools[dir] = digest
	}
	if len(missing) > 0 {
		return nil, &MissingTool{Names: missing}
	}
	if len(c.Evaluation.Requires) == 0 {
		return tools, nil
	}
	found, err := findTools(ctx, l, c)
	if err != nil {
		return nil, err
	}
	for i, name := range c.Evaluation.Requires {
		if found[i] == "" {
			missing = append(missing, name)
		}
		tools[name] = found[i]
	}
	if len(missing) > 0 {
		return nil, &MissingTool{Names: missing}
	}
	return tools, nil
}

// findTools looks the required tools up inside the sandbox.
func findTools(ctx context.Context, l Launcher, c *contract.Contract) (map[int]string, error) {
	res, err := l.Run(ctx, sandbox.Spec{
		Argv:       append([]string{"/bin/sh", "-c", lookUp, "sh"}, c.Evaluation.Requires...),
		Dir:        "/",
		Env:        environment(c, nil, nil),
		Toolchains: c.Candidate.Toolchains,
		BestEffort: c.Exception(contract.BestEffortLimits),
		Limits:     sandbox.Limits{Wall: time.Minute, Memory: 256 << 20, Pids: 64, Output: 1 << 20, Temporary: 1 << 20},
	})
	if err != nil {
		return nil, fmt.Errorf("looking up required tools: %w", err)
	}
	if res.Outcome != sandbox.Exited || res.Exit != 0 {
		return nil, fmt.Errorf("looking up required tools: %s, exit %d: %q", res.Outcome, res.Exit, res.Stderr)
	}
	found := map[int]string{}
	for line := range strings.Lines(string(res.Stdout)) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		digest, file, ok := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if err != nil || !ok {
			return nil, fmt.Errorf("looking up required tools: strange line %q", line)
		}
		if found[n] = file; digest != "-" {
			found[n] = "sha256:" + digest + " " + file
		}
	}
	return found, nil
}

// toolchain is the digest of what tells one version of a toolchain from
// another: its version file, by either usual name, and its programs.
func toolchain(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	files := []string{"VERSION", "release"}
	programs, err := os.ReadDir(filepath.Join(dir, "bin"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, p := range programs {
		files = append(files, filepath.Join("bin", p.Name()))
	}
	h := sha256.New()
	for _, file := range files {
		if err := addFile(h, filepath.Join(dir, file)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

// addFile adds a regular file's name and bytes; anything else is left out.
func addFile(h hash.Hash, file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(h, "%q %d\n", filepath.Base(file), info.Size())
	_, err = io.Copy(h, f)
	return err
}
