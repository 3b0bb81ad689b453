package vault

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"filippo.io/age"
)

// Kind says what sealed bytes are.
type Kind string

// The kinds.
const (
	Inputs  Kind = "inputs"
	Answers Kind = "answers"
	Value   Kind = "value"
	Outcome Kind = "outcome"
)

// Label stands inside sealed bytes and says which they are.
type Label struct {
	Kind Kind
	// Name is the split's name, or what else binds the bytes to one place,
	// such as tag, iteration and lease: at most 200 characters of a-z, A-Z,
	// 0-9 and . _ / - .
	Name string
	// Cases counts the cases that the bytes are about, 0 for outcomes.
	Cases int
}

// String names the bytes in errors.
func (l Label) String() string { return string(l.Kind) + " of " + l.Name }

// Reason says why sealed bytes could not be opened or made.
type Reason string

// The reasons.
const (
	WrongKey Reason = "wrong key" // they are sealed to other keys
	Damaged  Reason = "damaged"   // they are cut short, changed or no sealed bytes
	Swapped  Reason = "swapped"   // they are whole, and not the ones that are wanted
	TooLarge Reason = "too large" // they do not fit into their size
	Unfit    Reason = "unfit"     // they cannot be sealed as what the label says
)

// Error says which bytes are at fault, and how. It never quotes their content.
type Error struct {
	Label  Label
	Reason Reason
	Detail string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Label, e.Reason, e.Detail)
}

func (l Label) fault(r Reason, format string, args ...any) *Error {
	return &Error{l, r, fmt.Sprintf(format, args...)}
}

const (
	version    = "research-loop/vault/v1"
	headerSize = 512
	maxName    = 200
	minSize    = 64 << 10
	maxSize    = 256 << 20 // of sealed bytes before encryption
)

// Digest is "sha256:" and the SHA-256 of sealed bytes in hexadecimal.
func Digest(sealed []byte) string {
	sum := sha256.Sum256(sealed)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sizeClass is the smallest size of at least n bytes that is a power of two or
// lies on one of seven even steps between two of them.
func sizeClass(n int) int {
	if n <= minSize {
		return minSize
	}
	step := 1 << (bits.Len(uint(n-1)) - 4)
	return (n + step - 1) / step * step
}

// pad puts label and content into size bytes.
func pad(l Label, content []byte, size int) ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if len(content) > size-headerSize {
		return nil, l.fault(TooLarge, "%d bytes, at most %d are allowed", len(content), max(0, size-headerSize))
	}
	out := make([]byte, size)
	copy(out, l.header(len(content)))
	copy(out[headerSize:], content)
	return out, nil
}

func (l Label) header(length int) string {
	return fmt.Sprintf("%s %s %s %d %d\n", version, l.Kind, l.Name, l.Cases, length)
}

func (l Label) check() error {
	foreign := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-", r))
	}
	switch {
	case l.Kind != Inputs && l.Kind != Answers && l.Kind != Value && l.Kind != Outcome:
		return l.fault(Unfit, "this kind is not known")
	case l.Name == "" || len(l.Name) > maxName || strings.ContainsFunc(l.Name, foreign):
		return l.fault(Unfit, "a name has 1 to %d characters of a-z, A-Z, 0-9 and . _ / -", maxName)
	case l.Cases < 0 || l.Cases > maxCases:
		return l.fault(Unfit, "%d cases, at most %d are allowed", l.Cases, maxCases)
	}
	return nil
}

// unpad takes label and content out of what pad wrote.
func unpad(plain []byte) (Label, []byte, error) {
	if len(plain) < headerSize {
		return Label{}, nil, errors.New("shorter than its header")
	}
	head, _, ok := strings.Cut(string(plain[:headerSize]), "\n")
	field := strings.Split(head, " ")
	if !ok || len(field) != 5 || field[0] != version {
		return Label{}, nil, errors.New("no header of " + version)
	}
	cases, err1 := strconv.Atoi(field[3])
	length, err2 := strconv.Atoi(field[4])
	if err1 != nil || err2 != nil || length < 0 || length > len(plain)-headerSize {
		return Label{}, nil, errors.New("the counts in the header are wrong")
	}
	l := Label{Kind(field[1]), field[2], cases}
	content := plain[headerSize : headerSize+length]
	again, err := pad(l, content, len(plain))
	if err != nil || !bytes.Equal(again, plain) {
		return Label{}, nil, errors.New("the header or the padding is not as it is written")
	}
	return l, content, nil
}

// seal encrypts padded content.
func seal(l Label, content []byte, size int, to []Recipient) ([]byte, error) {
	if len(to) == 0 {
		return nil, l.fault(Unfit, "there is no key to seal them to")
	}
	if size > maxSize {
		return nil, l.fault(TooLarge, "%d bytes with padding, at most %d are allowed", size, maxSize)
	}
	plain, err := pad(l, content, size)
	if err != nil {
		return nil, err
	}
	var keys []age.Recipient
	for _, r := range to {
		keys = append(keys, r.x)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, keys...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	if _, err = w.Write(plain); err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	return out.Bytes(), nil
}

// open decrypts sealed bytes and takes them apart. Where want has no name or
// no cases, whatever the label says is right.
func (i Identity) open(sealed []byte, want Label) (Label, []byte, error) {
	plain, err := i.decrypt(sealed, want, maxSize)
	if err != nil {
		return Label{}, nil, err
	}
	l, content, err := unpad(plain)
	if err != nil {
		return Label{}, nil, want.fault(Damaged, "%v", err)
	}
	if l.Kind != want.Kind || want.Name != "" && l.Name != want.Name {
		return Label{}, nil, want.fault(Swapped, "these are the %s", l)
	}
	if want.Cases != 0 && l.Cases != want.Cases {
		return Label{}, nil, want.fault(Swapped, "these are %d cases, want %d", l.Cases, want.Cases)
	}
	return l, content, nil
}

// decrypt gives at most so many bytes.
func (i Identity) decrypt(sealed []byte, want Label, most int) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), i.key())
	if noMatch := (*age.NoIdentityMatchError)(nil); errors.As(err, &noMatch) {
		return nil, want.fault(WrongKey, "they are sealed to other keys than this one")
	}
	if err != nil {
		return nil, want.fault(Damaged, "%d bytes that are no whole age file", len(sealed))
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return nil, want.fault(Damaged, "the age file of %d bytes was changed or cut short", len(sealed))
	case len(plain) > most:
		return nil, want.fault(TooLarge, "more than %d bytes", most)
	}
	return plain, nil
}
