package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/pkg/vault"
)

// Opened is one half of a split, out of its bundle.
type Opened struct {
	Split  string     `json:"split"`
	Kind   vault.Kind `json:"kind"`
	Cases  int        `json:"cases"`
	Digest string     `json:"digest"`

	files []vault.File
}

// maxSealed bounds a bundle that is read, in bytes: more than any that is made.
const maxSealed = 128 << 20

// ParseKey reads a file that [Keyring.Write] wrote, whichever it is, for its
// age identity. The error quotes nothing of it.
func ParseKey(text string) (vault.Identity, error) {
	identity, err := vault.ParseIdentity(text)
	if err == nil {
		return identity, nil
	}
	judge, other := vault.ParseJudge(text)
	if other == nil {
		return judge.Identity, nil
	}
	return identity, fmt.Errorf("neither an age identity (%w) nor the judge's keys (%w)", err, other)
}

// Open opens the bundle in a file that bears the name that Seal gave it: a
// bundle of other contents is a *vault.Error.
func Open(bundle string, key vault.Identity) (*Opened, error) {
	parts := strings.Split(filepath.Base(bundle), ".")
	if len(parts) != 3 || parts[0] == "" || parts[1] != string(vault.Inputs) && parts[1] != string(vault.Answers) || parts[2] != "age" {
		return nil, refuse(bundle, "is not named as a bundle is", "give it the name SPLIT.inputs.age or SPLIT.answers.age that gate seal gave it")
	}
	data, err := readSealed(bundle)
	if err != nil {
		return nil, err
	}
	want := vault.Bundle{Label: vault.Label{Kind: vault.Kind(parts[1]), Name: parts[0]}}
	files, err := key.OpenSplit(data, want)
	if err != nil {
		return nil, err
	}
	return &Opened{Split: parts[0], Kind: want.Kind, Cases: len(files), Digest: vault.Digest(data), files: files}, nil
}

func readSealed(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(path, "there is no such file", "name a bundle that gate seal wrote")
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSealed+1))
	if err == nil && len(data) > maxSealed {
		return nil, refuse(path, fmt.Sprintf("has more than %d bytes, and no bundle does", maxSealed), "name a bundle that gate seal wrote")
	}
	return data, err
}

// Write writes the files into a new folder, inputs or answers, below dir,
// which only their owner can read and which lies in no repository. Opened
// into the same dir, both halves are a folder as Seal reads it.
func (o *Opened) Write(dir string) error {
	if err := outside(dir, "opened cases"); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	half := filepath.Join(dir, string(o.Kind))
	if err := makeFolder(half); err != nil {
		return err
	}
	for _, f := range o.files {
		// vault admits plain visible file names only.
		if err := create(filepath.Join(half, f.ID), f.Data, 0o600); err != nil {
			return errors.Join(err, os.RemoveAll(half))
		}
	}
	return nil
}
