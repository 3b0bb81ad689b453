package contract

import (
	"slices"
	"strings"
	"testing"
)

func TestMatchers(t *testing.T) {
	c := mustParse(t, string(read(t, "spelling.yml")))
	c.Scope.Writable = append(c.Scope.Writable, "lib/", "*.awk", "src/**/[a-c]{x,y}?.go", "ü/*")
	for _, m := range []struct {
		name string
		of   func(string) bool
		yes  []string
		no   []string
	}{
		{"Writable", c.Writable,
			[]string{"corrector/a", "corrector/a/b.go", "corrector/\xff\n", "corrector/..a", "lib/a/b", "x.awk", "src/ax1.go", "src/p/q/cyz.go", "ü/x"},
			[]string{"corrector", "corrector/", "lib", "lib/", "a/x.awk", "src/dx1.go", "src/ax.go", "Corrector/a", "corrector/../evaluation/a", "corrector/./a",
				"corrector//a", "/corrector/a", "corrector/a\x00b", "corrector/.git/config", "corrector/.GIT/x", "", ".", "..", "\xfc/x", "ü/a/b"}},
		{"Readable", c.Readable, []string{"data/words.tsv", "go.mod"}, []string{"data", "data/words.tsv/x", "go.mod2", "x/go.mod", "data/./words.tsv"}},
		{"Frozen", c.Frozen,
			[]string{"evaluation/score.py", "evaluation/development/inputs/a", "docs/spelling.md", ".github/workflows/x.yml", ".github", ".research-loop/contract.yml"},
			[]string{"evaluation", "docs/spelling.md2", "docs/spelling", ".githubx", "corrector/a", ".research-loop/../corrector/a", ""}},
		{"Generated", c.Generated, []string{"build", "build/a", "cache/x/y"}, []string{"builds", "a/build", "build/../a", "", "build//a"}},
	} {
		for _, path := range m.yes {
			if !m.of(path) {
				t.Errorf("%s(%q) = false", m.name, path)
			}
		}
		for _, path := range m.no {
			if m.of(path) {
				t.Errorf("%s(%q) = true", m.name, path)
			}
		}
	}
	if !c.Measured(CodeLines) || c.Measured("accuracy") || !c.Exception(NoGate) || c.Exception(ReusedGate) {
		t.Error("Measured or Exception")
	}
}

func TestOverlap(t *testing.T) {
	for _, o := range []struct {
		p, q string
		want bool
	}{
		{"a/**", "a/b", true}, {"a/**", "a", false}, {"a/", "a/b/c", true}, {"a", "a/", false},
		{"a/**", "b/**", false}, {"**", "x", true}, {"**/x", "x", true}, {"**/x", "y/*", true}, {"**/x", "y/z", false},
		{"*/score.py", "evaluation/**", true}, {"*.py", "evaluation/**", false}, {"a*c", "*b*", true}, {"a*", "b*", false},
		{"?", "ab", false}, {"[a-c]", "d", false}, {"[a-c]", "b", true}, {"[!a]", "a", false}, {"{a,b}/x", "b/*", true}, {"{a,b}", "c", false},
		{"a/**/z", "a/b/c/*", true}, {"a/**/z", "a/**/y", false}, {"**/a/**", "**/b/**", true}, {"a/*/c", "a/b/**", true}, {"*", "a/b", false},
	} {
		if got := overlap(o.p, o.q); got != o.want || overlap(o.q, o.p) != o.want {
			t.Errorf("overlap(%q, %q) = %v", o.p, o.q, got)
		}
	}
}

// FuzzOverlap holds overlap against the matcher: two patterns that match one
// path overlap, and a pattern that matches its own filling overlaps it.
func FuzzOverlap(f *testing.F) {
	for _, s := range []string{"a/**|a/b|a/b", "*/x|a/*|a/x", "[a-c]?|b*|bz", "{a,b}*/**|a/**|ax/y", "a/**/b|**/c/*|a/c/b", "**|**|.x"} {
		parts := strings.Split(s, "|")
		f.Add(parts[0], parts[1], parts[2])
	}
	f.Fuzz(func(t *testing.T, p, q, path string) {
		if len(p)+len(q)+len(path) > 200 || badPattern(p) != "" || badPattern(q) != "" {
			return
		}
		paths := []string{path}
		for _, one := range append(expand(below(p)), expand(below(q))...) {
			for _, star := range []string{"", "x"} {
				paths = append(paths, fill(strings.ReplaceAll(one, "**", "d/e"), star))
			}
		}
		for _, path := range paths {
			if clean(path) && match(p, path) && match(q, path) && !overlap(p, q) {
				t.Errorf("%q and %q both match %q", p, q, path)
			}
		}
		if overlap(p, q) != overlap(q, p) || !overlap(p, p) {
			t.Errorf("overlap of %q and %q is not symmetric, or not reflexive", p, q)
		}
	})
}

