package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/research-loop/research-loop/pkg/ledger"
)

const testVerifier = "research-loop/acme/widget+0f6ce847+AVODpt9Sje4lOwuto3MbfEsl+Akuzi5ssYwqnVN7rKpN"

func recipients(t testing.TB, n int) []string {
	t.Helper()
	var out []string
	for range n {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id.Recipient().String())
	}
	return out
}

func TestKeys(t *testing.T) {
	r := recipients(t, 4)
	for keys, want := range map[string]Keys{
		"keys: {verifier: " + testVerifier + "}": {Verifier: testVerifier},
		fmt.Sprintf("keys: {verifier: %q, judge: %s, execute: %s, final: %s, maintainer: %s}", testVerifier, r[0], r[1], r[2], r[3]): {
			Verifier: testVerifier, Judge: r[0], Execute: r[1], Final: r[2], Maintainer: r[3]},
	} {
		draft := []byte(strings.Replace(string(read(t, "spelling.yml")), "baseline: HEAD", keys+"\nbaseline: HEAD", 1))
		c, err := Parse("contract.yml", draft)
		if err != nil {
			t.Fatal(err)
		}
		if *c.Keys != want {
			t.Errorf("got %+v, want %+v", *c.Keys, want)
		}
		sealed := Seal(draft, c, someFacts())
		back, err := Open(sealed, Sum(sealed))
		if err != nil {
			t.Fatal(err)
		}
		if *back.Keys != want {
			t.Errorf("sealed: got %+v, want %+v", *back.Keys, want)
		}
		if page := string(sealed[strings.Index(string(sealed), "\n# "):]); !strings.Contains(page, "by "+testVerifier) {
			t.Error("the page does not name who signs")
		}
	}
}

func TestKeysRefused(t *testing.T) {
	r := recipients(t, 2)
	flip := func(s string, i int) string { // another character of the same alphabet
		c := byte('q')
		if s[i] == c {
			c = 'p'
		}
		return s[:i] + string(c) + s[i+1:]
	}
	for keys, want := range map[string]string{
		"{}":                    "$.keys.verifier: missing",
		"x":                     "want a mapping",
		"{verifier: x}":         "want a verifier key as keygen prints it",
		"{verifier: 1}":         "put it in quotes",
		"{judge: " + r[0] + "}": "$.keys.verifier: missing",
		"{verifier: " + testVerifier + ", gate: x}":                                    `unknown key "gate"`,
		"{verifier: " + strings.Replace(testVerifier, "acme", "acne", 1) + "}":         "a character was changed",
		"{verifier: " + strings.Replace(testVerifier, "0f6c", "0F6C", 1) + "}":         "want a verifier key",
		"{verifier: " + strings.Replace(testVerifier, "+AV", "+BV", 1) + "}":           "algorithm 5",
		"{verifier: " + testVerifier + ", judge: age1}":                                "want an age recipient",
		"{verifier: " + testVerifier + ", judge: " + flip(r[0], 20) + "}":              "checksum",
		"{verifier: " + testVerifier + ", judge: " + r[0][:30] + "b" + r[0][31:] + "}": "holds no 'b'",
		"{verifier: " + testVerifier + ", judge: " + strings.ToUpper(r[0]) + "}":       "want an age recipient",
		"{verifier: " + testVerifier + ", judge: " + r[0] + ", final: " + r[0] + "}":   "is the key of judge again",
	} {
		draft := strings.Replace(string(read(t, "spelling.yml")), "baseline: HEAD", "keys: "+keys+"\nbaseline: HEAD", 1)
		_, err := Parse("contract.yml", []byte(draft))
		var faults *Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", keys, err, want)
		}
	}
}

// FuzzVerifierKey compares the form that is accepted here with what the note
// format itself takes.
func FuzzVerifierKey(f *testing.F) {
	f.Add(testVerifier)
	f.Add("a+00000000+AAAA")
	f.Fuzz(func(t *testing.T, key string) {
		_, err := ledger.ParseVerifier(key)
		if here := badVerifier(key); here == "" && err != nil {
			t.Errorf("%q is accepted, and refused as a key: %v", key, err)
		}
	})
}

// FuzzRecipient compares the form that is accepted here with what age takes.
func FuzzRecipient(f *testing.F) {
	for _, r := range recipients(f, 3) {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, err := age.ParseX25519Recipient(s)
		if here := badRecipient(s); (here == "") != (err == nil) && (here == "" || len(s) == 62 && strings.ToLower(s) == s) {
			t.Errorf("%q: %q here, %v by age", s, here, err)
		}
	})
}
