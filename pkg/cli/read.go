package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

// about adds a command that reads a run.
func (e *Env) about(use, short string, do func(*cobra.Command, *session, contract.Tag) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := e.open(cmd)
			if err != nil {
				return err
			}
			defer s.close()
			tag, err := s.tag(args)
			if err != nil {
				return err
			}
			return do(cmd, s, tag)
		},
	}
	remoteFlag(cmd)
	return cmd
}

func statusCommand(env *Env) *cobra.Command {
	cmd := env.about("status [TAG]", "Where the run stands, and the one next action",
		func(cmd *cobra.Command, s *session, tag contract.Tag) error {
			if err := s.look(cmd, tag, ""); err != nil {
				return err
			}
			sup := s.supervisor(tag, nil)
			step, err := sup.Peek(cmd.Context())
			if err != nil {
				return err
			}
			s.track(cmd.Context())
			if err := s.mirrored(tag); err != nil {
				return err
			}
			env.nudgeOverdue(cmd, sup, step)
			return env.showStatus(cmd, sup, step, s.unread...)
		})
	checksFlag(cmd)
	return cmd
}

// showStatus prints where a run stands, step being what is due and unread the
// anchors that it was not held against.
func (e *Env) showStatus(cmd *cobra.Command, sup *supervisor.Supervisor, step journal.Step, unread ...string) error {
	if !wantsJSON(cmd) {
		report.Status(e.Stdout, sup.Run, step, e.color(e.Stdout))
		return nil
	}
	run := sup.Run
	out := map[string]any{
		"tag": run.Tag, "contract_sha256": run.Contract.Digest, "level": run.Contract.Facts.Level,
		"signed": run.Contract.Keys != nil, "exceptions": exceptions(run),
		"open": run.Opened != nil && run.Closed == nil, "closed": run.Closed, "halted": run.Halted,
		"branch": journal.RunBranch(sup.Tag), "recorded_tip": run.Tip,
		"incumbent_commit": run.Incumbent.Commit, "attempts": len(run.Candidates()),
		"claim": report.Claim(run), "next": step.Do, "reason": step.Reason,
		"unread": append([]string{}, unread...),
	}
	return e.json("status", out)
}

// exceptions are the walls that a run does without; every answer names them.
func exceptions(run *journal.Run) []string { return append([]string{}, run.Contract.Exceptions...) }

func logCommand(env *Env) *cobra.Command {
	return env.about("log [TAG]", "What was tried, with verdicts",
		func(cmd *cobra.Command, s *session, tag contract.Tag) error {
			run, err := s.read(cmd.Context(), tag)
			if err != nil {
				return err
			}
			if !wantsJSON(cmd) {
				return report.Log(env.Stdout, run, env.color(env.Stdout))
			}
			return env.json("log", map[string]any{"tag": run.Tag, "entries": run.Entries, "superseded": superseded(run)})
		})
}

// superseded lists the tips that were no candidates.
func superseded(run *journal.Run) []*ledger.Superseded {
	out := []*ledger.Superseded{}
	for _, h := range run.History {
		if h.Superseded != nil {
			out = append(out, h.Superseded)
		}
	}
	return out
}

func reportCommand(env *Env) *cobra.Command {
	cmd := env.about("report [TAG]", "The report of a run, for a terminal or as Markdown",
		func(cmd *cobra.Command, s *session, tag contract.Tag) error {
			run, err := s.read(cmd.Context(), tag)
			if err != nil {
				return err
			}
			format, _ := cmd.Flags().GetString("format")
			switch {
			case wantsJSON(cmd):
				return env.json("report", map[string]any{
					"tag": run.Tag, "contract_sha256": run.Contract.Digest, "claim": report.Claim(run), "exceptions": exceptions(run),
					"best_commit": run.Incumbent.Commit, "entries": run.Entries, "superseded": superseded(run),
				})
			case format == "markdown":
				return report.Markdown(env.Stdout, run)
			case format == "text":
				return report.Terminal(env.Stdout, run, env.color(env.Stdout))
			}
			return usagef("--format %q: want text or markdown", format)
		})
	cmd.Flags().String("format", "text", "text or markdown")
	return cmd
}

func waitCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait [COMMIT]",
		Short: "Wait for the verdict of a commit; the exit code is the verdict",
		Long: `Wait for the verdict of a commit: HEAD of this repository if none is named, the
run branch's tip outside of one. Exit codes: 0 keep, 10 discard or superseded,
11 discard as overfit (the gate), 12 invalid, 13 crash, 14 timeout, 3 halted, 5 run closed, 8 not judged yet.`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error { return env.wait(cmd, args) }),
	}
	remoteFlag(cmd)
	checksFlag(cmd)
	cmd.Flags().String("run", "", "the run's tag")
	cmd.Flags().Duration("timeout", 540*time.Second, "give up after this time, with 8")
	return cmd
}

