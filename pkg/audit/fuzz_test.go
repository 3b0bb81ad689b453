package audit

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
)

// FuzzScan holds the scanner to tokens that lie in the source, in order, on
// the lines that they name.
func FuzzScan(f *testing.F) {
	for _, text := range []string{"a := \"b\\\"c\" // d\n", "'''x\ny''' # z", "r#\"a\"# /* b */ 0x1F'000", "/[/]/.test(q) / 2", "\"\\", "R\"x(a)x\"", "{- a -} -- b"} {
		for _, path := range []string{"a.go", "a.py", "a.rs", "a.js", "a.lua", "a.unknown", "a.md"} {
			f.Add(path, text)
		}
	}
	f.Fuzz(func(t *testing.T, path, text string) {
		last := 0
		for _, k := range scan(familyOf(path), text, func(int) bool { return true }) {
			if k.pos < last || k.end < k.pos || k.end > len(text) || k.pos+len(k.text) > len(text) {
				t.Fatalf("token %+v of %d bytes, last end %d", k, len(text), last)
			}
			if line := 1 + strings.Count(text[:k.pos], "\n"); line != k.line {
				t.Fatalf("token %+v is on line %d", k, line)
			}
			last = k.end
		}
	})
}

// FuzzDecode holds the readings to an end, whatever the bytes, and to be what
// their inverses made.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"%41%", "&#x41;&#;", "\\u00", "\\x4", "QUJD", "414243", "104 101 108 108 111", "\\ud83d\\ude00", "a\x00b\x00c\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := newBudget()
		first, _ := b.peel(text)
		second, _ := newBudget().peel(text)
		if first != second {
			t.Fatal("not deterministic")
		}
		if len(first) > 8*len(text)+8 {
			t.Fatalf("%d bytes decode to %d", len(text), len(first))
		}
		peelShort(text)
		atoms(text)
		if s := squeeze(text); s != squeeze(s) {
			t.Fatalf("squeeze is not stable: %q", s)
		}
		if e := Escape(text); e != Escape(e) || strings.ContainsFunc(e, unsafeRune) {
			t.Fatalf("unsafe: %q", e)
		}
	})
}

// FuzzFold compares constant expressions with what they were made from.
func FuzzFold(f *testing.F) {
	f.Add("(1 << 12) + 321")
	f.Add("((((1")
	f.Add("9 ** 9 ** 9 % 0")
	f.Fuzz(func(t *testing.T, text string) {
		tokens := scan(goFamily, text, func(int) bool { return true })
		last := 0
		for _, s := range foldConstants(tokens, true) {
			if s.from < last || s.to <= s.from+1 || s.to > len(tokens) {
				t.Fatalf("span %+v of %d tokens", s, len(tokens))
			}
			last = s.to
		}
	})
}

// FuzzCheck audits random trees twice: no panic, the same report.
func FuzzCheck(f *testing.F) {
	f.Add(int64(1), "src/a.go", "x := 1\n", "x := \"the old mill\"\n", "100644")
	f.Add(int64(2), "src/.gitignore", "", "*\n", "120000")
	f.Add(int64(3), "a//../b\x00", "\xff\xfe", "\xff\xfea\x00", "")
	f.Fuzz(func(t *testing.T, seed int64, path, before, after, mode string) {
		in := randomInput(seed, path, before, after, mode)
		a, b := Check(in), Check(in)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("two reports of one input:\n%+v\n%+v", a, b)
		}
		for _, f := range a.Findings {
			if f.Message == stumbled {
				t.Fatal("a rule panics")
			}
			if _, ok := Explain(f.Class); !ok {
				t.Fatalf("class %q is not explained", f.Class)
			}
			if f.Severity != Invalid && f.Severity != Review || f.Fix == "" || f.Message == "" {
				t.Fatalf("unfinished finding %+v", f)
			}
			if s := f.String(); strings.ContainsFunc(s, unsafeRune) {
				t.Fatalf("unsafe: %q", s)
			}
		}
	})
}

func randomInput(seed int64, path, before, after, mode string) Input {
	rng := rand.New(rand.NewSource(seed))
	store := memory{}
	blob := func(text string) string {
		if rng.Intn(10) == 0 {
			return "missing"
		}
		return store.add([]byte(text))
	}
	in := Input{Scope: prefixes{[]string{"src/", ""}, []string{"eval/"}}, Blobs: store, Gate: seed%2 == 0, Specification: before}
	for i := range rng.Intn(6) {
		in.Cases = append(in.Cases, Case{fmt.Sprintf("case-%d", i), cut(rng, after), cut(rng, before+after)})
	}
	in.Names, in.Numbers = []string{cut(rng, after)}, []string{"1337"}
	in.Baseline = []Entry{{"eval/a.py", "100644", blob("import json")}, {path, "100644", blob(before)}}
	in.Candidate = []Entry{{"eval/a.py", "100644", blob("import json")}, {path, mode, blob(after)}, {path + "2", "100644", blob(after)}}
	if rng.Intn(2) == 0 {
		in.Incumbent = []Entry{{path, "100644", blob(after)}}
		in.Commits = []Commit{{ID: "a", Parents: []string{cut(rng, after)}, Message: after, Tree: in.Incumbent}, {ID: "b", Parents: []string{"a"}, Tree: in.Candidate}}
	}
	return in
}

func cut(rng *rand.Rand, s string) string {
	if s == "" {
		return ""
	}
	from := rng.Intn(len(s))
	return s[from : from+rng.Intn(len(s)-from)+1]
}
