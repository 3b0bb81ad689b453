package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/workflows"
)

func initCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Draft a contract from the files of this repository",
		Long: `Init writes .research-loop/contract.yml, guessed from the files of HEAD. Every
guess bears the mark ` + contract.Inferred + `, and no run starts while one is left. With
--schema it prints a JSON Schema of the draft, for editors.

With --workflows it writes the two workflow files for GitHub instead. They name
the action by a commit: the one that this program was built from, or --pin.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.draft(cmd) },
	}
	cmd.Flags().Bool("schema", false, "print the JSON Schema of a draft and write nothing")
	cmd.Flags().Bool("workflows", false, "write the workflow files for GitHub, and no contract")
	cmd.Flags().String("pin", "", "the commit of research-loop whose action the workflows use, 40 digits")
	return cmd
}

// workflowFiles writes the workflow files into the work tree.
func (e *Env) workflowFiles(cmd *cobra.Command) error {
	commit, _ := cmd.Flags().GetString("pin")
	if commit == "" {
		commit = builtFrom()
	}
	if commit == "" {
		return usagef("this program (%s) does not know the commit that it was built from: name one with --pin, such as that of a release", Version())
	}
	files, err := workflows.Files(commit, Version())
	if err != nil {
		return &usageError{err}
	}
	work, err := repo.OpenWork(cmd.Context(), e.dir())
	if err != nil {
		return err
	}
	defer work.Close()
	var written []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := setup.Place(work.Top(), name, files[name])
		var there *setup.ExistsError
		if errors.As(err, &there) {
			return &verdictError{exitDecision, there.Error(), "take its marked places along: move it away, run research-loop init --workflows again, and put them back"}
		}
		if err != nil {
			return err
		}
		written = append(written, name)
	}
	if wantsJSON(cmd) {
		return e.json("init", map[string]any{"paths": written})
	}
	for _, name := range written {
		fmt.Fprintln(e.Stdout, name)
	}
	e.say("next: set up your toolchain between the marks, commit them to the default branch, push, then research-loop doctor")
	return nil
}

// builtFrom is the commit that this program was built from, "" where that is not
// known or files were changed.
func builtFrom() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value != "false":
			return ""
		}
	}
	return commit
}

func (e *Env) draft(cmd *cobra.Command) error {
	if on, _ := cmd.Flags().GetBool("workflows"); on {
		return e.workflowFiles(cmd)
	}
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
