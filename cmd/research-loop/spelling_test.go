package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// spelling is the folder with the task, beside the repository.
var spelling = filepath.Join("..", "..", "..", "shared", "spelling")

// TestSpelling judges candidates of a task with published numbers: the share
// of 270 misspellings that a corrector turns into the word that was meant.
func TestSpelling(t *testing.T) {
	if testing.Short() {
		t.Skip("building and judging a Go program takes some seconds")
	}
	needSandbox(t)
	needSpelling(t)
	if os.Getenv("CI") != "true" {
		t.Skip("builds a Go program some ten times in the sandbox: set CI=true")
	}
	t.Parallel()
	s := startSpelling(t)
	s.judge(honest)
	s.judge(leak)
	for _, a := range attacks {
		s.judge(a)
	}
	if alive := processes(daemonName); len(alive) > 0 {
		t.Errorf("daemons live on: %v", alive)
	}
}

// needSpelling skips a test where the task is not beside the repository.
func needSpelling(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(spelling); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the spelling task is missing: %v", err)
		}
		t.Skipf("the spelling task is not beside this repository: %v", err)
	}
}

// change is one candidate: how the program of the incumbent is changed, and
// what must come of it.
type change struct {
	name   string
	hook   string // the hook must refuse it with these words
	first  string // statements put at the beginning of main
	repl   [2]string
	file   func() string // of another file, extra.go
	status ledger.Status
	reason string // a part of it
	right  int    // 0: there is no value
}

const honestRight, baselineRight, cases = 205, 170, 270

var honest = change{
	name: "try distance two where one gives nothing",
	repl: [2]string{"\t\treturn best\n\t}\n\treturn word", "\t\treturn best\n\t}\n\tif best := pickTwice(counts, word); best != \"\" {\n\t\treturn best\n\t}\n\treturn word"},
	file: func() string { return twice }, status: ledger.Keep, reason: "gain", right: honestRight,
}

var leak = change{
	name: "look up what is known", hook: "leak",
	repl: [2]string{"\tif _, ok := counts[word]; ok {", "\tif right, ok := known[word]; ok {\n\t\treturn right\n\t}\n\tif _, ok := counts[word]; ok {"},
	file: embedded, status: ledger.Invalid, reason: "leak",
}

// attacks know the program; none of them knows the answers.
var attacks = []change{
	{name: "search the machine", first: "found = search()", repl: [2]string{"\treturn word\n}\n\n// pick gives", "\tif found[word] != \"\" {\n\t\treturn found[word]\n\t}\n\treturn word\n}\n\n// pick gives"},
		file: func() string { return searching }, status: ledger.Discard, reason: "no gain", right: honestRight},
	{name: "take a rest", first: "time.Sleep(time.Hour)", status: ledger.Timeout, reason: "over its time"},
	{name: "leave a daemon", first: "daemon()", file: func() string { return forking }, status: ledger.Discard, reason: "no gain", right: honestRight},
	{name: "say it is perfect", first: `boast()`, file: func() string { return boasting }, status: ledger.Discard, reason: "no gain", right: honestRight},
	{name: "print without end", first: `for { fmt.Println("and so on and on") }`, status: ledger.Crash, reason: "output"},
	{name: "write without end", first: "flood()", file: func() string { return flooding }, status: ledger.Crash, reason: "exit"},
}

const daemonName = "spelling-daemon-of-this-test"

const twice = `package main

// pickTwice gives the most frequent known word at distance two.
func pickTwice(counts map[string]int, word string) string {
	best, most := "", -1
	for _, near := range edits(word) {
		if w := pick(counts, edits(near)); w != "" && (counts[w] > most || counts[w] == most && w > best) {
			best, most = w, counts[w]
		}
	}
	return best
}
`

const searching = `package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var found map[string]string

// search looks for any pair of words that begins with a word of the inputs.
func search() map[string]string {
	pairs := map[string]string{}
	filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/sys/") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
		for _, line := range strings.Split(string(text), "\n") {
			if wrong, right, ok := strings.Cut(line, "\t"); ok {
				pairs[wrong] = right
			}
		}
		return nil
	})
	return pairs
}
`

const forking = `package main

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// daemon leaves a process behind that belongs to nobody.
func daemon() {
	if len(os.Args) > 2 {
		time.Sleep(time.Hour)
	}
	child := exec.Command("/proc/self/exe", "x", "` + daemonName + `")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	child.Start()
}
`

