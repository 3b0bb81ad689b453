package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/verify"
)

func verifyCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [TAG]",
		Short: "Derive every record and every decision of a run again, from git alone",
		Long: `Verify checks the records of a run law by law: the seal, every commit of the
state branch, every signature, every decision, every restore. It needs no
secret; on GitHub a token lets it look for newer verdict notes in the checks, by
which an older state put back is found. With --dir it reads a repository on this
machine, a clone by its tracking branches or a bare one by its own, and asks no
remote.

Exit codes: 0 all laws hold, 1 the clone is shallow and what is there holds, 2
there is no such run, 3 a record is wrong: the first one is named, --json lists
all.`,
		Example: `  research-loop verify
  research-loop verify speedup --dir .
  research-loop verify speedup --remote https://github.com/octo-org/widget`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return env.verify(cmd, args) },
	}
	remoteFlag(cmd)
	checksFlag(cmd)
	cmd.Flags().String("dir", "", "a repository on this machine; no remote is asked")
	cmd.Flags().Bool("all", false, "check the signature of every checkpoint and every verdict, not only of 1,000 of each")
	cmd.Flags().String("origin", "", "the run's name in its notes, where the repository has moved since")
	return cmd
}

func (e *Env) verify(cmd *cobra.Command, args []string) error {
	src, unread, done, err := e.verifySource(cmd, args)
	if err != nil {
		return err
	}
	defer done()
	src.All, _ = cmd.Flags().GetBool("all")
	if origin, _ := cmd.Flags().GetString("origin"); origin != "" {
		src.Origin = origin
	}
	found, err := verify.Run(src)
	if err != nil {
		return err
	}
	law, first, broken := found.First()
	if wantsJSON(cmd) {
		err = e.json("verify", map[string]any{
			"tag": src.Tag, "origin": src.Origin, "state_commit": found.Head, "journal_lines": found.Lines,
			"verifier": found.Verifier, "holds": !broken && !found.Cut, "laws": found.Laws,
			"exceptions": append([]string{}, found.Exceptions...), "unread": append([]string{}, unread...),
		})
	} else {
		e.showLaws(found)
	}
	switch {
	case err != nil:
		return err
	case !broken && found.Cut:
		return &verdictError{exitOperational, "nothing is wrong with what is here, but not every law could be checked: this clone is shallow", "git fetch --unshallow, then research-loop verify again"}
	case !broken:
		return nil
	}
	return &verdictError{exitIntegrity, report.Line(fmt.Sprintf("%s: %s %s", law, first.Place, first.Is)),
		"believe nothing of this run until a person has looked; put nothing right by hand"}
}

// showLaws prints one line a law.
func (e *Env) showLaws(found *verify.Report) {
	for _, l := range found.Laws {
		text := l.Text
		if n := len(l.Findings); n > 0 {
			text = l.Findings[0].Place + " " + l.Findings[0].Is
			if n > 1 {
				text += fmt.Sprintf(" (and %d more)", n-1)
			}
		}
		fmt.Fprintf(e.Stdout, "%-11s  %-10s  %s\n", l.State, l.Name, report.Line(text))
	}
	if len(found.Exceptions) > 0 {
		fmt.Fprintf(e.Stdout, "exceptions of the contract: %s\n", strings.Join(found.Exceptions, ", "))
	}
}

// verifySource finds the records, in a folder or through a remote, and the anchors
// that could not be read.
func (e *Env) verifySource(cmd *cobra.Command, args []string) (src verify.Source, unread []string, done func(), err error) {
	if dir, _ := cmd.Flags().GetString("dir"); dir != "" {
		src, done, err = e.folderSource(cmd.Context(), absolute(e.dir(), dir), args)
		return src, nil, done, err
	}
	s, err := e.open(cmd)
	if err != nil {
		return src, nil, nil, err
	}
	if src, err = s.verifiable(cmd, args); err != nil {
		s.close()
		return src, nil, nil, err
	}
	return src, s.unread, s.close, nil
}

