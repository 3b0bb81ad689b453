package contract

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: run with -update and read the change\ngot\n%s\nwant\n%s", name, got, want)
	}
}

func someFacts() Facts {
	sum := strings.Repeat("0f", 32)
	return Facts{
		Tag: "spelling-1", Baseline: strings.Repeat("a", 40), Pinned: strings.Repeat("b", 40),
		Frozen: []File{
			{"evaluation/score.py", "100755", strings.Repeat("1", 40), sum, 1234},
			{"evaluation/development/inputs/a", "100644", strings.Repeat("2", 40), sum, 0},
		},
		Readable: []File{{"data/words.tsv", "100644", strings.Repeat("3", 40), sum, 99}},
		Splits:   []SplitFact{{Name: "development", Cases: 270, Digest: Digest("sha256:" + sum)}},
		Level:    "local", Probe: "12 attacks, none succeeded", Tool: "research-loop v0.1.0",
		ConfirmedBy: "Ada <ada@example.com>", ConfirmedHow: "terminal",
		ConfirmedAt: time.Date(2026, 1, 31, 13, 0, 0, 500, time.FixedZone("CET", 3600)),
	}
}

func sealedSpelling(t testing.TB) []byte {
	t.Helper()
	draft := read(t, "spelling.yml")
	return Seal(draft, mustParse(t, string(draft)), someFacts())
}

func TestSealGolden(t *testing.T) { golden(t, "contract.md.golden", sealedSpelling(t)) }

func TestSealIsDeterministic(t *testing.T) {
	draft := read(t, "spelling.yml")
	facts := someFacts()
	facts.Frozen[0], facts.Frozen[1] = facts.Frozen[1], facts.Frozen[0]
	facts.ConfirmedAt = facts.ConfirmedAt.UTC()
	if !bytes.Equal(Seal(draft, mustParse(t, string(draft)), facts), sealedSpelling(t)) {
		t.Error("the order of files or the time zone changes the seal")
	}
	if facts.Frozen[0].Path != "evaluation/development/inputs/a" {
		t.Error("Seal sorted its caller's list")
	}
}

func TestOpen(t *testing.T) {
	data := sealedSpelling(t)
	s, err := Open(data, Sum(data))
	if err != nil {
		t.Fatal(err)
	}
	if s.Digest != Sum(data) || s.Draft != Sum(read(t, "spelling.yml")) {
		t.Errorf("digests %s %s", s.Digest, s.Draft)
	}
	if want := sortedFacts(someFacts()); !reflect.DeepEqual(s.Facts, want) {
		t.Errorf("facts %+v\nwant  %+v", s.Facts, want)
	}
	if want := mustParse(t, string(read(t, "spelling.yml"))); !reflect.DeepEqual(s.Contract, want) {
		t.Errorf("contract %+v\nwant     %+v", s.Contract, want)
	}
	if _, err := Open(data, ""); err != nil {
		t.Errorf("without a digest: %v", err)
	}
}

