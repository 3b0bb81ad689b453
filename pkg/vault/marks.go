package vault

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Marks gives one mark for every input: the first 16 bytes, in hexadecimal, of
// an HMAC over the folded input, under a key that is derived from the signing
// key. Inputs that are equal or alike have equal marks whatever run they are
// from; without the key nobody can tell what input a mark belongs to, nor try.
// The marks are sorted, so that their order tells nothing.
func (j Judge) Marks(inputs []File) ([]string, error) {
	key, err := hkdf.Key(sha256.New, j.seed(), nil, "research-loop/v1/cases", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("key for marks: %w", err)
	}
	marks := make([]string, len(inputs))
	for i, f := range inputs {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(Fold(f.Data)))
		marks[i] = hex.EncodeToString(mac.Sum(nil)[:16])
	}
	slices.Sort(marks)
	return marks, nil
}

// Reused counts the marks that stand in earlier ones too.
func Reused(marks, earlier []string) int {
	known := map[string]bool{}
	for _, m := range earlier {
		known[m] = true
	}
	n := 0
	for _, m := range marks {
		if known[m] {
			n++
		}
	}
	return n
}