func TestUsualTests(t *testing.T) {
	for _, path := range []string{"a/tests/b", "test/x", "Testdata/x", "a_test.go", "x/test_a.py", "a/b.spec.ts", "a.test.js", "conftest.py", "src/FooTest.java",
		"__tests__/a.js", "fixtures/a", "spec/a.rb", "a/a_spec.rb", "x/tests.py"} {
		if !UsualTest(path) {
			t.Errorf("%q is not seen as a test", path)
		}
	}
	for _, path := range []string{"latest.java", "contest/a.go", "testing.go", "attest/b", "src/spectrum.go", "a/protest.py", "inspect/a", "test_", "src/test"} {
		if path != "src/test" && UsualTest(path) {
			t.Errorf("%q is seen as a test", path)
		}
	}
	for _, p := range []string{"tests/**", "**/*_test.go", "src/{main,test}/**", "te[s]t/**", "src/*.spec.ts", "test?/**"} {
		want := p != "te[s]t/**" && p != "test?/**" // CheckPaths sees those
		if namesTest(p) != want {
			t.Errorf("namesTest(%q) = %v", p, !want)
		}
	}
	for _, p := range []string{"src/**", "**/*.go", "*", "src/*", "corrector/*_*.py"} {
		if namesTest(p) {
			t.Errorf("namesTest(%q)", p)
		}
	}
}

func TestCheckPaths(t *testing.T) {
	good := []string{"corrector/main.go", "data/words.tsv", "go.mod", "docs/spelling.md", "evaluation/score.py", "evaluation/cache/x",
		"evaluation/development/inputs/a", "evaluation/development/answers/a", "evaluation/counterexamples/inputs/a", "evaluation/counterexamples/answers/a"}
	draft := string(read(t, "spelling.yml"))
	if faults := mustParse(t, draft).CheckPaths(good); len(faults) > 0 {
		t.Errorf("good tree: %v", faults)
	}
	without := func(prefix string) []string {
		return slices.DeleteFunc(slices.Clone(good), func(p string) bool { return strings.HasPrefix(p, prefix) })
	}
	for _, c := range []struct {
		name  string
		draft string
		paths []string
		want  string
	}{
		{"tests", draft, append(slices.Clone(good), "corrector/main_test.go", "corrector/testdata/a", "corrector/testdata/b\x1b", "corrector/x/tests/c"),
			`9:14 $.scope.writable[0]: the author could change tests or fixtures: "corrector/**" covers "corrector/main_test.go", "corrector/testdata/a", "corrector/testdata/b\x1b" and 1 more`},
		{"nothing writable", draft, without("corrector"), `9:13 $.scope.writable: no file of the baseline is writable`},
		{"folder", edited(t, "[corrector/**]", "[corrector]"), good, `9:14 $.scope.writable[0]: "corrector" is a folder, and the pattern matches a file of that name only`},
		{"readable", draft, without("go.mod"), `10:30 $.scope.readable[1]: no file of the baseline matches "go.mod"`},
		{"harness", edited(t, "paths: [evaluation/**]", "paths: [evaluation/**, bench/]"), good, `7:34 $.harness.paths[1]: no file of the baseline matches "bench/"`},
		{"specification", draft, without("docs"), `5:16 $.specification: the baseline has no file "docs/spelling.md"`},
		{"inputs", draft, without("evaluation/development/inputs"), `28:23 $.splits.development: the baseline has no file below "evaluation/development/inputs/"`},
		{"answers", draft, without("evaluation/counterexamples/answers"), `32:18 $.counterexamples: the baseline has no file below "evaluation/counterexamples/answers/"`},
		{"generated", draft, append(slices.Clone(good), "build/x"), `12:14 $.scope.generated[0].path: launches would write over files of the baseline: "build/x"`},
		{"from", draft, without("evaluation/cache"), `13:45 $.scope.generated[1].from: the baseline has no frozen file below "evaluation/cache"`},
		{"no scorer", draft, without("evaluation/score.py"), `21:10 $.evaluation.score: the baseline has no file "evaluation/score.py"`},
		{"scorer", edited(t, "evaluation/score.py", "./tools/score.py"), append(slices.Clone(good), "tools/score.py"), `21:10 $.evaluation.score: the scorer's file "tools/score.py" is not frozen`},
	} {
		faults := Locate("contract.yml", []byte(c.draft), mustParse(t, c.draft).CheckPaths(c.paths))
		if got := linesOf(faults); !slices.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
