package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Verdict writes what a check says of a judged commit, as GitHub Markdown. The
// verdict comes first: what is too long is cut at its end. note is the signed
// verdict note, "" in a run without keys.
func Verdict(r *journal.Run, commit, note string) string {
	var b strings.Builder
	v, _ := r.Verdict(commit)
	fmt.Fprintf(&b, "**%s**: %s\n\n", Escape(v.Status), Escape(v.Reason))
	if v.Commit != commit {
		fmt.Fprintf(&b, "Judged as part of %s.\n\n", v.Commit)
	}
	if v.Restore != "" {
		fmt.Fprintf(&b, "Restored by %s: `git pull` before the next candidate.\n\n", v.Restore)
	}
	if v.Iteration >= 0 && v.Iteration < len(r.Entries) {
		entryTable(&b, r.Entries[v.Iteration])
	}
	if r.Contract.Gate != nil {
		fmt.Fprintf(&b, "Gate: %s\n\n", Escape(Informed(r.Contract.Contract, r.Cases(ledger.Validation), r.Use())))
	}
	fmt.Fprintf(&b, "%s\n\n", Escape(Claim(r)))
	b.WriteString("This check is a notice. The signed records are the truth: `research-loop wait " + commit + "` verifies them.\n\n")
	b.WriteString(Note(note))
	findings(&b, r.Audit(commit))
	return b.String()
}

// Note sets a signed note apart, so that it can be found again; "" gives "".
func Note(note string) string {
	if note == "" {
		return ""
	}
	return "\n```\n" + note + "```\n\n"
}

// entryTable lists what was measured.
func entryTable(b *strings.Builder, e ledger.Entry) {
	fmt.Fprintf(b, "| attempt %d | |\n|---|---|\n| %s | %s |\n", e.Iteration, Escape(e.PrimaryMetric), number(e.PrimaryValue))
	for _, name := range slices.Sorted(maps.Keys(e.Secondary)) {
		fmt.Fprintf(b, "| %s | %.6g |\n", Escape(name), e.Secondary[name])
	}
	if v := e.SplitMetrics.Validation; v != nil {
		fmt.Fprintf(b, "| sealed gate | %s |\n", *v)
	}
	if e.Hypothesis != "" {
		fmt.Fprintf(b, "| hypothesis | %s |\n", Escape(e.Hypothesis))
	}
	b.WriteString("\n")
}

// findings lists what the audit found, in the hook's words.
func findings(b *strings.Builder, found *ledger.Audit) {
	if found == nil {
		return
	}
	for _, f := range found.Findings {
		fmt.Fprintf(b, "- %s:%d: %s \\[%s\\]", Escape(f.Path), f.Line, Escape(f.Message), Escape(f.Class))
		if f.Fix != "" {
			fmt.Fprintf(b, " (fix: %s)", Escape(f.Fix))
		}
		b.WriteString("\n")
	}
	if len(found.Findings) > 0 {
		b.WriteString("\n")
	}
}
