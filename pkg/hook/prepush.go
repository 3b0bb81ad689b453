package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/repo"
)

// Deadline bounds one PrePush. Servers drop a connection that is silent for
// some minutes, and git opened it before it ran the hook.
const Deadline = 30 * time.Second

// Call is one call of the hook by git.
type Call struct {
	// Dir is where the hook runs; GitDir is $GIT_DIR, "" if git has not set it.
	Dir, GitDir string
	Args        []string // the name of the remote, or its URL, and its URL
	Stdin       io.Reader
	Stderr      io.Writer
}

// RefusedError says that the push must not go on. All that a person needs is
// on standard error already.
type RefusedError struct {
	Ref     string // the first remote ref that was refused
	Reason  string
	Invalid bool // by the audit's findings
}

func (e *RefusedError) Error() string { return fmt.Sprintf("push to %s refused: %s", e.Ref, e.Reason) }

// UsageError says that the hook was not called as git calls it.
type UsageError struct{ Why string }

func (e *UsageError) Error() string { return e.Why }

// PrePush audits what git is about to push. A nil error lets the push go on;
// a *RefusedError has been explained on Stderr, any other error has not.
func PrePush(ctx context.Context, c Call) error {
	if len(c.Args) != 2 {
		return &UsageError{fmt.Sprintf("a pre-push hook gets a remote and its URL, not %d arguments", len(c.Args))}
	}
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.check(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the audit took longer than %v and was given up; push fewer commits at once, "+
			"or push with --no-verify: the supervisor audits it in any case", Deadline)
	}
}

// check decides on every update and says what it decided.
func (c Call) check(ctx context.Context) error {
	text, err := readInput(c.Stdin)
	if err != nil {
		return err
	}
	updates, err := parseUpdates(text)
	if err != nil {
		return err
	}
	var ours []update
	for _, u := range updates {
		if _, ok := u.run(); ok || u.records() {
			ours = append(ours, u)
		}
	}
	if len(ours) == 0 {
		return nil
	}
	dir := c.GitDir
	if dir == "" {
		dir = c.Dir
	}
	work, err := repo.OpenWork(ctx, dir)
	if err != nil {
		return err
	}
	defer work.Close()
	var refused *RefusedError
	for _, u := range ours {
		v := c.judge(work, u)
		v.print(c.Stderr, u)
		if v.refused != "" && refused == nil {
			refused = &RefusedError{Ref: u.remote, Reason: v.refused, Invalid: v.report.Verdict() == "invalid"}
		}
	}
	if refused != nil {
		return refused
	}
	return nil
}

// verdict is what the hook says of one update.
type verdict struct {
	refused  string // why, "" if it passes
	passed   string // what was done, where it passes
	next     string // what to do about it
	notes    []string
	report   audit.Report
	template bool // show the trailers
}

func refuse(next, format string, args ...any) verdict {
	return verdict{refused: fmt.Sprintf(format, args...), next: next}
}

// print writes the verdict. The first line alone says it all, because callers
// of git are known to show no more.
func (v verdict) print(w io.Writer, u update) {
	var b strings.Builder
	branch := audit.Escape(strings.TrimPrefix(u.remote, heads))
	if v.refused != "" {
		first, rest, _ := strings.Cut(v.refused, "\n")
		fmt.Fprintf(&b, "research-loop: push to %s refused: %s\n", branch, audit.Escape(first))
		for line := range strings.Lines(rest) {
			fmt.Fprintln(&b, audit.Escape(strings.TrimSuffix(line, "\n")))
		}
	} else {
		fmt.Fprintf(&b, "research-loop: %s: %s\n", branch, audit.Escape(v.passed))
	}
	for _, f := range v.report.Findings {
		fmt.Fprintln(&b, f)
		if f.Fix != "" {
			fmt.Fprintf(&b, "  fix: %s\n", audit.Escape(f.Fix))
		}
	}
	for _, note := range v.notes {
		fmt.Fprintf(&b, "note: %s\n", audit.Escape(note))
	}
	if v.template {
		fmt.Fprintf(&b, "The last paragraph of the commit message must be:\n\n%s\n", audit.Template)
	}
	if v.next != "" {
		fmt.Fprintf(&b, "next: %s\n", audit.Escape(v.next))
	}
	io.WriteString(w, b.String())
}

// judge decides on one update of a run branch or a records branch.
func (c Call) judge(work *repo.Work, u update) verdict {
	tag, isRun := u.run()
	switch {
	case !isRun:
		return refuse("push to the run branch; the supervisor writes the records", "it holds the records of a run, which only the supervisor writes")
	case u.deletes():
		return refuse("leave the branch; close the run if it is over", "a run branch is never deleted")
	}
	if v, ok := checkShape(work, u, shownRemote(c.Args[0])); !ok {
		return v
	}
	s, err := standingOf(work, c.Args, tag)
	if err != nil {
		return failed(err)
	}
	return s.judge(work, u)
}

// shownRemote is a remote as it may be shown: a URL can hold a password.
func shownRemote(remote string) string {
	if strings.ContainsAny(remote, ":@") {
		return "<remote>"
	}
	return remote
}

// checkShape refuses what is no forward step of a branch.
func checkShape(work *repo.Work, u update, remote string) (v verdict, ok bool) {
	if _, err := work.Commit(u.localID); err != nil {
		if id, ok := work.Resolve(u.localID); ok && id != u.localID {
			return refuse(fmt.Sprintf("git push … %s:%s", id, u.remote), "%s is a tag, and only a commit can be a candidate", u.localID), false
		}
		return failed(err), false
	}
	if u.creates() {
		return v, true
	}
	fetch := "git fetch " + remote + " " + strings.TrimPrefix(u.remote, heads)
	if _, err := work.Commit(u.remoteID); err != nil {
		return refuse(fetch, "the branch is at %s, which is not in this clone", u.remoteID), false
	}
	forward, err := work.Descends(u.remoteID, u.localID)
	if err != nil {
		return failed(err), false
	}
	if !forward {
		return refuse(fetch+", then put your commits on top of it", "%s does not descend from %s: a run branch is never rewritten", u.localID, u.remoteID), false
	}
	return v, true
}

// failed refuses because the audit could not be made.
func failed(err error) verdict {
	var missing *repo.MissingError
	if errors.As(err, &missing) && missing.Why == "" {
		return refuse("git fetch", "%v", err)
	}
	var cure *cureError
	if errors.As(err, &cure) {
		return refuse(cure.next, "%v", cure.err)
	}
	return refuse("", "%v", err)
}

// cureError is an error with what helps.
type cureError struct {
	err  error
	next string
}

func (e *cureError) Error() string { return e.err.Error() }
func (e *cureError) Unwrap() error { return e.err }
