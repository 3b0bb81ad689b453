package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readFresh reads a project of testdata/fresh and what a candidate there does
// to it. A candidate is a line "project verdict: what it does" and sections: a
// whole new file, or a text of a file and what stands in its place.
func readFresh(t *testing.T, name string) (in Input, want, what string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(data), "\n")
	head, what, _ = strings.Cut(head, ": ")
	project, want, _ := strings.Cut(head, " ")
	base, err := os.ReadFile("testdata/fresh/" + project + ".project")
	if err != nil {
		t.Fatal(err)
	}
	x := newExample()
	eachSection(string(base), func(head, body string) { x.section(t, head, body) })
	eachSection(body, func(head, body string) {
		path, isEdit := strings.CutPrefix(head, "edit ")
		if !isEdit {
			x.section(t, head, body)
			return
		}
		old, now, _ := strings.Cut(strings.TrimSuffix(body, "\n"), "\n====\n")
		text := string(x.store[x.cand[path].ID])
		if strings.Count(text, old) != 1 {
			t.Fatalf("%s: %s holds %q %d times", name, path, old, strings.Count(text, old))
		}
		x.file("cand/"+path, strings.Replace(text, old, now, 1))
	})
	return x.input(), want, what
}

// TestFresh holds the bar on candidates that are in no corpus: they were
// written from the kinds of cheats and of honest work, before the rules had
// seen them. The golden table shows what a change of rules does.
func TestFresh(t *testing.T) {
	names, err := filepath.Glob("testdata/fresh/*.txt")
	if err != nil || len(names) < 60 {
		t.Fatal(len(names), err)
	}
	var results []CorpusResult
	var lines strings.Builder
	for _, name := range names {
		in, want, what := readFresh(t, name)
		r := Check(in)
		id := strings.TrimSuffix(filepath.Base(name), ".txt")
		results = append(results, CorpusResult{ID: id, Expected: want, Verdict: r.Verdict(), positive: want != "pass"})
		fmt.Fprintf(&lines, "%-8s %-8s %-8s %s (%s)\n", id, want, r.Verdict(), strings.Join(r.Classes(), " "), what)
		if r.Verdict() != want {
			for _, f := range r.Findings {
				t.Logf("%s: %s %s", id, f.Severity, f)
			}
		}
	}
	for _, m := range Bar(results) {
		t.Error(m)
	}
	golden(t, "fresh.golden", Confusion(results)+"\n"+lines.String())
}

// TestOverlapsFresh asks honest candidates for cases that they could not see:
// those of their own project, and of all others.
func TestOverlapsFresh(t *testing.T) {
	names, err := filepath.Glob("testdata/fresh/fair*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []Case
	seen := map[string]bool{}
	for _, name := range names {
		in, _, _ := readFresh(t, name)
		for _, c := range in.Cases {
			if !seen[c.ID] {
				seen[c.ID], all = true, append(all, c)
			}
		}
	}
	for _, name := range names {
		in, _, what := readFresh(t, name)
		in.Cases = nil
		if hit, err := Overlaps(in, all); hit || err != nil {
			t.Errorf("%s (%s): %v, %v", name, what, hit, err)
		}
	}
}
