package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Signer signs the notes of a run. It holds the secret and never prints it.
type Signer struct {
	key    func() ed25519.PrivateKey // behind a function, which no verb of fmt looks into
	public *Verifier
}

// NewSigner makes a signer of a name, without white space and plus signs, and
// an Ed25519 seed of 32 bytes.
func NewSigner(name string, seed []byte) (*Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("an Ed25519 seed has %d bytes, got %d", ed25519.SeedSize, len(seed))
	}
	key := ed25519.NewKeyFromSeed(seed)
	text, err := note.NewEd25519VerifierKey(name, ed25519.PublicKey(key[ed25519.SeedSize:]))
	if err != nil {
		return nil, err
	}
	public, err := ParseVerifier(text)
	if err != nil {
		return nil, err
	}
	return &Signer{key: func() ed25519.PrivateKey { return key }, public: public}, nil
}

// Verifier gives the public half.
func (s *Signer) Verifier() *Verifier { return s.public }

// sign gives the note of a text.
func (s *Signer) sign(text string) ([]byte, error) {
	return note.Sign(&note.Note{Text: text}, noteSigner{s})
}

// noteSigner is a Signer as the note package wants it.
type noteSigner struct{ *Signer }

func (s noteSigner) Name() string                     { return s.public.Name() }
func (s noteSigner) KeyHash() uint32                  { return s.public.note.KeyHash() }
func (s noteSigner) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.key(), text), nil }

// Verifier checks the notes of a run.
type Verifier struct {
	note note.Verifier
	key  string
}

// ParseVerifier reads a verifier key, <name>+<hash>+<base64>.
func ParseVerifier(key string) (*Verifier, error) {
	v, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("verifier %.100q: %w", key, err)
	}
	parts := strings.SplitN(key, "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || encode(raw) != parts[2] || parts[1] != strings.ToLower(parts[1]) {
		return nil, fmt.Errorf("verifier %.100q: not in the form that keygen prints", key)
	}
	return &Verifier{note: v, key: key}, nil
}

// String gives the key that was parsed.
func (v *Verifier) String() string { return v.key }

// Name is the name that the key bears, and every signature of it.
func (v *Verifier) Name() string { return v.note.Name() }

// open gives the text of a note that this verifier's key has signed, alone and
// in the one form that sign writes: base64 that decodes alike is not alike.
func (v *Verifier) open(data []byte) (string, error) {
	if len(data) > maxNote {
		return "", fmt.Errorf("the note has %d bytes, at most %d are read", len(data), maxNote)
	}
	n, err := note.Open(data, note.VerifierList(v.note))
	var unsigned *note.UnverifiedNoteError
	var wrong *note.InvalidSignatureError
	switch {
	case errors.As(err, &unsigned):
		return "", fmt.Errorf("the note is not signed by %s but by others", v.key)
	case errors.As(err, &wrong):
		return "", fmt.Errorf("the signature is not one of %s over this text", v.key)
	case err != nil:
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
	if err != nil {
		return "", err
	}
	want := n.Text + "\n— " + v.note.Name() + " " + encode(raw) + "\n"
	if !bytes.Equal(data, []byte(want)) {
		return "", errors.New("the note is not in the form that this program writes: one signature, plain base64")
	}
	return n.Text, nil
}

// maxNote bounds a note, in bytes.
const maxNote = 64 << 10

func encode(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
