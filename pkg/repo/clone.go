package repo

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Clone is the supervisor's own bare clone of a remote. Its embedded methods
// (Commit, Tree, Blob, File, Range, Descends) read its objects.
type Clone struct {
	*objects
	store    *store
	git      git
	remote   string
	held     *os.File
	branches map[string]string
}

// OpenClone opens the clone of remote in the folder dir and makes it if there
// is none; nothing is fetched. remote is what git takes: a URL, host:path, or
// a folder. The clone belongs to one process until Close: a second one gets an
// error that names the first. It is not written down which remote a clone is
// of, so that no password in a URL lands on the disk.
func OpenClone(ctx context.Context, dir, remote string) (*Clone, error) {
	if _, _, err := gitVersion(ctx); err != nil {
		return nil, err
	}
	remote, err := absoluteRemote(remote)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	held, err := lock(dir + ".lock")
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", dir, err)
	}
	fresh, err := prepareClone(ctx, dir)
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("clone %s: %w", dir, err)
	}
	s := openStore(dir)
	c := &Clone{objects: newObjects(s, sha1.Size), store: s, remote: remote, held: held, branches: map[string]string{},
		git: git{dir: dir, person: true, set: append(noHooks(), transport()...)}}
	c.many = &batch{ctx: ctx, git: git{dir: dir, set: noHooks()}, max: maxObject}
	if fresh {
		return c, nil
	}
	if err := c.readBranches(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// BusyError says that a clone belongs to another process.
type BusyError struct {
	Path string
	PID  string // "" where it is not known
}

func (e *BusyError) Error() string { return fmt.Sprintf("%s is in use by process %s", e.Path, e.PID) }

// transport are the settings of every command that meets a remote: a malformed
// object is fetched, to be judged, not to stop the run; a dead peer is noticed;
// nothing runs in the background afterwards.
func transport() []string {
	return []string{"transfer.fsckObjects=false", "fetch.fsckObjects=false", "fetch.recurseSubmodules=false",
		"push.recurseSubmodules=no", "push.followTags=false", "push.gpgSign=false", "push.pushOption=",
		"http.lowSpeedLimit=1", "http.lowSpeedTime=60", "gc.auto=0", "maintenance.auto=false",
		"credential.interactive=false"}
}

// absoluteRemote makes a relative folder absolute, because git runs elsewhere.
func absoluteRemote(remote string) (string, error) {
	if remote == "" || strings.HasPrefix(remote, "-") || strings.ContainsAny(remote, "\x00\n") {
		return "", fmt.Errorf("%q names no remote", remote)
	}
	colon, slash := strings.IndexByte(remote, ':'), strings.IndexByte(remote, '/')
	if colon > 0 && (slash < 0 || colon < slash) {
		if strings.HasPrefix(remote[colon:], "::") {
			return "", fmt.Errorf("remote %q asks for a helper program; use a URL or a folder", remote)
		}
		return remote, nil
	}
	return filepath.Abs(remote)
}

// prepareClone makes the bare repository if dir is absent, in one step, and
// clears what a git that was killed left behind. The caller holds the lock.
func prepareClone(ctx context.Context, dir string) (fresh bool, err error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		made := dir + ".new"
		if err := os.RemoveAll(made); err != nil {
			return false, err
		}
		if _, err := (git{dir: filepath.Dir(dir)}).run(ctx, "init", "--quiet", "--bare", "--template=", made); err != nil {
			return false, err
		}
		return true, os.Rename(made, dir)
	}
	for _, part := range []string{"objects", "refs", "HEAD"} {
		if _, err := os.Lstat(filepath.Join(dir, part)); err != nil {
			return false, fmt.Errorf("it is no bare repository: %w", err)
		}
	}
	return false, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "objects" {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".lock") {
			return os.Remove(path)
		}
		return nil
	})
}

// Remote is the address that the clone is of, without a password.
func (c *Clone) Remote() string { return redactURL(c.remote) }

// Close gives the clone up to other processes.
func (c *Clone) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.store.storage.Close(), c.held.Close())
}

// Fetch makes the branches of the clone exactly those of the remote and brings
// their objects. The error is a *RemoteError.
func (c *Clone) Fetch(ctx context.Context) error {
	_, err := c.git.run(ctx, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--update-head-ok", "--end-of-options", c.remote, "+refs/heads/*:refs/heads/*")
	if err != nil {
		return c.remoteError(ctx, err)
	}
	c.mu.Lock()
	err = c.store.reopen()
	c.mu.Unlock()
	return errors.Join(err, c.readBranches(ctx))
}

func (c *Clone) readBranches(ctx context.Context) error {
	out, err := c.git.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/")
	if err != nil {
		return err
	}
	branches := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		branches[strings.TrimPrefix(ref, "refs/heads/")] = id
	}
	c.mu.Lock()
	c.branches = branches
	c.mu.Unlock()
	return nil
}

// Branch returns the head of a branch as of the last Fetch.
func (c *Clone) Branch(name string) (id string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok = c.branches[name]
	return id, ok
}

// Branches returns every branch and its head as of the last Fetch.
func (c *Clone) Branches() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.branches)
}

// Default asks the remote for the name of its default branch.
func (c *Clone) Default(ctx context.Context) (branch string, err error) {
	out, err := c.git.run(ctx, "ls-remote", "--symref", "--end-of-options", c.remote, "HEAD")
	if err != nil {
		return "", c.remoteError(ctx, err)
	}
	for line := range strings.Lines(string(out)) {
		ref, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if branch, ok := strings.CutPrefix(ref, "ref: refs/heads/"); ok && name == "HEAD" {
			return branch, nil
		}
	}
	return "", &RemoteError{Remote: redactURL(c.remote), Why: "it names no default branch",
		Fix: "push a branch and make it the default one"}
}
