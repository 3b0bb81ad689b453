package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Oldest git that is known to have every option used here.
const (
	minMajor = 2
	minMinor = 31
)

// git runs the git binary in one folder. Its environment never carries what
// points git at another repository or changes what it shows.
type git struct {
	dir    string
	person bool     // with the person's own configuration and credentials
	trust  string   // a folder already found to be safe under the person's own
	set    []string // further settings, "key=value"
}

// exitError is a git that did not end with 0.
type exitError struct {
	verb   string
	code   int
	stderr string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("git %s: %s", e.verb, lastWords(e.stderr, e.code))
}

// lastWords is the part of what git said that names the fault.
func lastWords(stderr string, code int) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, lead := range []string{"fatal: ", "error: ", "remote: fatal: ", "remote: error: "} {
			if rest, ok := strings.CutPrefix(line, lead); ok {
				kept = append(kept, rest)
				break
			}
		}
	}
	if len(kept) == 0 {
		if text := strings.TrimSpace(stderr); text != "" {
			return text
		}
		return fmt.Sprintf("ended with %d", code)
	}
	return strings.Join(kept, "; ")
}

// command prepares git with arguments; the caller starts it.
func (g git) command(ctx context.Context, args ...string) *exec.Cmd {
	full := []string{"--no-replace-objects", "--literal-pathspecs", "--no-optional-locks",
		"-c", "core.useReplaceRefs=false", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
		"-c", "core.quotePath=false"}
	if g.trust != "" {
		full = append(full, "-c", "safe.directory="+g.trust)
	}
	for _, s := range g.set {
		full = append(full, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(full, args...)...)
	cmd.Dir = g.dir
	cmd.Env = environment(os.Environ(), g.person)
	cmd.WaitDelay = 5 * time.Second
	detach(cmd)
	return cmd
}

// run runs git to its end and returns what it printed.
func (g git) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := g.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return stdout.Bytes(), &exitError{args[0], exit.ExitCode(), stderr.String()}
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}

// line is run for a command that prints one line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// noHooks are the settings under which no hook of ours or of the person's
// configuration runs; git 2.54 and later have hooks that core.hooksPath does
// not reach.
func noHooks() []string {
	set := []string{"core.hooksPath=" + os.DevNull}
	for _, event := range []string{"pre-push", "post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"} {
		set = append(set, "hook."+event+".enabled=false")
	}
	return set
}

// environment is the environment for git: without GIT_* variables, save those
// that belong to the person's own configuration and credentials where they
// are wanted, and with what makes git quiet and literal.
func environment(from []string, person bool) []string {
	var env []string
	for _, kv := range from {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "LC_"), name == "LANGUAGE", name == "LANG":
		case strings.HasPrefix(name, "GIT_") && !(person && personal(name)):
		default:
			env = append(env, kv)
		}
	}
	env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE="+os.DevNull, "GIT_OPTIONAL_LOCKS=0", "GCM_INTERACTIVE=never")
	if !person {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1")
	}
	return env
}

// personal says whether a GIT_ variable says how the person reaches a remote
// or where their configuration stands.
func personal(name string) bool {
	for _, prefix := range []string{"GIT_SSH", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_ASKPASS",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// gitVersion asks the binary for its version and refuses one that is too old.
func gitVersion(ctx context.Context) (major, minor int, err error) {
	out, err := git{}.line(ctx, "version")
	if errors.Is(err, exec.ErrNotFound) {
		return 0, 0, errors.New("git is not installed, or not on PATH")
	}
	if err != nil {
		return 0, 0, err
	}
	major, minor, err = parseVersion(out)
	if err == nil && (major < minMajor || major == minMajor && minor < minMinor) {
		err = fmt.Errorf("git %d.%d is too old: %d.%d or newer is needed", major, minor, minMajor, minMinor)
	}
	return major, minor, err
}
