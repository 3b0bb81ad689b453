package cli

import (
	"bytes"
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
--schema it prints a JSON Schema of the draft, for editors. With --workflows it
writes the two workflow files that judge runs on GitHub, and no contract.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.draft(cmd) },
	}
	cmd.Flags().Bool("schema", false, "print the JSON Schema of a draft and write nothing")
	cmd.Flags().Bool("workflows", false, "write the workflows that judge runs on GitHub")
	cmd.Flags().String("action", "", "the commit of research-loop that they name; default: the one this program was built from")
	return cmd
}

// writeWorkflows writes the workflow files, and none over another.
func (e *Env) writeWorkflows(cmd *cobra.Command, work *repo.Work) error {
	commit, _ := cmd.Flags().GetString("action")
	if commit == "" {
		commit = revision()
	}
	files, err := workflows.Files(commit, Version())
	if err != nil {
		return &supervisor.RefusedError{What: "--action", Why: err.Error(), Fix: "name the commit of the release that the workflows shall use: research-loop init --workflows --action COMMIT"}
	}
	var written []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(work.Top(), filepath.FromSlash(name))
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, files[name]) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return &verdictError{exitDecision, name + " exists and is left as it is", "keep what stands between its marks, delete the file and run research-loop init --workflows again"}
		} else if err != nil {
			return err
		}
		_, err = f.Write(files[name])
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		written = append(written, name)
	}
	if wantsJSON(cmd) {
		return e.json("init", map[string]any{"workflows": append([]string{}, written...)})
	}
	for _, name := range written {
		fmt.Fprintln(e.Stdout, name)
	}
	e.say("next: set up your toolchain between the marks, merge both files into the default branch, then research-loop doctor --fix")
	return nil
}

// revision is the commit that this program was built from, "" where it is not known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
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
	if on, _ := cmd.Flags().GetBool("workflows"); on {
		return e.writeWorkflows(cmd, work)
	}
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
