package audit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// simple is a candidate that changes one file of src/.
func simple(before, after string) Input {
	store := memory{}
	in := Input{Scope: prefixes{[]string{"src/"}, []string{"eval/"}}, Blobs: store, Recorded: "recorded", Gate: true}
	in.Baseline = []Entry{{"src/a.go", "100644", store.add([]byte(before))}}
	in.Candidate = []Entry{{"src/a.go", "100644", store.add([]byte(after))}}
	in.Commits = []Commit{{ID: "c1", Parents: []string{"recorded"}, Tree: in.Candidate}}
	return in
}

func TestClean(t *testing.T) {
	r := Check(simple("package a\n", "package a\n\nvar x = 1\n"))
	if r.Verdict() != "pass" || len(r.Findings) != 0 || len(r.Notes) != 0 || len(r.Classes()) != 0 {
		t.Fatalf("%+v", r)
	}
	if r := Check(Input{}); r.Verdict() != "pass" {
		t.Fatalf("the empty input gives %+v", r)
	}
}

func TestShape(t *testing.T) {
	chain := func(n int) (list []Commit) {
		parent := "recorded"
		for i := range n {
			id := fmt.Sprintf("c%d", i)
			list = append(list, Commit{ID: id, Parents: []string{parent}})
			parent = id
		}
		return list
	}
	for _, tt := range []struct {
		name    string
		commits []Commit
		want    string
	}{
		{"one", chain(1), ""},
		{"twenty", chain(20), ""},
		{"twenty-one", chain(21), "21 commits are pushed at once"},
		{"merge", []Commit{{ID: "c", Parents: []string{"recorded", "other"}}}, "a merge of 2 parents"},
		{"root", []Commit{{ID: "c"}}, "the commit is a root"},
		{"elsewhere", []Commit{{ID: "c", Parents: []string{"other"}}}, "stands on other, not on recorded"},
		{"gap", []Commit{{ID: "c", Parents: []string{"recorded"}}, {ID: "d", Parents: []string{"recorded"}}}, "stands on recorded, not on c"},
	} {
		in := simple("package a\n", "package a\n\nvar x = 1\n")
		for i := range tt.commits {
			tt.commits[i].Tree = in.Candidate
		}
		in.Commits = tt.commits
		r := Check(in)
		switch {
		case tt.want == "" && len(r.Findings) > 0:
			t.Errorf("%s: %v", tt.name, r.Findings)
		case tt.want == "":
		case len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, tt.want) || r.Findings[0].Commit == "":
			t.Errorf("%s: %v", tt.name, r.Findings)
		}
	}
}

// TestEveryCommit finds what a later commit of the same push takes back.
func TestEveryCommit(t *testing.T) {
	in := simple("package a\n", "package a\n\nvar x = 1\n")
	dirty := []Entry{{"README.md", "100644", in.Blobs.(memory).add([]byte("hello"))}, in.Candidate[0]}
	in.Commits = []Commit{
		{ID: "first", Parents: []string{"recorded"}, Tree: dirty},
		{ID: "second", Parents: []string{"first"}, Tree: in.Candidate},
	}
	r := Check(in)
	if len(r.Findings) != 1 || r.Findings[0].Commit != "first" || r.Findings[0].Class != "path.outside-writable" {
		t.Fatalf("%+v", r.Findings)
	}
	if got := r.Findings[0].String(); got != "README.md@first:1: the path is not writable in this run [path.outside-writable]" {
		t.Error(got)
	}
}

func TestInherited(t *testing.T) {
	in := simple("package a\n", "package a\n\nvar seed = 41\n")
	in.Incumbent = in.Candidate
	in.Candidate = []Entry{{"src/a.go", "100644", in.Blobs.(memory).add([]byte("package a\n\nvar y = 2\nvar seed = 41\n"))}}
	in.Commits[0].Tree = in.Candidate
	r := Check(in)
	if len(r.Findings) != 1 || !r.Findings[0].Inherited || r.Verdict() != "review" {
		t.Fatalf("%+v", r.Findings)
	}
}

