package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

// judgeKeys is the variable that holds what the judge keeps secret: the signing
// key on its first line.
const judgeKeys = "RESEARCH_LOOP_JUDGE"

// keysFlag adds --keys to a command that signs.
func keysFlag(cmd *cobra.Command) {
	cmd.Flags().String("keys", "", "the file with the judge's keys, in place of the variable "+judgeKeys)
}

// signer gives the signing key of a contract that has keys, nil for one that
// has none: then no secret is looked at. A key that is missing or not the
// contract's is a *supervisor.KeyError, which never shows it.
func (e *Env) signer(cmd *cobra.Command, c *contract.Contract) (*ledger.Signer, error) {
	if c.Keys == nil {
		return nil, nil
	}
	text, place, err := e.secret(cmd)
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(text, "\n")
	first = strings.TrimSpace(first)
	if first == "" {
		return nil, &supervisor.KeyError{Missing: true, Why: "the contract has keys, and there is no signing key in " + place}
	}
	s, err := ledger.ParseSigner(first)
	if err != nil {
		return nil, &supervisor.KeyError{Why: "the first line of " + place + ": " + err.Error()}
	}
	if s.Verifier() != c.Keys.Verifier {
		return nil, &supervisor.KeyError{Why: fmt.Sprintf("the signing key in %s belongs to %s, the contract's verifier is %s", place, s.Verifier(), c.Keys.Verifier)}
	}
	return s, nil
}

// secret reads the judge's keys and says where they were looked for.
func (e *Env) secret(cmd *cobra.Command) (text, place string, err error) {
	name, _ := cmd.Flags().GetString("keys")
	if name == "" {
		return e.Getenv(judgeKeys), judgeKeys, nil
	}
	f, err := os.Open(absolute(e.dir(), name))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", &supervisor.KeyError{Missing: true, Why: "--keys " + name + ": there is no such file"}
	} else if err != nil {
		return "", "", err
	}
	defer f.Close()
	const most = 64 << 10
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), name, err
}
