// Package setup prepares a repository for runs: it drafts the contract, makes
// the keys and the sealed cases of a gate, and examines the settings on GitHub.
//
// # The draft
//
// [Draft] writes the first contract. It looks at nothing but the paths of the
// files that git tracks, so it guesses, and says so: every guess bears
// contract.Inferred, which the contract's parser refuses, field by field,
// until a person has looked at the value and deleted the mark. What cannot be
// guessed at all, such as the goal, is a placeholder under the same mark.
//
// # The keys
//
// [Generate] makes a [Keyring]. Its public halves are the contract's keys:
// block, which says under what name the records are signed. Its private halves
// leave it in two ways: into files of a new folder, 0600 and outside any
// repository, or into the standard input of gh, which stores them as secrets of
// GitHub's environments. They are in no argument, environment, output or error.
//
// # The cases
//
// A folder of cases holds inputs/ and answers/ and lies in no repository.
// [Brief] makes an empty one, with what its writer may know: nothing of the
// cases, the code or the results that are there already. [Seal] packs it into
// two bundles, SPLIT.inputs.age and SPLIT.answers.age. Inputs are sealed to the
// judge, the step that launches candidates on them, and the maintainer; answers
// to judge and maintainer. Before that it looks for every case in what an author
// can see: the visible splits, the files of the commit and of all before it, and
// the messages of those commits. [Open] gives the cases back to whoever holds a
// key. Where cases were found is told, their text never.
//
// # The settings
//
// [Diagnose] reads what GitHub enforces for a repository, one [Row] a setting,
// and derives the level from the rows: protected, signed or open. What a token may
// not see is unknown, and unknown is never taken for good. A row that breaks the
// trust model is [Broken]; no run starts over one. [Fix] sends the requests that
// the rows hold, after showing each, and nothing that it has not shown. They are
// the API's own bodies, so that a person can send the same by hand.
package setup

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
)

// Draft returns a commented draft of .research-loop/contract.yml for a
// repository with the given files, slash paths relative to its top. Paths that
// would need quoting in a shell are never named in it.
func Draft(files []string) []byte {
	g := newTree(files).guess()
	d := &draft{}
	d.goal(g)
	d.scope(g)
	d.candidate(g)
	d.evaluation(g)
	return []byte(d.b.String())
}

func (d *draft) goal(g guess) {
	d.text(`# The contract of a research-loop run: what is measured, what may change and
# when a candidate is kept. Each value behind %[1]s is a guess. Check it, then
# delete %[1]s: no run starts while one is left.
research_loop: 1

# What the run is to reach, and what an improvement must hold for beyond the
# cases that the author can see.
goal: %[1]s Say in one sentence what is to become better.
population: %[1]s Say for which inputs it must hold.
`)
	if g.specification != "" {
		d.text("\n# The file that says what right behaviour is.\nspecification: %[1]s %s\n", quoted(g.specification))
	}
}

func (d *draft) scope(g guess) {
	d.text(`
# The frozen files: the scorer and the cases. Nobody can change them in a run.
harness:
  paths: %[1]s %s
`, list(g.harness))
	d.text(`
# All that is not writable is immutable. Candidate code sees its writable and
# readable files and nothing else. Tests belong in neither.
scope:
  writable: %[1]s %s
`, list(g.writable))
	if len(g.readable) > 0 {
		d.text("  readable: %[1]s %s\n", list(g.readable))
	}
	if g.build != "" {
		d.text("  generated: %[1]s [{path: build, policy: isolate}]\n")
	}
}

func (d *draft) evaluation(g guess) {
	d.text(`
# The scorer sees /inputs, /answers, /outputs and /launches.json and prints
# {"metrics": {"name": value}}. timeout bounds one launch, total one candidate.
evaluation:
  score: %[1]s %s
  timeout: %[1]s 60s
  total: %[1]s 10m
  requires: %[1]s %s

# A folder with inputs/ and answers/, one file a case, of the same names.
splits:
  development: %[1]s %s

# The name that the scorer prints, and which values are better. min_delta is
# the smallest gain that counts.
metric: %[1]s {name: accuracy, direction: higher}
acceptance:
  policy: deterministic
  min_delta: %[1]s 0.01

# The run ends by itself after so many candidates or so much time.
limits:
  attempts: %[1]s 50
  wall: %[1]s 24h

# A gain on cases that the author can see proves little. Delete the exception
# once cases are sealed (research-loop gate keygen, gate draft, gate seal).
exceptions: %[1]s [no-gate]
`, quoted(g.score), list(g.requires), quoted(g.cases))
}

