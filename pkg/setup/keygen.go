package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/vault"
)

// Keyring is the keys of a run's gate and records, both halves. It prints no
// secret: the private halves leave it through [Keyring.Write] and
// [Keyring.Store] only.
type Keyring struct {
	// Public is what stands in the contract.
	Public  contract.Keys
	private *vault.Keys
}

// Generate makes new keys. The name, as KeyName gives it, stands in every
// signature. Without a maintainer there is no key that opens gate values
// beside the judge's.
func Generate(name string, maintainer bool) (*Keyring, error) {
	private, err := vault.Generate()
	if err != nil {
		return nil, err
	}
	signer, err := ledger.NewSigner(name, private.Judge.Seed())
	if err != nil {
		return nil, err
	}
	k := &Keyring{private: private, Public: contract.Keys{
		Verifier: signer.Verifier().String(),
		Judge:    private.Judge.Recipient().String(),
		Execute:  private.Execute.Recipient().String(),
		Final:    private.Final.Recipient().String(),
	}}
	if maintainer {
		k.Public.Maintainer = private.Maintainer.Recipient().String()
	}
	return k, nil
}

// KeyName is the name that a repository's keys sign under. It is made from a
// remote as the origin of a run is.
func KeyName(remote string) (string, error) {
	const tag = "x"
	origin, err := ledger.Origin(remote, tag)
	return strings.TrimSuffix(origin, "/"+tag), err
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// GitHubKeyName is KeyName for a repository on GitHub, OWNER/NAME.
func GitHubKeyName(repository string) (string, error) {
	if !ownerName.MatchString(repository) {
		return "", fmt.Errorf("%.100q is no repository: want OWNER/NAME", repository)
	}
	return KeyName("https://github.com/" + repository)
}

// Block is the contract's keys: block, in YAML.
func (k *Keyring) Block() string {
	var b strings.Builder
	fmt.Fprintf(&b, "keys:\n  verifier: %s\n", quoted(k.Public.Verifier))
	for _, r := range []struct{ name, key string }{
		{"judge", k.Public.Judge}, {"execute", k.Public.Execute}, {"final", k.Public.Final}, {"maintainer", k.Public.Maintainer},
	} {
		if r.key != "" {
			fmt.Fprintf(&b, "  %s: %s\n", r.name, r.key)
		}
	}
	return b.String()
}

// Write puts the private halves into files of a folder that it makes, which
// only their owner can read, and gives the files' names. It leaves nothing
// behind where it fails.
func (k *Keyring) Write(dir string) ([]string, error) {
	if err := outside(dir, "keys"); err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	var written []string
	for _, h := range k.halves() {
		path := filepath.Join(dir, h.file)
		if err := create(path, []byte(h.secret.Reveal()), 0o600); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		written = append(written, path)
	}
	return written, nil
}

// half is a private half and where it is kept: in a file of that name, and on
// GitHub if the place there has a name.
type half struct {
	secret vault.Secret
	file   string
	place  EnvironmentSecret
}

func (k *Keyring) halves() []half {
	out := []half{
		{k.private.Judge.Secret(), "judge.key", EnvironmentSecret{"RESEARCH_LOOP_JUDGE", "research-loop"}},
		{k.private.Execute.Secret(), "execute.key", EnvironmentSecret{"RESEARCH_LOOP_INPUTS", "research-loop-execute"}},
		{k.private.Final.Secret(), "final.key", EnvironmentSecret{"RESEARCH_LOOP_INPUTS", "research-loop-final"}},
	}
	if k.Public.Maintainer != "" {
		out = append(out, half{secret: k.private.Maintainer.Secret(), file: "maintainer.key"})
	}
	return out
}