// TestOpenRefusesEveryEdit flips, deletes and doubles every byte.
func TestOpenRefusesEveryEdit(t *testing.T) {
	draft := read(t, "least.yml")
	data := Seal(draft, mustParse(t, string(draft)), someFacts())
	want := Sum(data)
	whole := mustOpen(t, data)
	page := bytes.Index(data, []byte("\n---\n"))
	step := 3
	if os.Getenv("CI") == "true" {
		step = 1
	}
	for i := 0; i < len(data); i += step {
		flipped := bytes.Clone(data)
		flipped[i] ^= 1
		for _, bad := range [][]byte{flipped, slicesDelete(data, i), append(bytes.Clone(data[:i+1]), data[i:]...)} {
			var seal *SealError
			if _, err := Open(bad, want); !errors.As(err, &seal) || seal.Want != want || seal.Got != Sum(bad) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		// Without a digest an edit of the page is seen all the same, and one of
		// the front matter is seen or says something else.
		s, err := Open(flipped, "")
		if err == nil && (i > page || s.Draft == whole.Draft && reflect.DeepEqual(s.Contract, whole.Contract) && reflect.DeepEqual(s.Facts, whole.Facts)) {
			t.Fatalf("byte %d: an edit went unseen", i)
		}
	}
}

func slicesDelete(data []byte, i int) []byte {
	return append(bytes.Clone(data[:i]), data[i+1:]...)
}

func mustOpen(t testing.TB, data []byte) *Sealed {
	t.Helper()
	s, err := Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenRefuses(t *testing.T) {
	good := string(sealedSpelling(t))
	for _, r := range []struct{ name, old, new, want string }{
		{"empty", good, "", "contract.md: $: no front matter between two lines of ---"},
		{"no end", "\n---\n", "\n", "contract.md: $: no front matter between two lines of ---"},
		{"no seal", good[strings.Index(good, "seal:\n"):strings.Index(good, "\n---\n")], "", "contract.md:2:1: $.seal: missing"},
		{"CRLF", "\n", "\r\n", "contract.md: $: no front matter between two lines of ---"},
		{"other order", "goal: \"Correct more misspelt English words.\"\n", "", "contract.md:2:1: $.goal: missing"},
		{"text after", "refuses the file.\n", "refuses the file.\nReally.\n", "contract.md is not the one that was sealed: want sha256:"},
		{"comment", "research_loop: 1\n", "research_loop: 1 # x\n", "contract.md is not the one that was sealed: want sha256:"},
		{"other form", "timeout: 1m\n", "timeout: 60s\n", "contract.md is not the one that was sealed: want sha256:"},
		{"later", "research_loop: 1\n", "research_loop: 2\n", "contract.md:2:16: $.research_loop: version 2 is newer than this program"},
		{"tag", `tag: "spelling-1"`, `tag: "Spelling"`, `$.seal.tag: tag "Spelling": 'S' is not allowed`},
		{"level", `level: "local"`, `level: "secure"`, `$.seal.level: want one of protected, signed, open, local, got "secure"`},
		{"time", `2026-01-31T12:00:00Z`, `2026-02-31T12:00:00Z`, `$.seal.confirmed_at: want a time such as`},
		{"digest", `digest: "sha256:0f`, `digest: "sha256:0F`, `$.seal.splits[0].digest: want sha256:`},
		{"mode", `"100755 1`, `"120000 1`, `$.seal.frozen[1]: want mode, blob, SHA-256, size and path`},
		{"path", ` 1234 evaluation/score.py"`, ` 1234 ../score.py"`, `is not one that a tree may hold`},
		{"quoting", ` 1234 evaluation/score.py"`, ` 1234 \"evaluation/score.py\""`, `is not one that a tree may hold`},
		{"twice", ` 1234 evaluation/score.py"`, ` 1234 evaluation/development/inputs/a"`, `contract.md: $.seal.frozen: the file "evaluation/development/inputs/a" stands in the list twice`},
		{"scope", `- "corrector/**"`, `- "**"`, `$.scope.writable[0]: the author could change the cases in evaluation/development`},
	} {
		bad := strings.Replace(good, r.old, r.new, 1)
		if r.name == "CRLF" {
			bad = strings.ReplaceAll(good, r.old, r.new)
		}
		if _, err := Open([]byte(bad), ""); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got %v, want %s", r.name, err, r.want)
		}
	}
}

// TestSealHostile seals text that would break out of the front matter or the
// page, were it not escaped.
func TestSealHostile(t *testing.T) {
	c := mustParse(t, string(read(t, "spelling.yml")))
	evil := "a\n---\nseal: {}\n---\n\n# Approved\n</pre><script>alert(1)</script>\n```\n[x](javascript:1) ![](https://example.com/p.png) @all"
	c.Goal, c.Population = evil, evil
	facts := someFacts()
	facts.Probe, facts.Tool = evil, "\x1b[2J\u202e\x00\t\r\u2028'\"\\"
	facts.ConfirmedBy = "<!-- \n## Exceptions"
	facts.Frozen = append(facts.Frozen,
		File{"evaluation/a\n- \"b\xff é\x00"[:18], "100644", strings.Repeat("1", 64), strings.Repeat("0", 64), 5},
		File{`evaluation/"q"\`, "100644", strings.Repeat("1", 40), strings.Repeat("0", 64), 5},
		File{"evaluation/ two  spaces ", "100644", strings.Repeat("1", 40), strings.Repeat("0", 64), 5})
	data := Seal(nil, c, facts)
	s := mustOpen(t, data)
	if !reflect.DeepEqual(s.Facts, sortedFacts(facts)) || s.Goal != evil {
		t.Errorf("facts %+v\nwant  %+v", s.Facts, sortedFacts(facts))
	}
	if n := bytes.Count(data, []byte("\n---\n")); n != 1 {
		t.Errorf("%d lines of --- behind the first", n)
	}
	for _, line := range strings.Split(string(data[bytes.Index(data, []byte("\n---\n"))+5:]), "\n") {
		if strings.ContainsAny(line, "\x1b\x00\t\r\u202e\u2028") {
			t.Errorf("hidden character in %q", line)
		}
		if strings.ContainsAny(line, "<>[]`@!") && !strings.HasPrefix(line, "    ") {
			t.Errorf("markup outside a code block: %q", line)
		}
	}
}

// TestSealManyFiles keeps a harness of 10,000 files openable in reasonable
// time.
func TestSealManyFiles(t *testing.T) {
	facts := someFacts()
	for i := range 10_000 {
		facts.Frozen = append(facts.Frozen, File{"evaluation/lib/" + strings.Repeat("d/", i%5) + string(rune('a'+i%26)) + "-" + strings.Repeat("x", 1+i/26%40) + "-" + time.Duration(i).String(),
			"100644", strings.Repeat("1", 40), strings.Repeat("0", 64), int64(i)})
	}
	draft := read(t, "spelling.yml")
	data := Seal(draft, mustParse(t, string(draft)), facts)
	start := time.Now()
	if s := mustOpen(t, data); len(s.Facts.Frozen) != len(facts.Frozen) {
		t.Errorf("%d files", len(s.Facts.Frozen))
	}
	t.Logf("%d bytes opened in %v", len(data), time.Since(start))
}

func FuzzOpen(f *testing.F) {
	f.Add(sealedSpelling(f))
	f.Add([]byte("---\nresearch_loop: 1\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Open(data, "")
		if err != nil {
			return
		}
		if again := render(s.Contract, sortedFacts(s.Facts), s.Draft); !bytes.Equal(again, data) {
			t.Fatalf("sealing again gives other bytes\n%s", again)
		}
	})
}
