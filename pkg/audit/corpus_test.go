package audit

import (
	"os"
	"strings"
	"testing"
)

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

func TestCorpus(t *testing.T) {
	items := readCorpus(t)
	results := Evaluate(items)
	for i, r := range results {
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
	t.Log("\n" + Confusion(results))
}