func TestUnreadable(t *testing.T) {
	in := simple("package a\n", "package a\n\nvar x = 1\n")
	in.Blobs = broken{}
	r := Check(in)
	if r.Verdict() != "invalid" || !slices.Contains(r.Classes(), "audit.bounds") {
		t.Fatalf("%+v", r)
	}
	in.Blobs, in.Scope = nil, nil
	if r := Check(in); r.Verdict() != "invalid" || !slices.Contains(r.Classes(), "path.outside-writable") {
		t.Fatalf("%+v", r)
	}
}

type broken struct{}

func (broken) Blob(string) ([]byte, error) { return nil, errors.New("the disk is gone") }

// TestScenario holds text that the specification states to a note with a gate
// and to a review finding without one.
func TestScenario(t *testing.T) {
	in := readExample(t, SpecScenario, "flagged.txt")
	if r := Check(in); r.Verdict() != "review" || !slices.Equal(r.Classes(), []string{SpecScenario}) || len(r.Notes) != 0 {
		t.Errorf("without a gate: %+v", r)
	}
	in.Gate = true
	if r := Check(in); r.Verdict() != "pass" || !slices.Equal(r.Notes, []string{SpecScenario}) {
		t.Errorf("with a gate: %+v", r)
	}
}

// TestSame audits every item of the corpus twice: the reports are equal, and no
// message holds four words of a case in a row.
func TestSame(t *testing.T) {
	for _, item := range readCorpus(t) {
		a, b := Check(item.Input), Check(item.Input)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two reports", item.ID)
		}
		for _, f := range a.Findings {
			for _, c := range item.Input.Cases {
				for _, text := range []string{c.Input, c.Answer} {
					if four := quoted(f.Message, text); four != "" {
						t.Errorf("%s: %q quotes %q", item.ID, f.Message, four)
					}
				}
			}
		}
	}
}

// quoted finds four words of a text in a row in a message.
func quoted(message, text string) string {
	var words []string
	for _, a := range atoms(text) {
		words = append(words, a.text)
	}
	var said []string
	for _, a := range atoms(message) {
		said = append(said, a.text)
	}
	all := " " + strings.Join(said, " ") + " "
	for i := 0; i+4 <= len(words); i++ {
		if four := " " + strings.Join(words[i:i+4], " ") + " "; strings.Contains(all, four) {
			return four
		}
	}
	return ""
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü":       "plain ü",
		"a\x1b[31mb":    `a\u001b[31mb`,
		"a\nb\r\t":      `a\u000ab\u000d\u0009`,
		"a\xffb":        `a\xffb`,
		"a\u202eb":      `a\u202eb`,
		"\U000e0061":    `\U000e0061`,
		"zero\u200b":    `zero\u200b`,
		"\u0085\u2028x": `\u0085\u2028x`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
	f := Finding{Class: "path.name", Severity: Invalid, Path: "src/a\n::error::b,c:d", Message: "100% <b>@x</b> `y`", Fix: "rename *it*"}
	if got := f.String(); got != `src/a\u000a::error::b,c:d:1: 100% <b>@x</b> `+"`y`"+` [path.name]` {
		t.Error(got)
	}
	if got := f.Workflow(); got != `::error file=src/a\u000a%3A%3Aerror%3A%3Ab%2Cc%3Ad,line=1,title=path.name::100%25 <b>@x</b> `+"`y`" {
		t.Error(got)
	}
	for _, bad := range []string{"<", "@", "`", "*it*", "\n"} {
		if got := strings.ReplaceAll(f.Markdown(), "\\`", ""); strings.Contains(strings.ReplaceAll(got, `\*`, ""), bad) {
			t.Errorf("%q stands in %s", bad, f.Markdown())
		}
	}
}

