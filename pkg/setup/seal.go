package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/vault"
)

// Sealing is a folder of cases that is to become a sealed split.
type Sealing struct {
	// Split is "validation" or "final".
	Split string
	// Dir is the folder with inputs/ and answers/, which lies in no repository.
	Dir string
	// Keys are the contract's.
	Keys *contract.Keys
	// Against are folders like Dir that hold other splits.
	Against []string
	// Drop leaves cases out that stand elsewhere too.
	Drop bool
	// Out is the folder that the bundles are written to.
	Out string
}

// Bundle is one sealed half of a split.
type Bundle struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	Bytes  int    `json:"bytes"`
}

// Sealed is what became of a Sealing.
type Sealed struct {
	Split    string    `json:"split"`
	Cases    int       `json:"cases"`
	Dropped  int       `json:"dropped"`
	Doubles  int       `json:"doubles"` // cases whose input is, but for case and spaces, that of another
	Inputs   Bundle    `json:"inputs"`
	Answers  Bundle    `json:"answers"`
	Overlaps []Overlap `json:"overlaps"`
	Looked   Looked    `json:"looked_at"`
}

// Seal seals the cases of a folder and writes the two bundles. What the
// repository holds of them is an *OverlapError, unless it is to be dropped;
// what else a person must change is a *supervisor.RefusedError. No error quotes
// a case.
func Seal(s Sealing, r Repository) (*Sealed, error) {
	toInputs, toAnswers, err := s.recipients()
	if err != nil {
		return nil, err
	}
	out := &Sealed{Split: s.Split, Inputs: Bundle{File: s.file(vault.Inputs)}, Answers: Bundle{File: s.file(vault.Answers)}}
	for _, b := range []Bundle{out.Inputs, out.Answers} {
		if _, err := os.Lstat(b.File); err == nil {
			return nil, &ExistsError{b.File}
		}
	}
	cases, err := readFolder(s.Split, s.Dir)
	if err != nil {
		return nil, err
	}
	all := len(cases)
	if cases, err = s.separate(cases, r, out); err != nil {
		return nil, err
	}
	out.Cases, out.Dropped, out.Doubles = len(cases), all-len(cases), doubles(cases)
	if len(cases) == 0 {
		return nil, refuse(s.Split, fmt.Sprintf("all %d cases stand somewhere else too", all), "bring other cases")
	}
	var inputs, answers []vault.File
	for _, c := range cases {
		inputs = append(inputs, vault.File{ID: c.ID, Data: c.Input})
		answers = append(answers, vault.File{ID: c.ID, Data: c.Answer})
	}
	sealedInputs, err := out.Inputs.seal(vault.Inputs, s.Split, inputs, toInputs)
	if err != nil {
		return nil, err
	}
	sealedAnswers, err := out.Answers.seal(vault.Answers, s.Split, answers, toAnswers)
	if err != nil {
		return nil, err
	}
	return out, s.write(out, sealedInputs, sealedAnswers)
}

// doubles counts the cases with the input of one before them.
func doubles(cases []vault.Case) int {
	seen := map[string]bool{}
	for _, c := range cases {
		seen[vault.Fold(c.Input)] = true
	}
	return len(cases) - len(seen)
}

// recipients are who opens the inputs and who opens the answers.
func (s Sealing) recipients() (inputs, answers []vault.Recipient, err error) {
	runs := map[string]string{"validation": "execute", "final": "final"}[s.Split]
	if runs == "" {
		return nil, nil, refuse("split "+s.Split, "is not sealed", "name validation or final")
	}
	if s.Keys == nil {
		return nil, nil, refuse(contract.DraftPath, "has no keys to seal to", "research-loop gate keygen --out DIR, then put the block that it prints into the contract")
	}
	parsed := map[string]vault.Recipient{}
	for name, key := range map[string]string{"judge": s.Keys.Judge, "execute": s.Keys.Execute, "final": s.Keys.Final, "maintainer": s.Keys.Maintainer} {
		if key == "" {
			continue
		}
		if parsed[name], err = vault.ParseRecipient(key); err != nil {
			return nil, nil, refuse("keys."+name, err.Error(), "put the block that gate keygen printed into the contract")
		}
	}
	for _, name := range []string{"judge", runs} {
		if _, ok := parsed[name]; !ok {
			return nil, nil, refuse("keys."+name, "is missing: a sealed "+s.Split+" split needs it", "put the whole block that gate keygen printed into the contract")
		}
	}
	inputs, answers = []vault.Recipient{parsed["judge"], parsed[runs]}, []vault.Recipient{parsed["judge"]}
	if m, ok := parsed["maintainer"]; ok {
		inputs, answers = append(inputs, m), append(answers, m)
	}
	return inputs, answers, nil
}

// separate compares the cases with everything that they must not share a case
// with, and gives those that are left.
func (s Sealing) separate(cases []vault.Case, r Repository, out *Sealed) ([]vault.Case, error) {
	found, looked, err := r.search(cases)
	if err != nil {
		return nil, err
	}
	out.Looked = looked
	for _, dir := range s.Against {
		other, err := readFolder(dir, dir)
		if err != nil {
			return nil, err
		}
		found = append(found, between(cases, other, dir))
	}
	left := cases
	for _, f := range found {
		if f.Alike > 0 {
			out.Overlaps = append(out.Overlaps, f)
			left = f.found.Drop(left)
		}
	}
	if len(out.Overlaps) > 0 && !s.Drop {
		return nil, &OverlapError{Split: s.Split, Cases: len(cases), Shared: len(cases) - len(left), Overlaps: out.Overlaps, Looked: looked}
	}
	return left, nil
}

func (s Sealing) file(kind vault.Kind) string {
	return filepath.Join(s.Out, s.Split+"."+string(kind)+".age")
}

func (b *Bundle) seal(kind vault.Kind, split string, files []vault.File, to []vault.Recipient) ([]byte, error) {
	data, sealed, err := vault.SealSplit(kind, split, files, to...)
	b.Digest, b.Bytes = sealed.Digest, len(data)
	return data, err
}

// write writes both bundles or none.
func (s Sealing) write(out *Sealed, inputs, answers []byte) error {
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		return err
	}
	if err := create(out.Inputs.File, inputs, 0o644); err != nil {
		return err
	}
	if err := create(out.Answers.File, answers, 0o644); err != nil {
		return errors.Join(err, os.Remove(out.Inputs.File))
	}
	return nil
}