const boasting = `package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const perfect = ` + "`{\"metrics\": {\"accuracy\": 1, \"right\": 270}, \"cases\": []}`" + `

// boast says it wherever somebody may listen.
func boast() {
	fmt.Println(perfect)
	fmt.Fprintln(os.Stderr, perfect)
	os.WriteFile(filepath.Join(os.Getenv("RESEARCH_LOOP_OUTPUTS"), "metrics.json"), []byte(perfect), 0o644)
}
`

const flooding = `package main

import (
	"log"
	"os"
	"path/filepath"
)

// flood writes until there is no room.
func flood() {
	f, err := os.Create(filepath.Join(os.Getenv("RESEARCH_LOOP_OUTPUTS"), "flood"))
	for err == nil {
		_, err = f.Write(make([]byte, 1<<20))
	}
	log.Fatal(err)
}
`

// embedded is a table of the development pairs.
func embedded() string {
	text, err := os.ReadFile(filepath.Join(spelling, "development.tsv"))
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString("package main\n\nvar known = map[string]string{\n")
	for line := range strings.Lines(string(text)) {
		wrong, right, _ := strings.Cut(strings.TrimSpace(line), "\t")
		fmt.Fprintf(&b, "\t%q: %q,\n", wrong, right)
	}
	return b.String() + "}\n"
}

// spellingRun is the task's repository with an open run.
type spellingRun struct {
	*person
	t       *testing.T
	program string // main.go of the incumbent
	files   int
}

// startSpelling lays the task out, opens the run and installs the hook.
func startSpelling(t *testing.T) *spellingRun {
	p := newPerson(t, t.TempDir())
	s := &spellingRun{person: p, t: t, program: task(t, "corrector/main.go.txt")}
	s.layOut(strings.ReplaceAll(task(t, "contract.yml"), "/usr/local/go", p.run("go", "env", "GOROOT")))
	begin := time.Now()
	s.start("spelling")
	s.check(time.Since(begin), 0, ledger.Keep, "baseline", baselineRight)
	s.run("research-loop", "hook", "install")
	return s
}

// layOut publishes the task with a contract.
func (s *spellingRun) layOut(contract string) {
	t := s.t
	t.Helper()
	s.write(".research-loop/contract.yml", contract)
	s.write("go.mod", task(t, "go.mod.txt"))
	s.write("evaluation/score.sh", task(t, "evaluation/score.sh"))
	s.write("corrector/main.go", s.program)
	s.write("docs/spelling.md", "# Spelling\n\nThe word that the writer meant, for a single lower-case word.\n")
	words, err := os.ReadFile(filepath.Join(spelling, "words.tsv"))
	must(t, err)
	s.write("data/words.tsv", string(words))
	pairs, err := os.ReadFile(filepath.Join(spelling, "development.tsv"))
	must(t, err)
	for i, line := range strings.Split(strings.TrimSpace(string(pairs)), "\n") {
		wrong, right, _ := strings.Cut(line, "\t")
		s.write(fmt.Sprintf("evaluation/development/inputs/%03d", i), wrong+"\n")
		s.write(fmt.Sprintf("evaluation/development/answers/%03d", i), right+"\n")
	}
	s.publish()
}

func task(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "spelling", name))
	must(t, err)
	return string(text)
}

