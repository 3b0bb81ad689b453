package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/report"
)

// board shows verdicts as checks on commits, and the run in one comment on its
// pull request.
type board struct {
	client *forge.Client
	now    func() time.Time
	say    func(string, ...any)
}

// checkName is that of all checks of a run.
func checkName(tag string) string { return "research-loop/" + tag }

// check is what all checks on a commit have in common.
func (b *board) check(r *journal.Run, commit string) forge.Check {
	return forge.Check{Name: checkName(r.Tag), Head: commit, ExternalID: r.Tag + "/" + commit}
}

// Running implements supervisor.Board.
func (b *board) Running(ctx context.Context, r *journal.Run) {
	a := r.Open
	if a == nil || a.Role == journal.RoleFinal {
		return
	}
	k := b.check(r, a.Candidate)
	k.Started = b.now()
	k.Title = fmt.Sprintf("attempt %d is being judged", a.Iteration)
	k.Summary = "The verdict comes here. `research-loop wait " + a.Candidate + "` waits for it."
	if _, err := b.client.Publish(ctx, k); err != nil {
		b.say("the check on %.12s is not shown: %v", a.Candidate, err)
	}
}

// conclusions of a verdict; never one that satisfies a required check by
// meaning nothing.
func conclusion(status string) string {
	switch ledger.Status(status) {
	case ledger.Keep:
		return "success"
	case ledger.Timeout:
		return "timed_out"
	case ledger.Invalid:
		return "action_required"
	case journal.Superseded:
		return "cancelled"
	}
	return "failure"
}

// Verdict implements supervisor.Board.
func (b *board) Verdict(ctx context.Context, r *journal.Run, commit, note string) ([]string, error) {
	v, _ := r.Verdict(commit)
	k := b.check(r, commit)
	k.Conclusion, k.Completed = conclusion(v.Status), b.now()
	k.Title = fmt.Sprintf("%s: %s", v.Status, report.Line(v.Reason))
	k.Summary = report.Verdict(r, commit, note)
	k.Annotations = annotations(r.Audit(commit))
	if _, err := b.client.Publish(ctx, k); err != nil {
		return nil, err
	}
	if v.Restore != "" && !(v.Status == journal.Superseded && restores(r, v.Restore)) {
		k.Head, k.ExternalID, k.Annotations = v.Restore, r.Tag+"/"+v.Restore, nil
		k.Summary = fmt.Sprintf("This commit restores the tree that the run stands on, after %.12s.\n\n%s", commit, k.Summary)
		if _, err := b.client.Publish(ctx, k); err != nil {
			return nil, err
		}
	}
	if err := b.newest(ctx, r, note); err != nil {
		return nil, err
	}
	b.comment(ctx, r)
	return []string{"checks"}, nil
}

// restores says whether a commit restores what an attempt changed: its check then
// says what became of that, and nothing of the commits that it swept away beside.
func restores(r *journal.Run, commit string) bool {
	return slices.ContainsFunc(r.Entries, func(e ledger.Entry) bool { return e.RollbackCommit != nil && *e.RollbackCommit == commit })
}

// newest keeps the newest note in a check on the baseline: an older state of the
// records that is put back is found out by it.
func (b *board) newest(ctx context.Context, r *journal.Run, note string) error {
	if note == "" {
		return nil
	}
	k := b.check(r, r.Sealed.Baseline)
	k.Name, k.ExternalID, k.Conclusion, k.Completed = checkName(r.Tag)+" records", r.Tag+"/records", "success", b.now()
	k.Title = fmt.Sprintf("%d attempts are recorded", len(r.Candidates()))
	k.Summary = report.Escape(report.Claim(r)) + "\n\nThe newest signed note of the run's records:\n" + report.Note(note)
	_, err := b.client.Publish(ctx, k)
	return err
}

// annotations are the findings of an audit at their places.
func annotations(found *ledger.Audit) []forge.Annotation {
	if found == nil {
		return nil
	}
	var out []forge.Annotation
	for _, f := range found.Findings {
		if f.Path == "" {
			continue
		}
		level := "warning"
		if f.Severity == "invalid" {
			level = "failure"
		}
		out = append(out, forge.Annotation{Path: f.Path, Line: f.Line, Level: level, Title: f.Class, Message: report.Line(f.Message + "\nfix: " + f.Fix)})
	}
	return out
}

// comment keeps the one comment on the run's pull request up to date. It is a
// convenience, and no verdict waits for it.
func (b *board) comment(ctx context.Context, r *journal.Run) {
	repository, err := b.client.Repository(ctx)
	if err != nil {
		b.say("the run's comment is not shown: %v", err)
		return
	}
	var page strings.Builder
	if err := report.Markdown(&page, r); err != nil {
		b.say("the run's comment is not shown: %v", err)
		return
	}
	branch := journal.RunBranch(contract.Tag(r.Tag))
	pull, err := b.client.DraftPull(ctx, repository.Default, branch, "research-loop: "+r.Tag, "Candidates of run `"+r.Tag+"`. What counts stands on the state branch; the comment below is brought up to date.")
	if err == nil && pull.Number != 0 {
		_, err = b.client.Comment(ctx, pull.Number, "research-loop:"+r.Tag, page.String())
	}
	switch {
	case err != nil:
		b.say("the run's comment is not shown: %v", err)
	case pull.Number == 0:
		b.say("no pull request (%s): open one at %s", report.Line(pull.Why), pull.URL)
	}
}
