package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/verify"
)

// session is what a command about a run has opened: the person's repository,
// if there is one, and the supervisor's own clone of its remote.
type session struct {
	env    *Env
	asked  string     // the remote as it was named
	work   *repo.Work // nil where the remote was named outside a repository
	remote string     // URL or path
	name   string     // the remote's name in work, "" for a URL
	home   string     // what this tool keeps for this remote
	clone  *repo.Clone
	trunk  string // the default branch, "" until it was asked for
	keys   keys
	path   string // of the clone

	looked  string          // the state commit that was held against the checks
	anchors []verify.Anchor // the notes that were found there
	unread  []string        // the checks that were not read
}

// remoteFlag adds --remote to a command.
func remoteFlag(cmd *cobra.Command) {
	cmd.Flags().String("remote", "origin", "a remote of this repository, a URL, or the path of a bare repository")
}

// open opens the repository and the clone, and reads the remote's branches.
func (e *Env) open(cmd *cobra.Command) (*session, error) {
	name, err := cmd.Flags().GetString("remote")
	if err != nil {
		return nil, err
	}
	s := e.found
	if e.found = nil; s == nil || s.asked != name {
		s = &session{env: e, asked: name}
		if err := s.resolve(cmd.Context(), name); err != nil {
			return nil, err
		}
	}
	if s.home, err = e.home(s.remote); err != nil {
		return nil, err
	}
	if s.clone, err = s.openClone(cmd.Context()); err != nil {
		return nil, err
	}
	if err := s.clone.Fetch(cmd.Context()); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// maxClones bounds how many processes of one person look at one remote at once.
const maxClones = 16

// openClone opens the first clone that no other process holds: a clone belongs
// to one process, and a reader need not wait for a supervisor.
func (s *session) openClone(ctx context.Context) (*repo.Clone, error) {
	for i := 0; ; i++ {
		s.path = filepath.Join(s.home, fmt.Sprintf("clone-%d.git", i))
		clone, err := repo.OpenClone(ctx, s.path, s.remote)
		var busy *repo.BusyError
		if errors.As(err, &busy) && i < maxClones-1 {
			continue
		}
		return clone, err
	}
}

// close gives the clone back.
func (s *session) close() {
	if s.clone != nil {
		s.clone.Close()
	}
}

// resolve finds the person's repository and the remote's address.
func (s *session) resolve(ctx context.Context, name string) error {
	work, err := repo.OpenWork(ctx, s.env.dir())
	var none *repo.NotRepository
	if err != nil && !errors.As(err, &none) {
		return err
	}
	if err == nil {
		s.work = work
		if url, err := work.RemoteURL(name); err == nil {
			s.remote, s.name = absolute(work.Top(), url), name
			return nil
		}
	}
	if name == "origin" && s.work == nil {
		return err
	}
	if !strings.ContainsAny(name, "/:\\") {
		return usagef("no remote %q in this repository", name)
	}
	s.remote = absolute(s.env.dir(), name)
	return nil
}

// absolute makes a path below dir absolute and leaves URLs as they are.
func absolute(dir, address string) string {
	if strings.Contains(address, "://") || filepath.IsAbs(address) {
		return address
	}
	if host, _, scp := strings.Cut(address, ":"); scp && !strings.Contains(host, "/") {
		return address
	}
	return filepath.Join(dir, address)
}

func (e *Env) dir() string {
	if e.Dir != "" {
		return e.Dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

// home makes the folder for everything that belongs to one remote.
func (e *Env) home(remote string) (string, error) {
	dir, err := e.homeOf(remote)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// homeOf names that folder.
func (e *Env) homeOf(remote string) (string, error) {
	base := e.Getenv("RESEARCH_LOOP_HOME")
	switch {
	case base != "":
	case os.Geteuid() == 0:
		// A sandbox is never shown anything of /root, arms included.
		base = "/var/lib/research-loop"
	case e.Getenv("XDG_STATE_HOME") != "":
		base = filepath.Join(e.Getenv("XDG_STATE_HOME"), "research-loop")
	case e.Getenv("HOME") != "":
		base = filepath.Join(e.Getenv("HOME"), ".local", "state", "research-loop")
	default:
		return "", errors.New("neither RESEARCH_LOOP_HOME nor HOME is set: there is no place for the supervisor's clone")
	}
	sum := sha256.Sum256([]byte(remote))
	return filepath.Join(base, hex.EncodeToString(sum[:8])), nil
}

// tag finds the run that a command is about: named, from RESEARCH_LOOP_RUN,
// from the checked-out branch, or the only one there is.
func (s *session) tag(args []string) (contract.Tag, error) {
	if len(args) > 0 {
		return parseTag(args[0])
	}
	if name := s.env.Getenv("RESEARCH_LOOP_RUN"); name != "" {
		return parseTag(name)
	}
	if s.work != nil {
		branch, _ := s.work.Head()
		if name, ok := strings.CutPrefix(branch, "research-loop/"); ok {
			return parseTag(name)
		}
	}
	var tags []string
	for branch := range s.clone.Branches() {
		if name, ok := strings.CutPrefix(branch, "research-loop-state/"); ok {
			tags = append(tags, name)
		}
	}
	switch len(tags) {
	case 1:
		return parseTag(tags[0])
	case 0:
		return "", &supervisor.NoRunError{Remote: s.remote}
	}
	return "", usagef("%d runs in %s: name one of %s", len(tags), s.remote, strings.Join(tags, ", "))
}

func parseTag(name string) (contract.Tag, error) {
	tag, err := contract.ParseTag(name)
	if err != nil {
		return "", &usageError{err}
	}
	return tag, nil
}

// supervisor builds the supervisor of a run on this machine.
func (s *session) supervisor(tag contract.Tag, box *sandbox.Sandbox) *supervisor.Supervisor {
	var seen []string
	if s.work != nil && s.work.Top() != "" {
		seen = []string{verify.MirrorOf(s.work.Top(), tag)}
	}
	sup := &supervisor.Supervisor{
		Clone: s.clone, Tag: tag, Folder: s.folder(tag),
		Holder: supervisor.ThisProcess(), Alive: supervisor.Alive, Now: s.env.Now,
		Level: level, Signer: s.keys.signer, Judge: s.keys.judge, Secrets: s.keys.secrets, Trunk: s.trunk, Seen: seen, Anchors: s.anchors,
	}
	if box != nil {
		sup.Launcher, sup.Probe, sup.Secret = box, supervisor.ProbeOf(box), s.env.Getenv
	}
	return sup
}

// level is the only one that a supervisor on a person's machine can claim.
const level = "local"

func (s *session) folder(tag contract.Tag) string { return runFolder(s.home, tag) }

// runFolder is where the home of a remote keeps a run.
func runFolder(home string, tag contract.Tag) string { return filepath.Join(home, "runs", string(tag)) }

// confine sets up the sandbox.
func (s *session) confine() (*sandbox.Sandbox, error) {
	var protected []string
	if s.work != nil {
		protected = append(protected, s.work.Top())
	}
	return sandbox.New(sandbox.Options{Protected: protected})
}

// read reads a run's records without changing anything.
func (s *session) read(ctx context.Context, tag contract.Tag) (*journal.Run, error) {
	src, err := s.source(ctx, tag)
	if err != nil {
		return nil, err
	}
	records, err := verify.Read(src)
	if err != nil {
		return nil, err
	}
	return records.Run, nil
}

// source says where the records of a run are and what they are judged by.
func (s *session) source(ctx context.Context, tag contract.Tag) (verify.Source, error) {
	sup := s.supervisor(tag, nil)
	src, err := sup.Source(ctx)
	s.trunk = sup.Trunk
	return src, err
}

// say prints talk.
func (e *Env) say(format string, args ...any) { fmt.Fprintf(e.Stderr, format+"\n", args...) }
