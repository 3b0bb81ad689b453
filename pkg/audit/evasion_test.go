package audit

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// mutators hide a text; what they cannot hide they return as it is.
var mutators = map[string]func(text string, prose bool) string{
	"base64":  func(s string, _ bool) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"hex":     func(s string, _ bool) string { return hex.EncodeToString([]byte(s)) },
	"escapes": func(s string, _ bool) string { return eachByte(s, `\x%02x`) },
	"unicode escapes": func(s string, _ bool) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
		return b.String()
	},
	"percent":   func(s string, _ bool) string { return eachByte(s, "%%%02X") },
	"query":     func(s string, _ bool) string { return strings.ReplaceAll(url.QueryEscape(reverse(s)), "+", "%20") },
	"html":      func(s string, _ bool) string { return eachRuneOf(s, "&#%d;") },
	"utf16":     func(s string, _ bool) string { return base64.StdEncoding.EncodeToString(wide(s)) },
	"utf16 hex": func(s string, _ bool) string { return hex.EncodeToString(wide(s)) },
	"reverse":   func(s string, _ bool) string { return reverse(s) },
	"rot13":     func(s string, _ bool) string { return rot13(s) },
	"zlib": func(s string, _ bool) string {
		return base64.StdEncoding.EncodeToString(packed(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }))
	},
	"gzip hex": func(s string, _ bool) string {
		return hex.EncodeToString(packed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	},
	"twice": func(s string, _ bool) string {
		return base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString([]byte(s))))
	},
	"reversed base64": func(s string, _ bool) string { return reverse(base64.StdEncoding.EncodeToString([]byte(s))) },
	"character codes": func(s string, prose bool) string {
		if prose {
			return strings.Trim(eachByte(s, "%d "), " ")
		}
		return `" + bytes([` + strings.TrimSuffix(eachByte(s, "%d, "), ", ") + `]) + "`
	},
	"joined pieces": func(s string, prose bool) string {
		if prose {
			return s
		}
		return words.ReplaceAllStringFunc(s, func(w string) string { return w[:len(w)/2] + `" + "` + w[len(w)/2:] })
	},
	"listed pieces": func(s string, prose bool) string {
		if prose || len(s) < 6 {
			return s
		}
		return s[:len(s)/3] + `", "` + s[len(s)/3:len(s)/2] + `", "` + s[len(s)/2:]
	},
}

func packed(s string, writer func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := writer(&b)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

var words = regexp.MustCompile(`[a-z]{4,}`)

func eachByte(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func eachRuneOf(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

func wide(s string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

// sums write a number as an expression.
var sums = map[string]func(n int) string{
	"sum":     func(n int) string { return fmt.Sprintf("(%d + %d)", n-n/3, n/3) },
	"shift":   func(n int) string { return fmt.Sprintf("((%d << 3) + %d)", n>>3, n&7) },
	"product": func(n int) string { return fmt.Sprintf("(%d * 7 + %d)", n/7, n%7) },
	"hex":     func(n int) string { return fmt.Sprintf("%#x", n) },
	"minus":   func(n int) string { return fmt.Sprintf("(%d - 19)", n+19) },
}

// mutate applies a text or number mutator to everything that an item adds.
func mutate(in Input, text func(string, bool) string, num func(int) string) (Input, bool) {
	store := memory{}
	for k, v := range in.Blobs.(memory) {
		store[k] = v
	}
	var cand []Entry
	changed := false
	a := newAudit(in, farBytes)
	a.index(in.Cases)
	files := map[string]*file{}
	for _, f := range a.tree(in.Candidate).files {
		files[f.path] = f
	}
	for _, e := range in.Candidate {
		if f := files[e.Path]; f != nil && f.added > 0 {
			if after := mutateFile(f, text, num); after != strings.Join(f.lines, "\n") {
				changed = true
				e.ID = store.add([]byte(after))
			}
		}
		cand = append(cand, e)
	}
	in.Candidate, in.Blobs, in.Commits = cand, store, nil
	return in, changed
}

func mutateFile(f *file, text func(string, bool) string, num func(int) string) string {
	lines := append([]string{}, f.lines...)
	if f.family.prose && text != nil {
		for i := range lines {
			if f.isAdded[i] {
				lines[i] = strings.TrimSpace(text(strings.TrimSpace(lines[i]), true))
			}
		}
		return strings.Join(lines, "\n")
	}
	for i := len(f.tokens) - 1; i >= 0; i-- {
		t := f.tokens[i]
		from, to := f.columns(t)
		line := lines[t.line-1]
		switch {
		case text != nil && t.kind == stringKind && from+2 <= to && len(t.text) > 1:
			body := text(unescape(t.text, true), false)
			quote := line[from : from+1]
			if quote == "/" {
				quote = `"` // a regular expression becomes a string
			}
			body = strings.ReplaceAll(body, `"`, quote)
			lines[t.line-1] = line[:from] + "decode(" + quote + body + quote + ")" + line[to:]
		case text != nil && t.kind == commentKind:
			lines[t.line-1] = line[:from] + strings.Replace(line[from:to], t.text, " "+text(strings.TrimSpace(t.text), true), 1) + line[to:]
		case num != nil && t.kind == numberKind:
			if n, ok := number(t.text); ok {
				if v, err := strconv.Atoi(n); err == nil && v >= 20 {
					lines[t.line-1] = line[:from] + num(v) + line[to:]
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// TestEvasion hides every leak of the corpus with each decoder's inverse: at
// least 85 % must stay invalid.
func TestEvasion(t *testing.T) {
	items := readCorpus(t)
	check := func(name string, text func(string, bool) string, num func(int) string) {
		caught, all := 0, 0
		var missed []string
		for _, item := range items {
			if len(item.Leaks) == 0 || item.Expected != "invalid" {
				continue
			}
			in, changed := mutate(item.Input, text, num)
			if !changed {
				continue
			}
			all++
			if r := Check(in); r.Verdict() == "invalid" {
				caught++
			} else {
				missed = append(missed, item.ID+"="+r.Verdict())
			}
		}
		t.Logf("%-16s %d of %d stay caught %v", name, caught, all, missed)
		if caught*100 < 85*all || all == 0 {
			t.Errorf("%s: %d of %d stay caught, %v do not", name, caught, all, missed)
		}
	}
	for name, m := range mutators {
		check(name, m, nil)
	}
	for name, m := range sums {
		check("number: "+name, nil, m)
	}
}
