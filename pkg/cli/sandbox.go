package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

func execCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec -- ARG…",
		Short: "Launch the candidate, from inside the driver of mode driver",
		Long: `Ask the supervisor to launch the candidate with these words, as
$RESEARCH_LOOP_CANDIDATE -- ARG… does. Standard streams and the exit code pass
through; 122 stands for too much output, 123 for memory, 124 for time, 125 for
no launch. Ending this command ends the launch.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			socket, _ := cmd.Flags().GetString("socket")
			code, err := sandbox.Ask(socket, args, env.Stdin, env.Stdout, env.Stderr)
			if err != nil {
				return &verdictError{code, err.Error(), ""}
			}
			if code != 0 {
				return &verdictError{code: code}
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().String("socket", sandbox.ClientSocket, "the supervisor's socket")
	return cmd
}

func sandboxCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sandbox", Short: "The sandbox that candidates get, by hand", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	run := &cobra.Command{
		Use:   "run --tree DIR [flags] -- CMD ARG…",
		Short: "Run a command in the sandbox; its usage is one JSON object on stderr",
		Long: `Run a command exactly as a candidate is run: DIR read-only at /arm, no network,
no other file, no environment. Stdin, stdout and the exit code pass through; the
last line of stderr is one JSON object with the usage. The sandbox's own exit
codes: 122 output limit, 123 out of memory, 124 timeout, 125 not set up,
128+N killed by signal N.`,
		Example: `  research-loop sandbox run --tree . --memory 512MiB -- sh solver/roman.sh < numeral`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return env.sandboxRun(cmd, args) },
	}
	f := run.Flags()
	f.SetInterspersed(false)
	f.String("tree", "", "the folder that stands at /arm")
	f.String("memory", "512MiB", "memory of all processes together")
	f.String("output", "16MiB", "standard output and error together")
	f.String("temporary", "64MiB", "/tmp and /dev/shm together")
	f.Int("pids", 64, "processes and threads")
	f.Float64("cpus", 0, "processors; 0: all")
	f.Duration("timeout", 60*time.Second, "wall time from exec to exit")
	f.Duration("cpu-time", 0, "CPU time of all processes together; 0: no limit")
	f.StringSlice("toolchain", nil, "a host folder to show read-only at its own path")
	f.StringArray("env", nil, "NAME=value")
	f.String("mode", "", "root or user; default: what this machine can")
	f.Bool("best-effort", false, "go on without limits that this machine cannot enforce")
	cmd.AddCommand(run)
	return cmd
}

func (e *Env) sandboxRun(cmd *cobra.Command, args []string) error {
	spec, err := e.sandboxSpec(cmd, args)
	if err != nil {
		return err
	}
	mode, _ := cmd.Flags().GetString("mode")
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Mode(mode)})
	if err != nil {
		return notSetUp(err)
	}
	defer box.Close()
	result, err := box.Run(cmd.Context(), spec)
	if err != nil {
		return notSetUp(err)
	}
	if err := e.usage(result, box); err != nil {
		return err
	}
	if code := result.Code(); code != 0 {
		return &verdictError{code: code}
	}
	return nil
}

// notSetUp gives what was wrong with the command or the machine the exit code
// that no command of the user's can be mistaken for.
func notSetUp(err error) error {
	var setup *sandbox.SetupError
	if !errors.As(err, &setup) {
		return err
	}
	return &verdictError{125, setup.What + ": " + setup.Why, setup.Fix}
}

// sandboxSpec translates the flags.
func (e *Env) sandboxSpec(cmd *cobra.Command, args []string) (sandbox.Spec, error) {
	f := cmd.Flags()
	spec := sandbox.Spec{Argv: args, Dir: "/", Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr}
	for _, size := range []struct {
		name string
		into *int64
	}{{"memory", &spec.Limits.Memory}, {"output", &spec.Limits.Output}, {"temporary", &spec.Limits.Temporary}} {
		text, _ := f.GetString(size.name)
		n, err := contract.ParseSize(text)
		if err != nil {
			return spec, usagef("--%s: %w", size.name, err)
		}
		if n <= 0 {
			return spec, usagef("--%s %s: want a size above zero, such as 64MiB", size.name, text)
		}
		*size.into = n
	}
	if spec.Limits.Pids, _ = f.GetInt("pids"); spec.Limits.Pids <= 0 {
		return spec, usagef("--pids %d: want a number above zero", spec.Limits.Pids)
	}
	spec.Limits.CPUs, _ = f.GetFloat64("cpus")
	spec.Limits.Wall, _ = f.GetDuration("timeout")
	spec.Limits.CPU, _ = f.GetDuration("cpu-time")
	spec.Toolchains, _ = f.GetStringSlice("toolchain")
	spec.Env, _ = f.GetStringArray("env")
	spec.BestEffort, _ = f.GetBool("best-effort")
	if tree, _ := f.GetString("tree"); tree != "" {
		spec.Binds = []sandbox.Bind{{Source: absolute(e.dir(), tree), Target: "/arm"}}
		spec.Dir = "/arm"
	}
	return spec, nil
}

// usage prints what a launch used, as the last line of stderr.
func (e *Env) usage(r sandbox.Result, box *sandbox.Sandbox) error {
	out := map[string]any{
		"schema": "research-loop/sandbox-run/v1", "outcome": r.Outcome, "exit": r.Exit, "signal": r.Signal,
		"wall_seconds": r.Wall.Seconds(), "total_seconds": r.Total.Seconds(),
		"cpu_seconds": nil, "peak_memory_bytes": r.Usage.PeakMemory, "pids_peak": r.Usage.PidsPeak,
		"stdout_bytes": r.StdoutBytes, "stderr_bytes": r.StderrBytes,
		"mode": box.Mode(), "limits": append([]string{}, box.Limits()...),
	}
	if r.Usage.CPU != nil {
		out["cpu_seconds"] = r.Usage.CPU.Seconds()
	}
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stderr, "%s\n", line)
	return err
}
