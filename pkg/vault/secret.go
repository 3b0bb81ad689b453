package vault

import (
	"fmt"
	"io"
)

// veil makes every way of printing a value that embeds it say no more than
// that there is one. fmt does not ask fields that are not exported how they
// want to be printed, and follows pointers where a verb does not suit, so the
// secrets themselves lie in functions, of which it knows the address only.
type veil struct{}

const veiled = "(secret)"

// String gives no secret away.
func (veil) String() string { return veiled }

// Format gives no secret away, whatever the verb.
func (veil) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, veiled) // a fmt.State does not fail
}

// MarshalText gives no secret away, in JSON neither.
func (veil) MarshalText() ([]byte, error) { return []byte(veiled), nil }

// Secret is the text form of a key.
type Secret struct {
	veil
	text func() string
}

func newSecret(text string) Secret { return Secret{text: func() string { return text }} }

// Reveal gives the text itself, with a newline at its end.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return s.text()
}
