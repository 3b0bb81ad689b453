package forge

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/google/go-github/v60/github"
)

// Dispatch wakes every workflow of the default branch that listens to event. It
// needs the right to write contents. Two of them do no harm, so it is sent again
// when an answer was lost.
func (c *Client) Dispatch(ctx context.Context, event string, payload map[string]string) error {
	if payload == nil {
		payload = map[string]string{} // null is no payload
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	body := json.RawMessage(raw)
	_, _, err = c.gh.Repositories.Dispatch(repeatable(ctx), c.Place.Owner, c.Place.Name, github.DispatchRequestOptions{EventType: event, ClientPayload: &body})
	return c.wrap(ctx, "waking the workflow", err)
}

// RunWorkflow starts a workflow file of branch by hand and gives the id of its
// run, 0 where this GitHub does not tell it. It needs the right to write actions.
// A lost answer may mean two runs: both start, and the second finds nothing to do.
func (c *Client) RunWorkflow(ctx context.Context, file, branch string, inputs map[string]string) (int64, error) {
	body := map[string]any{"ref": branch, "inputs": inputs, "return_run_details": true}
	var answer struct {
		ID int64 `json:"workflow_run_id"`
	}
	err := c.call(repeatable(ctx), "POST", "actions/workflows/"+url.PathEscape(file)+"/dispatches", body, &answer)
	return answer.ID, c.wrap(ctx, "starting workflow "+file, err)
}

// Run is one run of a workflow.
type Run struct {
	ID         int64
	Attempt    int
	Status     string // queued, in_progress, completed, waiting …
	Conclusion string // "" until it is completed
	Event      string
	Branch     string
	Commit     string
	Actor      string
	Title      string
	URL        string
	Created    time.Time
}

// Ended says that no job of the run's latest attempt is to come or at work.
func (r Run) Ended() bool { return r.Status == "completed" }

func runOf(r *github.WorkflowRun) Run {
	return Run{
		ID: r.GetID(), Attempt: r.GetRunAttempt(), Status: r.GetStatus(), Conclusion: r.GetConclusion(), Event: r.GetEvent(),
		Branch: r.GetHeadBranch(), Commit: r.GetHeadSHA(), Actor: r.GetActor().GetLogin(), Title: r.GetDisplayTitle(),
		URL: r.GetHTMLURL(), Created: r.GetCreatedAt().Time,
	}
}

// Run gives a run with its latest attempt.
func (c *Client) Run(ctx context.Context, id int64) (Run, error) {
	r, _, err := c.gh.Actions.GetWorkflowRunByID(ctx, c.Place.Owner, c.Place.Name, id)
	if err != nil {
		return Run{}, c.wrap(ctx, "reading a workflow run", err)
	}
	return runOf(r), nil
}

// Runs lists the newest hundred runs of a workflow file, newest first.
func (c *Client) Runs(ctx context.Context, file string) ([]Run, error) {
	result, _, err := c.gh.Actions.ListWorkflowRunsByFileName(ctx, c.Place.Owner, c.Place.Name, url.PathEscape(file),
		&github.ListWorkflowRunsOptions{ListOptions: github.ListOptions{PerPage: 100}})
	if err != nil {
		return nil, c.wrap(ctx, "listing the runs of workflow "+file, err)
	}
	var out []Run
	for _, r := range result.WorkflowRuns {
		out = append(out, runOf(r))
	}
	return out, nil
}

// AttemptEnded says whether an attempt of a run is known to have ended: it is
// completed, or a later attempt of the same run is there. A run that GitHub does
// not show is not known to have ended: whoever asks waits for a deadline then.
func (c *Client) AttemptEnded(ctx context.Context, id int64, attempt int) (bool, error) {
	run, err := c.Run(ctx, id)
	var e *Error
	switch {
	case errors.As(err, &e) && e.Missing():
		return false, nil
	case err != nil:
		return false, err
	}
	return run.Attempt > attempt || run.Attempt == attempt && run.Ended(), nil
}