func (e *Env) wait(cmd *cobra.Command, args []string) error {
	s, err := e.open(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	var named []string
	if run, _ := cmd.Flags().GetString("run"); run != "" {
		named = []string{run}
	}
	tag, err := s.tag(named)
	if err != nil {
		return err
	}
	commit, err := s.commit(tag, args)
	if err != nil {
		return err
	}
	timeout, _ := cmd.Flags().GetDuration("timeout")
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	looked := e.Now()
	for {
		done, err := s.verdict(cmd, tag, commit)
		if done || err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-ctx.Done():
			return &verdictError{exitPending, fmt.Sprintf("%.12s is not judged yet", commit), "research-loop reconcile " + string(tag) + ", or wait again"}
		case <-time.After(time.Second):
		}
		if err := s.clone.Fetch(cmd.Context()); err != nil {
			return err
		}
		if e.Now().Sub(looked) > overdue {
			looked = e.Now()
			sup := s.supervisor(tag, nil)
			if step, err := sup.Peek(cmd.Context()); err == nil {
				e.nudgeOverdue(cmd, sup, step)
			}
		}
	}
}

// commit finds the commit that is waited for.
func (s *session) commit(tag contract.Tag, args []string) (string, error) {
	name := "HEAD"
	if len(args) > 0 {
		name = args[0]
	}
	if s.work != nil {
		id, ok := s.work.Resolve(name)
		if !ok {
			return "", usagef("%s is no commit of this repository", name)
		}
		return id, nil
	}
	if len(args) == 0 {
		if id, ok := s.clone.Branch(journal.RunBranch(tag)); ok {
			return id, nil
		}
		return "", usagef("branch %s does not exist", journal.RunBranch(tag))
	}
	c, err := s.clone.Commit(name)
	if err != nil {
		return "", usagef("%s is no commit of %s: outside of a repository name the full id", name, s.remote)
	}
	return c.ID, nil
}

// verdict prints the verdict of a commit if there is one. The error carries
// the exit code of every verdict but keep.
func (s *session) verdict(cmd *cobra.Command, tag contract.Tag, commit string) (bool, error) {
	if err := s.look(cmd, tag, commit); err != nil {
		return false, err
	}
	run, err := s.read(cmd.Context(), tag)
	if err != nil {
		return false, err
	}
	v, ok := run.Verdict(commit)
	switch {
	case ok:
		return true, s.answer(cmd, commit, v, run)
	case run.Halted != nil:
		return true, &supervisor.HaltedError{Tag: run.Tag, Reason: run.Halted.Reason, Paused: run.Halted.Paused}
	case run.Closed != nil:
		return true, &verdictError{exitStopped, "run closed: " + report.Line(run.Closed.Reason), "research-loop start ANOTHER-TAG"}
	}
	return false, nil
}

func (s *session) answer(cmd *cobra.Command, commit string, v journal.Verdict, run *journal.Run) error {
	e := s.env
	code, found := verdictExit(v.Status), run.Audit(commit)
	if v.Overfit {
		code = exitOverfit
	}
	if wantsJSON(cmd) {
		if err := e.json("wait", map[string]any{
			"commit": commit, "judged_commit": v.Commit, "verdict": v.Status, "reason": v.Reason,
			"iteration": v.Iteration, "rollback_commit": v.Restore, "exit": code, "audit": found, "exceptions": exceptions(run),
			"unread": append([]string{}, s.unread...),
		}); err != nil {
			return err
		}
	} else {
		writeVerdict(e.Stdout, commit, v, e.color(e.Stdout))
		writeFindings(e.Stdout, found)
		if list := exceptions(run); len(list) > 0 {
			fmt.Fprintf(e.Stdout, "note: exceptions of the contract: %s\n", strings.Join(list, ", "))
		}
	}
	if code == exitDone {
		return nil
	}
	return &verdictError{code: code}
}

func writeVerdict(w io.Writer, commit string, v journal.Verdict, color bool) {
	fmt.Fprintf(w, "%.12s: %s", commit, report.Word(v.Status, color))
	if v.Commit != commit {
		fmt.Fprintf(w, " (judged as part of %.12s)", v.Commit)
	}
	fmt.Fprintf(w, ": %s\n", report.Line(v.Reason))
	if v.Restore != "" {
		fmt.Fprintf(w, "restored by %.12s: git pull before the next candidate\n", v.Restore)
	}
}

// writeFindings prints what the audit found, in the words of the hook.
func writeFindings(w io.Writer, found *ledger.Audit) {
	if found == nil {
		return
	}
	for _, f := range found.Findings {
		fmt.Fprintln(w, audit.Finding{
			Class: f.Class, Severity: audit.Severity(f.Severity), Path: f.Path, Line: f.Line, Message: f.Message, Commit: f.Commit,
		})
		if f.Fix != "" {
			fmt.Fprintf(w, "  fix: %s\n", report.Line(f.Fix))
		}
	}
	for _, note := range found.Notes {
		fmt.Fprintf(w, "note: %s\n", report.Line(note))
	}
}
