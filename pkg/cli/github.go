package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/workflows"
)

// A run on GitHub is judged there: these commands ask the workflow and follow
// the records. With --local this machine judges, as it does for every other
// remote.

// localFlag adds --local to a command that judges.
func localFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("local", false, "judge on this machine, even where the remote is on GitHub")
	cmd.Flags().Duration("follow", 540*time.Second, "on GitHub: follow the run for this time, then give up with 8")
}

// onGitHub gives the client of a remote whose default branch has the workflow,
// nil where this machine judges.
func (e *Env) onGitHub(cmd *cobra.Command) (*forge.Client, error) {
	if local, err := cmd.Flags().GetBool("local"); err != nil || local {
		return nil, err
	}
	client, err := e.forge(cmd)
	if errors.Is(err, forge.ErrElsewhere) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := client.Repository(cmd.Context())
	if err != nil {
		return nil, err
	}
	_, err = client.File(cmd.Context(), r.Default, workflows.Folder+workflows.Loop)
	var missing *forge.Error
	if errors.As(err, &missing) && missing.Missing() {
		return nil, &supervisor.RefusedError{
			What: workflows.Folder + workflows.Loop, Why: "is not on the default branch of " + client.Place.String(),
			Fix: "research-loop init --workflows, then merge what it wrote; or judge on this machine with --local",
		}
	}
	return client, err
}

// ask dispatches an operation and says where it runs.
func (e *Env) ask(ctx context.Context, client *forge.Client, inputs map[string]string) error {
	r, err := client.Repository(ctx)
	if err != nil {
		return err
	}
	id, err := client.RunWorkflow(ctx, workflows.Loop, r.Default, inputs)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%s/%s/actions/workflows/%s", client.Place.Web, client.Place, workflows.Loop)
	if id != 0 {
		where = fmt.Sprintf("%s/%s/actions/runs/%d", client.Place.Web, client.Place, id)
	}
	e.say("asked GitHub to %s: %s", inputs["operation"], where)
	return nil
}

