package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
)

// BlockedError says that a coding agent must not do what it was about to do,
// and what it may do instead.
type BlockedError struct{ Reason string }

func (e *BlockedError) Error() string { return e.Reason }

// maxCall bounds what a coding agent may say of one call of a tool, in bytes.
const maxCall = 16 << 20

// toolCall is what coding agents put on the standard input of a hook before
// they call a tool. Other fields are theirs.
type toolCall struct {
	Tool  string `json:"tool_name"`
	Dir   string `json:"cwd"`
	Input struct {
		Command  json.RawMessage `json:"command"` // one script, or a list of words
		File     string          `json:"file_path"`
		Notebook string          `json:"notebook_path"`
		Path     string          `json:"path"`
	} `json:"tool_input"`
}

// Agent reads what a coding agent is about to do in dir. A nil error lets it
// go on; *BlockedError and every other error must stop it.
func Agent(ctx context.Context, dir string, stdin io.Reader) error {
	if terminal(stdin) {
		return &UsageError{"standard input is a terminal; a coding agent says there which tool it is about to call"}
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxCall+1))
	if err != nil {
		return fmt.Errorf("the call of a tool cannot be read: %w", err)
	}
	if len(data) > maxCall {
		return fmt.Errorf("the call of a tool is longer than %d bytes", maxCall)
	}
	var call toolCall
	if err := json.Unmarshal(data, &call); err != nil {
		return fmt.Errorf("the call of a tool is not the JSON that is expected: %w", err)
	}
	if call.Dir != "" {
		dir = call.Dir
	}
	script, err := call.script()
	if err != nil {
		return err
	}
	files := []string{call.Input.File, call.Input.Notebook}
	if !reads(call.Tool) {
		files = append(files, call.Input.Path)
	}
	commands := splitCommands(script)
	for _, c := range commands {
		if reason := forbidden(c, 0); reason != "" {
			return &BlockedError{reason}
		}
		files = append(files, c.writes...)
		files = append(files, changes(c)...)
	}
	if reads(call.Tool) {
		return nil
	}
	return checkFiles(ctx, dir, files)
}

// script is the command of a shell tool, "" for other tools.
func (c toolCall) script() (string, error) {
	raw := c.Input.Command
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text, nil
	}
	var words []string
	if err := json.Unmarshal(raw, &words); err != nil {
		return "", fmt.Errorf("the command of tool %q is neither text nor a list of words", c.Tool)
	}
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " "), nil
}

// reads says whether a tool only looks at files.
func reads(tool string) bool {
	switch strings.ToLower(tool) {
	case "read", "glob", "grep", "ls", "notebookread", "read_file", "list_files", "search":
		return true
	}
	return false
}

// checkFiles blocks a change of what is frozen in a run that this clone knows,
// and of git's own folder.
func checkFiles(ctx context.Context, dir string, files []string) error {
	var work *repo.Work
	var frozen []*contract.Contract
	for _, file := range files {
		if file == "" || strings.HasPrefix(file, "/dev/") {
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if inGitFolder(file) {
			return &BlockedError{fmt.Sprintf("%s belongs to git: hooks, replacements and settings there are not to be changed during a run", file)}
		}
		if work == nil {
			var err error
			if work, frozen, err = openRuns(ctx, dir); work == nil || err != nil {
				return err
			}
			defer work.Close()
		}
		name, ok := insideTop(work.Top(), file)
		for _, c := range frozen {
			if ok && c.Frozen(name) {
				return &BlockedError{fmt.Sprintf("%s is frozen by the contract of the run: a candidate that changes it is invalid; change what is in %s", name, strings.Join(c.Scope.Writable, ", "))}
			}
		}
	}
	return nil
}

// inGitFolder says whether a path is a .git folder or, below one, something
// that decides which hooks run or which objects git shows.
func inGitFolder(file string) bool {
	parts := strings.Split(strings.ToLower(filepath.ToSlash(filepath.Clean(file))), "/")
	for i, part := range parts {
		if part != ".git" {
			continue
		}
		below := strings.Join(parts[i+1:], "/")
		if below == "" {
			return true
		}
		for _, p := range []string{"hooks", "config", "info", "shallow", "refs/replace", "packed-refs", configFolder} {
			if strings.HasPrefix(below, p) {
				return true
			}
		}
	}
	return false
}

// openRuns reads the contracts of all runs that are not closed. work is nil
// outside a repository, where nothing is frozen.
func openRuns(ctx context.Context, dir string) (work *repo.Work, open []*contract.Contract, err error) {
	work, err = repo.OpenWork(ctx, dir)
	var none *repo.NotRepository
	if errors.As(err, &none) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	refs, err := work.Refs("refs/remotes/")
	if err != nil {
		return nil, nil, errors.Join(err, work.Close())
	}
	for ref := range refs {
		remote, rest, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/")
		name, ok := strings.CutPrefix(rest, journal.StateBranch(""))
		if !ok {
			continue
		}
		tag, err := contract.ParseTag(name)
		if err != nil {
			continue // a branch of that name, but of no run
		}
		s, err := fromRecords(work, tag, remote)
		if err != nil {
			return nil, nil, errors.Join(err, work.Close())
		}
		if s.run.Closed == nil {
			open = append(open, s.contract)
		}
	}
	return work, open, nil
}

// insideTop returns file relative to the top of the work tree, with links in
// its folder resolved; ok is false outside it.
func insideTop(top, file string) (name string, ok bool) {
	if top == "" {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	dir := filepath.Dir(filepath.Clean(file))
	rest := filepath.Base(file)
	for {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			dir = real
			break
		}
		if filepath.Dir(dir) == dir {
			break
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
	rel, err := filepath.Rel(top, filepath.Join(dir, rest))
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// changes lists the files that a plain command of its kind would change.
func changes(c command) []string {
	words := plain(c.words)
	if len(words) == 0 {
		return nil
	}
	switch path.Base(words[0]) {
	case "rm", "mv", "cp", "ln", "tee", "truncate", "chmod", "chown", "touch", "install", "rsync", "dd", "unlink", "shred", "patch":
	case "sed", "perl", "ruby":
		if !hasFlag(words, "i") {
			return nil
		}
	default:
		return nil
	}
	var files []string
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") {
			continue
		}
		files = append(files, strings.TrimPrefix(w, "of="))
	}
	return files
}

func hasFlag(words []string, letter string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, letter) || strings.HasPrefix(w, "--in-place") {
			return true
		}
	}
	return false
}
