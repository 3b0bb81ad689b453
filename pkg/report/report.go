// Package report renders the records of a run for people.
//
// All of it comes from the records alone, so that two readers see the same.
// Text that an author wrote (hypotheses, paths, reasons that quote them) is
// escaped for the place where it is shown: control bytes for a terminal,
// markup for Markdown.
package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Status writes at most 15 lines; the last one is the one next action.
func Status(w io.Writer, r *journal.Run, step journal.Step, color bool) {
	p := palette(color)
	fmt.Fprintf(w, "run %s: %s\n", r.Tag, phase(r))
	fmt.Fprintf(w, "goal       %s\n", cut(Line(r.Contract.Goal), 100))
	fmt.Fprintf(w, "contract   %s (level %s, %s%s)\n", r.Contract.Digest, r.Contract.Facts.Level, signed(r), without(r.Contract.Exceptions))
	if len(r.Entries) > 0 {
		fmt.Fprintf(w, "baseline   %.12s  %s\n", r.Entries[0].Commit, value(r.Entries[0]))
	}
	if r.Incumbent.Commit != "" {
		fmt.Fprintf(w, "incumbent  %.12s  %s  (attempt %d)\n", r.Incumbent.Commit, value(r.Entries[r.Incumbent.Iteration]), r.Incumbent.Iteration)
	}
	fmt.Fprintf(w, "branch     %s, judged up to %.12s\n", journal.RunBranch(contract.Tag(r.Tag)), r.Tip)
	fmt.Fprintf(w, "attempts   %s\n", counts(r))
	if n := len(r.Candidates()); n > 0 {
		e := r.Entries[n]
		fmt.Fprintf(w, "latest     attempt %d, %.12s: %s, %s\n", e.Iteration, e.Commit, p.status(string(e.Status)), cut(Line(e.Reason), 100))
	}
	if r.Contract.Gate != nil {
		fmt.Fprintf(w, "gate       %s\n", cut(Informed(r.Contract.Contract, r.Cases(ledger.Validation), r.Use()), 160))
	}
	if r.Final != nil {
		fmt.Fprintf(w, "final      %s: %s\n", r.Final.Answer, cut(Line(r.Final.Reason), 120))
	}
	fmt.Fprintf(w, "claim      %s\n", cut(Claim(r), 160))
	fmt.Fprintf(w, "next       %s\n", next(r, step))
}

// signed says whether anybody can tell the records from others.
func signed(r *journal.Run) string {
	if r.Contract.Keys == nil {
		return "unsigned"
	}
	return "signed"
}

// without names the walls that a run does without.
func without(exceptions []string) string {
	if len(exceptions) == 0 {
		return ""
	}
	return ", exceptions: " + strings.Join(exceptions, ", ")
}

// phase says in a word or two where the run stands.
func phase(r *journal.Run) string {
	switch {
	case r.Closed != nil:
		return "closed: " + cut(Line(r.Closed.Reason), 120)
	case r.Halted != nil && r.Halted.Paused:
		return "paused: " + cut(Line(r.Halted.Reason), 120)
	case r.Halted != nil:
		return "halted: " + cut(Line(r.Halted.Reason), 120)
	case r.Closing != nil:
		return "closing: " + cut(Line(r.Closing.Reason), 120)
	case r.Opened == nil:
		return "setting up"
	}
	return "open"
}

// next says what is to be done, by whom.
func next(r *journal.Run, step journal.Step) string {
	switch step.Do {
	case journal.Done:
		return "research-loop report " + r.Tag
	case journal.Stopped:
		return "a maintainer looks at it, then: research-loop reconcile " + r.Tag + " --authorise '<reason>'"
	case journal.Wait:
		return "wait: " + cut(Line(step.Reason), 160)
	case journal.Idle:
		return "push a candidate to " + journal.RunBranch(contract.Tag(r.Tag))
	}
	return "research-loop reconcile " + r.Tag
}

// counts lists how many candidates ended as what; the baseline is not counted.
func counts(r *journal.Run) string {
	n := map[ledger.Status]int{}
	for _, e := range r.Candidates() {
		n[e.Status]++
	}
	parts := []string{fmt.Sprint(len(r.Candidates()))}
	for _, s := range []ledger.Status{ledger.Keep, ledger.Discard, ledger.Crash, ledger.Timeout, ledger.Invalid} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", s, n[s]))
		}
	}
	return strings.Join(parts, ", ")
}

// Log writes what was tried, one line each, with its verdict.
func Log(w io.Writer, r *journal.Run, color bool) error {
	p := palette(color)
	rows := [][]string{{"#", "commit", p.title("verdict"), r.Contract.Metric.Name, "restore", "reason"}}
	for _, h := range r.History {
		rows = append(rows, row(h, p))
	}
	return table(w, rows)
}

func row(h journal.Judged, p colors) []string {
	if s := h.Superseded; s != nil {
		return []string{"-", short(s.Tip), p.status(journal.Superseded), "", short(s.Restore), cut(Line(s.Reason), 90)}
	}
	e := h.Entry
	restore := ""
	if e.RollbackCommit != nil {
		restore = short(*e.RollbackCommit)
	}
	return []string{fmt.Sprint(e.Iteration), short(e.Commit), p.status(string(e.Status)), number(e.PrimaryValue), restore, cut(Line(e.Reason), 90)}
}

// table aligns rows. Colour codes have a width of their own, so every cell of
// the column that bears them bears them, its title too.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return t.Flush()
}

// value gives the primary metric of an entry.
func value(e ledger.Entry) string { return e.PrimaryMetric + " " + number(e.PrimaryValue) }

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.6g", *v)
}

func short(id string) string { return id[:min(12, len(id))] }

// cut shortens s to n runes.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Line makes text safe to print on a terminal's line: whatever is not a
// visible character or a space is shown as an escape, so that no byte of an
// author's moves the cursor, ends the line, or hides or reorders what stands
// beside it.
func Line(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// duration prints seconds for people.
func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}
