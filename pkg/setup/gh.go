package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/forge"
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

// TokenError says that no token for GitHub is to be had.
type TokenError struct{ Host string }

func (e *TokenError) Error() string { return "no token for " + e.Host }

// Token finds the token for a GitHub's pages and API: from the environment, as gh
// does, else from gh itself. GH_TOKEN and GITHUB_TOKEN are for github.com, and for
// the server that GITHUB_SERVER_URL or GITHUB_API_URL names; any other host gets
// what GH_ENTERPRISE_TOKEN or GITHUB_ENTERPRISE_TOKEN holds, so that a remote's
// address alone draws no token to it. The error is a *TokenError.
func Token(ctx context.Context, getenv func(string) string, place forge.Place) (string, error) {
	host := hostOf(place.Web)
	names := []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	if host == "github.com" || strings.HasSuffix(host, ".ghe.com") || place.Web == strings.TrimRight(getenv("GITHUB_SERVER_URL"), "/") || place.API == strings.TrimRight(getenv("GITHUB_API_URL"), "/") {
		names = []string{"GH_TOKEN", "GITHUB_TOKEN"}
	}
	for _, name := range names {
		if token := strings.TrimSpace(getenv(name)); token != "" {
			return token, nil
		}
	}
	cmd := exec.CommandContext(ctx, "gh", "auth", "token", "--hostname", host)
	cmd.Env = append(os.Environ(), "GH_PROMPT_DISABLED=1", "NO_COLOR=1")
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output() // what it says otherwise is of no use, and may hold anything
	token := strings.TrimSpace(string(out))
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil || token == "" {
		return "", &TokenError{host}
	}
	return token, nil
}

func hostOf(web string) string {
	u, err := url.Parse(web)
	if err != nil {
		return web
	}
	return u.Host
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
