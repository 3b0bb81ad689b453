package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
	"github.com/research-loop/research-loop/workflows"
)

// ciAdmit does what woke the workflow: an operation that somebody asked for, a
// push, or the sweep of the schedule.
func (e *Env) ciAdmit(cmd *cobra.Command) error {
	j, err := e.openJob(cmd)
	if err != nil {
		return err
	}
	defer j.close()
	if j.runner.Event == "schedule" {
		return errors.Join(j.sweepRuns(cmd.Context()), j.runner.Output("pass", "none"))
	}
	tag, err := j.subject()
	if err != nil {
		return err
	}
	operation := "reconcile"
	if j.runner.Event == "workflow_dispatch" {
		operation = j.runner.Input("operation")
	}
	switch operation {
	case "start":
		return j.start(cmd, tag)
	case "rehearse":
		return j.rehearse(cmd)
	case "close":
		return j.closeRun(cmd, tag)
	case "reconcile":
		return j.reconcileRun(cmd, tag)
	}
	return usagef("operation %q: want start, close, reconcile or rehearse", operation)
}

// subject is the run that the event is about. Whoever may write can have put
// it there: it chooses a run and nothing else.
func (j *job) subject() (contract.Tag, error) {
	name := j.runner.Input("tag")
	if j.runner.Event == "workflow_run" {
		name = strings.TrimPrefix(j.runner.HeadBranch(), journal.RunBranch(""))
	}
	if j.runner.Event == "workflow_dispatch" && j.runner.Input("operation") == "start" {
		tag, err := contract.NormalizeTag(name)
		if err != nil {
			return "", &usageError{err}
		}
		return tag, nil
	}
	return parseTag(name)
}

// mayDecide refuses who is no maintainer, and gives the role of who is.
func (j *job) mayDecide(ctx context.Context, what string) (role string, err error) {
	role, err = j.client.Permission(ctx, j.runner.Trigger)
	if err != nil {
		return "", err
	}
	if role != "maintain" && role != "admin" {
		return "", &supervisor.KeyError{Why: fmt.Sprintf("%s has the role %q here, and %s needs maintain or admin", j.runner.Trigger, role, what)}
	}
	return role, nil
}

// attested says whether who sent a start saw that the repository has what level
// protected needs: an administrator, whose token is shown it. Who runs a job again
// sees nothing, so that attests nothing.
func (j *job) attested(role string) bool {
	if j.runner.Input(attestInput) != setup.LevelProtected {
		return false
	}
	if role != "admin" || j.runner.Attempt != 1 || j.runner.Actor != j.runner.Trigger {
		j.env.say("%s attested level protected: that counts from an administrator alone, and not from one who runs a job again", j.runner.Actor)
		return false
	}
	return true
}

// attestInput is the input of the workflow by which start attests a level.
const attestInput = "attest"

// start seals a run and claims its baseline.
func (j *job) start(cmd *cobra.Command, tag contract.Tag) error {
	role, err := j.mayDecide(cmd.Context(), "start")
	if err != nil {
		return err
	}
	branch, err := j.clone.Default(cmd.Context())
	if err != nil {
		return err
	}
	opening := &supervisor.Opening{
		Judge:  func(*contract.Contract) (*vault.Judge, error) { return j.keys.judge, nil },
		Search: j.opening(cmd).Search,
	}
	plan, err := supervisor.NewPlan(cmd.Context(), j.clone, branch, tag, "open", Version(), nil)
	if err != nil {
		return err
	}
	if j.keys, err = j.env.ciKeys(plan.Contract); err != nil {
		return err
	}
	found, err := j.examine(cmd.Context(), plan.Contract, j.attested(role))
	if err != nil {
		return err
	}
	level := fmt.Sprintf("level %s: %s", found.Level, strings.Join(found.Why, "; "))
	j.env.say("%s", level)
	if plan, err = supervisor.NewPlan(cmd.Context(), j.clone, branch, tag, found.Level, Version(), opening); err != nil {
		return err
	}
	sup, err := j.supervise(cmd.Context(), tag, found.Level)
	if err != nil {
		return err
	}
	err = sup.Seal(cmd.Context(), plan, func(*supervisor.Plan) (supervisor.Confirmation, error) {
		return supervisor.Confirmation{By: j.runner.Trigger, How: fmt.Sprintf("workflow_dispatch, run %d attempt %d; %s", j.runner.RunID, j.runner.Attempt, level)}, nil
	})
	if err != nil {
		return err
	}
	return j.advance(cmd, sup)
}

// examine reads the repository's settings: what breaks the trust model is
// refused, the rest gives the level.
func (j *job) examine(ctx context.Context, c *contract.Contract, attested bool) (setup.Diagnosis, error) {
	found, err := setup.Diagnose(ctx, j.client, setup.Wanted{
		Keys: c.Keys != nil, RepositorySecrets: c.Exception(contract.RepositorySecrets), Workflows: workflows.Shipped(),
		Job: true, DeployKey: strings.TrimSpace(j.env.Getenv(deployKey)) != "", Attested: attested,
	})
	if err != nil {
		return found, err
	}
	var why, cures []string
	for _, r := range found.Refusals() {
		why, cures = append(why, r.Name+": "+r.Detail), append(cures, r.Fix)
	}
	if len(why) > 0 {
		return found, &supervisor.RefusedError{What: "settings of " + found.Repository, Why: strings.Join(why, "; "), Fix: "research-loop doctor; " + strings.Join(cures, "; ")}
	}
	return found, nil
}

