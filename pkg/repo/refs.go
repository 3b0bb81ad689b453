package repo

import (
	"errors"
	"strings"
)

// Refs lists the refs below a prefix such as "refs/remotes/" with what they
// point at, tags not peeled. Symbolic refs are left out.
func (w *Work) Refs(prefix string) (map[string]string, error) {
	out, err := w.git.run(w.ctx, "for-each-ref", "--format=%(objectname) %(symref) %(refname)", "--", prefix)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) == 3 && f[1] == "" {
			refs[f[2]] = f[0]
		}
	}
	return refs, nil
}

// Symbolic returns the full name of the ref that a symbolic ref stands for.
func (w *Work) Symbolic(name string) (target string, ok bool) {
	target, err := w.git.line(w.ctx, "symbolic-ref", "--quiet", name)
	return target, err == nil
}

// Remotes lists the names of the remotes.
func (w *Work) Remotes() ([]string, error) {
	out, err := w.git.run(w.ctx, "remote")
	return strings.Fields(string(out)), err
}

// Worktrees lists the folders of all work trees of the repository, the main
// one first; of a bare repository, the repository itself.
func (w *Work) Worktrees() ([]string, error) {
	out, err := w.git.run(w.ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.Lines(string(out)) {
		dir, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "worktree ")
		if ok && dir == w.CommonDir && w.GitDir == w.CommonDir && w.top != "" {
			dir = w.top // of a submodule git names its git folder instead
		}
		if ok {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, errors.New("git worktree list printed nothing")
	}
	return dirs, nil
}

// ConfigScope is Config with where the value comes from: "system", "global",
// "local", "worktree" or "command".
func (w *Work) ConfigScope(key string) (value, scope string, ok bool) {
	out, err := w.git.run(w.ctx, "config", "--null", "--show-scope", "--get", key)
	scope, value, found := strings.Cut(string(out), "\x00")
	return strings.TrimSuffix(value, "\x00"), scope, err == nil && found
}
