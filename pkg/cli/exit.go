package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/hook"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/verify"
)

// The exit codes.
const (
	exitDone        = 0
	exitOperational = 1
	exitUsage       = 2
	exitIntegrity   = 3
	exitAuth        = 4
	exitStopped     = 5
	exitDecision    = 6
	exitPending     = 8
	exitDiscard     = 10
	exitOverfit     = 11
	exitInvalid     = 12
	exitCrash       = 13
	exitTimeout     = 14
	exitInterrupted = 130
)

// usageHelp is the cure of a wrong call where no command is known.
const usageHelp = "research-loop --help"

// usageError is a wrong call.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// verdictError carries an answer that is not yes. Quiet ones were already printed.
type verdictError struct {
	code      int
	what, fix string
}

func (e *verdictError) Error() string { return e.what }

// errInterrupted is the error of a command that was told to stop.
var errInterrupted = errors.New("interrupted")

// fail prints an error with its cure and gives its exit code.
func (e *Env) fail(cmd *cobra.Command, err error) int {
	code, fix := classify(err)
	if fix == usageHelp && cmd != nil {
		fix = cmd.CommandPath() + " --help"
	}
	if errors.Is(err, errInterrupted) {
		code, fix = exitInterrupted, "the records are whole: run the same command again"
	}
	if cmd != nil && wantsJSON(cmd) && !e.printed {
		e.json("error", map[string]any{"exit": code, "command": cmd.CommandPath(), "message": err.Error(), "fix": fix})
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(e.Stderr, "research-loop: %s\n", strings.TrimRight(text, "\n"))
	}
	if fix != "" {
		fmt.Fprintf(e.Stderr, "fix: %s\n", fix)
	}
	return code
}

// classify gives an error's exit code and what to do about it.
func classify(err error) (code int, fix string) {
	if code, fix := classifyPerson(err); code != 0 {
		return code, fix
	}
	if code, fix := classifyGate(err); code != 0 {
		return code, fix
	}
	return classifyMachine(err)
}

// classifyPerson covers what a person must change or decide.
func classifyPerson(err error) (int, string) {
	var (
		usage   *usageError
		verdict *verdictError
		faults  *contract.Faults
		refused *supervisor.RefusedError
		dirty   *supervisor.DirtyError
		inUse   *supervisor.InUseError
		noRun   *supervisor.NoRunError
		noRepo  *repo.NotRepository
		called  *hook.UsageError
		missing *evaluate.MissingTool
		secret  *evaluate.MissingSecret
		key     *supervisor.KeyError
		token   *setup.TokenError
		denied  *forge.Error
	)
	switch {
	case errors.As(err, &token):
		return exitAuth, "gh auth login --hostname " + token.Host + ", or set GH_TOKEN (GH_ENTERPRISE_TOKEN for another GitHub than github.com)"
	case errors.As(err, &denied):
		return classifyForge(denied)
	case errors.As(err, &verdict):
		return verdict.code, verdict.fix
	case errors.As(err, &usage), errors.As(err, &called):
		return exitUsage, usageHelp
	case errors.As(err, &key) && key.Missing:
		return exitAuth, "set " + judgeKeys + ", or name the file that keygen wrote with --keys FILE"
	case errors.As(err, &key):
		return exitAuth, "use the keys whose public halves stand in " + contract.DraftPath
	case errors.As(err, &faults):
		return exitUsage, "correct " + faults.File[strings.LastIndex(faults.File, ":")+1:] + ", commit and push it"
	case errors.As(err, &dirty):
		return exitDecision, "commit them, or start with --worktree DIR to work in a clean folder beside them"
	case errors.As(err, &refused):
		return exitUsage, refused.Fix
	case errors.As(err, &inUse):
		return exitDecision, "choose another tag: research-loop start OTHER-TAG"
	case errors.As(err, &noRun):
		return exitUsage, "research-loop start " + cmp.Or(noRun.Tag, "TAG") + ", or name the repository with --remote"
	case errors.As(err, &noRepo):
		return exitUsage, "go to a git repository, or name one with --remote URL"
	case errors.As(err, &secret):
		return exitAuth, "export " + secret.Name + " with its value and run the same command again"
	case errors.As(err, &missing):
		return exitOperational, "install it, or correct evaluation.requires"
	}
	return 0, ""
}