// operate asks GitHub for an operation on a run and follows the records until
// done says that it is.
func (e *Env) operate(cmd *cobra.Command, client *forge.Client, tag contract.Tag, inputs map[string]string, done func(*journal.Run, journal.Step) bool) error {
	inputs["tag"] = string(tag)
	if err := e.ask(cmd.Context(), client, inputs); err != nil {
		return err
	}
	s, err := e.open(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	patience, _ := cmd.Flags().GetDuration("follow")
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	sup, step, err := e.follow(ctx, s, client, tag, done)
	switch {
	case cmd.Context().Err() != nil:
		return cmd.Context().Err()
	case err != nil && ctx.Err() != nil: // whatever it broke off
		return &verdictError{exitPending, fmt.Sprintf("run %s is still at work", tag), "research-loop status " + string(tag) + ", later"}
	case err != nil:
		return err
	}
	s.track(cmd.Context())
	return e.showStatus(cmd, sup, step)
}

// between is how long follow waits between two looks.
const between = 5 * time.Second

// follow looks at the records again and again.
func (e *Env) follow(ctx context.Context, s *session, client *forge.Client, tag contract.Tag, done func(*journal.Run, journal.Step) bool) (*supervisor.Supervisor, journal.Step, error) {
	nudged := e.Now()
	for {
		if err := s.clone.Fetch(ctx); err != nil {
			return nil, journal.Step{}, err
		}
		sup := s.supervisor(tag, nil)
		step, err := sup.Peek(ctx)
		var none *supervisor.NoRunError
		switch {
		case errors.As(err, &none): // not yet
		case err != nil:
			return nil, step, err
		case done(sup.Run, step):
			return sup, step, nil
		case e.Now().Sub(nudged) > overdue:
			nudged = e.Now()
			e.wakeOverdue(ctx, client, sup, step)
		}
		if err := sleep(ctx, between); err != nil {
			return nil, step, err
		}
	}
}

// overdue is how long something may be due before a reader wakes the workflow.
const overdue = 3 * time.Minute

// due says whether the workflow has something to do.
func due(step journal.Step) bool {
	switch step.Do {
	case journal.Idle, journal.Done, journal.Wait, journal.Stopped:
		return false
	}
	return true
}

// wakeOverdue wakes the workflow where it has something to do: an event may have
// been lost, or the run that holds a claim. Whoever may only read cannot, which is
// no error.
func (e *Env) wakeOverdue(ctx context.Context, client *forge.Client, sup *supervisor.Supervisor, step journal.Step) {
	if step.Do == journal.Wait { // for a job, as far as the records tell
		sup.Holder.Host, sup.Alive = hostOn(client), aliveOn(ctx, client)
		var err error
		if step, err = sup.Peek(ctx); err != nil {
			return
		}
	}
	if !due(step) {
		return
	}
	err := client.Dispatch(ctx, workflows.Event, map[string]string{"tag": string(sup.Tag), "operation": "reconcile"})
	if err == nil {
		e.say("something is overdue: the workflow was woken")
	}
}

// nudgeOverdue wakes the workflow of a run on GitHub in which something has
// been due for a while, as the records tell.
func (e *Env) nudgeOverdue(cmd *cobra.Command, sup *supervisor.Supervisor, step journal.Step) {
	if !due(step) && step.Do != journal.Wait || e.Now().Sub(sup.Run.LastEvent) < overdue || sup.Run.Contract.Facts.Level == level {
		return
	}
	if client, err := e.forge(cmd); err == nil {
		e.wakeOverdue(cmd.Context(), client, sup, step)
	}
}

// elsewhere does an operation on GitHub, if the run is judged there.
func (e *Env) elsewhere(cmd *cobra.Command, args []string, do func(*cobra.Command, *forge.Client, contract.Tag) error) (done bool, err error) {
	client, err := e.onGitHub(cmd)
	if client == nil || err != nil {
		return false, err
	}
	tag, err := e.tagOnGitHub(cmd, args)
	if err != nil {
		return true, err
	}
	return true, do(cmd, client, tag)
}

// startOnGitHub seals and opens a run there.
func (e *Env) startOnGitHub(cmd *cobra.Command, client *forge.Client, tag contract.Tag) error {
	inputs := map[string]string{"operation": "start"}
	attested, err := e.attest(cmd, client)
	if err != nil {
		return err
	}
	if attested {
		inputs[attestInput] = setup.LevelProtected
	}
	return e.operate(cmd, client, tag, inputs, func(r *journal.Run, step journal.Step) bool {
		return r.Closed != nil || r.Halted != nil || r.Opened != nil && step.Do != journal.Recreate
	})
}

// attest looks with this token, which may see more than a job's, whether level
// protected is reached. The job believes an administrator's word for what it cannot
// see, and looks at the rest itself.
func (e *Env) attest(cmd *cobra.Command, client *forge.Client) (bool, error) {
	found, err := e.settings(cmd, client)
	if err != nil {
		return false, err
	}
	for _, r := range found.Rows {
		if strings.HasPrefix(r.Name, "workflow ") && r.State != setup.Fine {
			found.Level, found.Why = setup.LevelSigned, append(found.Why, r.Name+": "+r.Detail)
		}
	}
	if found.Level != setup.LevelProtected {
		slices.Reverse(found.Why) // what falls short stands last
		e.say("level protected is not attested: %s", strings.Join(found.Why, "; "))
		return false, nil
	}
	e.say("level protected is attested, as this token sees the repository")
	return true, nil
}

// closeOnGitHub closes a run there.
func (e *Env) closeOnGitHub(cmd *cobra.Command, client *forge.Client, tag contract.Tag) error {
	reason, _ := cmd.Flags().GetString("reason")
	interrupt, _ := cmd.Flags().GetBool("interrupt")
	inputs := map[string]string{"operation": "close", "reason": reason, "interrupt": strconv.FormatBool(interrupt)}
	return e.operate(cmd, client, tag, inputs, func(r *journal.Run, _ journal.Step) bool { return r.Closed != nil || r.Halted != nil })
}

// reconcileOnGitHub wakes a run there, or authorises it.
func (e *Env) reconcileOnGitHub(cmd *cobra.Command, client *forge.Client, tag contract.Tag) error {
	reason, _ := cmd.Flags().GetString("authorise")
	inputs := map[string]string{"operation": "reconcile"}
	if reason != "" {
		inputs["reason"] = reason
	}
	return e.operate(cmd, client, tag, inputs, func(r *journal.Run, step journal.Step) bool {
		return step.Do == journal.Idle || step.Do == journal.Done || step.Do == journal.Stopped && reason == ""
	})
}

// rehearseOnGitHub runs the baseline there; its run's page shows the outcome.
func (e *Env) rehearseOnGitHub(cmd *cobra.Command, client *forge.Client) error {
	return e.ask(cmd.Context(), client, map[string]string{"operation": "rehearse", "tag": "rehearsal"})
}

// tagOnGitHub finds the run that a command is about.
func (e *Env) tagOnGitHub(cmd *cobra.Command, args []string) (contract.Tag, error) {
	s, err := e.open(cmd)
	if err != nil {
		return "", err
	}
	defer s.close()
	tag, err := s.tag(args)
	if err != nil {
		return "", err
	}
	_, err = s.read(cmd.Context(), tag)
	return tag, err
}
