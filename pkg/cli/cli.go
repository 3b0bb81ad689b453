// Package cli is the research-loop command: from arguments to bytes and an exit code.
//
// Rules of its output: data goes to stdout, talk to stderr. Every non-zero exit
// says on stderr what happened, why, and what to do (`fix: …`). Nothing asks
// without a terminal, nothing is coloured or animated off one, and NO_COLOR is
// honoured. With --json a command prints one object, whose schema is
// research-loop/<command>/v1.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Env is all that a command sees of the world.
type Env struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
	// Dir is the working directory, "" for the process's own.
	Dir string

	printed bool     // the one object of --json was printed
	found   *session // what forge resolved for this command and open has not taken yet
}

// System is the environment of the running process.
func System() Env {
	return Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now,
	}
}

// Main runs one command and gives its exit code.
func Main(ctx context.Context, env Env) int {
	root := newRoot(&env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	return env.fail(cmd, err)
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "research-loop",
		Short: "A referee for autonomous optimisation: judge candidate commits so that a win can be believed",
		Example: `  research-loop demo                     see the whole product in a temporary folder
  research-loop init                     draft a contract in your repository
  research-loop start speedup            seal it and measure the baseline
  git push origin HEAD:research-loop/speedup
  research-loop reconcile speedup        judge what was pushed
  research-loop wait                     the verdict of HEAD, as an exit code`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().Bool("json", false, "print one JSON object")
	root.AddCommand(
		initCommand(env), startCommand(env), rehearseCommand(env), reconcileCommand(env), closeCommand(env),
		statusCommand(env), logCommand(env), waitCommand(env), reportCommand(env), verifyCommand(env),
		auditCommand(env), hookCommand(env), gateCommand(env), execCommand(env), sandboxCommand(env), doctorCommand(env),
		demoCommand(env), versionCommand(env), ciCommand(env),
	)
	wrapArgs(root)
	return root
}

// wrapArgs makes wrong arguments usage errors, like wrong flags.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &usageError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}

func versionCommand(env *Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wantsJSON(cmd) {
				return env.json("version", map[string]any{"version": Version()})
			}
			_, err := fmt.Fprintln(env.Stdout, "research-loop", Version())
			return err
		},
	}
}

// release is the version of a released program: the linker sets it, no code does.
var release string

// Version is the module's version, or the commit that it was built from.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

func wantsJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// json prints one object with its schema first.
func (e *Env) json(name string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(body) < 2 || body[0] != '{' {
		return errors.New("internal: JSON output must be an object")
	}
	rest := body[1:]
	if string(rest) != "}" {
		rest = append([]byte(","), rest...)
	}
	e.printed = true
	_, err = fmt.Fprintf(e.Stdout, "{\"schema\":%q%s\n", "research-loop/"+name+"/v1", rest)
	return err
}

// color says whether w is a terminal that wants colour.
func (e *Env) color(w io.Writer) bool {
	return e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb" && isTerminal(w)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
