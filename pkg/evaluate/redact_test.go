package evaluate

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
)

// canary is a secret with everything in it that some form escapes.
const canary = `c4n4ry "<&>" /+=\ K9z-Ω`

// forms is the canary as programs print it.
func forms() map[string]string {
	quoted, _ := json.Marshal(canary)
	out := map[string]string{
		"raw":            canary,
		"JSON":           string(quoted),
		"JSON, not HTML": strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted)),
		"query":          url.QueryEscape(canary),
		"path":           url.PathEscape(canary),
		"hex":            hex.EncodeToString([]byte(canary)),
		"HEX":            strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"od":             strings.TrimSpace(fmt.Sprintf("% x", canary)),
	}
	for _, before := range []string{"", "u", "us", "use"} {
		for _, after := range []string{"", "\n", ":pw"} {
			out["base64 "+before+after] = base64.StdEncoding.EncodeToString([]byte(before + canary + after))
			out["base64url "+before+after] = base64.RawURLEncoding.EncodeToString([]byte(before + canary + after))
		}
	}
	return out
}

func TestRedactDesignated(t *testing.T) {
	r := NewRedactor(nil, []string{canary})
	for name, form := range forms() {
		for _, width := range []int{0, 8} {
			got := r.String("before " + wrap(form, width) + " after")
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, redacted) {
				t.Errorf("%s, width %d: got %q", name, width, got)
			}
			// What is left of base64 around the secret may hold a character or
			// two of its ends, never more.
			rest := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(got, "before "), " after"), redacted, "")
			if len(strings.TrimSpace(rest)) > 10 {
				t.Errorf("%s, width %d: %q is left", name, width, rest)
			}
		}
	}
}

