package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

func initCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Draft a contract from the files of this repository",
		Long: `Init writes .research-loop/contract.yml, guessed from the files of HEAD. Every
guess bears the mark ` + contract.Inferred + `, and no run starts while one is left. With
--schema it prints a JSON Schema of the draft, for editors.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.draft(cmd) },
	}
	cmd.Flags().Bool("schema", false, "print the JSON Schema of a draft and write nothing")
	return cmd
}

func (e *Env) draft(cmd *cobra.Command) error {
	if schema, _ := cmd.Flags().GetBool("schema"); schema {
		_, err := e.Stdout.Write(contract.Schema())
		return err
	}
	work, err := repo.OpenWork(cmd.Context(), e.dir())
	if err != nil {
		return err
	}
	defer work.Close()
	_, head := work.Head()
	if head == "" {
		return &supervisor.RefusedError{What: work.Top(), Why: "there is no commit: a run needs a baseline", Fix: "commit the project, then research-loop init"}
	}
	entries, err := work.Tree(head)
	if err != nil {
		return err
	}
	var files []string
	for _, entry := range entries {
		files = append(files, entry.Path)
	}
	path := filepath.Join(work.Top(), filepath.FromSlash(contract.DraftPath))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &verdictError{exitDecision, contract.DraftPath + " exists and is left as it is", "edit it, or delete it and run research-loop init again"}
	} else if err != nil {
		return err
	}
	_, err = f.Write(setup.Draft(files))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if wantsJSON(cmd) {
		return e.json("init", map[string]any{"path": contract.DraftPath})
	}
	fmt.Fprintln(e.Stdout, contract.DraftPath)
	e.say("next: confirm every value behind %s and delete the mark, commit it to the default branch, push, then research-loop start TAG", contract.Inferred)
	return nil
}