// classifyForge covers what GitHub answered.
func classifyForge(e *forge.Error) (int, string) {
	switch {
	case e.Limited():
		return exitOperational, "run the same command again after " + e.Until.Format(time.RFC3339)
	case e.Denied():
		return exitAuth, "use a token with the right for it"
	case e.Missing():
		return exitAuth, "look at the remote's address; GitHub also hides what a token may not see"
	}
	return exitOperational, "run the same command again"
}

// classifyMachine covers what the machine, the network or the records did.
func classifyMachine(err error) (int, string) {
	var (
		seal      *contract.SealError
		corrupt   *ledger.CorruptError
		integrity *sandbox.IntegrityError
		setup     *sandbox.SetupError
		halted    *supervisor.HaltedError
		broken    *supervisor.BrokenError
		incumbent *decide.IncumbentError
		remote    *repo.RemoteError
		lost      *repo.LostRace
		breach    *verify.BreachError
		unknown   *verify.UnknownError
		blurred   *supervisor.BlurredError
		object    *repo.ObjectError
	)
	switch {
	case errors.As(err, &blurred) && blurred.Integrity:
		return exitIntegrity, "evaluation integrity cannot be guaranteed: look for the process or mount that was left, then run again"
	case errors.As(err, &blurred):
		return exitOperational, blurred.Fix
	case errors.As(err, &halted) && halted.Paused:
		return exitDecision, "decide whether the gate is still a secret, then: research-loop reconcile " + halted.Tag + " --authorise '<reason>', or start another tag with other cases"
	case errors.As(err, &halted):
		return exitIntegrity, "look at it, then: research-loop reconcile " + halted.Tag + " --authorise '<reason>'"
	case errors.As(err, &unknown):
		return exitUsage, unknown.Fix
	case errors.As(err, &breach):
		return exitIntegrity, "believe nothing of this run until a person has looked: research-loop verify names every record that is wrong"
	case errors.As(err, &broken):
		return exitIntegrity, "research-loop doctor sandbox"
	case errors.As(err, &object):
		return exitIntegrity, "git fsck; where a fresh clone says the same, believe nothing of this run until a person has looked"
	case errors.As(err, &seal), errors.As(err, &corrupt):
		return exitIntegrity, "a person must look: compare with an earlier commit of the state branch, put nothing right by hand"
	case errors.As(err, &integrity):
		return exitIntegrity, "evaluation integrity cannot be guaranteed: look for the process or mount that was left, then run again"
	case errors.As(err, &setup):
		return exitIntegrity, "evaluation integrity cannot be guaranteed: " + setup.Fix
	case errors.As(err, &incumbent):
		return exitOperational, "look for what differs on this machine; nothing was judged"
	case errors.As(err, &remote):
		if remote.Denied {
			return exitAuth, "check the credentials that git uses for this remote"
		}
		return exitOperational, remote.Fix
	case errors.As(err, &lost):
		return exitOperational, "run the same command again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return exitOperational, "make room on that disk, or name another with TMPDIR, then run the same command again"
	case errors.Is(err, fs.ErrPermission):
		return exitOperational, "get the right to it, or run as who has it"
	}
	return exitOperational, "run the same command again; where it fails alike, correct what is named"
}

// verdictExit gives the exit code of a verdict's status.
func verdictExit(status string) int {
	switch ledger.Status(status) {
	case ledger.Keep:
		return exitDone
	case ledger.Invalid:
		return exitInvalid
	case ledger.Crash:
		return exitCrash
	case ledger.Timeout:
		return exitTimeout
	case ledger.Discard, journal.Superseded:
		return exitDiscard
	}
	return exitOperational
}
