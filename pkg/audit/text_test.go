package audit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestAtoms(t *testing.T) {
	for in, want := range map[string]string{
		"What the Łódź tram":        "what the lodz tram",
		"it's 007 and 1.50, v1.2.3": "its 7 and 1.5 v1 2.3",
		"Straße ﬁne Ａ":              "strasse fine a",
		"2029-08-01":                "2029 8 1",
		"7Q41 P1DT2H":               "7q41 p1dt2h",
		"会议 time":                   "会 议 time",
		"sc\u043ere":                "score",
		"gl\u200bass":               "glass",
		"\U000e0067\U000e006c":      "gl",
		"e\u0301tude":               "etude",
		"\xff\xfe":                  "",
		"":                          "",
	} {
		var got []string
		for _, a := range atoms(in) {
			got = append(got, a.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q gives %q, not %q", in, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]string{
		"12_000": "12000", "0x21AFFDL": "2207741", "918_273L": "918273", "1e3": "1000", "0b101": "5", "0o17": "15", "007": "7",
		"93_600u64": "93600", "1.50f": "1.5", "3e-4": "0.0003", "1'000'000": "1000000", "0": "0", "0x": "", "abc": "", "1.2.3": "", "": "",
	} {
		if got, ok := number(in); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q %v, not %q", in, got, ok, want)
		}
	}
}

func TestBits(t *testing.T) {
	info := newInformation()
	for _, tt := range []struct {
		atom atom
		low  float64
		high float64
	}{
		{atom{"the", false}, 4, 5}, {atom{"tests", false}, 8, 10}, {atom{"smorrebrod", false}, 20, 26}, {atom{"x", false}, 4, 4},
		{atom{"3", true}, 1.5, 1.5}, {atom{"12", true}, 2.5, 2.5}, {atom{"1024", true}, 5, 5}, {atom{"1000", true}, 4, 6},
		{atom{"918273", true}, 19, 20}, {atom{"2166136261", true}, 5, 5}, {atom{"1.8421", true}, 16, 17}, {atom{"65537", true}, 5, 5},
		{atom{"340282366920938463463374607431768211456", true}, 40, 40},
	} {
		if b := info.atom(tt.atom); b < tt.low || b > tt.high {
			t.Errorf("%q has %.1f bits, not %.1f to %.1f", tt.atom.text, b, tt.low, tt.high)
		}
	}
	for w, b := range info.words {
		if b <= 0 || b > 13.5 || w == "" || w != fold(w) {
			t.Errorf("%q has %v bits", w, b)
		}
	}
}

func TestScan(t *testing.T) {
	names := map[kind]string{identKind: "i", stringKind: "s", numberKind: "n", punctKind: "p", commentKind: "c"}
	for _, tt := range []struct{ path, src, want string }{
		{"a.go", "x := \"a\\\"b\" // c", `i:x p:: p:= s:a\"b c: c`},
		{"a.go", "`a\nb` 'c' /* d\ne */ 1e+3", "s:a s:b s:c c: d c:e  n:1e+3"},
		{"a.py", "'''a\nb''' # c\n\"d\"", "s:a s:b c: c s:d"},
		{"a.rs", "fn f<'a>() { r#\"x\"y\"# }", `i:fn i:f p:< p:' i:a p:> p:( p:) p:{ s:x"y p:}`},
		{"a.js", "a / b; /c[/]d/.test(e)", "i:a p:/ i:b p:; s:c[/]d p:. i:test p:( i:e p:)"},
		{"a.cpp", "R\"x(a\"b)x\" 0x1F 1'000", `s:a"b n:0x1F n:1'000`},
		{"a.sql", "-- a\nselect 'b'", "c: a i:select s:b"},
		{"a.md", "it's \"open", ""},
		{"Makefile", "a: # b", "i:a p:: c: b"},
		{"a.go", "\"open\nx", "p:\" i:open i:x"},
		{"a.go", "größe_2", "i:größe_2"},
	} {
		var got []string
		if f := familyOf(tt.path); f.code {
			for _, k := range scan(f, tt.src, func(int) bool { return true }) {
				got = append(got, names[k.kind]+":"+k.text)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s %q gives\n%s, not\n%s", tt.path, tt.src, s, tt.want)
		}
	}
}

func TestPeel(t *testing.T) {
	for in, want := range map[string]string{
		`\x67lass`: "glass", `\u0067lass`: "glass", `\147lass`: "glass", `\u{67}lass`: "glass", `\udb40\udc67`: "\U000e0067", `\xc3\xa9`: "é",
		"%67lass": "glass", "%2567lass": "glass", "&#103;lass": "glass", "&#x67;lass": "glass", "a &amp; b": "a & b",
		"Z2xhc3MgbGlk": "glass lid", "say Z2xhc3MgbGlk!": "say glass lid!", "676c617373206c6964": "glass lid", "ZwBsAGEAcwBzAA==": "glass",
		"WjJ4aGMzTWdiR2xr": "glass lid", "103 108 97 115 115": "glass", "0x67, 0x6c, 0x61, 0x73, 0x73": "glass",
	} {
		if got, ok := newBudget().peel(in); !ok || got != want {
			t.Errorf("%q gives %q %v, not %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"plain text", "evening", "1.2.3", "100% sure", "a & b", `a\nb`[:1], "deadbeef", "UQ8bKz0VFEEHAgUoGDNLExIxP1oXCRcDFAE=", "x", ""} {
		if got, ok := newBudget().peel(in); ok {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

func TestFoldConstants(t *testing.T) {
	for in, want := range map[string]string{
		"n == (1 << 12) + 321": "4417", "918_000L + 273L": "918273", "2**10 - 1": "1023", "3 * (4 + 5)": "27", "7 & 3 | 8": "11",
		"1 + x": "", "5": "", "(5)": "", "1 / 0": "", "9 ** 999 ** 999": "", "1 - 2": "", "f(1, 2)": "", "1 << 2 << 3": "32", "((1 + 2": "3",
		"7 / 2": "3", "0.5 * 120700.8": "60350.4", "1.5 << 2": "",
	} {
		var got []string
		for _, s := range foldConstants(scan(cFamily, in, func(int) bool { return true }), false) {
			got = append(got, s.value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q folds to %q, not %q", in, got, want)
		}
	}
	got := foldConstants(scan(pyFamily, "x = 301752 / 5", func(int) bool { return true }), true)
	if len(got) != 1 || got[0].value != "60350.4" {
		t.Errorf("a fraction folds to %v", got)
	}
}

func TestAddedLines(t *testing.T) {
	got := addedLines([]string{"a", "b", "b"}, []string{"b", "c", "b", "b", "a"})
	if want := []bool{false, true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestAlike(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"ninety", "ninty"}: true, {"eleven", "elevn"}: true, {"beautifully", "beutifuly"}: true, {"cat", "car"}: false,
		{"glass", "glass"}: true, {"glass", "class"}: true, {"parcel", "person"}: false, {"", "a"}: false,
	} {
		if got := alike(pair[0], pair[1]); got != want {
			t.Errorf("%q is %v", pair, got)
		}
	}
}

// TestKeywords holds the prefilter to what it must never do: refuse a text
// that its expression matches.
func TestKeywords(t *testing.T) {
	for _, r := range rules {
		for i, p := range r.patterns {
			if list := keywords(p.re.String()); list == nil {
				t.Errorf("%s, pattern %d has no keywords: it costs a whole search", r.class, i)
			}
		}
	}
	for _, class := range Classes() {
		data, err := os.ReadFile("testdata/" + class + "/flagged.txt")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("nothing here\n", 30) + string(data) + strings.Repeat("\n", 30) + string(data)
		for _, r := range rules {
			for _, p := range r.patterns {
				if got, want := len(p.find(text, strings.ToLower(text))), len(p.re.FindAllStringIndex(text, maxMatches)); got != want {
					t.Errorf("%s: %d of %d matches of %s are found", class, got, want, r.class)
				}
			}
		}
	}
	for expr, want := range map[string]string{
		`e(?:xec|val)\(`: "[exec eval]", `foo|bar`: "[foo bar]", `(?i)Seed\s*=`: "[seed]", `a*b`: "[]", `(?:abc|x)`: "[]", `(?:abc)+d`: "[abc]", `x(?:abc|abd)y`: "[abc abd]",
	} {
		if got := fmt.Sprint(keywords(expr)); got != want && !(want == "[abc abd]" && strings.HasPrefix(got, "[")) {
			t.Errorf("%s needs %s, not %s", expr, got, want)
		}
	}
}

func TestManyControls(t *testing.T) {
	hidden := []byte(strings.Repeat("a table of titles ", 20))
	for i := range hidden {
		hidden[i] ^= 0x7a
	}
	tests := []struct {
		name, text string
		want       textKind
	}{
		{"source with a form feed and colours", strings.Repeat("\x0c\tx = \"\x1b[31mred\x1b[0m\"\r\n", 50), plainText},
		{"one separator in a long file", strings.Repeat("name and value\n", 200) + strings.Repeat("a\x1fb\n", 12), plainText},
		{"a text behind exclusive or", string(hidden), notText},
	}
	for _, tt := range tests {
		if got := classify([]byte(tt.text)).kind; got != tt.want {
			t.Errorf("%s: kind %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestHiddenRuns(t *testing.T) {
	for text, want := range map[string]string{
		"Answer\u200b with\u200b the\u200b label\u200b o\u200bn\u200bl\u200by\u200b.": "review",
		"Answer" + strings.Repeat("\u200b\u200c", 8) + " with the label.":             "invalid",
		"\U0001F469\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466":                  "pass",
	} {
		x := newExample()
		x.file("base/src/a.md", "Answer.\n")
		x.file("cand/src/a.md", text+"\n")
		if got := Check(x.input()).Verdict(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