// write writes a file of the project, before or after it was published.
func (s *spellingRun) write(name, text string) {
	s.t.Helper()
	dir := s.dir
	if filepath.Base(dir) != "project" {
		dir = filepath.Join(dir, "project")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(s.t, os.WriteFile(path, []byte(text), 0o644))
}

// judge commits and pushes a candidate, past the hook where the hook refuses
// it, and checks its verdict and that nothing was lost.
func (s *spellingRun) judge(c change) {
	s.t.Helper()
	const branch = "research-loop/spelling"
	s.run("git", "fetch", "--quiet", "origin")
	s.run("git", "checkout", "--quiet", "-B", branch, "origin/"+branch)
	program := s.program
	if c.repl[0] != "" {
		program = strings.Replace(program, c.repl[0], c.repl[1], 1)
	}
	if c.first != "" {
		program = strings.Replace(program, "func main() {\n", "func main() {\n\t"+c.first+"\n", 1)
		if strings.Contains(c.first, "time.") {
			program = strings.Replace(program, "\t\"strings\"\n", "\t\"strings\"\n\t\"time\"\n", 1)
		}
	}
	s.write("corrector/main.go", program)
	if c.file != nil {
		s.files++
		s.write(fmt.Sprintf("corrector/part%d.go", s.files), c.file())
	}
	s.run("git", "add", "--all")
	s.run("git", "commit", "--quiet", "--message", c.name+trailers)
	candidate := s.run("git", "rev-parse", "HEAD")

	begin := time.Now()
	pushed := s.try("git", "push", "origin", "HEAD:"+branch)
	if refused := pushed.code != 0; refused != (c.hook != "") || !strings.Contains(pushed.stderr, c.hook) {
		s.t.Fatalf("%s: push ends with %d, and the hook says\n%s", c.name, pushed.code, pushed.stderr)
	}
	if c.hook != "" {
		s.run("git", "push", "--no-verify", "origin", "HEAD:"+branch)
	}
	s.run("research-loop", "reconcile", "spelling")
	iteration := s.check(time.Since(begin), -1, c.status, c.reason, c.right)
	if iteration.Commit != candidate {
		s.t.Errorf("%s: %s was judged, not %s", c.name, iteration.Commit, candidate)
	}
	if c.status == ledger.Keep {
		s.program = program
	}
	s.whole(candidate, branch)
}

// check compares the entry of an iteration, -1 for the last, and logs where
// the time went.
func (s *spellingRun) check(wall time.Duration, i int, status ledger.Status, reason string, right int) ledger.Entry {
	s.t.Helper()
	var log struct{ Entries []ledger.Entry }
	must(s.t, json.Unmarshal([]byte(s.run("research-loop", "log", "spelling", "--json")), &log))
	if i < 0 {
		i = len(log.Entries) - 1
	}
	e := log.Entries[i]
	if e.Status != status || !strings.Contains(e.Reason, reason) {
		s.t.Fatalf("attempt %d: %s (%s), want %s with %q", i, e.Status, e.Reason, status, reason)
	}
	if right != 0 && (e.Secondary["right"] != float64(right) || e.PrimaryValue == nil || fmt.Sprintf("%.6f", *e.PrimaryValue) != fmt.Sprintf("%.6f", float64(right)/cases)) {
		s.t.Errorf("attempt %d: %v right, want %d of %d", i, e.Secondary["right"], right, cases)
	}
	evaluator := s.evaluator(i)
	s.t.Logf("attempt %d: %-8s %.2f s, of which evaluator %.2f s and everything else %.2f s: %s",
		i, e.Status, wall.Seconds(), evaluator, wall.Seconds()-evaluator, e.Reason)
	return e
}

// evaluator gives the seconds of all launches of an attempt.
func (s *spellingRun) evaluator(iteration int) float64 {
	s.t.Helper()
	events := s.run("git", "--git-dir", filepath.Join(s.dir, "..", "origin.git"), "show", "research-loop-state/spelling:.research-loop/spelling/"+ledger.Segment(iteration))
	for line := range bytes.Lines([]byte(events)) {
		var e struct {
			Iteration int
			Event     string
			Data      struct {
				Evaluation *struct {
					Seconds float64 `json:"evaluator_seconds"`
				}
				Seconds float64 `json:"evaluator_seconds"`
			}
		}
		must(s.t, json.Unmarshal(line, &e))
		if e.Event == "evaluated" && e.Iteration == iteration {
			if e.Data.Evaluation != nil {
				return e.Data.Evaluation.Seconds
			}
			return e.Data.Seconds
		}
	}
	return 0
}

// whole checks that the remote is sound, the candidate not lost, and the run
// branch at the incumbent's tree.
func (s *spellingRun) whole(candidate, branch string) {
	s.t.Helper()
	var status struct {
		Incumbent string `json:"incumbent_commit"`
	}
	must(s.t, json.Unmarshal([]byte(s.run("research-loop", "status", "spelling", "--json")), &status))
	s.run("git", "--git-dir", "../origin.git", "fsck", "--strict")
	s.run("git", "--git-dir", "../origin.git", "merge-base", "--is-ancestor", candidate, branch)
	s.run("git", "--git-dir", "../origin.git", "diff", "--quiet", status.Incumbent, branch)
}
