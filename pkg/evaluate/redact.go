package evaluate

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// shortestSecret is the least number of bytes of a designated value, or of one
// of its forms, that is looked for. Less than that is no secret, and its
// absence would tear holes in every log.
const shortestSecret = 6

// overhang is the least number of characters of a secret, cut in two by the
// end of what is looked at, that is taken for it.
const overhang = 4

// shapes are the tokens that can be told by how they look.
const shapes = `(?:gh[pousr]_[A-Za-z0-9]{20,}` +
	`|github_pat_[A-Za-z0-9_]{20,}` +
	`|glpat-[A-Za-z0-9_-]{16,}` +
	`|(?:AKIA|ASIA)[A-Z0-9]{16}` +
	`|\bsk-[A-Za-z0-9_-]{16,}` +
	`|\bxox[abeoprs]-[A-Za-z0-9-]{10,}` +
	`|\bnpm_[A-Za-z0-9]{30,}` +
	`|\bpypi-[A-Za-z0-9_-]{30,}` +
	`|\bAIza[A-Za-z0-9_-]{30,}` +
	`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*` +
	`|(?i:AGE-SECRET-KEY-[A-Z0-9-]{20,})` +
	`|research-loop-signing-key:\s*[A-Za-z0-9+/]{20,}` +
	`|PRIVATE\+KEY\+[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+` +
	`|-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)` +
	`|(?i:\b(?:bearer|basic) +[A-Za-z0-9._~+/-]{16,}=*)` +
	`|://[^/\s:@]*:[^/\s@]+@)`

// A Redactor takes secrets out of text before it is written anywhere: what the
// contract's patterns match, tokens of known shape, and designated values in
// their raw, base64, URL, JSON and hex forms, line breaks within them or not.
type Redactor struct {
	patterns []*regexp.Regexp
	forms    [][]byte // folded
}

// NewRedactor makes a Redactor for the contract's patterns and the designated
// secret values; of a value of several lines each line counts too. Values of
// less than six bytes are not looked for.
func NewRedactor(patterns []contract.Redaction, secrets []string) *Redactor {
	r := &Redactor{patterns: []*regexp.Regexp{regexp.MustCompile(shapes)}}
	for _, p := range patterns {
		r.patterns = append(r.patterns, p.Pattern)
	}
	for _, s := range secrets {
		r.designate(strings.TrimSpace(s))
		for line := range strings.Lines(s) {
			r.designate(strings.TrimSpace(line))
		}
	}
	// Longest first: cosmetic only, all ranges are joined in the end.
	slices.SortFunc(r.forms, func(a, b []byte) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b))
	})
	r.forms = slices.CompactFunc(r.forms, bytes.Equal)
	return r
}

func (r *Redactor) designate(secret string) {
	if len(secret) < shortestSecret {
		return
	}
	quoted, _ := json.Marshal(secret) // a string always marshals
	forms := []string{
		secret,
		hex.EncodeToString([]byte(secret)),
		url.QueryEscape(secret),
		url.PathEscape(secret),
		strings.Trim(string(quoted), `"`),
		strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(strings.Trim(string(quoted), `"`)),
	}
	for shift := range 3 {
		forms = append(forms, base64Middle(secret, shift, base64.RawStdEncoding), base64Middle(secret, shift, base64.RawURLEncoding))
	}
	for _, f := range forms {
		if folded, _ := fold([]byte(f)); len(folded) >= shortestSecret {
			r.forms = append(r.forms, folded)
		}
	}
}

// base64Middle is the part of the secret's base64 form that is the same
// whatever stands before and after it, when shift bytes stand before it.
func base64Middle(secret string, shift int, enc *base64.Encoding) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
	if (shift+len(secret))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[[]int{0, 2, 3}[shift]:]
}

// fold lowers ASCII letters and leaves out white space, so that case and line
// breaks do not hide a form. at[i] is the place of folded[i] in b.
func fold(b []byte) (folded []byte, at []int) {
	folded, at = make([]byte, 0, len(b)), make([]int, 0, len(b))
	for i, c := range b {
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		folded, at = append(folded, c), append(at, i)
	}
	return folded, at
}

// Bytes is b without the secrets.
func (r *Redactor) Bytes(b []byte) []byte { return r.window(b, false, false) }

// String is s without the secrets.
func (r *Redactor) String(s string) string { return string(r.Bytes([]byte(s))) }

// window is b without the secrets, where b is a piece of something longer: cut
// off at its front, at its end, or both. What hangs over an edge goes too.
func (r *Redactor) window(b []byte, front, end bool) []byte {
	spans := r.formSpans(b, front, end)
	for _, p := range r.patterns {
		for _, m := range p.FindAllIndex(b, -1) {
			spans = append(spans, span{m[0], m[1]})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	done := 0
	for _, s := range spans {
		if s.to <= max(done, s.from) {
			continue
		}
		if s.from >= done {
			out = append(append(out, b[done:s.from]...), redacted...)
		}
		done = s.to
	}
	return append(out, b[done:]...)
}

// span is a half-open range of bytes.
type span struct{ from, to int }

func (r *Redactor) formSpans(b []byte, front, end bool) []span {
	if len(r.forms) == 0 {
		return nil
	}
	folded, at := fold(b)
	var spans []span
	for _, f := range r.forms {
		for i := 0; ; {
			j := bytes.Index(folded[i:], f)
			if j < 0 {
				break
			}
			spans = append(spans, span{at[i+j], at[i+j+len(f)-1] + 1})
			i += j + 1
		}
		if n := hanging(folded, f, front, bytes.HasPrefix, func(n int) []byte { return f[len(f)-n:] }); n > 0 {
			spans = append(spans, span{0, at[n-1] + 1})
		}
		if n := hanging(folded, f, end, bytes.HasSuffix, func(n int) []byte { return f[:n] }); n > 0 {
			spans = append(spans, span{at[len(folded)-n], len(b)})
		}
	}
	return spans
}

// hanging is the length of the longest proper piece of the form that stands at
// an edge of the folded text, 0 where there is none.
func hanging(folded, form []byte, cut bool, stands func(s, piece []byte) bool, piece func(n int) []byte) int {
	for n := min(len(form)-1, len(folded)); cut && n >= overhang; n-- {
		if stands(folded, piece(n)) {
			return n
		}
	}
	return 0
}