// draft collects the text of a contract.
type draft struct{ b strings.Builder }

// text appends format, in which %[1]s is the mark of a guess and the verbs
// after it take args in turn.
func (d *draft) text(format string, args ...any) {
	for part, rest, more := format, "", true; more; part = rest {
		part, rest, more = strings.Cut(part, "%s")
		d.b.WriteString(strings.ReplaceAll(part, "%[1]s", contract.Inferred))
		if more {
			fmt.Fprint(&d.b, args[0])
			args = args[1:]
		}
	}
}

func (d *draft) candidate(g guess) {
	d.text(`
# batch: one launch reads the files in /inputs and writes files of the same
# names to /outputs. case: one launch a case, from stdin to stdout.
candidate:
  mode: %[1]s batch
`)
	if g.build != "" {
		d.text("  build: %[1]s {run: %s}\n", quoted(g.build))
	}
	d.text("  run: %[1]s %s\n", quoted(g.run))
	if g.build != "" {
		d.text("  # toolchains: [/usr/local/go]    folders of the machine whose bin goes on PATH\n")
	}
}

// guess is what a draft says about a repository.
type guess struct {
	specification               string
	harness, writable, readable []string
	build, run, score, cases    string
	requires                    []string
}

// tree is the files of a repository that a draft may name.
type tree struct {
	files []string // safe and sorted
}

