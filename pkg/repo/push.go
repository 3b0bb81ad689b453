package repo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// LostRace says that a branch was not where the pusher had seen it. Nothing
// was changed.
type LostRace struct {
	Branch string
	Expect string // "" if it was to be created
	Found  string // "" if it is gone
}

func (e *LostRace) Error() string {
	return fmt.Sprintf("branch %s is at %s, not at %s", e.Branch, orNothing(e.Found), orNothing(e.Expect))
}

func orNothing(id string) string {
	if id == "" {
		return "nothing"
	}
	return id
}

// RemoteError says that a remote could not be reached or refused.
type RemoteError struct {
	Remote string // without a password
	Why    string
	Fix    string // "" if nothing is known to help
	Denied bool   // credentials are missing, wrong or too weak
	// Refused says that the remote was reached and its rules said no: trying
	// again will not help.
	Refused bool
	// Secret says that it was refused because something in it was taken for a
	// secret, as GitHub's push protection does.
	Secret bool
}

func (e *RemoteError) Error() string { return fmt.Sprintf("remote %s: %s", e.Remote, e.Why) }

// durableReceive is how a remote on this machine takes a push: what git calls
// pushed is then on the disk, refs and objects alike, and not in a cache that a
// power failure empties. Versions before 2.36 know no core.fsync and do as they
// always did.
const durableReceive = "git -c core.fsync=all -c core.fsyncMethod=fsync receive-pack"

// Push moves a branch of the remote from expect to the commit id, or creates
// it where expect is "". It never rewrites: id must descend from expect, and
// the remote must find the branch at expect at the moment it takes the push.
// A branch that is elsewhere is a *LostRace, anything else that the remote did
// not take a *RemoteError. A branch that is at id already is success, so a push
// whose answer was lost may be made again.
func (c *Clone) Push(ctx context.Context, branch, id, expect string) error {
	if err := c.checkPush(ctx, branch, id, expect); err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	// The lease makes git refuse unless the remote advertises exactly expect,
	// which git then sends as the old value for the remote to compare again
	// under its lock. The force that comes with a lease cannot rewrite: that id
	// descends from expect has been shown from the objects themselves.
	args := []string{"push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
		"--force-with-lease=" + ref + ":" + expect}
	if filepath.IsAbs(c.remote) || strings.HasPrefix(c.remote, "file://") {
		args = append(args, "--receive-pack="+durableReceive)
	}
	out, err := c.git.run(ctx, append(args, "--end-of-options", c.remote, id+":"+ref)...)
	if err != nil {
		return c.explainPush(ctx, withRejection(err, out), branch, id, expect)
	}
	c.mu.Lock()
	c.branches[branch] = id
	c.mu.Unlock()
	return nil
}

// Via gives the same clone, whose pushes go to the same repository by another
// address, such as the one that a deploy key may write to. Settings are git's,
// key=value. What it pushes c knows too.
func (c *Clone) Via(remote string, settings ...string) *Clone {
	other := *c
	other.remote = remote
	other.git.set = append(slices.Clip(other.git.set), settings...)
	return &other
}

// checkPush refuses a push that could rewrite or that names no branch.
func (c *Clone) checkPush(ctx context.Context, branch, id, expect string) error {
	if _, known := c.Branch(branch); !known {
		if _, err := c.git.run(ctx, "check-ref-format", "refs/heads/"+branch); err != nil {
			return fmt.Errorf("%q cannot be the name of a branch", branch)
		}
	}
	if _, err := c.Commit(id); err != nil {
		return err
	}
	if expect == "" {
		return nil
	}
	ok, err := c.Descends(expect, id)
	if err == nil && !ok {
		err = fmt.Errorf("branch %s: %s does not descend from %s; nothing was pushed", branch, id, expect)
	}
	return err
}

// explainPush finds out why a push failed by looking at the branch again, not
// by the wording of the refusal, which differs from server to server.
func (c *Clone) explainPush(ctx context.Context, cause error, branch, id, expect string) error {
	found, err := c.remoteHead(ctx, branch)
	switch {
	case err != nil:
		return c.remoteError(ctx, cause)
	case found == id:
		return nil
	case found != expect:
		return &LostRace{Branch: branch, Expect: expect, Found: found}
	}
	return c.remoteError(ctx, cause)
}

