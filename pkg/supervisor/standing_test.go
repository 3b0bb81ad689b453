package supervisor

import (
	"slices"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
)

// TestNames holds the names that a change must not speak to the files of
// harness and cases.
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
	if got, want := names(c, tree), []string{"fixture.bin", "kept-17.txt", "main.py", "spelling_bench.py", "validation.inputs.age"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestFrozenFolders holds what is never left out to the folders that may hold
// frozen files.
func TestFrozenFolders(t *testing.T) {
	c := &contract.Contract{
		Specification: "docs/deep/spelling.md", Counterexamples: "checks/kept",
		Harness: contract.Harness{Paths: []string{"evaluation/*.py", "bench[0-9]/**", "shared/run.sh"}},
		Splits:  contract.Splits{Development: "cases/development"},
	}
	keep := frozenFolders(c)
	for folder, want := range map[string]bool{
		"docs": true, "docs/deep": true, "docs/other": false, "checks": true, "checks/kept": true, "checks/kept/inputs": true,
		"evaluation": true, "evaluation/more": true, "bench1": true, "shared": true, "shared/more": false, "cases": true,
		"cases/development/inputs": true, "cases/other": false, ".github": true, ".github/workflows": true, ".research-loop": true,
		"src": false, "doc": false, "cas": false,
	} {
		if keep(folder) != want {
			t.Errorf("%s: %v", folder, !want)
		}
	}
	c.Harness.Paths = append(c.Harness.Paths, "**/*_test.go")
	if !frozenFolders(c)("src/deep") {
		t.Error("a pattern that begins with a star may match anywhere")
	}
}
