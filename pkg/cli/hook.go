package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/hook"
	"github.com/research-loop/research-loop/pkg/repo"
)

func hookCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook", Short: "The pre-push hook: audit a candidate before it leaves this machine",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	install := &cobra.Command{
		Use: "install", Short: "Install the hook; twice is the same as once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.hookInstall(cmd) },
	}
	install.Flags().String("mode", string(hook.Auto), "auto, file or config")
	cmd.AddCommand(install,
		&cobra.Command{
			Use: "uninstall", Short: "Remove the hook and put back what stood there before", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return env.withWork(cmd, func(w *repo.Work) error { return hook.Uninstall(cmd.Context(), w) })
			},
		},
		&cobra.Command{
			Use: "status", Short: "Say whether pushes from every work tree are audited", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return env.hookStatus(cmd) },
		},
		&cobra.Command{
			Use: "pre-push REMOTE URL", Short: "What git calls: reads the refs from stdin",
			// git may append arguments of its own to a configured hook.
			Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error { return env.prePush(cmd, args) },
		},
		&cobra.Command{
			Use: "agent", Short: "A coding agent's pre-tool hook: reads its JSON from stdin, blocks with exit 2", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return env.hookAgent(cmd) },
		})
	return cmd
}

func (e *Env) withWork(cmd *cobra.Command, do func(*repo.Work) error) error {
	work, err := repo.OpenWork(cmd.Context(), e.dir())
	if err != nil {
		return err
	}
	defer work.Close()
	return do(work)
}

func (e *Env) hookInstall(cmd *cobra.Command) error {
	return e.withWork(cmd, func(w *repo.Work) error {
		program, err := program()
		if err != nil {
			return err
		}
		mode, _ := cmd.Flags().GetString("mode")
		status, err := hook.InstallAs(cmd.Context(), w, program, hook.Mode(mode))
		var managed *hook.ManagedError
		if errors.As(err, &managed) {
			return &verdictError{exitDecision, err.Error(), "paste it there, then research-loop hook status"}
		}
		if err != nil {
			return err
		}
		return e.showHook(cmd, status)
	})
}

func (e *Env) hookStatus(cmd *cobra.Command) error {
	return e.withWork(cmd, func(w *repo.Work) error {
		program, err := program()
		if err != nil {
			return err
		}
		status, err := hook.Inspect(cmd.Context(), w, program)
		if err != nil {
			return err
		}
		if err := e.showHook(cmd, status); err != nil {
			return err
		}
		if !status.Active() {
			return &verdictError{exitDecision, "not every push is audited", "research-loop hook install"}
		}
		return nil
	})
}

func (e *Env) showHook(cmd *cobra.Command, s *hook.Status) error {
	if wantsJSON(cmd) {
		type row struct {
			Worktree string     `json:"worktree"`
			File     string     `json:"file"`
			State    hook.State `json:"state"`
			Why      string     `json:"why"`
		}
		rows := []row{}
		for _, w := range s.Worktrees {
			rows = append(rows, row{w.Dir, w.File, w.State, w.Why})
		}
		return e.json("hook-status", map[string]any{"active": s.Active(), "config": s.Config, "worktrees": rows})
	}
	for _, w := range s.Worktrees {
		fmt.Fprintf(e.Stdout, "%-9s %s (%s)", w.State, w.Dir, w.File)
		if w.Why != "" {
			fmt.Fprintf(e.Stdout, ": %s", w.Why)
		}
		fmt.Fprintln(e.Stdout)
	}
	return nil
}

func (e *Env) prePush(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		return cmd.Help()
	}
	err := hook.PrePush(cmd.Context(), hook.Call{
		Dir: e.dir(), GitDir: e.Getenv("GIT_DIR"), Args: args, Stdin: e.Stdin, Stderr: e.Stderr,
	})
	var refused *hook.RefusedError
	var usage *hook.UsageError
	switch {
	case errors.As(err, &refused) && refused.Invalid:
		return &verdictError{code: exitInvalid}
	case errors.As(err, &refused):
		return &verdictError{code: exitOperational}
	case errors.As(err, &usage):
		return &verdictError{exitOperational, err.Error(), "git calls this: research-loop hook install"}
	}
	return err
}

func (e *Env) hookAgent(cmd *cobra.Command) error {
	if err := hook.Agent(cmd.Context(), e.dir(), e.Stdin); err != nil {
		// Only 2 blocks; whatever went wrong must block too.
		return &verdictError{exitUsage, "blocked: " + err.Error(), ""}
	}
	return nil
}

// program is the absolute path of this program, which the hook will call.
func program() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
