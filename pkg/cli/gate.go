package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

func gateCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "gate", Short: "Make the keys and the sealed cases of a gate", Args: cobra.NoArgs,
		Example: `  research-loop gate keygen --out ../keys --gh    then put the printed block into the contract
  research-loop gate draft ../gate                a folder to write cases in
  research-loop gate seal ../gate --split validation`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keygenCommand(env), briefCommand(env), sealCommand(env), openCommand(env), valuesCommand(env))
	return cmd
}

func keygenCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keygen [--out DIR] [--gh [--repo OWNER/NAME]]",
		Short: "Make the keys of a repository's runs and print the public halves for the contract",
		Long: `Keygen makes the key that signs the records and the age identities that open
sealed cases, and prints the contract's keys: block. The private halves go

  with --out  into judge.key, execute.key, final.key and maintainer.key of a new
              folder, readable by you alone;
  with --gh   through gh into the secrets RESEARCH_LOOP_JUDGE (environment
              research-loop) and RESEARCH_LOOP_INPUTS (research-loop-execute and
              research-loop-final). The environments must be there, each
              restricted to the default branch.

The maintainer's identity opens what the gate measured, after the run. It is
made with --out only, and belongs on no machine that judges.`,
		Example: `  research-loop gate keygen --gh --out ../keys >> .research-loop/contract.yml`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return env.keygen(cmd) },
	}
	cmd.Flags().String("out", "", "a folder to make, outside any repository")
	cmd.Flags().Bool("gh", false, "store the secrets on GitHub")
	cmd.Flags().String("repo", "", "the repository for --gh; default: the one that gh finds here")
	cmd.Flags().String("name", "", "OWNER/REPO that the signatures name; default: --repo, else the remote origin")
	return cmd
}

func (e *Env) keygen(cmd *cobra.Command) error {
	out, _ := cmd.Flags().GetString("out")
	onGitHub, _ := cmd.Flags().GetBool("gh")
	repository, _ := cmd.Flags().GetString("repo")
	switch {
	case out == "" && !onGitHub:
		return usagef("the keys would be lost: say where they go, --out DIR or --gh or both")
	case repository != "" && !onGitHub:
		return usagef("--repo says where --gh stores the secrets: add --gh")
	}
	name, err := e.keyName(cmd, repository)
	if err != nil {
		return err
	}
	keys, err := setup.Generate(name, out != "")
	if err != nil {
		return err
	}
	var files []string
	if out != "" {
		if files, err = keys.Write(absolute(e.dir(), out)); err != nil {
			return err
		}
	}
	var stored []setup.EnvironmentSecret
	if onGitHub {
		stored, err = keys.Store(cmd.Context(), e.dir(), repository)
	}
	if err != nil && out == "" {
		return err
	}
	if shown := e.showKeys(cmd, keys, files, stored); err == nil {
		return shown
	}
	// Keys that lie in files are of use although GitHub did not take them all.
	return byHand(err, out)
}

// byHand adds to a failure of gh how the secret gets to GitHub out of its file.
func byHand(err error, out string) error {
	var github *setup.GitHubError
	if !errors.As(err, &github) {
		return err
	}
	code, fix := classifyGate(err)
	before, _, _ := strings.Cut(fix, ",")
	return &verdictError{code, err.Error(), fmt.Sprintf("%s, then: gh secret set %s --env %s <%s, and so for every secret after it",
		before, github.Secret.Name, github.Secret.Environment, filepath.Join(out, github.File))}
}

func (e *Env) showKeys(cmd *cobra.Command, keys *setup.Keyring, files []string, stored []setup.EnvironmentSecret) error {
	for _, f := range files {
		e.say("wrote %s", f)
	}
	for _, s := range stored {
		e.say("stored %s in environment %s", s.Name, s.Environment)
	}
	if keys.Public.Maintainer == "" {
		e.say("note: there is no maintainer's key, so the judge alone can open what the gate measured; --out makes one")
	}
	e.say("next: put the keys: block into %s and commit it to the default branch", contract.DraftPath)
	if !wantsJSON(cmd) {
		_, err := fmt.Fprint(e.Stdout, keys.Block())
		return err
	}
	public := map[string]string{"verifier": keys.Public.Verifier, "judge": keys.Public.Judge, "execute": keys.Public.Execute, "final": keys.Public.Final}
	if keys.Public.Maintainer != "" {
		public["maintainer"] = keys.Public.Maintainer
	}
	return e.json("gate-keygen", map[string]any{
		"keys": public, "block": keys.Block(),
		"files": append([]string{}, files...), "secrets": append([]setup.EnvironmentSecret{}, stored...),
	})
}

