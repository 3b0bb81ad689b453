package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Case is one input and its answer. ID is the name of the file below inputs/,
// which is the same below answers/.
type Case struct {
	ID            string
	Input, Answer []byte
}

// Split is a set of cases, sorted by ID. Its Digest is the SHA-256 of a line
// that names the format and then, of each case, ID, input and answer, each
// after its length in eight bytes, so that no two splits share one.
type Split struct {
	Name   string
	Cases  []Case
	Digest Digest
}

const (
	inputs  = "inputs/"
	answers = "answers/"

	maxCases     = 100_000
	maxCaseBytes = 64 << 20 // of one file
	maxSplit     = 1 << 30  // bytes of all files
	maxID        = 200
)

// NewSplit makes the split called name of the files of its folder: the keys
// are "inputs/" or "answers/" and an ID. Its error joins all that is wrong:
// files elsewhere or in deeper folders, IDs that are hidden files or hold what
// cannot be seen, an input without an answer or the reverse, no case at all,
// too many or too large ones.
func NewSplit(name string, files map[string][]byte) (*Split, error) {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("split %s: "+format, append([]any{visible(name)}, args...)...))
	}
	total := 0
	for path, data := range files {
		total += len(data)
		if problem := badCase(path, data, files); problem != "" {
			bad("%s: %s", shown(path), problem)
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	s := &Split{Name: name}
	for path, data := range files {
		if id, ok := strings.CutPrefix(path, inputs); ok {
			s.Cases = append(s.Cases, Case{ID: id, Input: data, Answer: files[answers+id]})
		}
	}
	switch {
	case len(files) == 0 || len(s.Cases) == 0 && len(faults) == 0:
		bad("no case; want files of the same names below inputs/ and answers/")
	case len(s.Cases) > maxCases:
		bad("%d cases, at most %d are allowed", len(s.Cases), maxCases)
	case total > maxSplit:
		bad("%s of cases, at most %s are allowed", writeSize(int64(total)), writeSize(maxSplit))
	}
	if len(faults) > 0 {
		return nil, errors.Join(few(faults, name)...)
	}
	slices.SortFunc(s.Cases, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	s.Digest = s.sum()
	return s, nil
}

// few cuts a long list of faults.
func few(faults []error, name string) []error {
	const most = 10
	if len(faults) <= most {
		return faults
	}
	return append(faults[:most:most], fmt.Errorf("split %s: and %d more", visible(name), len(faults)-most))
}

// badCase says what is wrong with one file of a split.
func badCase(path string, data []byte, files map[string][]byte) string {
	id, isInput := strings.CutPrefix(path, inputs)
	other := answers + id
	if !isInput {
		var isAnswer bool
		if id, isAnswer = strings.CutPrefix(path, answers); !isAnswer {
			return "a split holds inputs/ and answers/ only"
		}
		other = inputs + id
	}
	_, paired := files[other]
	switch {
	case strings.Contains(id, "/"):
		return "folders below inputs/ and answers/ are not allowed"
	case id == "" || len(id) > maxID:
		return fmt.Sprintf("the name of a case has 1 to %d bytes", maxID)
	case id[0] == '.':
		return "hidden files are not allowed"
	case !utf8.ValidString(id) || strings.ContainsFunc(id, hidden):
		return "the name holds what cannot be seen or is not UTF-8"
	case len(data) > maxCaseBytes:
		return fmt.Sprintf("%d bytes, at most %s are allowed", len(data), writeSize(maxCaseBytes))
	case bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")):
		return "this is an LFS pointer, not the file itself"
	case !paired:
		return "there is no " + shown(other)
	}
	return ""
}

func (s *Split) sum() Digest {
	h := sha256.New()
	h.Write([]byte("research-loop/split/v1\n"))
	var size [8]byte
	for _, c := range s.Cases {
		for _, part := range [][]byte{[]byte(c.ID), c.Input, c.Answer} {
			binary.BigEndian.PutUint64(size[:], uint64(len(part)))
			h.Write(size[:])
			h.Write(part)
		}
	}
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}
