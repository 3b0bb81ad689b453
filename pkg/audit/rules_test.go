package audit

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRules runs the two examples of every class: the one must be flagged with
// it, the other must not.
func TestRules(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "fuzz" && e.Name() != "golden" && e.Name() != "fresh" {
			names = append(names, e.Name())
		}
	}
	if classes := Classes(); !slices.Equal(names, classes) {
		t.Errorf("testdata has examples of\n%q, the rules are\n%q", names, classes)
	}
	for _, class := range names {
		if r := Check(readExample(t, class, "flagged.txt")); !slices.Contains(r.Classes(), class) {
			t.Errorf("%s: flagged.txt gives %q", class, r.Classes())
		}
		if r := Check(readExample(t, class, "passes.txt")); slices.Contains(r.Classes(), class) {
			t.Errorf("%s: passes.txt is flagged: %v", class, r.Findings)
		}
	}
}

// TestExplain holds every class to an explanation with a cure and an example;
// the example is the one that TestRules runs.
func TestExplain(t *testing.T) {
	for _, class := range Classes() {
		text, ok := Explain(class)
		if !ok || !strings.HasPrefix(text, class+"\n\n") || !strings.Contains(text, "\nfix: ") || !strings.Contains(text, "-- ") {
			t.Errorf("%s: %q", class, text)
		}
	}
	if text, ok := Explain("no.such"); ok || text != "" {
		t.Errorf("a class that does not exist is explained: %q", text)
	}
}

// readExample reads an example into the input of Check.
func readExample(t *testing.T, class, name string) Input {
	t.Helper()
	data, err := os.ReadFile("testdata/" + class + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	x := newExample()
	eachSection(string(data), func(head, body string) { x.section(t, head, body) })
	return x.input()
}

// eachSection cuts a text at its lines "-- head --".
func eachSection(text string, do func(head, body string)) {
	head, body := "", ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --\n") {
			do(head, body)
			head, body = line[3:len(line)-4], ""
			continue
		}
		body += line
	}
	do(head, body)
}

func newExample() *example {
	x := &example{store: memory{}, base: map[string]Entry{}, cand: map[string]Entry{}}
	x.in.Gate, x.scope = true, prefixes{[]string{"src/", "prompts/"}, []string{"eval/"}}
	x.commit = Commit{ID: "candidate", Parents: []string{"recorded"}, Message: "Improve it"}
	return x
}

type example struct {
	in         Input
	scope      prefixes
	commit     Commit
	store      memory
	base, cand map[string]Entry
}

func (x *example) section(t *testing.T, head, body string) {
	t.Helper()
	verb, rest, _ := strings.Cut(head, " ")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	switch verb {
	case "":
	case "case":
		input, answer, _ := strings.Cut(body, "\n=> ")
		x.in.Cases = append(x.in.Cases, Case{rest, input, strings.TrimSpace(answer)})
	case "spec":
		x.in.Specification = body
	case "names":
		x.in.Names = lines
	case "numbers":
		x.in.Numbers = lines
	case "writable":
		x.scope.writable = lines
	case "no":
		x.in.Gate = false
	case "message":
		x.commit.Message = body
	case "parents":
		x.commit.Parents = lines
	case "link":
		x.cand[rest] = Entry{rest, "120000", x.store.add([]byte(lines[0]))}
	case "submodule":
		x.cand[rest] = Entry{rest, "160000", lines[0]}
	case "mode":
		e := x.cand[rest]
		e.Mode = lines[0]
		x.cand[rest] = e
	case "quoted":
		text, err := strconv.Unquote(lines[0])
		if err != nil {
			t.Fatal(err)
		}
		x.file(rest, text)
	case "repeat":
		n, path, _ := strings.Cut(rest, " ")
		count, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		x.file(path, strings.Repeat(body, count))
	default:
		x.file(head, body)
	}
}

// file puts a file into the candidate and, if it is one of the base, into both.
func (x *example) file(name, body string) {
	side, path, _ := strings.Cut(name, "/")
	e := Entry{path, "100644", x.store.add([]byte(body))}
	if side == "base" {
		x.base[path] = e
	}
	x.cand[path] = e
}

func (x *example) input() Input {
	flat := func(m map[string]Entry) (list []Entry) {
		for _, e := range m {
			list = append(list, e)
		}
		return sortedEntries(list)
	}
	x.in.Scope, x.in.Blobs, x.in.Recorded = x.scope, x.store, "recorded"
	x.in.Baseline, x.in.Candidate = flat(x.base), flat(x.cand)
	x.commit.Tree = x.in.Candidate
	x.in.Commits = []Commit{x.commit}
	return x.in
}

// TestExpressions compiles what is otherwise compiled when it is first used.
func TestExpressions(t *testing.T) {
	for _, r := range rules {
		for _, p := range r.patterns {
			p.re.compile()
			if p.unless != nil {
				p.unless.compile()
			}
		}
	}
}
