package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/verify"
)

// standing is what a candidate of one run is audited against.
type standing struct {
	contract *contract.Contract
	source   string // where the contract was found, for people
	// Commits: the frozen files are read from pinned, the rest says what is
	// news. tip is the recorded tip, "" if it is only to be found by a merge base.
	pinned, baseline, incumbent, tip string
	run                              *journal.Run // nil if the contract is the draft
	next                             string       // what would bring better information
}

// standingOf finds out where the run stands, from tracking refs alone.
func standingOf(work *repo.Work, args []string, name string) (*standing, error) {
	tag, err := contract.ParseTag(name)
	if err != nil {
		return nil, fmt.Errorf("%s is the branch of no run: %w", journal.RunBranch("")+name, err)
	}
	remotes, err := remotesOf(work, args)
	if err != nil {
		return nil, err
	}
	for _, remote := range remotes {
		if _, ok := work.Ref(tracking(remote) + journal.StateBranch(tag)); ok {
			return fromRecords(work, tag, remote)
		}
	}
	shown := shownRemote(args[0])
	if len(remotes) > 0 {
		shown = remotes[0]
	}
	fetch := fmt.Sprintf("git fetch %s '+refs/heads/%s:%s'", shown, journal.StateBranch(tag), tracking(shown)+journal.StateBranch(tag))
	for _, remote := range remotes {
		ref, head, ok := verify.Trunk(work, remote)
		if !ok {
			continue
		}
		s, err := fromDraft(work, ref, head)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if s != nil {
			s.next = fetch
		}
		return s, err
	}
	return nil, &cureError{fmt.Errorf("this clone knows neither the records of run %s nor a contract on the default branch of %s", tag, shown), fetch}
}

func tracking(remote string) string { return "refs/remotes/" + remote + "/" }

// remotesOf names the remote that git pushes to, and where git pushes to a
// URL, all remotes with that URL.
func remotesOf(work *repo.Work, args []string) ([]string, error) {
	names, err := work.Remotes()
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, args[0]) {
		return []string{args[0]}, nil
	}
	var same []string
	for _, name := range names {
		if url, err := work.RemoteURL(name); err == nil && (url == args[0] || url == args[1]) {
			same = append(same, name)
		}
	}
	return same, nil
}

// fromRecords reads the run from the commit that its state branch is at.
func fromRecords(work *repo.Work, tag contract.Tag, remote string) (*standing, error) {
	ref := tracking(remote) + journal.StateBranch(tag)
	src, err := verify.Tracked(work, tag, remote)
	var unknown *verify.UnknownError
	if errors.As(err, &unknown) {
		return nil, &cureError{unknown, unknown.Fix}
	}
	if err != nil {
		return nil, err
	}
	records, err := verify.Read(src)
	if err != nil {
		return nil, fmt.Errorf("the records at %s are damaged: %w", ref, err)
	}
	run := records.Run
	s := &standing{contract: run.Contract.Contract, run: run, source: fmt.Sprintf("the sealed contract and the records at %s (%.12s)", ref, src.State),
		pinned: run.Sealed.Pinned, baseline: run.Sealed.Baseline, incumbent: run.Incumbent.Commit, tip: run.Tip}
	if s.incumbent == "" {
		s.incumbent = s.baseline
	}
	if s.tip == "" {
		s.tip = s.baseline
	}
	return s, nil
}

// fromDraft reads the contract that stands on the default branch.
func fromDraft(work *repo.Work, ref, head string) (*standing, error) {
	data, err := work.File(head, contract.DraftPath)
	if err != nil {
		return nil, err
	}
	c, err := contract.Parse(ref+":"+contract.DraftPath, data)
	if err != nil {
		return nil, err
	}
	return &standing{contract: c, pinned: head, source: fmt.Sprintf("the draft contract at %s (%.12s), because this clone has no records of the run", ref, head)}, nil
}