// rehearse hands the baseline's development stage on, with nothing sealed.
func (j *job) rehearse(cmd *cobra.Command) error {
	branch, err := j.clone.Default(cmd.Context())
	if err != nil {
		return err
	}
	plan, err := supervisor.NewPlan(cmd.Context(), j.clone, branch, "rehearsal", "open", Version(), nil)
	if err != nil {
		return err
	}
	b, err := plan.Rehearsal(j.clone)
	if err != nil {
		return err
	}
	b.Lease, b.Deadline = "rehearsal", j.env.Now().Add(journal.Lasting(plan.Contract, ledger.Development)).UTC()
	return j.hand(cmd, plan.Contract, b)
}

// rehearsed shows what a rehearsal measured.
func (j *job) rehearsed(cmd *cobra.Command, b *supervisor.Bundle) error {
	sealed, err := contract.Open(b.Contract, b.Digest)
	if err != nil {
		return err
	}
	if j.keys, err = j.env.ciKeys(sealed.Contract); err != nil {
		return err
	}
	out, err := j.outcome(cmd, b)
	if err != nil {
		return err
	}
	if len(out.Missing) > 0 {
		return &evaluate.MissingTool{Names: out.Missing}
	}
	shown := *j.env
	shown.Stdout = j.env.Stderr // quoted: the runner takes commands from both
	return shown.rehearsed(cmd, out.Evaluation)
}

// closeRun records that the run shall close, and goes on.
func (j *job) closeRun(cmd *cobra.Command, tag contract.Tag) error {
	if _, err := j.mayDecide(cmd.Context(), "close"); err != nil {
		return err
	}
	sup, err := j.ofRun(cmd, tag)
	if err != nil {
		return err
	}
	reason := j.runner.Input("reason")
	if strings.TrimSpace(reason) == "" {
		reason = "closed by the maintainer"
	}
	if err := sup.RequestClose(cmd.Context(), reason, j.runner.Trigger, j.runner.Input("interrupt") == "true"); err != nil {
		return err
	}
	return j.advance(cmd, sup)
}

// reconcileRun does what is due; a reason lets a halted run go on.
func (j *job) reconcileRun(cmd *cobra.Command, tag contract.Tag) error {
	sup, err := j.ofRun(cmd, tag)
	var none *supervisor.NoRunError
	if errors.As(err, &none) {
		j.env.say("there is no run %s: nothing to do", tag)
		return j.runner.Output("pass", "none")
	}
	if err != nil {
		return err
	}
	if reason := strings.TrimSpace(j.runner.Input("reason")); reason != "" && j.runner.Event == "workflow_dispatch" {
		if _, err := j.mayDecide(cmd.Context(), "authorising a halted run"); err != nil {
			return err
		}
		if err := sup.Authorise(cmd.Context(), reason, j.runner.Trigger); err != nil {
			return err
		}
	}
	return j.advance(cmd, sup)
}

// advance runs the loop up to the next launch and hands that on.
func (j *job) advance(cmd *cobra.Command, sup *supervisor.Supervisor) error {
	var handed *supervisor.Bundle
	sup.Hand = func(b *supervisor.Bundle) error {
		handed = b
		return nil
	}
	step, err := sup.Reconcile(cmd.Context())
	if err != nil {
		return err
	}
	report.Status(j.env.Stderr, sup.Run, step, false)
	if handed == nil {
		return j.runner.Output("pass", "none")
	}
	return j.hand(cmd, sup.Run.Contract.Contract, handed)
}

// hand writes a bundle and says which job executes it.
func (j *job) hand(cmd *cobra.Command, c *contract.Contract, b *supervisor.Bundle) error {
	b.Holder = j.holder()
	data, err := b.Encode()
	if err != nil {
		return err
	}
	file, sum, err := handOn(cmd, "bundle", data)
	if err != nil {
		return err
	}
	pass, environment := passOf(c, b.Stage)
	return errors.Join(
		j.runner.Output("pass", pass), j.runner.Output("environment", environment), j.runner.Output("shards", "[1]"),
		j.runner.Output("bundle", file), j.runner.Output("bundle-sha256", sum),
	)
}

// passOf says which job executes a pass, and in which environment.
func passOf(c *contract.Contract, stage ledger.Stage) (pass, environment string) {
	switch {
	case stage == ledger.Final:
		return "keyed", "research-loop-final"
	case stage == ledger.Validation, c.Evaluation.Driver != nil && len(c.Evaluation.Driver.Secrets) > 0:
		return "keyed", "research-loop-execute"
	}
	return "plain", ""
}

// sweepRuns wakes every run in which something is due.
func (j *job) sweepRuns(ctx context.Context) error {
	var failed []error
	for branch := range j.clone.Branches() {
		name, ok := strings.CutPrefix(branch, journal.StateBranch(""))
		if !ok {
			continue
		}
		tag := contract.Tag(name)
		sup := &supervisor.Supervisor{Clone: j.clone, Tag: tag, Folder: j.folder(tag), Holder: j.holder(), Alive: aliveOn(ctx, j.client), Now: j.env.Now}
		step, err := sup.Peek(ctx)
		switch resting := []journal.Do{journal.Idle, journal.Done, journal.Wait, journal.Stopped}; {
		case err != nil:
			failed = append(failed, fmt.Errorf("run %s: %w", tag, err))
		case !slices.Contains(resting, step.Do):
			failed = append(failed, j.wake(ctx, tag))
		}
	}
	return errors.Join(failed...)
}