// verifiable finds the records of a run behind a remote, and what they are held
// against.
func (s *session) verifiable(cmd *cobra.Command, args []string) (verify.Source, error) {
	tag, err := s.tag(args)
	if err != nil {
		return verify.Source{}, err
	}
	var remote *repo.RemoteError
	if err := s.look(cmd, tag, ""); err != nil && (errors.As(err, &remote) || cmd.Context().Err() != nil) {
		return verify.Source{}, err
	} // whatever else is wrong, verify names it
	return s.source(cmd.Context(), tag)
}

// folderSource reads a clone by its tracking branches, where it has any of a
// run, or else a repository by its own branches.
func (e *Env) folderSource(ctx context.Context, dir string, args []string) (verify.Source, func(), error) {
	work, err := repo.OpenWork(ctx, dir)
	if err != nil {
		return verify.Source{}, nil, err
	}
	done := func() { work.Close() }
	src, err := e.folderRun(work, args)
	if err != nil {
		done()
	}
	return src, done, err
}

func (e *Env) folderRun(work *repo.Work, args []string) (verify.Source, error) {
	remotes, err := work.Remotes()
	if err != nil {
		return verify.Source{}, err
	}
	for _, remote := range append(remotes, "") {
		prefix := "refs/heads/"
		if remote != "" {
			prefix = "refs/remotes/" + remote + "/"
		}
		refs, err := work.Refs(prefix + journal.StateBranch(""))
		if err != nil {
			return verify.Source{}, err
		}
		var tags []string
		for ref := range refs {
			tags = append(tags, strings.TrimPrefix(ref, prefix+journal.StateBranch("")))
		}
		if len(args) > 0 && slices.Contains(tags, args[0]) {
			tags = args[:1]
		}
		switch {
		case len(tags) == 1 && (len(args) == 0 || tags[0] == args[0]):
			tag, err := parseTag(tags[0])
			if err != nil {
				return verify.Source{}, err
			}
			return e.tracked(work, tag, remote)
		case len(tags) > 1 && len(args) == 0:
			slices.Sort(tags)
			return verify.Source{}, usagef("%d runs in %s: name one of %s", len(tags), work.CommonDir, strings.Join(tags, ", "))
		}
	}
	return verify.Source{}, noRun(work, args)
}

// tracked is verify.Tracked with one more anchor, the checkpoint that this machine
// keeps of the remote's run: the mirror's stands where a commit that is checked out
// may put another.
func (e *Env) tracked(work *repo.Work, tag contract.Tag, remote string) (verify.Source, error) {
	src, err := verify.Tracked(work, tag, remote)
	if err != nil || remote == "" {
		return src, err
	}
	url, err := work.RemoteURL(remote)
	if err != nil {
		return src, err
	}
	home, err := e.homeOf(absolute(work.Top(), url))
	if err != nil {
		return src, nil // who has no home has kept nothing there
	}
	a, err := verify.AnchorIn(runFolder(home, tag))
	src.Anchors = append(src.Anchors, a)
	return src, err
}

// noRun says that a repository has no records of a run.
func noRun(work *repo.Work, args []string) error {
	branch := journal.StateBranch("TAG")
	if len(args) > 0 {
		tag, err := parseTag(args[0])
		if err != nil {
			return err
		}
		branch = journal.StateBranch(tag)
		if err := removed(work, tag); err != nil {
			return err
		}
	}
	return &verdictError{exitUsage, fmt.Sprintf("no such run in %s: there is no branch %s, nor one that tracks it", work.CommonDir, branch),
		"git fetch that branch from the remote: a clone of a single branch does not have it"}
}

// removed says that a clone has mirrored a run of which it has no records now.
func removed(work *repo.Work, tag contract.Tag) error {
	if work.Top() == "" {
		return nil
	}
	a, err := verify.AnchorIn(verify.MirrorOf(work.Top(), tag))
	if err != nil {
		return err
	}
	return verify.Removed([]verify.Anchor{a}, work.CommonDir, journal.StateBranch(tag))
}
