package repo

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Work is a person's repository. Its embedded methods (Commit, Tree, Blob,
// File, Range, Descends) read its objects.
type Work struct {
	*objects
	// GitDir is the git folder of this work tree and CommonDir the one that all
	// work trees of the repository share; both absolute.
	GitDir, CommonDir string

	ctx   context.Context
	batch *batch
	git   git // with the person's configuration
	top   string
}

// NotRepository says that a folder lies in no git repository that git is
// willing to read.
type NotRepository struct {
	Dir string
	Why string
}

func (e *NotRepository) Error() string { return fmt.Sprintf("%s: %s", e.Dir, e.Why) }

// OpenWork opens the repository that dir lies in; dir may also be a git folder
// or a bare repository. Until Close, ctx bounds everything that is asked of it.
// The error is a *NotRepository where there is none.
func OpenWork(ctx context.Context, dir string) (*Work, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w := &Work{ctx: ctx, git: git{dir: dir, person: true}}
	// The last question fails without a work tree, as in a bare repository,
	// when the others have been answered: top stays "" then.
	out, err := w.git.run(ctx, "rev-parse", "--absolute-git-dir", "--show-object-format",
		"--path-format=absolute", "--git-common-dir", "--show-toplevel")
	answers := strings.Split(string(out), "\n")
	if len(answers) < 4 || answers[1] != "sha1" && answers[1] != "sha256" {
		if _, _, old := gitVersion(ctx); old != nil {
			return nil, old
		}
		if err == nil {
			err = fmt.Errorf("git rev-parse printed %q", out)
		}
		return nil, notRepository(dir, err)
	}
	w.GitDir, w.CommonDir, w.git.dir = answers[0], answers[2], answers[0]
	if err == nil {
		w.top, w.git.dir = answers[3], answers[3]
	}
	width := sha1.Size
	if answers[1] == "sha256" {
		width = sha256.Size
	}
	w.batch = &batch{ctx: ctx, git: w.reader(), max: maxObject}
	if w.Shallow() {
		w.batch.why = "this clone is shallow; run `git fetch --unshallow`"
	}
	w.objects = newObjects(w.batch, width)
	w.many = w.batch
	return w, nil
}

func notRepository(dir string, err error) error {
	var exit *exitError
	var path *fs.PathError
	switch {
	case errors.As(err, &exit):
		return &NotRepository{Dir: dir, Why: lastWords(exit.stderr, exit.code)}
	case errors.As(err, &path):
		return &NotRepository{Dir: dir, Why: path.Err.Error()}
	}
	return err
}

// reader is the git that reads objects: nothing of the person's configuration,
// except in a partial clone, which may have to fetch what it reads.
func (w *Work) reader() git {
	g := git{dir: w.git.dir, set: noHooks()}
	if _, partial := w.Config("extensions.partialClone"); partial {
		g.person = true
		return g
	}
	// Under the person's own configuration git was willing to read it.
	g.trust = w.git.dir
	return g
}

// Close ends what is asked of the repository.
func (w *Work) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch.stop()
	return nil
}

// Top is the folder of the work tree, absolute; "" in a bare repository.
func (w *Work) Top() string { return w.top }

// Version is that of the git binary, zeros if it will not say.
func (w *Work) Version() (major, minor int) {
	major, minor, err := gitVersion(w.ctx)
	if err != nil {
		return 0, 0
	}
	return major, minor
}

// Shallow says whether history was cut off when the repository was cloned.
func (w *Work) Shallow() bool {
	info, err := os.Stat(filepath.Join(w.CommonDir, "shallow"))
	return err == nil && info.Size() > 0
}

// Head returns the branch that is checked out, "" if none is, and the commit,
// "" if there is none yet.
func (w *Work) Head() (branch, id string) {
	branch, err := w.git.line(w.ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		branch = ""
	}
	id, _ = w.Resolve("HEAD")
	return branch, id
}

// Detached says whether HEAD is on no branch.
func (w *Work) Detached() bool {
	branch, _ := w.Head()
	return branch == ""
}

// Resolve returns the commit that a revision names, tags peeled.
func (w *Work) Resolve(revision string) (id string, ok bool) {
	id, err := w.git.line(w.ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	id = strings.TrimPrefix(id, "--end-of-options\n") // printed by some versions
	return id, err == nil
}

// Ref returns what a full ref name (refs/…) points at, tags not peeled.
func (w *Work) Ref(name string) (id string, ok bool) {
	id, err := w.git.line(w.ctx, "show-ref", "--verify", "--hash", "--", name)
	return id, err == nil
}

// RemoteURL is where a named remote is fetched from.
func (w *Work) RemoteURL(name string) (string, error) {
	return w.git.line(w.ctx, "remote", "get-url", "--", name)
}

// Config returns the value of a key as git sees it here, in whatever file.
func (w *Work) Config(key string) (value string, ok bool) {
	out, err := w.git.run(w.ctx, "config", "--null", "--get", key)
	return strings.TrimSuffix(string(out), "\x00"), err == nil
}

// SetConfig sets a key in the repository's own configuration.
func (w *Work) SetConfig(key, value string) error {
	_, err := w.git.run(w.ctx, "config", "--local", "--replace-all", key, value)
	return err
}

// UnsetConfig removes a key from the repository's own configuration, where it
// need not be.
func (w *Work) UnsetConfig(key string) error {
	const notThere = 5
	_, err := w.git.run(w.ctx, "config", "--local", "--unset-all", key)
	var exit *exitError
	if errors.As(err, &exit) && exit.code == notThere {
		return nil
	}
	return err
}

// HooksDir is the folder in which git looks for hooks, absolute. It need not
// be there.
func (w *Work) HooksDir(ctx context.Context) (string, error) {
	return w.git.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "hooks")
}

// Dirty lists the paths that are staged, modified or untracked and not
// ignored, relative to Top, in raw bytes. A folder with a repository of its
// own ends in a slash.
func (w *Work) Dirty(ctx context.Context) ([]string, error) {
	out, err := w.git.run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil {
		return nil, err
	}
	return parseStatus(out)
}

// AddWorktree checks a commit out into a new folder, on a new branch or, with
// branch "", on none. The person's own work tree and index stay as they are.
func (w *Work) AddWorktree(ctx context.Context, dir, commit, branch string) error {
	if !isID(commit, w.width) {
		return fmt.Errorf("%q is not a commit id", commit)
	}
	if strings.HasPrefix(branch, "-") {
		return fmt.Errorf("%q cannot be the name of a branch", branch)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	how := []string{"--detach"}
	if branch != "" {
		how = []string{"--no-track", "-b", branch}
	}
	g := w.git
	g.set = noHooks()
	_, err = g.run(ctx, append(append([]string{"worktree", "add", "--quiet"}, how...), "--", dir, commit)...)
	return err
}

// Exclude lists a pattern in the repository's .git/info/exclude, once.
func (w *Work) Exclude(pattern string) error {
	if strings.ContainsAny(pattern, "\n\r\x00") {
		return fmt.Errorf("pattern %q is no line", pattern)
	}
	name := filepath.Join(w.CommonDir, "info", "exclude")
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(old)) {
		if strings.TrimRight(line, "\r\n") == pattern {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	text := pattern + "\n"
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = "\n" + text
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
