package verify

import (
	"fmt"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// UnknownError says that a clone lacks a branch that is needed to judge a run.
type UnknownError struct{ What, Fix string }

func (e *UnknownError) Error() string { return e.What }

// Tracked says where a repository on disk has the records of a run, and by what
// they are judged, from its refs alone: the tracking branches of a remote, or
// with remote "" its own branches. The checkpoint in the work tree's mirror is
// an anchor. The error is an *UnknownError where a branch is not there.
func Tracked(work *repo.Work, tag contract.Tag, remote string) (Source, error) {
	src := Source{Objects: work, Tag: tag, Shallow: work.Shallow()}
	prefix, address := "refs/heads/", work.CommonDir
	if remote != "" {
		prefix = "refs/remotes/" + remote + "/"
		var err error
		if address, err = work.RemoteURL(remote); err != nil {
			return src, err
		}
	}
	var ok bool
	if src.State, ok = work.Ref(prefix + journal.StateBranch(tag)); !ok {
		return src, &UnknownError{What: fmt.Sprintf("there is no %s%s here: no run %s", prefix, journal.StateBranch(tag), tag), Fix: "git fetch, or name another run"}
	}
	src.Branch, _ = work.Ref(prefix + journal.RunBranch(tag))
	if _, src.Default, ok = Trunk(work, remote); !ok {
		return src, &UnknownError{What: fmt.Sprintf("this clone does not know the default branch, on which the contract of run %s stands", tag),
			Fix: "git fetch, then git remote set-head origin --auto"}
	}
	var err error
	if src.Origin, err = ledger.Origin(address, string(tag)); err != nil {
		return src, err
	}
	if work.Top() != "" {
		a, err := AnchorIn(MirrorOf(work.Top(), tag))
		if err != nil {
			return src, err
		}
		src.Anchors = []Anchor{a}
	}
	return src, nil
}

// Trunk finds the ref of a remote's default branch and the commit it is at, or
// with remote "" those of the repository's own.
func Trunk(work *repo.Work, remote string) (ref, head string, ok bool) {
	prefix, symbolic := "refs/heads/", "HEAD"
	if remote != "" {
		prefix = "refs/remotes/" + remote + "/"
		symbolic = prefix + "HEAD"
	}
	var refs []string
	if target, ok := work.Symbolic(symbolic); ok {
		refs = append(refs, target)
	}
	for _, ref := range append(refs, prefix+"main", prefix+"master") {
		if head, ok := work.Ref(ref); ok {
			return ref, head, true
		}
	}
	return "", "", false
}
