package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
	"github.com/research-loop/research-loop/workflows"
)

// ciCommand holds what the action runs: the three steps of a pass, each in a
// job of its own.
func ciCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ci", Short: "The steps of a pass, as the GitHub action runs them", Args: cobra.NoArgs, Hidden: true,
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) { env.Stderr = &quoted{w: env.Stderr} },
	}
	admit := &cobra.Command{
		Use: "admit", Short: "Do what is due up to the next launch, and claim that", Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return env.ciAdmit(cmd) }),
	}
	admit.Flags().String("out", "", "folder for the bundle")
	execute := &cobra.Command{
		Use: "execute", Short: "Launch candidate code on a bundle", Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return env.ciExecute(cmd) }),
	}
	execute.Flags().Int("shard", 1, "which shard this is")
	execute.Flags().String("out", "", "folder for the outcome")
	execute.Flags().String("exposed", "false", "whether a job without an environment is given secrets of the judge")
	decide := &cobra.Command{
		Use: "decide", Short: "Judge what came back", Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return env.ciDecide(cmd) }),
	}
	decide.Flags().String("outcomes", "", "folder with the outcomes")
	decide.Flags().String("outcomes-sha256", "{}", "the digests that the execute jobs gave out, as one JSON object")
	for _, c := range []*cobra.Command{execute, decide} {
		c.Flags().String("bundle", "", "the bundle")
		c.Flags().String("bundle-sha256", "", "its digest, as admit gave it out")
	}
	cmd.AddCommand(admit, execute, decide)
	return cmd
}

// quoted is a stream that a runner reads. Talk may hold what an author wrote, so no
// line of it can be a command.
type quoted struct {
	w    io.Writer
	rest []byte
}

