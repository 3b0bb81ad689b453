package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Terminal writes the report as plain text.
func Terminal(w io.Writer, r *journal.Run, color bool) error {
	for _, f := range facts(r) {
		fmt.Fprintf(w, "%-22s %s\n", f[0], Line(f[1]))
	}
	fmt.Fprintln(w)
	if err := Log(w, r, color); err != nil {
		return err
	}
	for _, list := range lists(r) {
		fmt.Fprintf(w, "\n%s\n", list.title)
		for _, item := range list.items {
			fmt.Fprintf(w, "  %s\n", Line(item))
		}
	}
	fmt.Fprintf(w, "\n%s\n", Claim(r))
	return nil
}

// Markdown writes the report as GitHub Markdown.
func Markdown(w io.Writer, r *journal.Run) error {
	fmt.Fprintf(w, "# Run %s\n\n%s\n\n", r.Tag, Escape(r.Contract.Goal))
	fmt.Fprintf(w, "**%s**\n\n| | |\n|---|---|\n", Escape(Claim(r)))
	for _, f := range facts(r) {
		fmt.Fprintf(w, "| %s | %s |\n", f[0], Escape(f[1]))
	}
	fmt.Fprintf(w, "\n## What was tried\n\n| # | commit | verdict | %s | restore | took | reason |\n|---|---|---|---|---|---|---|\n", Escape(r.Contract.Metric.Name))
	for _, h := range r.History {
		cells := row(h, false)
		took := ""
		if h.Entry != nil {
			took = duration(h.Entry.DurationSeconds)
		}
		cells = slices.Insert(cells, len(cells)-1, took)
		for i := range cells {
			cells[i] = Escape(cells[i])
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, list := range lists(r) {
		fmt.Fprintf(w, "\n## %s\n\n", list.title)
		for _, item := range list.items {
			fmt.Fprintf(w, "- %s\n", Escape(item))
		}
	}
	return nil
}

// facts are what a report says in single lines.
func facts(r *journal.Run) [][2]string {
	c := r.Contract
	out := [][2]string{
		{"tag", r.Tag},
		{"state", phase(r)},
		{"population", c.Population},
		{"frozen command", c.Evaluation.Score},
		{"contract", string(c.Digest)},
		{"level", levelText(c.Facts.Level)},
		{"branch", fmt.Sprintf("%s, judged up to %s", journal.RunBranch(contract.Tag(r.Tag)), r.Tip)},
		{"records", fmt.Sprintf("%s, %s", journal.StateBranch(contract.Tag(r.Tag)), journal.Folder(contract.Tag(r.Tag)))},
		{"signatures", signatures(r)},
		{"sealed", r.SealedAt.Format(time.RFC3339)},
	}
	if len(r.Entries) > 0 {
		out = append(out, [2]string{"baseline", fmt.Sprintf("%s, %s", r.Entries[0].Commit, value(r.Entries[0]))})
	}
	if r.Incumbent.Commit != "" {
		out = append(out, [2]string{"best commit", fmt.Sprintf("%s, %s (attempt %d)", r.Incumbent.Commit, value(r.Entries[r.Incumbent.Iteration]), r.Incumbent.Iteration)})
	}
	out = append(out, [2]string{"attempts", counts(r)})
	if r.Retries > 0 {
		out = append(out, [2]string{"lost passes", fmt.Sprintf("%d launched again", r.Retries)})
	}
	if len(c.Exceptions) > 0 {
		out = append(out, [2]string{"exceptions", strings.Join(c.Exceptions, ", ")})
	}
	if len(r.Entries) > 0 && r.Incumbent.Commit != "" {
		best := r.Entries[r.Incumbent.Iteration]
		out = append(out, [2]string{"development", fmt.Sprintf("%s %s → %s", c.Metric.Name, number(r.Entries[0].PrimaryValue), number(best.PrimaryValue))})
	}
	out = append(out, sealedFacts(r)...)
	return append(out, [2]string{"remaining uncertainty", uncertainty(r)})
}

// levelText says what a level of trust means.
func levelText(level string) string {
	switch level {
	case "protected":
		return level + ": only the supervisor can write the records, and the default branch takes changes by reviewed pull request"
	case "signed":
		return level + ": whoever changes the records is found out by their signatures, not kept from it"
	case "open":
		return level + ": no secret can be kept from the author here, so nothing was sealed and no signature is believed"
	}
	return level + ": the supervisor ran on a machine of the author's; it protects against candidate code, not against an author with the same account"
}

// signatures says who vouches for the records.
func signatures(r *journal.Run) string {
	if r.Contract.Keys == nil {
		return "none: the contract has no keys, whoever may write the state branch may change the records"
	}
	return "every record is signed by " + r.Contract.Keys.Verifier
}

// list is a titled list of a report.
type list struct {
	title string
	items []string
}

// lists are the rules that were accepted and the shortcuts that were rejected.
func lists(r *journal.Run) []list {
	accepted := list{title: "Accepted general rules"}
	classes := map[string]int{}
	for _, e := range r.Candidates() {
		if e.Status == ledger.Keep && e.Hypothesis != "" {
			accepted.items = append(accepted.items, fmt.Sprintf("attempt %d: %s", e.Iteration, e.Hypothesis))
		}
		if overfit(e) {
			classes["overfit"]++
		}
		if e.Status == ledger.Invalid {
			for _, class := range e.LeakageAudit.Classes {
				classes[class]++
			}
		}
	}
	rejected := list{title: "Rejected shortcuts by class"}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		rejected.items = append(rejected.items, fmt.Sprintf("%s: %d", class, classes[class]))
	}
	var out []list
	for _, l := range []list{accepted, rejected} {
		if len(l.items) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// overfit says that only the gate rejected a candidate.
func overfit(e ledger.Entry) bool {
	return e.Status == ledger.Discard && e.SplitMetrics.Validation != nil
}

// Escape makes text safe inside a line or a table cell of GitHub Markdown: no
// markup, no HTML, no mention, no reference, no line end.
//
// Mentions and references are looked for in the text as rendered, where an
// escaped sign is the sign itself; a space without width behind it parts it
// from what would make it one. It stands nowhere else, so that names and
// digests can be copied.
func Escape(s string) string {
	const apart = "&#8203;"
	var b strings.Builder
	text := strings.TrimSpace(Line(s))
	for i, r := range text {
		before, after := text[:i], text[i+len(string(r)):]
		switch {
		case r == '@':
			b.WriteString("@" + apart)
		case r == '#':
			b.WriteString(`\#` + apart)
		case r == '-' && ends(before, "gh"): // gh-1 is a reference
			b.WriteString("-" + apart)
		case r == '.' && ends(before, "www"):
			b.WriteString("." + apart)
		case r == ':' && strings.HasPrefix(after, "/"):
			b.WriteString(":" + apart)
		case strings.ContainsRune("<>&", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case strings.ContainsRune("\\`*_[]|~$", r) || begins(before, r, after):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ends says whether text ends in a word, however that is spelt.
func ends(text, word string) bool {
	at := len(text) - len(word)
	if at < 0 || !strings.EqualFold(text[at:], word) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text[:at])
	return !unicode.IsLetter(last)
}

// begins says whether r, at its place in a line, makes the line a list or a
// rule, or the line before it a title.
func begins(before string, r rune, after string) bool {
	switch r {
	case '-', '+', '=':
		return before == ""
	case '.', ')':
		return before != "" && strings.Trim(before, "0123456789") == "" && (after == "" || after[0] == ' ')
	}
	return false
}
