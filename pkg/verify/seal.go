package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/vault"
)

// seal opens the contract and finds the key; ok is false where nothing can be
// read by it.
func (c *checker) seal() (ok bool, err error) {
	r, sealed, err := c.src.open(func(string) bool { return false })
	if err != nil {
		return false, c.note(lawSeal, err)
	}
	c.Records, c.sealed, c.redactor = r, sealed, evaluate.NewRedactor(sealed.Redact, nil)
	r.Verifier, err = c.src.trust(sealed, r.Files[contractName])
	if c.isCut(lawSeal, err) {
		c.skip("the key that signs is not known: this clone is shallow, and the pinned commit is not here", lawSignatures, lawAnchors)
	} else if err != nil {
		if err := c.note(lawSeal, err); err != nil {
			return false, err
		}
		c.skip("the key that signs is not known: the seal is broken", lawSignatures, lawAnchors)
	}
	return true, c.frozen()
}

// frozen compares every sealed file and split with the pinned commit.
func (c *checker) frozen() error {
	facts := c.sealed.Facts
	all, err := c.src.Objects.Diff("", facts.Pinned)
	var missing *repo.MissingError
	if c.isCut(lawSeal, err) {
		return nil
	}
	if errors.As(err, &missing) {
		c.bad(lawSeal, contractName, "is pinned to %s, which is missing from the repository", facts.Pinned)
		return nil
	}
	if err != nil {
		return err
	}
	for _, list := range []struct {
		name  string
		files []contract.File
		is    func(string) bool
	}{{"frozen", facts.Frozen, c.sealed.Frozen}, {"readable", facts.Readable, c.sealed.Readable}} {
		sealed := map[string]contract.File{}
		for _, f := range list.files {
			sealed[f.Path] = f
		}
		for _, f := range all {
			if !list.is(f.Path) {
				continue
			}
			if err := c.file(list.name, sealed[f.Path], f.To); err != nil {
				return err
			}
			delete(sealed, f.Path)
		}
		for path := range sealed {
			c.bad(lawSeal, contractName, "names the %s file %+q, which %.12s does not have", list.name, path, facts.Pinned)
		}
	}
	c.say(lawSeal, "%s is what stands at %.12s (frozen files: %d, readable files: %d, splits: %d)",
		contract.DraftPath, facts.Pinned, len(facts.Frozen), len(facts.Readable), len(facts.Splits))
	return c.splits(all)
}

// file compares a sealed file with the one in the pinned tree.
func (c *checker) file(list string, sealed contract.File, is repo.Entry) error {
	place := fmt.Sprintf("%s, %s file %+q", contractName, list, is.Path)
	if sealed.Path == "" {
		c.bad(lawSeal, place, "is not sealed, and stands at the pinned commit")
		return nil
	}
	data, err := c.src.Objects.Blob(is.ID)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	want := contract.File{Path: is.Path, Mode: is.Mode, Blob: is.ID, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	if sealed != want {
		c.bad(lawSeal, place, "is sealed as %s %s, want %s %s", sealed.Mode, sealed.SHA256, want.Mode, want.SHA256)
	}
	return nil
}

// splits compares the sealed splits with the pinned cases.
func (c *checker) splits(all []repo.Change) error {
	folders := map[string]string{"development": c.sealed.Splits.Development, "counterexamples": c.sealed.Counterexamples}
	hidden := map[string]contract.SealedSplit{}
	for _, s := range c.sealed.SealedSplits() {
		hidden[s.Name], folders[s.Name] = s, s.Path
	}
	for _, s := range c.sealed.Facts.Splits {
		if bundle, ok := hidden[s.Name]; ok {
			delete(folders, s.Name)
			if err := c.bundles(bundle, s, all); err != nil {
				return err
			}
			continue
		}
		folder := folders[s.Name]
		delete(folders, s.Name)
		if err := c.split(s, folder, all); err != nil {
			return err
		}
	}
	for name, folder := range folders {
		if folder != "" {
			c.bad(lawSeal, contractName, "does not seal the split %s", name)
		}
	}
	return nil
}

// split compares a sealed split with the cases in its pinned folder.
func (c *checker) split(s contract.SplitFact, folder string, all []repo.Change) error {
	place := contractName + ", split " + s.Name
	if folder == "" {
		c.bad(lawSeal, place, "is sealed, and the contract names none")
		return nil
	}
	files := map[string][]byte{}
	for _, f := range all {
		name, ok := strings.CutPrefix(f.Path, folder+"/")
		if !ok {
			continue
		}
		var err error
		if files[name], err = c.src.Objects.Blob(f.To.ID); err != nil {
			return err
		}
	}
	split, err := contract.NewSplit(folder, files)
	switch {
	case err != nil:
		c.bad(lawSeal, place, "is no split at the pinned commit: %v", err)
	case len(split.Cases) != s.Cases || split.Digest != s.Digest:
		c.bad(lawSeal, place, "is sealed with %d cases, %s, want %d, %s", s.Cases, s.Digest, len(split.Cases), split.Digest)
	}
	return nil
}

// bundles compares the digests of a sealed split with the pinned files. What
// they hold only its keys can tell.
func (c *checker) bundles(sealed contract.SealedSplit, s contract.SplitFact, all []repo.Change) error {
	for _, half := range []struct {
		file   string
		digest contract.Digest
	}{{sealed.Inputs(), s.Inputs}, {sealed.Answers(), s.Answers}} {
		i := slices.IndexFunc(all, func(f repo.Change) bool { return f.Path == half.file })
		if i < 0 {
			c.bad(lawSeal, contractName+", split "+s.Name, "names %s, which the pinned commit does not have", half.file)
			continue
		}
		data, err := c.src.Objects.Blob(all[i].To.ID)
		if err != nil {
			return err
		}
		if is := contract.Digest(vault.Digest(data)); is != half.digest {
			c.bad(lawSeal, contractName+", split "+s.Name, "seals %s as %s, want %s", half.file, half.digest, is)
		}
	}
	return nil
}
