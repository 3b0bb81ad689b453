package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/verify"
)

// KeyError says that the records of a run cannot be signed here.
type KeyError struct {
	// Missing says that there is no signing key, not a wrong one.
	Missing bool
	Why     string
}

func (e *KeyError) Error() string { return e.Why }

// mayWrite refuses to write records that the contract wants signed by a key
// that this process does not hold.
func (s *Supervisor) mayWrite(c *contract.Contract) error {
	switch {
	case c.Keys == nil:
	case s.Signer == nil:
		return &KeyError{Missing: true, Why: "the contract has keys, and there is no signing key here"}
	case len(c.SealedSplits()) > 0 && s.Judge == nil:
		return &KeyError{Missing: true, Why: "the contract has sealed splits, and there is no key for them here"}
	case s.Signer.Verifier().String() != c.Keys.Verifier:
		return &KeyError{Why: fmt.Sprintf("the signing key belongs to %s, the contract's verifier is %s", s.Signer.Verifier(), c.Keys.Verifier)}
	}
	return nil
}

// Source says where the records are as of the last fetch, and by what they are
// judged. The error is a *NoRunError where there are none, a *verify.BreachError
// where there were some.
func (s *Supervisor) Source(ctx context.Context) (verify.Source, error) {
	src := verify.Source{Objects: s.Clone, Tag: s.Tag}
	var ok bool
	if src.State, ok = s.Clone.Branch(journal.StateBranch(s.Tag)); !ok {
		return src, s.noRecords()
	}
	src.Branch, _ = s.Clone.Branch(journal.RunBranch(s.Tag))
	var err error
	if s.Trunk == "" {
		if s.Trunk, err = s.Clone.Default(ctx); err != nil {
			return src, err
		}
	}
	if src.Default, ok = s.Clone.Branch(s.Trunk); !ok {
		return src, fmt.Errorf("%s has no branch %s, its default branch", s.Clone.Remote(), s.Trunk)
	}
	if src.Origin, err = s.origin(); err != nil {
		return src, err
	}
	seen, err := s.seen()
	src.Anchors = append(slices.Clone(s.Anchors), seen...)
	return src, err
}

// seen reads the checkpoints that are kept of the run on this machine.
func (s *Supervisor) seen() ([]verify.Anchor, error) {
	var out []verify.Anchor
	for _, folder := range append([]string{s.Folder}, s.Seen...) {
		a, err := verify.AnchorIn(folder)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// noRecords is the error of a run without a state branch: there is none, or it was
// seen before and removed.
func (s *Supervisor) noRecords() error {
	origin, err := s.origin()
	if err != nil {
		return err
	}
	seen, err := s.seen()
	if err != nil {
		return err
	}
	seen = slices.DeleteFunc(seen, func(a verify.Anchor) bool { return !bytes.HasPrefix(a.Note, []byte(origin+"\n")) })
	if err := verify.Removed(seen, s.Clone.Remote(), journal.StateBranch(s.Tag)); err != nil {
		return err
	}
	return &NoRunError{Tag: string(s.Tag), Remote: s.Clone.Remote()}
}

func (s *Supervisor) origin() (string, error) {
	return ledger.Origin(s.Clone.Remote(), string(s.Tag))
}

// sign adds the checkpoint of all that is held back to what is about to be
// pushed, in a run that has keys.
func (s *Supervisor) sign(put map[string][]byte) error {
	if s.Run.Contract.Keys == nil {
		return nil
	}
	origin, err := s.origin()
	if err != nil {
		return err
	}
	note, err := s.Signer.Checkpoint(s.Run.Checkpoint(origin, s.chain))
	if err != nil {
		return err
	}
	s.changed[checkpoint] = note
	put[journal.Folder(s.Tag)+checkpoint] = note
	return nil
}

const checkpoint = "checkpoint"

// remember keeps the newest checkpoint in the run folder: whoever puts an older
// state back is found out by it. A crash before it leaves an older anchor,
// which binds less and never wrongly.
func (s *Supervisor) remember() error {
	note := s.base[checkpoint]
	if note == nil {
		return nil
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.Folder, checkpoint)
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(fresh, note, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// note signs a verdict, in a run that has keys.
func (s *Supervisor) note(tip string) (string, error) {
	if s.Run.Contract.Keys == nil {
		return "", nil
	}
	origin, err := s.origin()
	if err != nil {
		return "", err
	}
	commit, err := s.Clone.Commit(tip)
	if err != nil {
		return "", err
	}
	signed, err := s.Signer.Verdict(s.Run.VerdictNote(origin, tip, commit.Tree, len(s.chain.Events), s.chain.Head))
	return string(signed), err
}
