package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

func startCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start TAG",
		Short: "Seal the contract of the default branch, measure the baseline, open the run",
		Long: `Start reads .research-loop/contract.yml from the remote's default branch, shows
what would be sealed, and asks. Off a terminal it prints the digest to confirm
and exits with 6. Then it seals the contract, launches the baseline twice and
opens the run branch. Started again with the same contract, it goes on where it
was interrupted.`,
		Example: `  research-loop start speedup
  research-loop start speedup --confirm sha256:…
  research-loop start speedup --worktree ../speedup`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error { return env.start(cmd, args[0]) }),
	}
	remoteFlag(cmd)
	keysFlag(cmd)
	localFlag(cmd)
	cmd.Flags().String("confirm", "", "the digest that start printed")
	cmd.Flags().String("worktree", "", "make a clean work tree of the run branch in this new folder")
	return cmd
}

func (e *Env) start(cmd *cobra.Command, name string) error {
	tag, err := contract.NormalizeTag(name)
	if err != nil {
		return &usageError{err}
	}
	if string(tag) != name {
		e.say("tag %q is taken as %s", name, tag)
	}
	if client, err := e.onGitHub(cmd); client != nil || err != nil {
		if err != nil {
			return err
		}
		return e.startOnGitHub(cmd, client, tag)
	}
	s, err := e.open(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	worktree, _ := cmd.Flags().GetString("worktree")
	plan, err := s.plan(cmd, tag, worktree == "", s.opening(cmd))
	if err != nil {
		return err
	}
	box, err := s.confine()
	if err != nil {
		return err
	}
	defer box.Close()
	if s.keys, err = e.keys(cmd, plan.Contract); err != nil {
		return err
	}
	sup := s.supervisor(tag, box)
	confirm, _ := cmd.Flags().GetString("confirm")
	if err := sup.Seal(cmd.Context(), plan, func(p *supervisor.Plan) (supervisor.Confirmation, error) {
		return e.confirm(cmd, p, confirm)
	}); err != nil {
		return err
	}
	step, err := e.reconcile(cmd, sup)
	if err != nil {
		return err
	}
	return s.opened(cmd, sup, step, worktree)
}

// opening is how start opens the sealed splits, and where it looks for their
// cases: in all that the remote's default branch holds.
func (s *session) opening(cmd *cobra.Command) *supervisor.Opening {
	return &supervisor.Opening{
		Judge: func(c *contract.Contract) (*vault.Judge, error) {
			k, err := s.env.keys(cmd, c)
			return k.judge, err
		},
		Search: func(c *contract.Contract, commit, split string, cases []vault.Case) error {
			s.env.say("looking for %s cases in the tree and its history", split)
			work, err := repo.OpenWork(cmd.Context(), s.path)
			if err != nil {
				return err
			}
			return setup.Repository{Work: work, Commit: commit, Contract: c}.Search(split, cases)
		},
	}
}

// plan reads the draft and checks the person's repository.
func (s *session) plan(cmd *cobra.Command, tag contract.Tag, clean bool, o *supervisor.Opening) (*supervisor.Plan, error) {
	ctx := cmd.Context()
	if len(s.clone.Branches()) == 0 {
		return nil, &supervisor.RefusedError{What: s.remote, Why: "there is no commit: a run needs a baseline", Fix: "commit the project and push it"}
	}
	branch, err := s.clone.Default(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := supervisor.NewPlan(ctx, s.clone, branch, tag, level, Version(), o)
	if err != nil {
		return nil, err
	}
	if s.work != nil && clean {
		if err := supervisor.Preflight(ctx, s.work, plan.Contract); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// confirm shows what would be sealed and asks a person, or compares the digest.
func (e *Env) confirm(cmd *cobra.Command, p *supervisor.Plan, given string) (supervisor.Confirmation, error) {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if given != "" {
		if !confirms(given, string(p.Digest)) {
			return supervisor.Confirmation{}, &verdictError{exitDecision,
				fmt.Sprintf("--confirm %s is not the digest of what would be sealed now, %s: the contract or a frozen file has changed", given, p.Digest),
				"read the contract again, then confirm the new digest"}
		}
		return supervisor.Confirmation{By: who, How: "--confirm"}, nil
	}
	e.say("goal       %s", report.Line(p.Contract.Goal))
	e.say("population %s", report.Line(p.Contract.Population))
	e.say("baseline   %s", p.Facts.Baseline)
	for _, split := range p.Facts.Splits {
		e.say("%-10s %d cases", split.Name, split.Cases)
	}
	for _, line := range report.GateOf(p.Contract, p.Facts) {
		e.say("gate       %s", line)
	}
	e.say("frozen     %d files; writable: %s", len(p.Facts.Frozen), strings.Join(p.Contract.Scope.Writable, ", "))
	e.say("digest     %s", p.Digest)
	if !isTerminal(e.Stdin) {
		return supervisor.Confirmation{}, &verdictError{exitDecision, "the contract is not confirmed",
			fmt.Sprintf("research-loop start %s%s --confirm %s", p.Facts.Tag, flagsAgain(cmd), p.Digest)}
	}
	fmt.Fprint(e.Stderr, "Seal this contract? Nothing in it can be changed afterwards. [y/N] ")
	answer, err := e.answered(cmd.Context())
	if err != nil {
		return supervisor.Confirmation{}, err
	}
	if answer != "y" && answer != "yes" {
		return supervisor.Confirmation{}, &verdictError{exitDecision, "the contract is not confirmed", ""}
	}
	return supervisor.Confirmation{By: who, How: "terminal"}, nil
}

// answered reads one line, in small letters; no line is no answer. The
// terminal cannot be asked to give up: an interrupted read is left behind.
func (e *Env) answered(ctx context.Context) (string, error) {
	line := make(chan string, 1)
	go func() {
		text, err := bufio.NewReader(e.Stdin).ReadString('\n')
		if err != nil {
			text = ""
		}
		line <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case text := <-line:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// flagsAgain writes the flags of a start that the next one needs too.
func flagsAgain(cmd *cobra.Command) string {
	again := ""
	for _, name := range []string{"remote", "keys", "worktree"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			again += " --" + name + " " + shellWord(f.Value.String())
		}
	}
	return again
}

// shellWord writes a word so that a shell reads it as it is.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=-]+$`)

// confirms accepts the digest itself, or at least its first twelve digits.
func confirms(given, digest string) bool {
	given = strings.TrimPrefix(given, "sha256:")
	return len(given) >= 12 && strings.HasPrefix(strings.TrimPrefix(digest, "sha256:"), given)
}

// opened says how the start ended and makes the work tree that was asked for.
func (s *session) opened(cmd *cobra.Command, sup *supervisor.Supervisor, step journal.Step, worktree string) error {
	run := sup.Run
	if run.Opened == nil {
		code, reason := exitOperational, "the run did not open"
		if len(run.Entries) > 0 {
			code, reason = verdictExit(string(run.Entries[0].Status)), "the baseline failed: "+run.Entries[0].Reason
		} else if run.Closed != nil {
			reason = run.Closed.Reason
		}
		return &verdictError{code, report.Line(reason), "correct it, then start another tag; research-loop log " + run.Tag + " names the logs"}
	}
	s.track(cmd.Context())
	if worktree != "" && s.work != nil {
		dir := absolute(s.env.dir(), worktree)
		if err := s.work.AddWorktree(cmd.Context(), dir, run.Tip, journal.RunBranch(sup.Tag)); err != nil {
			return &supervisor.RefusedError{
				What: fmt.Sprintf("run %s is open, but not the work tree %s", run.Tag, dir), Why: err.Error(),
				Fix: fmt.Sprintf("git worktree add DIR %s, in a folder that does not exist yet", journal.RunBranch(sup.Tag)),
			}
		}
		s.env.say("work tree  %s", dir)
	}
	return s.env.showStatus(cmd, sup, step)
}

// track brings the person's tracking branches up to date: the hook reads the
// records there.
func (s *session) track(ctx context.Context) {
	if s.work == nil || s.name == "" {
		return
	}
	if err := s.work.Fetch(ctx, s.name); err != nil {
		s.env.say("note: the tracking branches of %s are not up to date: %v", s.name, err)
	}
}

func rehearseCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "Run the baseline's development stage twice with nothing sealed",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return env.rehearse(cmd) },
	}
	remoteFlag(cmd)
	localFlag(cmd)
	return cmd
}

func (e *Env) rehearse(cmd *cobra.Command) error {
	if client, err := e.onGitHub(cmd); client != nil || err != nil {
		if err != nil {
			return err
		}
		return e.rehearseOnGitHub(cmd, client)
	}
	s, err := e.open(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	plan, err := s.plan(cmd, "rehearsal", false, nil)
	if err != nil {
		return err
	}
	box, err := s.confine()
	if err != nil {
		return err
	}
	defer box.Close()
	e.say("sandbox: %s mode, limits: %s", box.Mode(), strings.Join(box.Limits(), ", "))
	out, err := supervisor.Rehearse(cmd.Context(), s.clone, box, plan, s.folder("rehearsal"), e.Getenv)
	if err != nil {
		return err
	}
	if wantsJSON(cmd) {
		if err := e.json("rehearse", out.Evaluation); err != nil {
			return err
		}
	}
	for _, n := range out.Notes {
		e.say("note: %s", report.Line(n))
	}
	e.compareWindow(plan.Contract, out.Evaluation)
	return e.rehearsed(cmd, out.Evaluation)
}

// compareWindow shows what the launches took beside what a query of the gate
// has: a baseline that does not fit into it ends the run, with its cases used.
func (e *Env) compareWindow(c *contract.Contract, ev ledger.Evaluation) {
	if c.Gate == nil {
		return
	}
	took, n := 0.0, 0
	for _, l := range ev.Launches {
		if l.Kind == ledger.Measure && l.Repetition == 0 {
			took, n = took+l.WallSeconds, n+1
		}
	}
	e.say("note: launched %d times for a repetition, it took %.1f s; a query of the gate has %s for all of its cases (gate: seconds)", n, took, c.Gate.Window)
}

// rehearsed prints what was measured and says whether a run could open.
func (e *Env) rehearsed(cmd *cobra.Command, ev ledger.Evaluation) error {
	for _, m := range ev.Measurements {
		if m.Failure != nil {
			return &verdictError{verdictExit(string(m.Failure.Status)),
				fmt.Sprintf("launch %d: %s: %s: %s", m.Repetition+1, m.Failure.Status, m.Failure.What, report.Line(m.Failure.Detail)),
				"correct the harness or the baseline, push, and rehearse again"}
		}
		if !wantsJSON(cmd) {
			text, err := json.Marshal(m.Metrics)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Stdout, "launch %d  %s\n", m.Repetition+1, text)
		}
	}
	if len(ev.Violations) > 0 {
		return &verdictError{exitInvalid, "state check: " + report.Line(ev.Violations[0]), ""}
	}
	return nil
}

func reconcileCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reconcile [TAG]",
		Short: "Judge what was pushed: do all that is due, in this process",
		Example: `  research-loop reconcile speedup
  research-loop reconcile speedup --watch 10s
  research-loop reconcile speedup --authorise 'the disk was full'`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error { return env.reconcileRun(cmd, args) }),
	}
	remoteFlag(cmd)
	keysFlag(cmd)
	localFlag(cmd)
	cmd.Flags().String("authorise", "", "let a halted run go on; the reason is recorded")
	cmd.Flags().Duration("watch", 0, "look again after this time, until the run is closed")
	return cmd
}

