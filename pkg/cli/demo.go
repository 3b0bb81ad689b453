package cli

import (
	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/demo"
)

func demoCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "See the whole product: real git, hook and sandbox in a temporary folder, offline", Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return env.demo(cmd) }),
	}
	cmd.Flags().Bool("keep", false, "leave the folder and say where it is")
	cmd.Flags().Bool("unconfined", false, "run the demo's candidates without a sandbox, as on a machine that has none")
	return cmd
}

func (e *Env) demo(cmd *cobra.Command) error {
	program, err := program()
	if err != nil {
		return err
	}
	keep, _ := cmd.Flags().GetBool("keep")
	unconfined, _ := cmd.Flags().GetBool("unconfined")
	_, err = demo.Run(cmd.Context(), demo.Options{
		Out: e.Stdout, Color: e.color(e.Stdout), Keep: keep, Unconfined: unconfined,
		Executable: program, Now: e.Now, Tool: Version(),
	})
	return err
}
