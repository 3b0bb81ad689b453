package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/vault"
)

// EnvironmentSecret says where GitHub keeps a secret.
type EnvironmentSecret struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
}

// GitHubError says that a secret was not stored.
type GitHubError struct {
	Secret EnvironmentSecret
	File   string // what Write calls the file that holds it
	Why    string // what gh said, without anything secret
	// Auth says that gh is not logged in, Missing that there is no gh.
	Auth, Missing bool
}

func (e *GitHubError) Error() string {
	return fmt.Sprintf("secret %s of environment %s was not stored: %s", e.Secret.Name, e.Secret.Environment, e.Why)
}

// Store gives GitHub the secrets of the workflow's three environments, through
// the command gh and its standard input, and lists them. The repository is
// OWNER/NAME, or "" for the one that gh finds in dir. A *GitHubError stops it;
// the secrets before that one are stored.
func (k *Keyring) Store(ctx context.Context, dir, repository string) ([]EnvironmentSecret, error) {
	var stored []EnvironmentSecret
	for _, h := range k.halves() {
		if h.place.Name == "" {
			continue
		}
		if err := h.store(ctx, dir, repository); err != nil {
			return stored, err
		}
		stored = append(stored, h.place)
	}
	return stored, nil
}

// notLoggedIn is how gh ends when it needs a login.
const notLoggedIn = 4

func (h half) store(ctx context.Context, dir, repository string) error {
	args := []string{"secret", "set", h.place.Name, "--env", h.place.Environment}
	if repository != "" {
		args = append(args, "--repo", repository)
	}
	cmd := exec.CommandContext(ctx, "gh", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GH_PROMPT_DISABLED=1", "NO_COLOR=1")
	cmd.Stdin = strings.NewReader(h.secret.Reveal())
	cmd.WaitDelay = 5 * time.Second // for what gh may have left behind
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if err == nil {
		return nil
	}
	fault := &GitHubError{Secret: h.place, File: h.file, Why: err.Error()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		fault.Auth = exit.ExitCode() == notLoggedIn
		fault.Why = fmt.Sprintf("gh ended with %d: %s", exit.ExitCode(), harmless(said.String(), h.secret))
	case errors.Is(err, exec.ErrNotFound):
		fault.Missing, fault.Why = true, "the command gh is not on PATH"
	}
	return fault
}

// harmless is what a program said, unless any line of a secret stands in it.
func harmless(said string, secret vault.Secret) string {
	const most = 500
	for line := range strings.Lines(secret.Reveal()) {
		if strings.Contains(said, strings.TrimSpace(line)) {
			return "(what it said is not shown: it holds the secret)"
		}
	}
	said = strings.TrimSpace(said)
	if len(said) > most {
		said = said[:most] + "…"
	}
	return strings.ToValidUTF8(said, "?")
}