func TestIgnore(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.log", "a/b.log", true}, {"*.log", "b.txt", false}, {"/b.log", "a/b.log", false}, {"/b.log", "b.log", true},
		{"build/", "build/x", true}, {"build/", "a/build/x", true}, {"build/", "build", false}, {"a/b", "a/b/c", true},
		{"a/b", "x/a/b", false}, {"**/b", "x/y/b", true}, {"a/**", "a/x/y", true}, {"a/**/z", "a/z", true}, {"a/**/z", "a/x/y/z", true},
		{"[!a].c", "b.c", true}, {"[!a].c", "a.c", false}, {"# x", "# x", false}, {"", "x", false}, {"!x", "x", false}, {`\#x`, "#x", true},
		{"x  ", "x", true}, {"foo?", "food", true}, {"[", "[", false},
	} {
		rules := &ignoreRules{}
		if l, ok := parseIgnore(tt.pattern); ok {
			rules.list = append(rules.list, l)
		}
		if got := rules.match(tt.path); got != tt.want {
			t.Errorf("%q on %q is %v", tt.pattern, tt.path, got)
		}
	}
}

// TestHostile holds files made to be slow to the bound of work. The time is a
// net for what is quadratic, not a measure: the benchmarks measure.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("hostile files take seconds")
	}
	texts := hostile()
	for _, name := range []string{"one line of 10 MB", "100,000 nested brackets", "adversarial base64", "open block comments", "escaped quotes"} {
		in := generated(20, 50, 1)
		text := texts[name]
		if len(text) <= maxFile {
			text = text[:min(len(text), 300<<10)]
		}
		in.Candidate = []Entry{{"src/a.js", "100644", in.Blobs.(memory).add([]byte(text))}}
		start := time.Now()
		r := Check(in)
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s takes %v", name, d)
		}
		if over := slices.Contains(r.Classes(), "audit.bounds"); over != (len(text) > maxFile) {
			t.Errorf("%s: audit.bounds is %v", name, over)
		}
	}
}

// TestStumble holds a panic to an invalid finding that tells nothing.
func TestStumble(t *testing.T) {
	in := simple("package a\n", "package a\n\nvar x = 1\n")
	in.Blobs = panicking{}
	r := Check(in)
	if len(r.Findings) != 1 || r.Findings[0].Message != stumbled || r.Verdict() != "invalid" {
		t.Fatalf("%+v", r)
	}
}

type panicking struct{}

func (panicking) Blob(string) ([]byte, error) { panic("the old mill") }

func TestBudget(t *testing.T) {
	b := newBudget()
	if !b.spend(maxWork) || b.spend(1) || b.over == "" {
		t.Error("work is not bounded")
	}
	b = newBudget()
	if !b.decode(maxDecoded) || b.decode(1) || b.over == "" {
		t.Error("decoding is not bounded")
	}
	in := simple("package a\n", "package a\n\nvar x = 1\n")
	in.Cases = []Case{{"a", strings.Repeat("x", maxCaseBytes), "y"}}
	if r := Check(in); !slices.Equal(r.Classes(), []string{"audit.bounds"}) {
		t.Errorf("too many cases: %+v", r)
	}
	in.Cases = nil
	a := newAudit(in, farBytes)
	a.index(in.Cases)
	a.budget.spend(maxWork + 1)
	if r := (Report{Findings: a.run(a.tree(in.Candidate))}); !slices.Equal(r.Classes(), []string{"audit.bounds"}) {
		t.Errorf("%+v", r)
	}
}

// TestBuildFiles holds a Makefile that is new to invalid and one that the
// baseline has to review.
func TestBuildFiles(t *testing.T) {
	for name, want := range map[string]string{"src/Makefile": "review", "src/build.rs": "review", "src/conftest.py": "invalid", "src/deep/Makefile": "invalid"} {
		in := simple("package a\n", "package a\n")
		in.Candidate = append(in.Candidate, Entry{name, "100644", in.Blobs.(memory).add([]byte("all:\n"))})
		in.Candidate = sortedEntries(in.Candidate)
		in.Commits[0].Tree = in.Candidate
		if !strings.Contains(name, "deep") {
			in.Baseline = append(in.Baseline, Entry{name, "100644", in.Blobs.(memory).add([]byte("none:\n"))})
		}
		if r := Check(in); r.Verdict() != want || !slices.Equal(r.Classes(), []string{"path.runner-plugin"}) {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}