func (e *Env) reconcileRun(cmd *cobra.Command, args []string) error {
	if done, err := e.elsewhere(cmd, args, e.reconcileOnGitHub); done || err != nil {
		return err
	}
	return e.supervise(cmd, args, func(s *session, sup *supervisor.Supervisor) error {
		if reason, _ := cmd.Flags().GetString("authorise"); reason != "" {
			if err := sup.Authorise(cmd.Context(), reason, actor()); err != nil {
				return err
			}
		}
		every, _ := cmd.Flags().GetDuration("watch")
		for {
			step, err := e.reconcile(cmd, sup)
			if err != nil {
				return err
			}
			if every <= 0 || sup.Run.Closed != nil {
				s.track(cmd.Context())
				return errors.Join(e.showStatus(cmd, sup, step), stopped(sup.Run))
			}
			select {
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			case <-time.After(every):
			}
		}
	})
}

// stopped is the answer of a run that one of its own conditions has ended.
func stopped(r *journal.Run) error {
	if r.Closed == nil || r.Closing == nil || r.Closing.By != supervisor.ByContract {
		return nil
	}
	return &verdictError{exitStopped, "the run has ended: " + report.Line(r.Closing.Reason), "research-loop report " + r.Tag}
}

func closeCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "close [TAG]",
		Short: "End a run: finish the open attempt, ask the final test, sweep what was not judged",
		Args:  cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if done, err := env.elsewhere(cmd, args, env.closeOnGitHub); done || err != nil {
				return err
			}
			return env.supervise(cmd, args, func(s *session, sup *supervisor.Supervisor) error {
				reason, _ := cmd.Flags().GetString("reason")
				interrupt, _ := cmd.Flags().GetBool("interrupt")
				if err := sup.RequestClose(cmd.Context(), reason, actor(), interrupt); err != nil {
					return err
				}
				step, err := env.reconcile(cmd, sup)
				if err != nil {
					return err
				}
				s.track(cmd.Context())
				return env.showStatus(cmd, sup, step)
			})
		}),
	}
	remoteFlag(cmd)
	keysFlag(cmd)
	localFlag(cmd)
	cmd.Flags().String("reason", "closed by the maintainer", "why; it is recorded")
	cmd.Flags().Bool("interrupt", false, "end the open attempt with its running pass, undecided")
	return cmd
}