// keyName is what the signatures of new keys name.
func (e *Env) keyName(cmd *cobra.Command, repository string) (string, error) {
	name, _ := cmd.Flags().GetString("name")
	if name == "" {
		name = repository
	}
	if name != "" {
		named, err := setup.GitHubKeyName(name)
		if err != nil {
			return "", &usageError{err}
		}
		return named, nil
	}
	work, err := repo.OpenWork(cmd.Context(), e.dir())
	if err == nil {
		defer work.Close()
		url, err := work.RemoteURL("origin")
		if err == nil {
			return setup.KeyName(absolute(work.Top(), url))
		}
	}
	return "", usagef("there is no remote origin here to name the keys by: add --name OWNER/REPO")
}

func sealCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seal DIR --split validation|final",
		Short: "Seal a folder of cases so that only judge and evaluator can open them",
		Long: `Seal packs inputs/ and answers/ of DIR into SPLIT.inputs.age and
SPLIT.answers.age, sealed to the contract's keys, and prints their digests. DIR
must lie outside any git repository. A case that stands in the development
split, the counterexamples, a folder of --against, a file of HEAD or of its
history, or a commit's message, is no secret: it is refused, or left out with
--drop-overlap. Cases are compared exactly and normalised, and never printed.`,
		Example: `  research-loop gate seal ../gate/validation --split validation
  research-loop gate seal ../gate/final --split final --against ../gate/validation --drop-overlap`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return env.seal(cmd, args[0]) },
	}
	contractFlag(cmd)
	cmd.Flags().String("split", "", "validation or final")
	cmd.Flags().String("out", "", "where the bundles go; default: where the contract names the split")
	cmd.Flags().StringArray("against", nil, "a folder like DIR with another split that must share no case")
	cmd.Flags().Bool("drop-overlap", false, "leave out the cases that stand elsewhere too")
	return cmd
}

func (e *Env) seal(cmd *cobra.Command, dir string) error {
	s := setup.Sealing{Dir: absolute(e.dir(), dir)}
	s.Split, _ = cmd.Flags().GetString("split")
	s.Drop, _ = cmd.Flags().GetBool("drop-overlap")
	against, _ := cmd.Flags().GetStringArray("against")
	for _, a := range against {
		s.Against = append(s.Against, absolute(e.dir(), a))
	}
	if s.Split != "validation" && s.Split != "final" {
		return usagef("--split %s: name validation or final", s.Split)
	}
	return e.withDraft(cmd, func(r setup.Repository) error {
		s.Keys = r.Contract.Keys
		s.Out = e.bundles(cmd, r, s.Split)
		if s.Out == "" {
			return usagef("the contract names no folder for splits.%s: say with --out where the bundles go", s.Split)
		}
		sealed, err := setup.Seal(s, r)
		if err != nil {
			return err
		}
		return e.showSealed(cmd, sealed)
	})
}

// bundles is the folder that a split's bundles go to, "" where nobody said.
func (e *Env) bundles(cmd *cobra.Command, r setup.Repository, split string) string {
	if out, _ := cmd.Flags().GetString("out"); out != "" {
		return absolute(e.dir(), out)
	}
	folder := map[string]string{"validation": r.Contract.Splits.Validation, "final": r.Contract.Splits.Final}[split]
	if folder == "" {
		return ""
	}
	return filepath.Join(r.Work.Top(), filepath.FromSlash(path.Dir(folder)))
}

