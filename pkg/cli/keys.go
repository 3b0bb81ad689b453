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
	"github.com/research-loop/research-loop/pkg/vault"
)

// judgeKeys is the variable that holds what the judge keeps secret: see vault.ParseJudge.
const judgeKeys = "RESEARCH_LOOP_JUDGE"

// keysFlag adds --keys to a command that signs.
func keysFlag(cmd *cobra.Command) {
	cmd.Flags().String("keys", "", "the file with the judge's keys, in place of the variable "+judgeKeys)
}

// keys are what the judge of a run holds; none in a run without keys.
type keys struct {
	signer  *ledger.Signer
	judge   *vault.Judge
	secrets []string // their text, which must stand in no record
}

// keys gives the keys of a contract that has some; for one that has none no
// secret is looked at. A key that is missing or not the contract's is a
// *supervisor.KeyError, which never shows it.
func (e *Env) keys(cmd *cobra.Command, c *contract.Contract) (keys, error) {
	if c.Keys == nil {
		return keys{}, nil
	}
	text, place, err := e.secret(cmd)
	if err != nil {
		return keys{}, err
	}
	var k keys
	judge, err := e.judge(text, place)
	if err == nil {
		k.judge = judge
		k.signer, err = signerOf(judge, c, place)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) > 8 {
			k.secrets = append(k.secrets, line)
		}
	}
	return k, err
}

// judge reads the judge's keys.
func (e *Env) judge(text, place string) (*vault.Judge, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &supervisor.KeyError{Missing: true, Why: "the contract has keys, and there are none in " + place}
	}
	judge, err := vault.ParseJudge(text)
	if err != nil && place == judgeKeys && isFile(absolute(e.dir(), strings.TrimSpace(text))) {
		return nil, &supervisor.KeyError{Why: place + " holds the name of a file, not the keys: name the file with --keys"}
	}
	if err != nil {
		return nil, &supervisor.KeyError{Why: place + ": " + err.Error()}
	}
	return &judge, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// signerOf gives the signing key, if it and the judge's identity are those of
// the contract.
func signerOf(judge *vault.Judge, c *contract.Contract, place string) (*ledger.Signer, error) {
	verifier, err := ledger.ParseVerifier(c.Keys.Verifier)
	if err != nil {
		return nil, err
	}
	s, err := ledger.NewSigner(verifier.Name(), judge.Seed())
	switch {
	case err != nil:
		return nil, err
	case s.Verifier().String() != c.Keys.Verifier:
		return nil, &supervisor.KeyError{Why: fmt.Sprintf("the signing key in %s is that of %s, the contract's verifier is %s", place, s.Verifier(), c.Keys.Verifier)}
	case c.Keys.Judge != "" && judge.Recipient().String() != c.Keys.Judge:
		return nil, &supervisor.KeyError{Why: fmt.Sprintf("the age identity in %s is that of %s, the contract's judge is %s", place, judge.Recipient(), c.Keys.Judge)}
	}
	return s, nil
}

// secret reads the judge's keys and says where they were looked for.
func (e *Env) secret(cmd *cobra.Command) (text, place string, err error) {
	name := ""
	if cmd != nil {
		name, _ = cmd.Flags().GetString("keys")
	}
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
