package setup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/vault"
)

// Brief makes a folder, outside any repository, in which somebody who knows
// neither the program nor its cases can write a split: a brief, the
// specification, the population and the form of a case, and empty inputs/ and
// answers/. Specification and population are refused where they quote a
// visible case. It gives the names of the files.
func Brief(dir string, r Repository) ([]string, error) {
	if err := outside(dir, "cases of a gate"); err != nil {
		return nil, err
	}
	visible, err := r.visible()
	if err != nil {
		return nil, err
	}
	development := visible[0].cases
	files := []struct{ name, text string }{
		{"brief.md", brief(r.Contract.Specification)},
		{"population.md", "# Population\n\n" + strings.TrimSpace(r.Contract.Population) + "\n"},
		{"form.md", form(development)},
	}
	if r.Contract.Specification != "" {
		text, err := r.Work.File(r.Commit, r.Contract.Specification)
		if err != nil {
			return nil, refuse(r.Contract.Specification, err.Error(), "commit the specification")
		}
		files = append(files, struct{ name, text string }{specificationName(r.Contract.Specification), string(text)})
	}
	for _, s := range visible {
		if err := clean(s, r.Contract.Population, "population"); err != nil {
			return nil, err
		}
		for _, f := range files[3:] {
			if err := clean(s, f.text, r.Contract.Specification); err != nil {
				return nil, err
			}
		}
	}
	return writeBrief(dir, files)
}

// clean refuses a text that quotes a case of a visible split.
func clean(s visibleSplit, text, name string) error {
	finder := vault.NewFinder(s.cases)
	finder.Search(name, []byte(text))
	if finder.Alike == 0 {
		return nil
	}
	found := newOverlap(s.name, &finder.Overlap, plainPlace)
	return refuse(name, fmt.Sprintf("quotes %d cases of %s: %s", found.Alike, s.name, found.where()),
		"take the examples out: who reads them writes cases like those that are known already")
}

func writeBrief(dir string, files []struct{ name, text string }) ([]string, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	var names []string
	err := errors.Join(os.Mkdir(filepath.Join(dir, "inputs"), 0o700), os.Mkdir(filepath.Join(dir, "answers"), 0o700))
	for _, f := range files {
		name := filepath.Join(dir, f.name)
		err = errors.Join(err, create(name, []byte(f.text), 0o600))
		names = append(names, name)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return names, nil
}

// specificationName is what the copy of a specification is called.
func specificationName(file string) string { return "specification" + path.Ext(file) }

func form(cases []vault.Case) string {
	var inputs, answers [][]byte
	for _, c := range cases {
		inputs, answers = append(inputs, c.Input), append(answers, c.Answer)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# The form of a case

A case is a file in inputs/ and a file of the same name in answers/. Name them
by numbers alone: 0001%[1]s, 0002%[1]s and so on.

These are counts over the %[2]d cases that are known. They say how a case looks,
not what a good one is about: cases outside these bounds are welcome where the
specification covers them.
`, suffix(cases), len(cases))
	for _, half := range []struct {
		name  string
		shape *shape
	}{{"inputs", shapeOf(inputs)}, {"answers", shapeOf(answers)}} {
		fmt.Fprintf(&b, "\n## %s\n\n", half.name)
		for _, fact := range half.shape.facts() {
			fmt.Fprintf(&b, "- %s: %s\n", fact[0], fact[1])
		}
	}
	return b.String()
}

func brief(specification string) string {
	sources := "population.md and form.md"
	if specification != "" {
		sources = specificationName(specification) + ", " + sources
	}
	var counts strings.Builder
	for _, queries := range []int{8, 20, 40} {
		fmt.Fprintf(&counts, "| %d | %d |\n", queries, gate.MinCases(queries))
	}
	return fmt.Sprintf(briefText, sources, counts.String())
}

const briefText = `# Brief: cases for a sealed gate

A program is being improved by somebody who sees some of its test cases. Your
cases are the ones that they never see: they tell a real improvement from one
that fits the known cases only. So write them without knowing what is known.

Read %[1]s.
Nothing else: do not look at the program, its tests, its known cases, its
history or its results, and do not ask for them.

## What to write

One file a case in inputs/, and the right answer, under the same name, in
answers/. About as many of each of these four kinds:

- **Paraphrases**: what the population brings every day, said in other ways than
  the first that come to mind. Other words, order, length, lay-out; the same
  rule of the specification decides.
- **Counterfactuals**: pairs of inputs that differ in one small thing which
  changes the answer, and pairs that differ in much and have the same answer.
- **Edge cases**: the smallest, largest, emptiest and strangest inputs that the
  specification covers, and both sides of every limit that it names.
- **Regressions**: plain inputs that a hasty improvement would break, because
  they look like something that needs special treatment and do not.

## Rules

- The answer follows from the specification alone: two careful readers write the
  same one. Leave out what they could argue about.
- No input stands twice, also not in other case or with other white space.
- Every case stands for itself. Twenty variants of one template are one case.
- Take nothing from published test sets, examples or documentation.
- Names are numbers, in no order, and no file says which kind of case it is.
- Check every answer once more, against the specification, when all are written.

## How many

More cases allow more questions to the gate, and each decides more sharply:

| questions | cases, at least |
|---|---|
%[2]s
A final test needs cases of its own, written the same way into another folder.

## When it is done

Keep this folder out of every repository. The maintainer seals it:

    research-loop gate seal THIS-FOLDER --split validation

and writes cases: generated, or cases: user, into the contract's gate.
`
