package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"
)

// Check is a check run on a commit: a notice for people and agents, no proof.
type Check struct {
	Name       string
	Head       string // the commit, 40 hexadecimal digits
	ExternalID string // our own key: with Name and Head it says which check run is meant
	// Conclusion is "" while it runs, then one of Conclusions.
	Conclusion string
	Title      string // plain text, cut at 255 bytes
	Summary    string // Markdown, cut at 65,535 bytes: what must stay stands first
	Text       string // Markdown, cut alike
	Details    string // URL of a page with more, or ""
	Started    time.Time
	Completed  time.Time
	// Annotations are findings at their places. GitHub only ever adds to those of
	// a check run, so their order must be the same whenever it is asked for.
	Annotations []Annotation
	ID          int64  // set in what is read
	App         string // the slug of the app that made it; set in what is read
}

// Annotation is a finding at its place.
type Annotation struct {
	Path    string // slash path in the repository
	Line    int    // from 1; less counts as 1
	Level   string // notice, warning or failure
	Title   string // cut at 255 bytes
	Message string // cut at 64 KiB
}

// Conclusions are how a check may end. Neutral and skipped are none of them:
// both satisfy a required check.
func Conclusions() []string {
	return []string{"success", "failure", "timed_out", "action_required", "cancelled"}
}

const (
	maxTitle       = 255
	maxMarkdown    = 65535
	maxAnnotation  = 64 << 10
	maxExternal    = 255
	annotationStep = 50 // GitHub takes at most so many in one request
)