func (e *Env) showSealed(cmd *cobra.Command, s *setup.Sealed) error {
	queries := gate.MaxQueries(s.Cases)
	if wantsJSON(cmd) {
		return e.json("gate-seal", struct {
			*setup.Sealed
			MaxQueries int `json:"max_queries"`
		}{s, queries})
	}
	fmt.Fprintf(e.Stdout, "%s: %d cases\n", s.Split, s.Cases)
	for _, b := range []setup.Bundle{s.Inputs, s.Answers} {
		fmt.Fprintf(e.Stdout, "%s  %s\n", b.Digest, b.File)
	}
	for _, o := range s.Overlaps {
		e.say("dropped  %s", o)
	}
	if s.Dropped > 0 {
		e.say("dropped  %d cases in all", s.Dropped)
	}
	if s.Doubles > 0 {
		e.say("note: %d cases have the input of another one: they prove nothing more, and the bounds below count them", s.Doubles)
	}
	e.say("searched %s", s.Looked)
	if s.Split == "validation" {
		bound := gate.Inform(s.Cases, gate.Use{Budget: queries})
		e.say("budget   at most %d queries; after so many a mean score may be up to %.2f too high (95 %%)", queries, bound.Optimism)
	}
	return nil
}

func openCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open BUNDLE --keys FILE",
		Short: "Open a sealed half of a split",
		Long: `Open opens SPLIT.inputs.age or SPLIT.answers.age with a file that keygen wrote
and says what is in it. With --out DIR it writes the cases into DIR/inputs or
DIR/answers; DIR must lie outside any git repository.`,
		Example: `  research-loop gate open evaluation/validation.inputs.age --keys ../keys/maintainer.key --out ../opened`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return env.unseal(cmd, args[0]) },
	}
	keysFlag(cmd)
	cmd.Flags().String("out", "", "a folder for the cases, outside any repository")
	return cmd
}

func (e *Env) unseal(cmd *cobra.Command, bundle string) error {
	text, place, err := e.secret(cmd)
	if err != nil {
		return err
	}
	key, err := setup.ParseKey(text)
	if err != nil {
		return &supervisor.KeyError{Missing: strings.TrimSpace(text) == "", Why: place + ": " + err.Error()}
	}
	opened, err := setup.Open(absolute(e.dir(), bundle), key)
	if err != nil {
		return err
	}
	if out, _ := cmd.Flags().GetString("out"); out != "" {
		if err := opened.Write(absolute(e.dir(), out)); err != nil {
			return err
		}
	}
	if wantsJSON(cmd) {
		return e.json("gate-open", opened)
	}
	_, err = fmt.Fprintf(e.Stdout, "%s of %s: %d cases\n%s\n", opened.Kind, opened.Split, opened.Cases, opened.Digest)
	return err
}

func valuesCommand(env *Env) *cobra.Command {
	cmd := env.about("values [TAG]", "Open what the gate and the final test measured, for the maintainer",
		func(cmd *cobra.Command, s *session, tag contract.Tag) error { return env.values(cmd, s, tag) })
	cmd.Long = `Values opens the sealed results of every attempt that asked the gate, and of the
final test, with the maintainer's key or the judge's. Until the run is closed they
stay sealed: who sees them and talks to the author spends the gate.`
	cmd.Example = `  research-loop gate values speedup --keys ../keys/maintainer.key`
	keysFlag(cmd)
	return cmd
}

func (e *Env) values(cmd *cobra.Command, s *session, tag contract.Tag) error {
	run, err := s.read(cmd.Context(), tag)
	if err != nil {
		return err
	}
	if run.Closed == nil {
		return &verdictError{exitDecision, fmt.Sprintf("run %s is not closed: what its gate measured stays sealed", run.Tag), "research-loop close " + run.Tag}
	}
	text, place, err := e.secret(cmd)
	if err != nil {
		return err
	}
	key, err := setup.ParseKey(text)
	if err != nil {
		return &supervisor.KeyError{Missing: strings.TrimSpace(text) == "", Why: place + ": " + err.Error()}
	}
	values, err := supervisor.Values(key, run)
	if err != nil {
		return err
	}
	return e.showValues(cmd, run.Tag, values)
}

func (e *Env) showValues(cmd *cobra.Command, tag string, values []supervisor.AttemptValue) error {
	if wantsJSON(cmd) {
		return e.json("gate-values", map[string]any{"tag": tag, "values": append([]supervisor.AttemptValue{}, values...)})
	}
	for _, v := range values {
		why := v.Verdict.Reason
		if v.Failure != nil {
			why = fmt.Sprintf("%s: %s: %s", v.Failure.Status, v.Failure.What, v.Failure.Detail)
		}
		fmt.Fprintf(e.Stdout, "%-10s attempt %d, %.12s: %s, mean score %.6g of %d cases; %s\n",
			v.Stage, v.Iteration, v.Commit, v.Answer, v.Mean(), len(v.Scores), report.Line(why))
	}
	return nil
}

func briefCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "draft DIR",
		Short: "Make a folder in which somebody who knows nothing of the program writes cases",
		Long: `Draft makes DIR, outside any git repository, with the specification, the
population, the form of inputs and answers and a brief for a person or a
generator with a fresh context. It holds nothing of the visible cases, the code,
candidates or results. When inputs/ and answers/ are filled, gate seal takes it.`,
		Example: `  research-loop gate draft ../gate`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return env.brief(cmd, args[0]) },
	}
	contractFlag(cmd)
	return cmd
}

func (e *Env) brief(cmd *cobra.Command, dir string) error {
	return e.withDraft(cmd, func(r setup.Repository) error {
		files, err := setup.Brief(absolute(e.dir(), dir), r)
		if err != nil {
			return err
		}
		if r.Contract.Specification == "" {
			e.say("note: the contract names no specification, so who writes the answers must know the task")
		}
		if wantsJSON(cmd) {
			return e.json("gate-draft", map[string]any{"files": files})
		}
		for _, f := range files {
			fmt.Fprintln(e.Stdout, f)
		}
		return nil
	})
}

// contractFlag adds --contract to a command.
func contractFlag(cmd *cobra.Command) {
	cmd.Flags().String("contract", "", "the contract; default: "+contract.DraftPath+" of this repository")
}

// withDraft opens the repository and its contract for do.
func (e *Env) withDraft(cmd *cobra.Command, do func(setup.Repository) error) error {
	return e.withWork(cmd, func(w *repo.Work) error {
		if w.Top() == "" {
			return &supervisor.RefusedError{What: w.GitDir, Why: "is a bare repository", Fix: "go to a clone of it"}
		}
		name, _ := cmd.Flags().GetString("contract")
		shown := name
		if name == "" {
			shown, name = contract.DraftPath, filepath.Join(w.Top(), filepath.FromSlash(contract.DraftPath))
		}
		draft, err := os.ReadFile(absolute(e.dir(), name))
		if errors.Is(err, fs.ErrNotExist) {
			return &supervisor.RefusedError{What: shown, Why: "is not there", Fix: "research-loop init"}
		} else if err != nil {
			return err
		}
		c, err := contract.Parse(shown, draft)
		if err != nil {
			return err
		}
		_, head := w.Head()
		if head == "" {
			return &supervisor.RefusedError{What: w.Top(), Why: "there is no commit", Fix: "commit the project first"}
		}
		if w.Shallow() {
			return &supervisor.RefusedError{What: w.Top(), Why: "is a shallow clone: history is missing", Fix: "git fetch --unshallow"}
		}
		return do(setup.Repository{Work: w, Commit: head, Contract: c})
	})
}

// classifyGate covers what keeps keys and cases from being made, sealed or opened.
func classifyGate(err error) (int, string) {
	var (
		overlap *setup.OverlapError
		there   *setup.ExistsError
		github  *setup.GitHubError
		sealed  *vault.Error
	)
	switch {
	case errors.As(err, &overlap):
		return exitUsage, "bring other cases, or leave these out with --drop-overlap"
	case errors.As(err, &there):
		return exitDecision, "name another place, or look at what is there and remove it yourself"
	case errors.As(err, &github) && github.Auth:
		return exitAuth, "gh auth login, then the same command again"
	case errors.As(err, &github) && github.Missing:
		return exitOperational, "install gh, or use --out and store the secrets by hand"
	case errors.As(err, &github):
		return exitOperational, "make the environment " + github.Secret.Environment + " for the default branch alone, then the same command again"
	case errors.As(err, &sealed) && sealed.Reason == vault.WrongKey:
		return exitAuth, "name the file of a key that the bundle is sealed to"
	case errors.As(err, &sealed) && (sealed.Reason == vault.Damaged || sealed.Reason == vault.Swapped):
		return exitIntegrity, "take the bundle from the default branch again"
	case errors.As(err, &sealed):
		return exitUsage, "change the cases"
	}
	return 0, ""
}
