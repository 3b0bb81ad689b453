package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// maxCommits is how many commits above the recorded tip are read with their
// trees; the audit refuses more than 20 by their number.
const maxCommits = 21

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
	return found, nil
}

// auditInput gathers what the audit reads.
func (s *Supervisor) auditInput(commit string) (audit.Input, error) {
	sealed := s.Run.Contract
	in := audit.Input{Scope: sealed.Contract, Blobs: s.Clone, Recorded: s.Run.Tip}
	var err error
	for _, t := range []struct {
		commit string
		into   *[]audit.Entry
	}{{s.Run.Sealed.Baseline, &in.Baseline}, {s.incumbent(), &in.Incumbent}, {commit, &in.Candidate}} {
		if *t.into, err = s.auditTree(t.commit); err != nil {
			return in, err
		}
	}
	if in.Commits, err = s.auditCommits(commit); err != nil {
		return in, err
	}
	if sealed.Specification != "" {
		text, err := s.Clone.File(s.Run.Sealed.Pinned, sealed.Specification)
		if err != nil {
			return in, fmt.Errorf("specification: %w", err)
		}
		in.Specification = string(text)
	}
	split, err := s.split(sealed.Splits.Development)
	if err != nil {
		return in, err
	}
	for _, c := range split.Cases {
		in.Cases = append(in.Cases, audit.Case{ID: c.ID, Input: string(c.Input), Answer: string(c.Answer)})
	}
	return in, nil
}

func (s *Supervisor) auditTree(commit string) ([]audit.Entry, error) {
	entries, err := s.Clone.Tree(commit)
	if err != nil {
		return nil, err
	}
	out := make([]audit.Entry, len(entries))
	for i, e := range entries {
		out[i] = audit.Entry{Path: e.Path, Mode: e.Mode, ID: e.ID}
	}
	return out, nil
}

// auditCommits reads the commits above the recorded tip. Where there are more
// than the audit admits, only the newest are read: the audit refuses by number.
func (s *Supervisor) auditCommits(commit string) ([]audit.Commit, error) {
	commits, err := s.above(commit)
	if err != nil {
		return nil, err
	}
	var out []audit.Commit
	for i, c := range commits {
		a := audit.Commit{ID: c.ID, Message: c.Message, Parents: c.Parents}
		if i >= len(commits)-maxCommits-1 {
			if a.Tree, err = s.auditTree(c.ID); err != nil {
				return nil, err
			}
		}
		out = append(out, a)
	}
	return out, nil
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
	for id := tip; len(commits) < 2*maxCommits; {
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

// split reads a split from the pinned commit.
func (s *Supervisor) split(folder string) (*contract.Split, error) {
	return ReadSplit(s.Clone, s.Run.Sealed.Pinned, folder)
}

// ReadSplit reads the split in a folder of a commit.
func ReadSplit(objects Objects, commit, folder string) (*contract.Split, error) {
	entries, err := objects.Tree(commit)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(folder, "/") + "/"
	files := map[string][]byte{}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Path, prefix); ok {
			if files[name], err = objects.Blob(e.ID); err != nil {
				return nil, err
			}
		}
	}
	return contract.NewSplit(folder, files)
}

// Objects is what a split is read from.
type Objects interface {
	Tree(commit string) ([]repo.Entry, error)
	Blob(id string) ([]byte, error)
}

// record translates the audit's report.
func record(r audit.Report) ledger.Audit {
	out := ledger.Audit{Verdict: r.Verdict(), Classes: append([]string{}, r.Classes()...), Findings: []ledger.Finding{}, Notes: append([]string{}, r.Notes...), Tree: true}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, ledger.Finding{
			Class: f.Class, Severity: string(f.Severity), Path: strings.ToValidUTF8(f.Path, "\ufffd"), Line: f.Line,
			Message: f.Message, Fix: f.Fix, Commit: f.Commit,
		})
		if f.Severity == audit.Invalid && f.Path == "" {
			out.Tree = false
		}
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