// judge audits what an update would add to the run branch.
func (s *standing) judge(work *repo.Work, u update) verdict {
	if err := s.settle(work, u); err != nil {
		return failed(err)
	}
	if s.run != nil && s.run.Closed != nil {
		return refuse("start a new run", "the run is closed (%s): nothing that is pushed there will be judged", s.run.Closed.Reason)
	}
	commits, err := work.Range(s.tip, u.localID)
	if errors.Is(err, repo.ErrTooMany) {
		return refuse("put your change into one commit on top of "+s.tip, "more than 20 commits lie above the recorded tip %s", s.tip)
	}
	if err != nil {
		return failed(err)
	}
	if len(commits) == 0 {
		return verdict{passed: fmt.Sprintf("not a candidate: %.12s is %s; nothing was audited", u.localID, s.whatIs(u.localID))}
	}
	in, err := s.input(work, commits)
	if err != nil {
		return failed(err)
	}
	v := verdict{report: audit.Check(in), notes: s.notes()}
	_, missing := audit.ParseTrailers(commits[len(commits)-1].Message)
	invalid := 0
	for _, f := range v.report.Findings {
		if f.Severity == audit.Invalid {
			invalid++
		}
	}
	s.conclude(&v, len(commits), invalid, missing)
	return v
}

// conclude puts what was found into words.
func (s *standing) conclude(v *verdict, commits, invalid int, missing []string) {
	switch {
	case invalid > 0:
		for _, f := range v.report.Findings {
			if f.Severity == audit.Invalid {
				v.refused = fmt.Sprintf("%s, first %s", count(invalid, "invalid finding"), f)
				break
			}
		}
		v.next = "correct what is found, amend your commits, push again"
	case len(missing) > 0:
		v.refused = "the commit message does not say " + strings.Join(missing, ", ")
		v.next = "git commit --amend, then push again"
	default:
		v.passed = fmt.Sprintf("audited %s: %s", count(commits, "commit"), v.report.Verdict())
	}
	v.template = len(missing) > 0
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s *standing) notes() []string {
	notes := []string{"audited against " + s.source}
	if s.next != "" {
		notes = append(notes, "for the sealed contract: "+s.next)
	}
	if s.run != nil && s.run.Halted != nil {
		notes = append(notes, "the run is halted: nothing is judged until a maintainer authorises it")
	}
	return notes
}

// whatIs says what a commit is that adds nothing.
func (s *standing) whatIs(id string) string {
	switch id {
	case s.baseline:
		return "the baseline"
	case s.tip:
		return "the recorded tip"
	}
	return "part of what was judged"
}

// settle completes the standing with what depends on the update: without
// records the merge base stands for tip, incumbent and baseline, and a restore
// commit that has reached the branch since the records were fetched is where
// the next candidate begins.
func (s *standing) settle(work *repo.Work, u update) error {
	if s.tip == "" {
		base, ok, err := work.MergeBase(s.pinned, u.localID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("%s has no commit in common with the default branch", u.localID)
		}
		s.tip, s.baseline, s.incumbent = base, base, base
	}
	if u.creates() || u.remoteID == s.tip {
		return nil
	}
	incumbent, err := work.Commit(s.incumbent)
	if err != nil {
		return err
	}
	above, err := work.Range(s.tip, u.remoteID)
	if err != nil && !errors.Is(err, repo.ErrTooMany) {
		return err
	}
	for _, c := range above {
		if c.Tree == incumbent.Tree {
			s.tip = c.ID
		}
	}
	return nil
}

// input gathers what the audit reads.
func (s *standing) input(work *repo.Work, commits []repo.Commit) (audit.Input, error) {
	return supervisor.AuditInput(work, supervisor.Standing{
		Contract: s.contract, Pinned: s.pinned, Baseline: s.baseline, Incumbent: s.incumbent, Tip: s.tip,
	}, commits[len(commits)-1].ID, commits)
}
