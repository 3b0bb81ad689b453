package audit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/golden/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -run %s -update writes it:\n%s", name, t.Name(), got)
	}
}

const corpusDir = "../../../shared/audit_corpus"

// readCorpus reads the corpus beside the repository. It is skipped aloud where
// that is missing, but for continuous integration, where it must be there.
func readCorpus(t testing.TB) []CorpusItem {
	t.Helper()
	if _, err := os.Stat(corpusDir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the audit corpus is missing: %v", err)
		}
		t.Skipf("the audit corpus is not beside the repository: %v", err)
	}
	items, err := ReadCorpus(os.DirFS(corpusDir))
	if err != nil {
		t.Fatal(err)
	}
	return items
}

var update = flag.Bool("update", false, "write the golden files")

// TestCorpus holds the bar, and the whole outcome to a golden file, so that a
// change of rules shows its effect in review.
func TestCorpus(t *testing.T) {
	items := readCorpus(t)
	results := EvaluateCorpus(items)
	for i, r := range results {
		if r.Classes == nil {
			t.Errorf("%s: the classes are null, not an empty list", r.ID)
		}
		if r.Verdict != r.Expected {
			t.Logf("%s: %s, not %s: %s", r.ID, r.Verdict, r.Expected, strings.Join(r.Classes, " "))
			for _, f := range Check(items[i].Input).Findings {
				t.Logf("   %s %s", f.Severity, f)
			}
		}
	}
	for _, m := range Bar(results) {
		t.Error(m)
	}
	got := Confusion(results) + "\n"
	for _, r := range results {
		got += fmt.Sprintf("%-12s %-8s %-8s %s\n", r.ID, r.Expected, r.Verdict, strings.Join(r.Classes, " "))
	}
	golden(t, "corpus.golden", got)
}
