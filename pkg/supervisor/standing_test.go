package supervisor

import (
	"slices"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
)

// TestNames holds the names that a change must not speak to the files of the
// evaluation that share theirs with no other file.
func TestNames(t *testing.T) {
	c := &contract.Contract{
		Specification: "docs/spelling.md", Counterexamples: "evaluation/counterexamples",
		Harness: contract.Harness{Paths: []string{"evaluation/*.py", "shared/**"}},
		Scope:   contract.Scope{Writable: []string{"corrector/**"}, Readable: []string{"shared/words.tsv"}},
		Splits:  contract.Splits{Development: "evaluation/development", Validation: "evaluation/validation"},
	}
	var tree []repo.Entry
	for _, p := range []string{
		".github/workflows/ci.yml", ".research-loop/contract.yml", "README.md", "corrector/main.py", "docs/spelling.md",
		"evaluation/main.py", "evaluation/spelling_bench.py", "evaluation/counterexamples/inputs/kept-17.txt",
		"evaluation/development/inputs/dev-1.txt", "evaluation/validation.inputs.age", "shared/words.tsv", "shared/deep/fixture.bin",
	} {
		tree = append(tree, repo.Entry{Path: p, Mode: "100644", ID: "x"})
	}
	if got, want := names(c, tree), []string{"fixture.bin", "kept-17.txt", "spelling_bench.py"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
