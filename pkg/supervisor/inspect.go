package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// inspect says what stands at a claimed commit and what the audit says of it.
// The baseline is the maintainer's: it is not audited.
func (s *Supervisor) inspect(commit string) (*ledger.Committed, error) {
	tip, err := s.Clone.Commit(commit)
	if err != nil {
		return nil, err
	}
	found := &ledger.Committed{Tree: tip.Tree, RecordedTip: s.Run.Tip, Commits: []string{}, Missing: []string{}}
	if commit == s.Run.Sealed.Baseline && s.Run.Open.Role == ledger.RoleBaseline {
		found.Audit = ledger.Audit{Verdict: "pass", Classes: []string{}, Findings: []ledger.Finding{}, Notes: []string{}}
		found.Commits = []string{commit}
		return found, nil
	}
	input, err := s.auditInput(commit)
	if err != nil {
		return nil, err
	}
	for _, c := range input.Commits {
		found.Commits = append(found.Commits, c.ID)
	}
	given, missing := audit.ParseTrailers(tip.Message)
	found.Trailers = trailers(given)
	found.Missing = append(found.Missing, missing...)
	found.Summary = summary(input)
	report := audit.Check(input)
	found.Audit = record(report)
	redacted(found, evaluate.NewRedactor(s.Run.Contract.Redact, nil))
	return found, nil
}

// auditInput gathers what the audit reads.
func (s *Supervisor) auditInput(commit string) (audit.Input, error) {
	commits, err := s.above(commit)
	if err != nil {
		return audit.Input{}, err
	}
	return AuditInput(s.Clone, Standing{
		Contract: s.Run.Contract.Contract, Pinned: s.Run.Sealed.Pinned, Baseline: s.Run.Sealed.Baseline,
		Incumbent: s.incumbent(), Tip: s.Run.Tip,
	}, commit, commits)
}

// commits lists the ids of the commits above the recorded tip, oldest first.
func (s *Supervisor) commits(tip string) ([]string, error) {
	commits, err := s.above(tip)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, c := range commits {
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// above reads the commits above the recorded tip, oldest first. Where there are
// more than can be listed, the newest on the first-parent path stand for them.
func (s *Supervisor) above(tip string) ([]repo.Commit, error) {
	commits, err := s.Clone.Range(s.Run.Tip, tip)
	if !errors.Is(err, repo.ErrTooMany) {
		return commits, err
	}
	for id := tip; len(commits) < 2*maxTrees; {
		c, err := s.Clone.Commit(id)
		if err != nil {
			return nil, err
		}
		commits = append(commits, c)
		if len(c.Parents) == 0 {
			break
		}
		id = c.Parents[0]
	}
	slices.Reverse(commits)
	return commits, nil
}

// record translates the audit's report. A finding that names a commit is about
// shape, history or a message, not about the tree.
func record(r audit.Report) ledger.Audit {
	out := ledger.Audit{
		Verdict: r.Verdict(), Classes: append([]string{}, r.Classes()...),
		Findings: []ledger.Finding{}, Notes: append([]string{}, r.Notes...),
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, ledger.Finding{
			Class: f.Class, Severity: string(f.Severity), Path: f.Path, Line: f.Line,
			Message: f.Message, Fix: f.Fix, Commit: f.Commit,
		})
		if f.Severity == audit.Invalid && f.Commit == "" {
			out.Tree = true
		}
	}
	if out.Verdict == string(audit.Invalid) {
		out.Notes = append(out.Notes, "the pre-push hook refuses this: the push went past it, or from a clone without it")
	}
	return out
}

// summary says in a line what a candidate changes.
func summary(in audit.Input) string {
	before := map[string]audit.Entry{}
	for _, e := range in.Incumbent {
		before[e.Path] = e
	}
	var names []string
	for _, e := range in.Candidate {
		if before[e.Path] != e {
			names = append(names, e.Path)
		}
		delete(before, e.Path)
	}
	for path := range before {
		names = append(names, path)
	}
	slices.Sort(names)
	const shown = 5
	text := fmt.Sprintf("%d files", len(names))
	if len(names) == 1 {
		text = "1 file"
	}
	for i, name := range names {
		if i == shown {
			return text + " …"
		}
		names[i] = fmt.Sprintf("%+q", name)
		text += " " + strings.Trim(names[i], `"`)
	}
	return text
}
