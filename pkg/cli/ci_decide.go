package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

// ciDecide judges what the execute job brought back. What it could not finish, the
// next run does.
func (e *Env) ciDecide(cmd *cobra.Command) error {
	j, err := e.newJob()
	if err != nil {
		return err
	}
	b, err := bundleOf(cmd)
	if err == nil {
		err = j.decide(cmd, b)
	}
	if tag, ok := j.claimed(b); ok && err != nil {
		j.failed(cmd.Context(), tag, err)
	}
	return err
}

// claimed gives the run whose pass this run of the workflow claimed, ok is false
// for a rehearsal. Where the bundle is lost, the event says what admit was about.
func (j *job) claimed(b *supervisor.Bundle) (tag contract.Tag, ok bool) {
	if b != nil {
		return contract.Tag(b.Tag), !b.Rehearsal
	}
	if j.runner.Input("operation") == "rehearse" {
		return "", false
	}
	tag, err := j.subject()
	return tag, err == nil
}

// parting is how long a job that failed tries to wake the next one. GitHub ends
// one that is cancelled ten seconds after it told it.
const parting = time.Minute

// failed wakes the next run where this one was cancelled, or failed for a reason
// that may pass. That cannot go on for ever: whoever decides was handed a pass that
// admit claimed, an attempt has few passes, and law (4) bounds how often a lost one
// is claimed again. An admit that claims nothing is followed by no decide.
func (j *job) failed(ctx context.Context, tag contract.Tag, err error) {
	if code, _ := classify(err); code != exitOperational && ctx.Err() == nil {
		return // a person must look: the next run would end alike
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	if err := j.wake(ctx, tag); err != nil {
		j.env.say("the next run could not be woken: %v", err)
		return
	}
	j.env.say("not finished: the next run was woken")
}

// decide judges a bundle's pass.
func (j *job) decide(cmd *cobra.Command, b *supervisor.Bundle) error {
	if err := j.fetch(cmd.Context()); err != nil {
		return err
	}
	defer j.close()
	if b.Rehearsal {
		return j.rehearsed(cmd, b)
	}
	tag := contract.Tag(b.Tag)
	sup, err := j.ofRun(cmd, tag)
	if err != nil {
		return err
	}
	out, err := j.outcome(cmd, b)
	if err != nil {
		// Whoever takes the pass over launches it again.
		j.env.say("no outcome can be read, so nothing is decided: %v", err)
		return j.wake(cmd.Context(), tag)
	}
	box, err := j.confine()
	if err != nil {
		return err
	}
	defer box.Close()
	sup.Launcher, sup.Finish = box, true
	sup.Adopt(b.Lease, out)
	step, err := sup.Reconcile(cmd.Context())
	if err != nil {
		return err
	}
	return j.conclude(cmd.Context(), sup, step)
}

// outcome reads the outcome of a bundle's pass.
func (j *job) outcome(cmd *cobra.Command, b *supervisor.Bundle) (*supervisor.Outcome, error) {
	folder, _ := cmd.Flags().GetString("outcomes")
	text, _ := cmd.Flags().GetString("outcomes-sha256")
	var sums map[string]string
	if err := json.Unmarshal([]byte(text), &sums); err != nil {
		return nil, fmt.Errorf("--outcomes-sha256: %w", err)
	}
	want := sums["outcome-1"]
	if want == "" {
		return nil, errors.New("the job that executed gave out no digest")
	}
	var found []byte
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || found != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && digestOf(data) == want {
			found = data
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("no file below %s has the digest that the job gave out", folder)
	}
	var key *vault.Identity
	if j.keys.judge != nil {
		key = &j.keys.judge.Identity
	}
	return supervisor.OpenOutcome(b, found, key)
}

// conclude wakes the next run where there is more to do, and shows where the
// run stands.
func (j *job) conclude(ctx context.Context, sup *supervisor.Supervisor, step journal.Step) error {
	resting := []journal.Do{journal.Idle, journal.Done, journal.Wait}
	if !slices.Contains(resting, step.Do) {
		if err := j.wake(ctx, sup.Tag); err != nil {
			return err
		}
	}
	var page strings.Builder
	if err := report.Markdown(&page, sup.Run); err != nil {
		return err
	}
	report.Status(j.env.Stderr, sup.Run, step, false)
	return j.runner.Summary(page.String())
}
