package repo

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
)

// Hasher computes the ids that git gives to objects, one after the other, with as
// little garbage as it can: a long run has millions. What it gives is good until
// it is asked again.
type Hasher struct {
	hash.Hash
	head, sum, digits []byte
}

// NewHasher gives a hasher of ids of so many bytes: 20, or 32 in a repository of
// the sha256 format.
func NewHasher(width int) *Hasher { return &Hasher{Hash: NewHash(width)} }

// NewHash gives the hash whose sums are ids of so many bytes.
func NewHash(width int) hash.Hash {
	if width == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// Begin has a hash, the hasher's own or another, begin an object of so many
// bytes anew: they follow.
func (h *Hasher) Begin(by hash.Hash, kind string, size int) {
	by.Reset()
	h.head = append(append(h.head[:0], kind...), ' ')
	h.head = append(strconv.AppendInt(h.head, int64(size), 10), 0)
	by.Write(h.head)
}

// Raw is the id of an object as a tree holds it.
func (h *Hasher) Raw(kind string, data []byte) []byte {
	h.Begin(h, kind, len(data))
	h.Write(data)
	h.sum = h.Sum(h.sum[:0])
	return h.sum
}

// ID is the id of an object in digits.
func (h *Hasher) ID(kind string, data []byte) []byte {
	h.digits = hex.AppendEncode(h.digits[:0], h.Raw(kind, data))
	return h.digits
}

// genuine checks that what was read is the object of that id, and of the kind
// that is wanted.
func (h *Hasher) genuine(id, kind, want string, data []byte) error {
	if real := h.ID(kind, data); string(real) != id {
		return &ObjectError{ID: id, Why: "is damaged: its bytes are those of " + string(real)}
	}
	if kind != want {
		return &ObjectError{ID: id, Why: fmt.Sprintf("is a %s, not a %s", kind, want)}
	}
	return nil
}

// taken takes a commit apart that was read in bulk, if it is right.
func (h *Hasher) taken(id string, raw []byte) (Commit, bool) {
	if h.genuine(id, "commit", "commit", raw) != nil {
		return Commit{}, false
	}
	c, err := parseCommit(id, raw, h.Size())
	return c, err == nil
}
