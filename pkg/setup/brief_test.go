package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

// TestBriefHoldsNothingOfTheRun plants canaries in everything that a
// repository holds and looks for them in the folder.
func TestBriefHoldsNothingOfTheRun(t *testing.T) {
	files := map[string]string{
		"solver/main.sh": "echo " + canary, "evaluation/score.sh": canary, "README.md": canary, "results.tsv": canary,
		"docs/spec.md": "# Specification\n\nTurn the words around.\n",
	}
	for i := range 8 {
		files[fmt.Sprintf("development/inputs/%s-%d.json", canary, i)] = fmt.Sprintf(`{"text": "%s %d", "%s%d": 1, "tag": %d}`, canary, i, canary, i, i)
		files[fmt.Sprintf("development/answers/%s-%d.json", canary, i)] = fmt.Sprintf("%s\n%d\n", canary, i)
		files[fmt.Sprintf("counter/inputs/%s-%d", canary, i)] = canary
		files[fmt.Sprintf("counter/answers/%s-%d", canary, i)] = canary
	}
	r := project(t, with(files, "", map[string]string{"candidate.txt": canary, "message": canary}), with(files, "", map[string]string{"message": canary}))
	r.Contract = &contract.Contract{
		Goal: canary, Population: "Sentences of a few words.", Specification: "docs/spec.md", Counterexamples: "counter",
		Splits: contract.Splits{Development: "development"}, Metric: contract.Metric{Name: canary},
	}
	dir := filepath.Join(t.TempDir(), "gate")
	names, err := Brief(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += filepath.Base(name) + "\n" + string(text)
	}
	if strings.Contains(all, canary) || strings.Contains(all, "turn") {
		t.Errorf("the folder holds what it must not:\n%s", all)
	}
	for _, want := range []string{
		"brief.md", "specification.md\n# Specification\n\nTurn the words around.", "population.md", "Sentences of a few words.",
		"araphrases", "ounterfactuals", "dge cases", "egressions", "0001.json, 0002.json",
		`a JSON object; all have the members "tag" (number), "text" (string)`, "- lines: 2\n", "| 20 | 116 |",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the folder does not hold %q", want)
		}
	}
	for _, half := range []string{"inputs", "answers"} {
		if left, err := os.ReadDir(filepath.Join(dir, half)); err != nil || len(left) != 0 {
			t.Errorf("%s: %v, %v", half, left, err)
		}
	}
	if _, err := Brief(dir, r); !isExisting(err) {
		t.Errorf("over itself: %v", err)
	}
	if _, err := Brief(filepath.Join(r.Work.Top(), "gate"), r); err == nil {
		t.Error("made in a work tree")
	}
}

func TestBriefRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spec, population, want string
	}{
		"specification": {"# Example\n\nan example of the development split\n", "Words.", "spec.md: quotes 1 cases of development: spec.md:3"},
		"with answer":   {"teh becomes answer 1 " + canary + "\n", "Words.", "spec.md: quotes 1 cases of development: spec.md:1"},
		"population":    {"# Fine\n", "Things like AN EXAMPLE of the development  split.", "population: quotes 1 cases of development: population:1"},
		"missing":       {"", "Words.", "spec.md"},
	} {
		files := with(nil, "development/", cases("an example of the development split\n", "teh\n"))
		if c.spec != "" {
			files["spec.md"] = c.spec
		}
		r := project(t, files)
		r.Contract.Specification, r.Contract.Population = "spec.md", c.population
		dir := filepath.Join(t.TempDir(), "gate")
		_, err := Brief(dir, r)
		var refused *supervisor.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Fix == "" {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: something is left behind", name)
		}
	}
}

func TestShape(t *testing.T) {
	repeat := func(text string, n int) [][]byte {
		out := make([][]byte, n)
		for i := range out {
			out[i] = []byte(text)
		}
		return out
	}
	for name, c := range map[string]struct {
		files [][]byte
		want  string
	}{
		"words":      {[][]byte{[]byte("one\n"), []byte("seven\n"), []byte("nineteen\n")}, "[[format text in UTF-8] [bytes 4 to 9, half of the files at most 6] [lines 1] [words 1] [the last line ends in a newline always] [characters letters a to z]]"},
		"mixed":      {[][]byte{[]byte("A b\tä\n1"), []byte("世")}, "[[format text in UTF-8] [bytes 3 to 8, half of the files at most 3] [lines 1 to 2, half of the files at most 1] [words 1 to 4, half of the files at most 1] [the last line ends in a newline never] [characters letters a to z, letters A to Z, digits, spaces or tabs, Latin letters beyond ASCII, other characters]]"},
		"some end":   {[][]byte{[]byte("?\n"), []byte("?")}, "[[format text in UTF-8] [bytes 1 to 2, half of the files at most 1] [lines 1] [words 1] [the last line ends in a newline in some files, and in others not] [characters other ASCII signs]]"},
		"empty":      {[][]byte{{}}, "[[format text in UTF-8] [bytes 0] [lines 0] [words 0] [the last line ends in a newline never] [characters none]]"},
		"binary":     {[][]byte{[]byte("text"), {0xff}}, "[[format binary] [bytes 1 to 4, half of the files at most 1]]"},
		"zero":       {[][]byte{[]byte("a\x00b")}, "[[format binary] [bytes 3]]"},
		"few":        {repeat(`{"a":1}`, enoughCases-1), "[[format JSON] "},
		"members":    {append(repeat(`{"a":1,"b":[],"c":{},"d":null,"e":true,"f":1}`, enoughCases), []byte(` {"a":2,"b":[1],"c":{},"d":null,"e":false,"f":"", "g":0}`)), `[[format a JSON object; all have the members "a" (number), "b" (array), "c" (object), "d" (null), "e" (true or false), "f" (of several types)] `},
		"none alike": {append(repeat(`{"a":1}`, enoughCases), []byte(`{"b":1}`)), "[[format JSON] "},
		"no objects": {append(repeat(`{"a":1}`, enoughCases), []byte(`[1]`)), "[[format JSON] "},
		"objects":    {append(repeat(`[1]`, enoughCases), []byte(`{"a":1}`)), "[[format JSON] "},
		"not JSON":   {append(repeat(`{"a":1}`, enoughCases), []byte(`{"a":`)), "[[format text in UTF-8] "},
	} {
		if got := fmt.Sprint(shapeOf(c.files).facts()); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// FuzzShape looks for files that the form cannot be told of.
func FuzzShape(f *testing.F) {
	f.Add([]byte(`{"a": [1]}`), []byte("b\n"))
	f.Add([]byte{0xff}, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, fact := range shapeOf([][]byte{a, b, a, b, a, b}).facts() {
			if fact[0] == "" || fact[1] == "" || strings.Contains(fact[1], "\n") {
				t.Errorf("%q", fact)
			}
		}
	})
}