var hex40 = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}$`) })

func (k Check) valid() error {
	switch {
	case k.Name == "" || k.ExternalID == "" || len(k.ExternalID) > maxExternal:
		return errors.New("a check needs a name, and an external id of at most 255 bytes")
	case !hex40().MatchString(k.Head):
		return fmt.Errorf("check %s: %.60q is not a whole commit id", k.Name, k.Head)
	case k.Conclusion != "" && !slices.Contains(Conclusions(), k.Conclusion):
		return fmt.Errorf("check %s: conclusion %.60q satisfies a required check or does not exist", k.Name, k.Conclusion)
	case k.Title == "" || k.Summary == "":
		return fmt.Errorf("check %s: GitHub wants a title and a summary", k.Name)
	}
	return nil
}

// Publish makes the check what k says and gives its id: it makes the check run,
// or brings the one of that key up to date, as often as it is asked. A check
// that is completed is never taken back to running.
func (c *Client) Publish(ctx context.Context, k Check) (int64, error) {
	if err := k.valid(); err != nil {
		return 0, err
	}
	var foreign []int64
	for try := 1; ; {
		found, err := c.find(ctx, k, foreign)
		if err != nil {
			return 0, err
		}
		if found != nil {
			err := c.update(ctx, k, found)
			if err == nil || !notOurs(err) {
				return found.GetID(), err
			}
			foreign = append(foreign, found.GetID())
			continue
		}
		made, err := c.create(ctx, k)
		if c.again(ctx, try, err) {
			try++ // the answer was lost: look before it is made again
			continue
		}
		if err != nil || len(k.Annotations) <= annotationStep {
			return made.GetID(), err
		}
		return made.GetID(), c.update(ctx, k, made)
	}
}

// find gives the check run of k's key, nil where there is none beside foreign ones.
func (c *Client) find(ctx context.Context, k Check, foreign []int64) (*github.CheckRun, error) {
	runs, err := c.checkRuns(ctx, k.Head, k.Name)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if r.GetName() == k.Name && r.GetHeadSHA() == k.Head && r.GetExternalID() == k.ExternalID && !slices.Contains(foreign, r.GetID()) {
			return r, nil
		}
	}
	return nil, nil
}

// notOurs says that GitHub lets only another app change this check run.
func notOurs(err error) bool {
	var e *Error
	return errors.As(err, &e) && !e.Limited() && (e.Status == http.StatusForbidden || e.Status == http.StatusUnprocessableEntity)
}

// checkRuns reads all check runs of a name on a commit. The filter is "all":
// "latest" would show one run a suite, and whoever made the last hides the others.
func (c *Client) checkRuns(ctx context.Context, commit, name string) ([]*github.CheckRun, error) {
	options := &github.ListCheckRunsOptions{Filter: github.String("all")}
	if name != "" {
		options.CheckName = &name
	}
	runs, err := list(func(page github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
		options.ListOptions = page
		result, response, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.Place.Owner, c.Place.Name, commit, options)
		if err != nil {
			return nil, nil, err
		}
		return result.CheckRuns, response, nil
	})
	return runs, c.wrap(ctx, "reading the checks of "+commit, err)
}

// Checks reads every check run of a name on a commit, whoever made it; the name
// "" means all. Nothing in them is to be believed before its note is verified.
func (c *Client) Checks(ctx context.Context, commit, name string) ([]Check, error) {
	runs, err := c.checkRuns(ctx, commit, name)
	if err != nil {
		return nil, err
	}
	var out []Check
	for _, r := range runs {
		out = append(out, Check{
			Name: r.GetName(), Head: r.GetHeadSHA(), ExternalID: r.GetExternalID(), Conclusion: r.GetConclusion(),
			Title: r.GetOutput().GetTitle(), Summary: r.GetOutput().GetSummary(), Text: r.GetOutput().GetText(),
			Details: r.GetDetailsURL(), Started: r.GetStartedAt().Time, Completed: r.GetCompletedAt().Time,
			ID: r.GetID(), App: r.GetApp().GetSlug(),
		})
	}
	return out, nil
}

// create makes the check run with its first annotations. It is completed at once
// only if those are all.
func (c *Client) create(ctx context.Context, k Check) (*github.CheckRun, error) {
	batch := k.Annotations[:min(len(k.Annotations), annotationStep)]
	o := github.CreateCheckRunOptions{
		Name: k.Name, HeadSHA: k.Head, ExternalID: &k.ExternalID, Status: github.String("in_progress"),
		DetailsURL: optional(k.Details), StartedAt: stamp(k.Started), Output: k.output(batch),
	}
	if k.Conclusion != "" && len(batch) == len(k.Annotations) {
		o.Status, o.Conclusion, o.CompletedAt = github.String("completed"), &k.Conclusion, stamp(k.Completed)
	}
	made, _, err := c.gh.Checks.CreateCheckRun(ctx, c.Place.Owner, c.Place.Name, o)
	return made, c.wrap(ctx, "creating the check of "+k.Head, err)
}

// update brings a check run up to date, its missing annotations in batches. Each
// batch is added once: after a lost answer it is counted what arrived.
func (c *Client) update(ctx context.Context, k Check, run *github.CheckRun) error {
	if k.Conclusion == "" && run.GetStatus() == "completed" {
		return nil
	}
	have := run.GetOutput().GetAnnotationsCount()
	for try := 1; ; {
		rest := k.Annotations[min(have, len(k.Annotations)):]
		batch := rest[:min(len(rest), annotationStep)]
		err := c.patch(ctx, k, run.GetID(), batch, len(batch) == len(rest))
		switch {
		case c.again(ctx, try, err):
			try++
			now, _, err := c.gh.Checks.GetCheckRun(ctx, c.Place.Owner, c.Place.Name, run.GetID())
			if err != nil {
				return c.wrap(ctx, "reading the check of "+k.Head, err)
			}
			have = now.GetOutput().GetAnnotationsCount()
		case err != nil || len(batch) == len(rest):
			return err
		default:
			have += len(batch)
		}
	}
}

// patch sends one batch, and with the last one the end.
func (c *Client) patch(ctx context.Context, k Check, id int64, batch []Annotation, last bool) error {
	o := github.UpdateCheckRunOptions{Name: k.Name, ExternalID: &k.ExternalID, DetailsURL: optional(k.Details), Output: k.output(batch)}
	switch {
	case k.Conclusion != "" && last:
		o.Status, o.Conclusion, o.CompletedAt = github.String("completed"), &k.Conclusion, stamp(k.Completed)
	case k.Conclusion == "":
		o.Status = github.String("in_progress")
	}
	_, _, err := c.gh.Checks.UpdateCheckRun(ctx, c.Place.Owner, c.Place.Name, id, o)
	return c.wrap(ctx, "updating the check of "+k.Head, err)
}

// output is what a check shows, within GitHub's limits.
func (k Check) output(batch []Annotation) *github.CheckRunOutput {
	o := &github.CheckRunOutput{
		Title:   github.String(cutBytes(plain(k.Title), maxTitle)),
		Summary: github.String(shorten(k.Summary, maxMarkdown)),
	}
	if k.Text != "" {
		o.Text = github.String(shorten(k.Text, maxMarkdown))
	}
	for _, a := range batch {
		line := max(a.Line, 1)
		o.Annotations = append(o.Annotations, &github.CheckRunAnnotation{
			Path: github.String(plain(a.Path)), StartLine: &line, EndLine: &line, AnnotationLevel: github.String(a.Level),
			Title: optional(cutBytes(plain(a.Title), maxTitle)), Message: github.String(shorten(a.Message, maxAnnotation)),
		})
	}
	return o
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func stamp(at time.Time) *github.Timestamp {
	if at.IsZero() {
		return nil
	}
	return &github.Timestamp{Time: at.UTC()}
}