// withRejection adds to what git said why the remote rejected the ref, which
// --porcelain prints among the results.
func withRejection(cause error, porcelain []byte) error {
	const sign = "[remote rejected] "
	var exit *exitError
	_, why, ok := strings.Cut(string(porcelain), sign)
	if !ok || !errors.As(cause, &exit) {
		return cause
	}
	why, _, _ = strings.Cut(why, "\n")
	return &exitError{exit.verb, exit.code, exit.stderr + "\nremote: " + sign + why + "\n"}
}

// remoteHead asks the remote where a branch is, "" for nowhere.
func (c *Clone) remoteHead(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	out, err := c.git.run(ctx, "ls-remote", "--end-of-options", c.remote, ref)
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name == ref && isID(id, c.width) {
			return id, err
		}
	}
	return "", err
}

// remoteError turns a failed transport into what a person can act on.
func (c *Clone) remoteError(ctx context.Context, cause error) error {
	e := &RemoteError{Remote: redactURL(c.remote), Why: cause.Error()}
	if ctx.Err() != nil {
		e.Why, e.Fix = "no answer in time", "check the network and try again"
		return e
	}
	var exit *exitError
	if !errors.As(cause, &exit) {
		return e
	}
	e.Why = redactText(remoteWords(exit), c.remote)
	text := strings.ToLower(exit.stderr)
	for _, k := range remoteKinds() {
		for _, sign := range k.signs {
			if strings.Contains(text, sign) {
				e.Fix, e.Denied, e.Refused = k.fix, k.denied, k.refused
				if e.Secret = k.refused && namesSecret(text); e.Secret {
					e.Fix = "find what the remote takes for a secret, and revoke it if it is one"
				}
				return e
			}
		}
	}
	return e
}

// remoteWords prefers what the remote itself said.
func remoteWords(exit *exitError) string {
	var said []string
	for line := range strings.Lines(exit.stderr) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "remote:"); ok && strings.TrimSpace(rest) != "" {
			said = append(said, strings.TrimSpace(rest))
		}
	}
	return strings.Join(append(said, lastWords(exit.stderr, exit.code)), "; ")
}

// namesSecret says whether a refusal, in lower case, is about secrets. GitHub's
// says "push cannot contain secrets", GitLab's "secret detection".
func namesSecret(text string) bool {
	return strings.Contains(text, "push protection") || strings.Contains(text, "secret")
}

type remoteKind struct {
	signs   []string
	fix     string
	denied  bool
	refused bool
}

// remoteKinds are the refusals that have a known cure, first match first.
func remoteKinds() []remoteKind {
	return []remoteKind{
		{[]string{"dubious ownership"}, "run `git config --global --add safe.directory <folder>` for the folder that git names", false, false},
		{[]string{"mismatched algorithms", "object format"}, "use a remote with SHA-1 objects; a run cannot be kept in another one yet", false, false},
		{[]string{"gh006", "gh013", "protected branch", "hook declined", "declined by repository rule"},
			"let the supervisor's key write this branch in the remote's branch rules", false, true},
		{[]string{"authentication failed", "could not read username", "could not read password", "permission denied", "error: 401", "error: 403",
			"terminal prompts disabled", "host key verification failed", "write access to repository not granted"},
			"check that the credentials that git uses for this remote are there and may do this", true, false},
		{[]string{"not found", "does not exist", "does not appear to be a git repository", "no such file or directory"},
			"check the address of the remote, and that the credentials may see it", false, false},
		{[]string{"could not resolve host", "unable to access", "connection refused", "connection timed out", "network is unreachable", "could not read from remote"},
			"check the network and try again", false, false},
		{[]string{"no space left", "unable to write", "unpacker error", "remote unpack failed", "read-only file system"}, "make room or give write permission where the remote is stored", false, false},
	}
}

// redactURL drops user and password from a URL.
func redactURL(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil || u.Host == "" {
		return remote
	}
	u.User = nil
	return u.String()
}

// redactText drops the password of remote from text.
func redactText(text, remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil {
		return text
	}
	text = strings.ReplaceAll(text, remote, redactURL(remote))
	if password, ok := u.User.Password(); ok && password != "" {
		text = strings.ReplaceAll(text, password, "***")
	}
	return text
}
