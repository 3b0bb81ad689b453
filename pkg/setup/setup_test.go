package setup

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
)

var update = flag.Bool("update", false, "write the golden files")

var trees = []struct {
	name  string
	files []string
	fits  bool // the draft agrees with the files, once confirmed
}{
	{"go", []string{"go.mod", "README.md", "corrector/main.go", "corrector/edit.go", "data/words.tsv", "docs/spec.md",
		"evaluation/score.py", "evaluation/development/inputs/a", "evaluation/development/answers/a", ".github/workflows/x.yml"}, true},
	{"gotests", []string{"go.mod", "go.sum", "sort/sort.go", "sort/sort_test.go", "sort/testdata/a",
		"bench/score.go", "bench/dev/inputs/a.txt", "bench/dev/answers/a.txt", "bench/other/inputs/a", "bench/other/answers/a"}, true},
	{"python", []string{"pyproject.toml", "src/main.py", "src/model.py", "tests/test_model.py", "eval/evaluate.py",
		"eval/cases/inputs/1", "eval/cases/answers/1"}, true},
	{"top", []string{"sort.awk", "development/inputs/x", "development/answers/x", "development/score.sh"}, true},
	{"empty", nil, false},
	{"hostile", []string{"a b/c.py", "$(x)/main.py", "x\n!inferred/y.py", "\xff.py", "'.py", "../x.py", "-x.py", ".git/x.py", ".github/x.py", ".research-loop/x.py",
		"null/main.py", "1e5/main.py", "evaluation/development/inputs/;", "evaluation/development/answers/;"}, false},
}

// TestDraft holds the promise of a draft: Parse refuses it, naming every guess
// and nothing else, and accepts it once the marks are gone.
func TestDraft(t *testing.T) {
	for _, tree := range trees {
		draft := Draft(tree.files)
		golden(t, tree.name+".golden.yml", draft)
		_, err := contract.Parse("contract.yml", draft)
		var faults *contract.Faults
		if !errors.As(err, &faults) {
			t.Fatalf("%s: %v", tree.name, err)
		}
		for _, f := range faults.List {
			if !strings.Contains(f.Message, "still bears !inferred") {
				t.Errorf("%s: %s: %s", tree.name, f.Path, f.Message)
			}
		}
		marks := strings.Count(string(draft), ": "+contract.Inferred+" ")
		if len(faults.List) != marks || marks < 14 {
			t.Errorf("%s: %d faults for %d marks", tree.name, len(faults.List), marks)
		}
		confirmed := strings.ReplaceAll(string(draft), ": "+contract.Inferred+" ", ": ")
		c, err := contract.Parse("contract.yml", []byte(confirmed))
		if err != nil {
			t.Errorf("%s: %v", tree.name, err)
			continue
		}
		if misfits := c.CheckPaths(tree.files); tree.fits != (len(misfits) == 0) {
			t.Errorf("%s: %v", tree.name, misfits)
		}
	}
}

func TestDraftNeedsNoOrder(t *testing.T) {
	for _, tree := range trees {
		turned := slices.Clone(tree.files)
		slices.Reverse(turned)
		if string(Draft(turned)) != string(Draft(tree.files)) {
			t.Errorf("%s: the order of files changes the draft", tree.name)
		}
	}
}

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
	if string(got) != string(want) {
		t.Errorf("%s: run with -update and read the change\ngot\n%s", name, got)
	}
}
