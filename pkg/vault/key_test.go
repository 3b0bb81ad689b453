package vault

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The keys of the golden tests, made for them.
const (
	goldenIdentity  = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	goldenRecipient = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
	goldenSigning   = "research-loop-signing-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
)

func generate(t testing.TB) *Keys {
	t.Helper()
	k, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func golden(t testing.TB) Judge {
	t.Helper()
	j, err := ParseJudge(goldenSigning + "\n" + goldenIdentity + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestGolden(t *testing.T) {
	j := golden(t)
	if got := j.Recipient().String(); got != goldenRecipient {
		t.Errorf("recipient %s, want %s", got, goldenRecipient)
	}
	// RFC 8032 has no vector for this seed; it is that of the ledger's notes.
	if got := hex.EncodeToString(j.Public()); got != "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8" {
		t.Errorf("public key %s", got)
	}
	if got := j.Secret().Reveal(); got != goldenSigning+"\n"+goldenIdentity+"\n" {
		t.Error("the secret's text is not what was read")
	}
}

func TestKeysRoundTrip(t *testing.T) {
	k := generate(t)
	j, err := ParseJudge(k.Judge.Secret().Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(j.Seed(), k.Judge.Seed()) || !j.Public().Equal(k.Judge.Public()) || j.Recipient().String() != k.Judge.Recipient().String() {
		t.Error("the judge's keys differ after writing and reading")
	}
	message := []byte("head")
	if !ed25519.Verify(j.Public(), message, ed25519.Sign(ed25519.NewKeyFromSeed(j.Seed()), message)) {
		t.Error("seed and public key do not belong together")
	}
	seen := map[string]bool{}
	for _, i := range []Identity{k.Judge.Identity, k.Execute, k.Final, k.Maintainer} {
		again, err := ParseIdentity("# made for a test\r\n\r\n" + i.Secret().Reveal())
		if err != nil {
			t.Fatal(err)
		}
		to, err := ParseRecipient(again.Recipient().String())
		if err != nil || to.String() != i.Recipient().String() || seen[to.String()] {
			t.Errorf("recipient %s, %v", to, err)
		}
		seen[to.String()] = true
	}
	if other := generate(t); bytes.Equal(other.Judge.Seed(), k.Judge.Seed()) {
		t.Error("two signing keys are the same")
	}
}

func TestSeedIsACopy(t *testing.T) {
	j := golden(t)
	j.Seed()[0] ^= 1
	if j.Seed()[0] != 0 {
		t.Error("a caller can change the signing key")
	}
}

func TestParseRefuses(t *testing.T) {
	flipped := strings.Replace(goldenIdentity, "GFPYYSJZ", "GFPYYSJQ", 1)
	short := signingPrefix + base64.RawStdEncoding.EncodeToString(make([]byte, 31))
	for _, c := range []struct{ name, text, judge, identity string }{
		{"empty", "", "empty or not set", "empty or not set"},
		{"blank", " \n\t\n# nothing\n", "empty or not set", "empty or not set"},
		{"one line", goldenIdentity, "want two lines, the signing key and an age identity, got 1", ""},
		{"judge", goldenSigning + "\n" + goldenIdentity, "", "want one line, an age identity, got 2"},
		{"three lines", goldenSigning + "\n" + goldenIdentity + "\n" + goldenIdentity, "got 3", "got 3"},
		{"order", goldenIdentity + "\n" + goldenSigning, "the first line is no signing key", "got 2"},
		{"short seed", short + "\n" + goldenIdentity, "the signing key is damaged", "got 2"},
		{"padded seed", goldenSigning + "=\n" + goldenIdentity, "the signing key is damaged", "got 2"},
		{"trailing bits", goldenSigning[:len(goldenSigning)-1] + "9\n" + goldenIdentity, "the signing key is damaged", "got 2"},
		{"public key", goldenSigning + "\n" + goldenRecipient, "the second line is a public key", "got 2"},
		{"only a public key", goldenRecipient, "got 1", "this is a public key, not an identity"},
		{"only a signing key", goldenSigning, "got 1", "this is a signing key"},
		{"flipped", goldenSigning + "\n" + flipped, "the second line is a damaged age identity", "got 2"},
		{"only flipped", flipped, "got 1", "this is a damaged age identity"},
		{"lower case", strings.ToLower(goldenIdentity), "got 1", "must begin with AGE-SECRET-KEY-1"},
		{"quantum", "AGE-SECRET-KEY-PQ-1ABC", "got 1", "post-quantum"},
		{"huge", strings.Repeat("x", 5000), "5000 bytes, at most 4096", "5000 bytes, at most 4096"},
	} {
		_, err := ParseJudge(c.text)
		refused(t, c.name+", judge", err, c.judge, c.text)
		_, err = ParseIdentity(c.text)
		refused(t, c.name+", identity", err, c.identity, c.text)
	}
	for _, text := range []string{"", "age1", goldenRecipient + "\n", strings.ToUpper(goldenRecipient), goldenRecipient[:61] + "q", "ssh-ed25519 AAAA"} {
		_, err := ParseRecipient(text)
		refused(t, "recipient", err, "no age public key", "")
	}
	_, err := ParseRecipient(goldenIdentity)
	refused(t, "recipient", err, "which is secret", goldenIdentity)
}

// refused wants an error with a text, or none for "", and never a part of the
// secret in it.
func refused(t *testing.T, name string, err error, want, secret string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", name, err, want)
	}
	for i := 0; err != nil && i+12 < len(secret); i++ {
		part := secret[i : i+12]
		if strings.Contains(err.Error(), part) && !strings.Contains(signingPrefix+"AGE-SECRET-KEY-1", part) {
			t.Errorf("%s: the error %q quotes the secret", name, err)
		}
	}
}

// TestNothingPrintsSecrets prints every type that holds a secret in every way,
// by itself and inside other values.
func TestNothingPrintsSecrets(t *testing.T) {
	j := golden(t)
	hidden := struct {
		j Judge
		i Identity
		s Secret
		k *Keys
	}{j, j.Identity, j.Secret(), &Keys{Judge: j}}
	shown := struct {
		J Judge
		I *Identity
		S []Secret
		M map[string]Judge
	}{j, &j.Identity, []Secret{j.Secret()}, map[string]Judge{"judge": j}}
	var out strings.Builder
	for _, v := range []any{j, &j, j.Identity, &j.Identity, j.Secret(), hidden, &hidden, shown, &shown, *hidden.k} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%f", "%c", "%U", "%e", "%b", "%T", "%p"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		coded, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
		}
		out.Write(coded)
	}
	fmt.Fprintln(&out, fmt.Errorf("key %v: %w", j, fmt.Errorf("%s", j.Secret())))
	text := strings.ToLower(out.String())
	for _, canary := range []string{goldenIdentity[16:], goldenSigning[len(signingPrefix):], hex.EncodeToString(j.Seed()), "[0 1 2 3", "0x0, 0x1, 0x2", "[66 66", "[0 1 10 11", "42424242", "[b b b", "u+0042"} {
		if strings.Contains(text, strings.ToLower(canary)) {
			at := strings.Index(text, strings.ToLower(canary))
			t.Errorf("%q is printed: …%s…", canary, text[max(0, at-100):at+20])
		}
	}
	if !strings.Contains(text, veiled) {
		t.Error("nothing was printed at all")
	}
}

func FuzzParseJudge(f *testing.F) {
	f.Add(goldenSigning + "\n" + goldenIdentity + "\n")
	f.Add(goldenSigning + "\n" + goldenRecipient)
	f.Fuzz(func(t *testing.T, text string) {
		j, err := ParseJudge(text)
		if err != nil {
			return
		}
		again, err := ParseJudge(j.Secret().Reveal())
		if err != nil || !bytes.Equal(again.Seed(), j.Seed()) || again.Recipient().String() != j.Recipient().String() {
			t.Errorf("written and read again: %v", err)
		}
	})
}

func FuzzParseIdentity(f *testing.F) {
	f.Add("# comment\n" + goldenIdentity)
	f.Fuzz(func(t *testing.T, text string) {
		i, err := ParseIdentity(text)
		if err != nil {
			return
		}
		if !strings.Contains(text, strings.TrimSpace(i.Secret().Reveal())) {
			t.Error("the identity is not the one that was read")
		}
	})
}

func FuzzParseRecipient(f *testing.F) {
	f.Add(goldenRecipient)
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRecipient(text); err == nil && r.String() != text {
			t.Errorf("%q is read as %q", text, r)
		}
	})
}