// wrap breaks lines as base64(1) does.
func wrap(s string, width int) string {
	if width == 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i += width {
		b.WriteString(s[i:min(len(s), i+width)] + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestRedactLinesOfASecret(t *testing.T) {
	r := NewRedactor(nil, []string{"first-half-key\nsecond-half-key\nab\n"})
	if got := r.String("x second-half-key y ab z"); got != "x [redacted] y ab z" {
		t.Errorf("got %q", got)
	}
}

func TestRedactShapes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"token ghp_" + strings.Repeat("a1", 18) + ".", "token [redacted]."},
		{"github_pat_" + strings.Repeat("a1_", 12), redacted},
		{"id AKIAABCDEFGHIJKLMNOP", "id [redacted]"},
		{"age: AGE-SECRET-KEY-1" + strings.Repeat("QP", 29) + "\n", "age: [redacted]\n"},
		{"key research-loop-signing-key:" + strings.Repeat("ab+/", 10) + "abc\n", "key [redacted]\n"},
		{"PRIVATE+KEY+example.com/x+0f6ce847+AVODpt9Sje4l/+x=", redacted},
		{"Authorization: Bearer abcdefghijklmnop.q", "Authorization: [redacted]"},
		{"https://user:hunter2@example.com/", "https[redacted]example.com/"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\nrest", "[redacted]\nrest"},
		{"-----BEGIN PRIVATE KEY-----\nb3Bl", redacted},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_d", redacted},
		{"nothing here: score 0.5, gh, sk-x, https://example.com/a:b@c", "nothing here: score 0.5, gh, sk-x, https://example.com/a:b@c"},
		{"my house-42-key", "my [redacted]"},
	}
	r := NewRedactor([]contract.Redaction{{Pattern: regexp.MustCompile(`house-[0-9]+-key`)}}, nil)
	for _, tt := range tests {
		if got := r.String(tt.text); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestRedactOverlaps(t *testing.T) {
	r := NewRedactor([]contract.Redaction{{Pattern: regexp.MustCompile(`abcdef`)}, {Pattern: regexp.MustCompile(`defghi`)}, {Pattern: regexp.MustCompile(`x*`)}}, []string{"bcdefg", "hijklm"})
	if got := r.String("1abcdefghijklm2"); got != "1[redacted][redacted]2" && got != "1[redacted]2" {
		t.Errorf("got %q", got)
	}
}

// TestExcerptHidesAcrossBorders moves a canary over every border of an
// excerpt: no piece of it may be seen, wherever it is cut.
func TestExcerptHidesAcrossBorders(t *testing.T) {
	secret := "QZXJVKWGYP+QJZKXVGWPY+XQWVZJYKGP"
	r := NewRedactor(nil, []string{secret})
	const total = 400 << 10
	filler := bytes.Repeat([]byte("."), total)
	borders := []int{0, excerpt, excerpt + margin, total - excerpt - margin, total - excerpt, total}
	for _, border := range borders {
		for offset := -len(secret) - 2; offset <= 2; offset += 13 {
			at := border + offset
			if at < 0 || at+len(secret) > total {
				continue
			}
			text := bytes.Clone(filler)
			copy(text[at:], secret)
			checkNoPiece(t, r.excerpt(text, total), secret, at)
		}
	}
}

// TestExcerptHidesEveryForm does so with every form in which a program prints it.
func TestExcerptHidesEveryForm(t *testing.T) {
	r := NewRedactor(nil, []string{canary})
	const total, piece = 300 << 10, 8 // a character or two of base64 may be its neighbours'
	filler := bytes.Repeat([]byte("."), total)
	borders, steps := []int{excerpt}, 2
	if os.Getenv("CI") == "true" {
		borders, steps = []int{0, excerpt, total - excerpt, total}, 4
	}
	for name, form := range forms() {
		for _, border := range borders {
			for offset := -len(form); offset <= 0; offset += len(form)/steps + 1 {
				at := border + offset
				if at < 0 || at+len(form) > total {
					continue
				}
				text := bytes.Clone(filler)
				copy(text[at:], form)
				got := r.excerpt(text, total)
				for i := 0; i+piece <= len(form); i++ {
					if bytes.Contains(got, []byte(form[i:i+piece])) {
						t.Fatalf("%s at %d: %q is seen", name, at, form[i:i+piece])
					}
				}
			}
		}
	}
}

// TestExcerptHidesTheCutEnd has the sandbox stop in the middle of a secret.
func TestExcerptHidesTheCutEnd(t *testing.T) {
	secret := "QZXJVKWGYP+QJZKXVGWPY+XQWVZJYKGP"
	r := NewRedactor(nil, []string{secret})
	for _, size := range []int{1000, 300 << 10} {
		for n := 0; n <= len(secret); n += 4 {
			text := append(bytes.Repeat([]byte("."), size), secret[:n]...)
			checkNoPiece(t, r.excerpt(text, int64(len(text)+100)), secret, n)
		}
	}
}

func checkNoPiece(t *testing.T, got []byte, secret string, at int) {
	t.Helper()
	for i := 0; i+overhang <= len(secret); i++ {
		if bytes.Contains(got, []byte(secret[i:i+overhang])) {
			t.Fatalf("secret at %d: %q is seen", at, secret[i:i+overhang])
		}
	}
}

func TestExcerptSaysWhatWasCut(t *testing.T) {
	r := NewRedactor(nil, nil)
	whole := bytes.Repeat([]byte("x"), 2*excerpt)
	if got := r.excerpt(whole, int64(len(whole))); !bytes.Equal(got, whole) {
		t.Errorf("a stream of %d bytes was changed", len(whole))
	}
	long := append(bytes.Repeat([]byte("h"), excerpt), bytes.Repeat([]byte("m"), 5)...)
	long = append(long, bytes.Repeat([]byte("t"), excerpt)...)
	got := string(r.excerpt(long, int64(len(long))))
	if !strings.Contains(got, "h\n[5 bytes cut here; 65541 of 65541 bytes were kept, their sha256 is ") || !strings.Contains(got, "]\nt") || strings.Contains(got, "m") {
		t.Errorf("got %q", got[excerpt-5:excerpt+200])
	}
	if got := string(r.excerpt([]byte("ab"), 10)); got != "ab\n[8 bytes were not kept]\n" {
		t.Errorf("got %q", got)
	}
}

// FuzzRedact plants the secret anywhere in any text: it must never come out.
func FuzzRedact(f *testing.F) {
	f.Add([]byte("before "), []byte(" after"))
	f.Add([]byte("s3cr3t-"), []byte("-valu3"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		const secret = "s3cr3t-valu3"
		got := NewRedactor(nil, []string{secret}).Bytes(append(append(bytes.Clone(before), secret...), after...))
		if bytes.Contains(got, []byte(secret)) {
			t.Fatalf("%q is seen in %q", secret, got)
		}
	})
}
