package vault

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Keys are all private keys of a run.
type Keys struct {
	// Judge signs, and opens inputs, answers, outcomes and values.
	Judge Judge
	// Execute opens the inputs of validation, Final those of the final split,
	// Maintainer values after the run.
	Execute, Final, Maintainer Identity
}

// Generate makes new keys from the system's source of random numbers.
func Generate() (*Keys, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	var i [4]Identity
	for n := range i {
		x, err := age.GenerateX25519Identity()
		if err != nil {
			return nil, fmt.Errorf("age identity: %w", err)
		}
		i[n] = newIdentity(x)
	}
	return &Keys{newJudge(seed, i[0]), i[1], i[2], i[3]}, nil
}

// Judge is what the steps hold that decide: the signing key and an identity.
type Judge struct {
	Identity
	seed func() []byte
}

func newJudge(seed []byte, i Identity) Judge {
	return Judge{Identity: i, seed: func() []byte { return seed }}
}

// Seed is the secret Ed25519 seed, 32 bytes, for whoever formats signatures.
func (j Judge) Seed() []byte { return bytes.Clone(j.seed()) }

// Public is the public half of the signing key.
func (j Judge) Public() ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(j.seed()).Public().(ed25519.PublicKey)
}

const signingPrefix = "research-loop-signing-key:"

// Secret is the text of RESEARCH_LOOP_JUDGE.
func (j Judge) Secret() Secret {
	text := signingPrefix + base64.RawStdEncoding.EncodeToString(j.seed()) + "\n" + j.Identity.Secret().Reveal()
	return newSecret(text)
}

// ParseJudge reads the two lines of RESEARCH_LOOP_JUDGE.
func ParseJudge(text string) (Judge, error) {
	found, err := lines(text)
	if err != nil {
		return Judge{}, err
	}
	if len(found) != 2 {
		return Judge{}, fmt.Errorf("want two lines, the signing key and an age identity, got %d", len(found))
	}
	coded, ok := strings.CutPrefix(found[0], signingPrefix)
	if !ok {
		return Judge{}, fmt.Errorf("the first line is no signing key: it must begin with %s", signingPrefix)
	}
	seed, err := base64.RawStdEncoding.Strict().DecodeString(coded)
	if err != nil || len(seed) != ed25519.SeedSize {
		return Judge{}, errors.New("the signing key is damaged: want 32 bytes as base64 without padding")
	}
	i, err := parseIdentity(found[1])
	if err != nil {
		return Judge{}, fmt.Errorf("the second line %w", err)
	}
	return newJudge(seed, i), nil
}

// Identity opens what was sealed to its Recipient.
type Identity struct {
	veil
	key func() *age.X25519Identity
}

func newIdentity(x *age.X25519Identity) Identity {
	return Identity{key: func() *age.X25519Identity { return x }}
}

// Recipient is the public half.
func (i Identity) Recipient() Recipient { return Recipient{i.key().Recipient()} }

// Secret is the text form of the identity.
func (i Identity) Secret() Secret {
	return newSecret(i.key().String() + "\n")
}

// ParseIdentity reads the one line of an age identity.
func ParseIdentity(text string) (Identity, error) {
	found, err := lines(text)
	if err != nil {
		return Identity{}, err
	}
	if len(found) != 1 {
		return Identity{}, fmt.Errorf("want one line, an age identity, got %d", len(found))
	}
	i, err := parseIdentity(found[0])
	if err != nil {
		return Identity{}, fmt.Errorf("this %w", err)
	}
	return i, nil
}

// parseIdentity says what is wrong with a line, never what stands in it.
func parseIdentity(line string) (Identity, error) {
	switch {
	case strings.HasPrefix(line, "age1"):
		return Identity{}, errors.New("is a public key, not an identity")
	case strings.HasPrefix(line, signingPrefix):
		return Identity{}, errors.New("is a signing key, not an age identity")
	case strings.HasPrefix(line, "AGE-SECRET-KEY-PQ-"):
		return Identity{}, errors.New("is a post-quantum identity, which is not supported")
	case !strings.HasPrefix(line, "AGE-SECRET-KEY-1"):
		return Identity{}, errors.New("is no age identity: it must begin with AGE-SECRET-KEY-1")
	}
	x, err := age.ParseX25519Identity(line)
	if err != nil || x.String() != line {
		return Identity{}, errors.New("is a damaged age identity: a character is wrong or missing")
	}
	return newIdentity(x), nil
}

const maxSecret = 4096 // bytes

// lines gives the lines of a secret that count.
func lines(text string) ([]string, error) {
	if len(text) > maxSecret {
		return nil, fmt.Errorf("%d bytes, at most %d are allowed", len(text), maxSecret)
	}
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the secret is empty or not set")
	}
	return out, nil
}

// Recipient is a public key to which bytes are sealed.
type Recipient struct{ x *age.X25519Recipient }

// ParseRecipient reads a public key such as a contract holds.
func ParseRecipient(text string) (Recipient, error) {
	if strings.HasPrefix(strings.ToUpper(text), "AGE-SECRET-KEY-") {
		return Recipient{}, errors.New("this is an age identity, which is secret; want its public key, which begins with age1")
	}
	x, err := age.ParseX25519Recipient(text)
	if err != nil || x.String() != text {
		return Recipient{}, errors.New("this is no age public key: want age1 and 58 characters")
	}
	return Recipient{x}, nil
}

// String is the public key as ParseRecipient reads it.
func (r Recipient) String() string { return r.x.String() }