// Write implements io.Writer. What follows the last line end waits for the next.
func (q *quoted) Write(p []byte) (int, error) {
	q.rest = append(q.rest, p...)
	end := bytes.LastIndexByte(q.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := io.WriteString(q.w, forge.Quote(string(q.rest[:end])))
	q.rest = append(q.rest[:0], q.rest[end:]...)
	return len(p), err
}

// job is a job of the workflow that judges.
type job struct {
	*session
	runner *forge.Runner
	client *forge.Client
}

// openJob reads what the runner says, hides its secrets, and opens a clone.
func (e *Env) openJob(cmd *cobra.Command) (*job, error) {
	j, err := e.newJob()
	if err != nil {
		return nil, err
	}
	return j, j.fetch(cmd.Context())
}

// newJob reads what the runner says and hides its secrets. It asks nobody yet.
func (e *Env) newJob() (*job, error) {
	j := &job{}
	var err error
	if j.runner, err = forge.NewRunner(e.Getenv, e.Stdout); err != nil {
		return nil, err
	}
	for _, name := range []string{"GITHUB_TOKEN", judgeKeys, deployKey} {
		if err := j.runner.Mask(e.Getenv(name)); err != nil {
			return nil, err
		}
	}
	place, err := forge.Locate("", e.Getenv)
	if err != nil {
		return nil, err
	}
	j.client, err = forge.New(forge.Options{Place: place, Token: e.Getenv("GITHUB_TOKEN"), Login: forge.WorkflowLogin, Now: e.Now, Sleep: sleep})
	if err != nil {
		return nil, err
	}
	if err := tokenForGit(place, e.Getenv("GITHUB_TOKEN")); err != nil {
		return nil, err
	}
	j.session = &session{env: e, remote: place.Web + "/" + place.String() + ".git", home: filepath.Join(e.Getenv("RUNNER_TEMP"), "research-loop-home")}
	return j, nil
}

// fetch opens the job's clone and reads the remote's branches.
func (j *job) fetch(ctx context.Context) error {
	j.path = filepath.Join(j.home, "clone.git")
	clone, err := repo.OpenClone(ctx, j.path, j.remote)
	if err != nil {
		return err
	}
	if err := clone.Fetch(ctx); err != nil {
		clone.Close()
		return err
	}
	j.clone = clone
	return nil
}

// tokenForGit lets git present the token to its own host and no other. It
// stands in the environment of this process, in no argument, URL or file.
func tokenForGit(place forge.Place, token string) error {
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	return errors.Join(
		os.Setenv("GIT_CONFIG_COUNT", "1"),
		os.Setenv("GIT_CONFIG_KEY_0", "http."+place.Web+"/.extraheader"),
		os.Setenv("GIT_CONFIG_VALUE_0", "AUTHORIZATION: basic "+basic),
	)
}

// deployKey is the variable with the key that writes a protected state branch.
const deployKey = "RESEARCH_LOOP_DEPLOY_KEY"

// holder is this attempt of this run of the workflow.
func (j *job) holder() ledger.Holder {
	return ledger.Holder{Host: hostOn(j.client), PID: int(j.runner.RunID), Start: "attempt " + strconv.Itoa(j.runner.Attempt)}
}

// hostOn is the host that every job of a repository's workflows claims on.
func hostOn(client *forge.Client) string { return "github/" + client.Place.String() }

// aliveOn asks the forge whether an attempt of a run is still at work. Where it
// does not say so, it is taken to be.
func aliveOn(ctx context.Context, client *forge.Client) func(ledger.Holder) bool {
	return func(h ledger.Holder) bool {
		attempt, err := strconv.Atoi(strings.TrimPrefix(h.Start, "attempt "))
		if err != nil {
			return true
		}
		ended, err := client.AttemptEnded(ctx, int64(h.PID), attempt)
		return err != nil || !ended
	}
}

// supervise builds the supervisor of a run in this job.
func (j *job) supervise(ctx context.Context, tag contract.Tag, level string) (*supervisor.Supervisor, error) {
	sup := &supervisor.Supervisor{
		Clone: j.clone, Tag: tag, Folder: j.folder(tag), Holder: j.holder(), Alive: aliveOn(ctx, j.client), Now: j.env.Now,
		Level: level, Signer: j.keys.signer, Judge: j.keys.judge, Secrets: j.keys.secrets,
		Board: &board{client: j.client, now: j.env.Now, say: j.env.say}, Say: j.env.talker(),
	}
	if key := j.env.Getenv(deployKey); strings.TrimSpace(key) != "" {
		p, err := j.deployPusher(key)
		if err != nil {
			return nil, err
		}
		sup.Pusher = p
	}
	return sup, nil
}

// ofRun opens a run that exists, with the keys of its contract.
func (j *job) ofRun(cmd *cobra.Command, tag contract.Tag) (*supervisor.Supervisor, error) {
	run, err := j.read(cmd.Context(), tag)
	if err != nil {
		return nil, err
	}
	if j.keys, err = j.env.ciKeys(run.Contract.Contract); err != nil {
		return nil, err
	}
	sup, err := j.supervise(cmd.Context(), tag, run.Contract.Facts.Level)
	if err != nil {
		return nil, err
	}
	sup.Anchors, err = j.anchors(cmd.Context(), run)
	return sup, err
}

// pusher pushes the state branch by the deploy key, and all else by the token.
type pusher struct{ token, deploy *repo.Clone }

// Push implements supervisor.Pusher.
func (p pusher) Push(ctx context.Context, branch, id, expect string) error {
	if strings.HasPrefix(branch, journal.StateBranch("")) {
		return p.deploy.Push(ctx, branch, id, expect)
	}
	return p.token.Push(ctx, branch, id, expect)
}

// githubHost is the key that github.com shows for SSH, as it publishes it.
const githubHost = "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"

// deployPusher writes the deploy key where ssh finds it, for this user alone.
func (j *job) deployPusher(key string) (supervisor.Pusher, error) {
	file, known := filepath.Join(j.home, "deploy-key"), filepath.Join(j.home, "known-hosts")
	if err := os.WriteFile(file, []byte(strings.TrimSpace(key)+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(known, []byte(githubHost), 0o600); err != nil {
		return nil, err
	}
	strict := "yes"
	if j.client.Place.Web != "https://github.com" {
		strict = "accept-new" // an own server publishes its key to its own people only
	}
	ssh := fmt.Sprintf("ssh -i '%s' -o IdentitiesOnly=yes -o UserKnownHostsFile='%s' -o StrictHostKeyChecking=%s", file, known, strict)
	return pusher{token: j.clone, deploy: j.clone.Via(j.client.Place.SSH(), "core.sshCommand="+ssh)}, nil
}

// ciKeys are the judge's keys from the environment.
func (e *Env) ciKeys(c *contract.Contract) (keys, error) { return e.keys(nil, c) }

// wake asks for another run of the workflow.
func (j *job) wake(ctx context.Context, tag contract.Tag) error {
	return j.client.Dispatch(ctx, workflows.Event, map[string]string{"tag": string(tag), "operation": "reconcile"})
}

// ciExecute launches what the bundle holds and writes the outcome.
func (e *Env) ciExecute(cmd *cobra.Command) error {
	runner, err := forge.NewRunner(e.Getenv, e.Stdout)
	if err != nil {
		return err
	}
	for _, name := range []string{inputsKey, driverSecrets} {
		if err := runner.Mask(e.Getenv(name)); err != nil {
			return err
		}
	}
	b, err := bundleOf(cmd)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("attempt %d", runner.Attempt); b.Holder.PID != int(runner.RunID) || b.Holder.Start != want {
		return &supervisor.RefusedError{
			What: "bundle", Why: fmt.Sprintf("it was claimed by %s of run %d, and this is %s of run %d", b.Holder.Start, b.Holder.PID, want, runner.RunID),
			Fix: "do not run jobs again: the next wake-up claims the pass anew",
		}
	}
	if err := kept(cmd, b); err != nil {
		return err
	}
	out, err := e.executed(cmd, b)
	if err != nil {
		return err
	}
	data, err := supervisor.SealOutcome(b, out)
	if err != nil {
		return err
	}
	shard, _ := cmd.Flags().GetInt("shard")
	file, sum, err := handOn(cmd, fmt.Sprintf("outcome-%d", shard), data)
	if err != nil {
		return err
	}
	return errors.Join(runner.Output("outcome", file), runner.Output(fmt.Sprintf("outcome-%d", shard), sum))
}

// kept refuses to launch anything where the secrets that hide the gate are given
// to every workflow of every branch. Only a job without an environment can tell.
func kept(cmd *cobra.Command, b *supervisor.Bundle) error {
	exposed, _ := cmd.Flags().GetString("exposed")
	sealed, err := contract.Open(b.Contract, b.Digest)
	if err != nil || exposed != "true" || sealed.Keys == nil || sealed.Exception(contract.RepositorySecrets) {
		return err
	}
	return &supervisor.RefusedError{
		What: "secrets RESEARCH_LOOP_*", Why: "they are repository secrets: whoever can push a workflow file can read them",
		Fix: "gh secret delete them, research-loop gate keygen --gh, and a new contract with the new keys",
	}
}

const (
	inputsKey     = "RESEARCH_LOOP_INPUTS"
	driverSecrets = "RESEARCH_LOOP_DRIVER_SECRETS"
)

// executed executes a bundle in a sandbox that was attacked first. Where an
// attack succeeds nothing is launched, and the outcome says so.
func (e *Env) executed(cmd *cobra.Command, b *supervisor.Bundle) (*supervisor.Outcome, error) {
	s := &session{env: e}
	box, err := s.confine()
	if err != nil {
		return nil, err
	}
	defer box.Close()
	probed, err := supervisor.ProbeOf(box)(cmd.Context())
	if err != nil {
		return nil, err
	}
	x := supervisor.Executor{Launcher: box, Folder: filepath.Join(e.Getenv("RUNNER_TEMP"), "research-loop-pass"), Secret: secretsOf(e.Getenv(driverSecrets))}
	if text := e.Getenv(inputsKey); strings.TrimSpace(text) != "" {
		key, err := vault.ParseIdentity(text)
		if err != nil {
			return nil, &supervisor.KeyError{Why: inputsKey + ": " + err.Error()}
		}
		x.Key = &key
	}
	e.say("%s pass of attempt %d in the sandbox (%s mode)", b.Stage, b.Iteration, box.Mode())
	out := b.Outcome()
	if len(probed.Open) == 0 {
		if out, err = x.Execute(cmd.Context(), b); err != nil {
			return nil, err
		}
	}
	out.Probed = &probed
	return out, nil
}

// secretsOf reads lines NAME=value.
func secretsOf(text string) func(string) string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "="); ok {
			found[strings.TrimSpace(name)] = value
		}
	}
	return func(name string) string { return found[name] }
}

// bundleOf reads the bundle that a command was given, if it is the one that
// admit gave out.
func bundleOf(cmd *cobra.Command) (*supervisor.Bundle, error) {
	name, _ := cmd.Flags().GetString("bundle")
	want, _ := cmd.Flags().GetString("bundle-sha256")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if is := digestOf(data); is != want {
		return nil, &supervisor.RefusedError{What: name, Why: fmt.Sprintf("is not the bundle that admit gave out: its SHA-256 is %s, not %.64q", is, want), Fix: "research-loop doctor compares the workflow with the one that is shipped"}
	}
	return supervisor.ParseBundle(data)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// handOn writes a file for the jobs to come and gives its path and digest.
func handOn(cmd *cobra.Command, name string, data []byte) (file, sum string, err error) {
	out, _ := cmd.Flags().GetString("out")
	if out == "" {
		return "", "", usagef("--out names no folder")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", "", err
	}
	file = filepath.Join(out, name)
	return file, digestOf(data), os.WriteFile(file, data, 0o644)
}
