package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/hook"
	"github.com/research-loop/research-loop/pkg/repo"
)

func auditCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit [BASE..HEAD]",
		Short: "Run the leakage and diff audit by hand",
		Long: `Audit what HEAD (or the range's end) changes against the contract: the run that
the checked-out branch belongs to, or the draft. Missing trailers are no finding
here: hook and supervisor ask for them. Exit 12 if a finding is invalid.

` + "With --corpus DIR, audit every item of a folder and print one JSON object an\nitem; the confusion table goes to stderr; exit 1 if the bar is missed.\n\n" + audit.CorpusFormat,
		Example: `  research-loop audit
  research-loop audit main..HEAD
  research-loop audit --explain leak.verbatim`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return env.audit(cmd, args) },
	}
	cmd.Flags().String("explain", "", "say what a class means, with an example")
	cmd.Flags().String("corpus", "", "evaluate a folder of items with known verdicts")
	return cmd
}

func (e *Env) audit(cmd *cobra.Command, args []string) error {
	if class, _ := cmd.Flags().GetString("explain"); class != "" {
		text, ok := audit.Explain(class)
		if !ok {
			return usagef("no class %q; there are %s", class, strings.Join(audit.Classes(), ", "))
		}
		_, err := fmt.Fprintln(e.Stdout, strings.TrimRight(text, "\n"))
		return err
	}
	if dir, _ := cmd.Flags().GetString("corpus"); dir != "" {
		return e.corpus(absolute(e.dir(), dir))
	}
	return e.withWork(cmd, func(w *repo.Work) error {
		base, head := "", "HEAD"
		if len(args) > 0 {
			var ok bool
			if base, head, ok = strings.Cut(args[0], ".."); !ok || base == "" || head == "" || strings.HasPrefix(head, ".") {
				return usagef("%q is no range: want BASE..HEAD", args[0])
			}
		}
		found, err := hook.AuditByHand(cmd.Context(), w, base, head)
		if err != nil {
			return err
		}
		return e.showAudit(cmd, found)
	})
}

func (e *Env) showAudit(cmd *cobra.Command, found audit.Report) error {
	if wantsJSON(cmd) {
		if err := e.json("audit", map[string]any{
			"verdict": found.Verdict(), "classes": append([]string{}, found.Classes()...),
			"findings": append([]audit.Finding{}, found.Findings...), "notes": append([]string{}, found.Notes...),
		}); err != nil {
			return err
		}
	} else {
		for _, f := range found.Findings {
			fmt.Fprintln(e.Stdout, f)
			if f.Fix != "" {
				fmt.Fprintf(e.Stdout, "    fix: %s\n", f.Fix)
			}
		}
		for _, note := range found.Notes {
			fmt.Fprintln(e.Stdout, "note:", note)
		}
		fmt.Fprintln(e.Stdout, found.Verdict())
	}
	if found.Verdict() == "invalid" {
		return &verdictError{code: exitInvalid}
	}
	return nil
}

// corpus audits items with known verdicts.
func (e *Env) corpus(dir string) error {
	items, err := audit.ReadCorpus(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("corpus %s: %w", dir, err)
	}
	results := audit.EvaluateCorpus(items)
	enc := json.NewEncoder(e.Stdout)
	for _, r := range results {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	fmt.Fprint(e.Stderr, audit.Confusion(results))
	if missed := audit.Bar(results); len(missed) > 0 {
		return &verdictError{exitOperational, "the bar is missed: " + strings.Join(missed, "; "), ""}
	}
	return nil
}