// interruptible ends a command's context with SIGINT and SIGTERM. Whatever
// error comes of that, the command was interrupted.
func interruptible(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		cmd.SetContext(ctx)
		err := run(cmd, args)
		if err != nil && ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
}

// supervise opens everything that judging needs.
func (e *Env) supervise(cmd *cobra.Command, args []string, do func(*session, *supervisor.Supervisor) error) error {
	s, err := e.open(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	tag, err := s.tag(args)
	if err != nil {
		return err
	}
	run, err := s.read(cmd.Context(), tag)
	if err != nil {
		return err
	}
	if s.keys, err = e.keys(cmd, run.Contract.Contract); err != nil {
		return err
	}
	box, err := s.confine()
	if err != nil {
		return err
	}
	defer box.Close()
	return do(s, s.supervisor(tag, box))
}

// reconcile runs the loop, tells what happens, and gives the step at which the
// loop came to rest.
func (e *Env) reconcile(cmd *cobra.Command, sup *supervisor.Supervisor) (journal.Step, error) {
	sup.Say = e.talker()
	step, err := sup.Reconcile(cmd.Context())
	if err == nil && step.Do == journal.Wait {
		err = &verdictError{exitPending, step.Reason, "research-loop wait, or run the same command later"}
	}
	return step, err
}

// talker prints what a supervisor is about to do, as far as a person cares.
func (e *Env) talker() func(journal.Step, *journal.Run) {
	color := e.color(e.Stderr)
	return func(step journal.Step, run *journal.Run) {
		switch step.Do {
		case journal.Claim:
			e.say("attempt %d: %.12s", run.Iteration+1, step.Commit)
		case journal.Charge:
			use := run.Use()
			use.Charged++
			e.say("  asking the gate: %s", report.Informed(run.Contract.Contract, run.Cases(ledger.Validation), use))
		case journal.Final:
			e.say("final test: %.12s against the baseline", run.Incumbent.Commit)
		case journal.Execute:
			e.say("  evaluating in the sandbox")
		case journal.Retry:
			e.say("  the pass was lost (%s): again", report.Line(step.Reason))
		case journal.Finalize:
			d := run.Open.Decided
			e.say("  %s: %s", report.Word(string(d.Status), color), report.Line(d.Reason))
		case journal.Restore:
			e.say("  restoring the tree of %.12s", run.Open.Decided.IntendedIncumbent)
		case journal.Recreate:
			e.say("  making %s at %.12s", journal.RunBranch(contract.Tag(run.Tag)), step.Commit)
		case journal.Supersede:
			e.say("%.12s is no candidate: %s", step.Commit, report.Line(step.Reason))
		case journal.Open:
			e.say("the run is open")
		}
	}
}

// actor names the person for the record.
func actor() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