// safe paths mean the same to YAML between quotes and to a shell without.
var safe = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.+/-]*$`)

func newTree(files []string) *tree {
	t := &tree{}
	for _, f := range files {
		if safe.MatchString(f) && path.Clean(f) == f && !strings.HasPrefix(f, "../") && !strings.HasPrefix(f, ".git") && !strings.HasPrefix(f, ".research-loop") {
			t.files = append(t.files, f)
		}
	}
	slices.Sort(t.files)
	return t
}

func (t *tree) has(f string) bool { return slices.Contains(t.files, f) }

// first returns the first of names that is a file, or "".
func (t *tree) first(names ...string) string {
	for _, name := range names {
		if t.has(name) {
			return name
		}
	}
	return ""
}

// language is how the code of a candidate is told, built and launched.
type language struct {
	suffix  string
	program string                     // what must be on PATH
	launch  string                     // the command before a file
	entries []string                   // usual names of the file that is launched
	build   func(folder string) string // nil: nothing is built
}

func languages() []language {
	return []language{
		{".go", "go", "go run", nil, func(folder string) string { return "go build -o build/candidate ./" + folder }},
		{".py", "python3", "python3", []string{"main.py", "__main__.py", "run.py", "cli.py"}, nil},
		{".js", "node", "node", []string{"main.js", "index.js", "cli.js"}, nil},
		{".awk", "awk", "awk -f", []string{"main.awk"}, nil},
		{".sh", "sh", "sh", []string{"main.sh", "run.sh"}, nil},
	}
}

// command returns the command that launches file, and the program it needs.
func command(file string) (run, program string) {
	for _, l := range languages() {
		if path.Ext(file) == l.suffix {
			if l.build != nil {
				return l.launch + " ./" + file, l.program
			}
			return l.launch + " " + file, l.program
		}
	}
	return "./" + file, ""
}

func (t *tree) guess() guess {
	g := guess{cases: t.casesFolder()}
	top := harnessFolder(g.cases)
	g.harness = []string{top + "/**"}
	scorer := t.scorer(top)
	needs := []string{}
	var program string
	g.score, program = command(scorer)
	needs = append(needs, program)
	g.specification = t.first("SPECIFICATION.md", "SPEC.md", "docs/specification.md", "docs/spec.md")
	l, folder := t.code(top)
	needs = append(needs, l.program)
	g.writable = t.writable(folder, l)
	for _, name := range []string{"go.mod", "go.sum", "pyproject.toml", "requirements.txt", "package.json"} {
		if t.has(name) {
			g.readable = append(g.readable, name)
		}
	}
	if l.build != nil {
		g.build, g.run = l.build(folder), "build/candidate"
	} else {
		g.run, _ = command(t.entry(folder, l))
	}
	slices.Sort(needs)
	g.requires = slices.DeleteFunc(slices.Compact(needs), func(s string) bool { return s == "" })
	return g
}

// casesFolder returns the folder that holds inputs/ and answers/: the one
// named for development, else the first, else the usual one.
func (t *tree) casesFolder() string {
	var found []string
	for _, f := range t.files {
		folder, rest, ok := strings.Cut(f, "/inputs/")
		if ok && !strings.Contains(rest, "/") && t.has(folder+"/answers/"+rest) && !slices.Contains(found, folder) {
			found = append(found, folder)
		}
	}
	for _, folder := range found {
		if strings.HasPrefix(path.Base(folder), "dev") {
			return folder
		}
	}
	if len(found) > 0 {
		return found[0]
	}
	return "evaluation/development"
}

// harnessFolder returns the folder that is frozen: the topmost one around the
// cases whose name says that it measures, else the cases' own.
func harnessFolder(cases string) string {
	parts := strings.Split(cases, "/")
	for i, part := range parts {
		switch part {
		case "evaluation", "eval", "evals", "evaluator", "bench", "benchmark", "benchmarks", "harness":
			return strings.Join(parts[:i+1], "/")
		}
	}
	return cases
}

// scorer returns the file in the harness that is named for scoring, or the
// usual one.
func (t *tree) scorer(top string) string {
	for _, stem := range []string{"score", "scorer", "evaluate", "eval", "grade"} {
		for _, f := range t.files {
			name := path.Base(f)
			if strings.HasPrefix(f, top+"/") && strings.TrimSuffix(name, path.Ext(name)) == stem {
				return f
			}
		}
	}
	return top + "/score.py"
}

// code returns the language with the most files outside the harness, and the
// top folder that holds most of them, "" for the top itself.
func (t *tree) code(top string) (language, string) {
	best, bestFolder, most := languages()[1], "src", 0
	for _, l := range languages() {
		count := map[string]int{}
		for _, f := range t.files {
			if path.Ext(f) == l.suffix && !strings.HasPrefix(f, top+"/") && !contract.UsualTest(f) && !aside(f) {
				folder, _, _ := strings.Cut(f, "/")
				if folder == f {
					folder = ""
				}
				if count[folder]++; count[folder] > most {
					best, bestFolder, most = l, folder, count[folder]
				}
			}
		}
	}
	return best, bestFolder
}

// aside reports whether f lies in a folder that is seldom what a run improves.
func aside(f string) bool {
	folder, _, _ := strings.Cut(f, "/")
	return slices.Contains([]string{"vendor", "node_modules", "third_party", "docs", "doc", "scripts", "tools", "examples", "hooks", "workflows"}, folder)
}

// writable returns the folder as one pattern, or, where tests stand in it or
// it is the top, the files of code one by one.
func (t *tree) writable(folder string, l language) []string {
	const most = 40
	mixed := folder == ""
	var files []string
	for _, f := range t.files {
		if folder != "" && !strings.HasPrefix(f, folder+"/") || folder == "" && strings.Contains(f, "/") {
			continue
		}
		test := contract.UsualTest(f)
		mixed = mixed || test
		if !test && path.Ext(f) == l.suffix {
			files = append(files, f)
		}
	}
	if !mixed || len(files) == 0 {
		return []string{folder + "/**"}
	}
	return files[:min(most, len(files))]
}

// entry returns the file that is launched.
func (t *tree) entry(folder string, l language) string {
	for _, name := range l.entries {
		if f := path.Join(folder, name); t.has(f) {
			return f
		}
	}
	for _, f := range t.files {
		inside := folder != "" && strings.HasPrefix(f, folder+"/") || folder == "" && !strings.Contains(f, "/")
		if inside && path.Ext(f) == l.suffix && !contract.UsualTest(f) {
			return f
		}
	}
	return path.Join(folder, "main"+l.suffix)
}

// quoted returns s as a YAML scalar. Safe paths and the commands made of them
// hold nothing that needs escaping.
func quoted(s string) string { return `"` + s + `"` }

func list(items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(item))
	}
	return "[" + b.String() + "]"
}
