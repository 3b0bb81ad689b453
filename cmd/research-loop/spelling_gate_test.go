package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// fitted is a corrector that is fitted to the development words. Wherever they
// do not mind it takes the last known word of the alphabet in place of the most
// frequent one; one number says where, and holds none of their letters.
var fitted = change{
	name: "take the last word of the alphabet in some places",
	repl: [2]string{"\tif _, ok := counts[word]; ok {", "\tif fits(word) {\n\t\tif best := lastOf(counts, word); best != \"\" {\n\t\t\treturn best\n\t\t}\n\t}\n\tif _, ok := counts[word]; ok {"},
	file: func() string { return fitting }, status: ledger.Discard, reason: "overfit",
}

const fitting = `package main

// fits says where the alphabet decides.
func fits(word string) bool {
	h := 1
	for i := range len(word) {
		h = (h*10 + int(word[i])) % 100003
	}
	const places uint64 = 0x1ce973de1bdfa00d
	return places>>(h%61)&1 == 1
}

// lastOf gives the last known word of the alphabet at the smallest distance.
func lastOf(counts map[string]int, word string) string {
	best := ""
	for _, w := range edits(word) {
		if _, ok := counts[w]; ok && w > best {
			best = w
		}
	}
	if best != "" {
		return best
	}
	for _, near := range edits(word) {
		for _, w := range edits(near) {
			if _, ok := counts[w]; ok && w != word && w > best {
				best = w
			}
		}
	}
	return best
}
`

// TestSpellingGate takes the whole task through a sealed gate and a final test:
// the corrector of distance two passes both; one that is fitted to the
// development words gains there and fails the gate.
func TestSpellingGate(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("four queries of a gate take their time: set CI=true")
	}
	needSandbox(t)
	needSpelling(t)
	t.Parallel()
	s := gateSpelling(t)
	s.judge(honest)
	s.answered(1, "pass")
	s.judge(fitted)
	s.answered(2, "fail")
	if gain := s.entry(2); gain.PrimaryValue == nil || *gain.PrimaryValue <= float64(honestRight)/cases {
		t.Errorf("the fitted corrector has %v on development, no gain over %d of %d", gain.PrimaryValue, honestRight, cases)
	}
	s.run("research-loop", "close", "spelling")
	report := s.run("research-loop", "report", "spelling")
	for _, want := range []string{"final                  pass (sign test: ", "418 cases", "gate passed (local)", "overfit: 1"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	s.run("research-loop", "verify", "spelling")
	t.Log(s.run("research-loop", "gate", "values", "spelling"))
}

// gateSpelling lays the task out with its sealed splits and opens the run.
func gateSpelling(t *testing.T) *spellingRun {
	p := newPerson(t, t.TempDir())
	s := &spellingRun{person: p, t: t, program: task(t, "corrector/main.go.txt")}
	keys := p.run("research-loop", "gate", "keygen", "--out", "keys", "--name", "octo-org/widget")
	judge, err := os.ReadFile(filepath.Join(p.dir, "keys", "judge.key"))
	must(t, err)
	p.env = append(p.env, "RESEARCH_LOOP_JUDGE="+string(judge))
	draft := strings.ReplaceAll(task(t, "contract.yml"), "/usr/local/go", p.run("go", "env", "GOROOT"))
	draft = strings.Replace(draft, "splits: {development: evaluation/development}",
		"splits: {development: evaluation/development, validation: evaluation/validation, final: evaluation/final}", 1)
	draft = strings.Replace(draft, "exceptions: [no-gate]\n", "", 1)
	draft = strings.Replace(draft, "timeout: 30s", "timeout: 20s", 1)
	draft += "\ngate: {queries: 16, rule: non_inferior, margin: 10, seconds: 25, cases: untouched-split}\n" + keys + "\n"
	s.layOut(draft)
	for name, text := range splitFiles(t, "validation.tsv") {
		s.beside("validation/"+name, text)
	}
	for name, text := range splitFiles(t, "final.tsv") {
		s.beside("final/"+name, text)
	}
	s.run("research-loop", "gate", "seal", "../validation", "--split", "validation", "--drop-overlap")
	s.run("research-loop", "gate", "seal", "../final", "--split", "final", "--against", "../validation", "--drop-overlap")
	s.run("git", "add", "--all")
	s.run("git", "commit", "--quiet", "--message", "the sealed cases")
	s.run("git", "push", "--quiet", "origin", "HEAD:main")
	s.start("spelling")
	s.run("research-loop", "hook", "install")
	return s
}

// beside writes a file outside of the project.
func (s *spellingRun) beside(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "..", filepath.FromSlash(name))
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(s.t, os.WriteFile(path, []byte(text), 0o644))
}

func (s *spellingRun) entry(i int) ledger.Entry {
	s.t.Helper()
	var log struct{ Entries []ledger.Entry }
	must(s.t, json.Unmarshal([]byte(s.run("research-loop", "log", "spelling", "--json")), &log))
	return log.Entries[i]
}

// answered checks what the gate said of an attempt.
func (s *spellingRun) answered(i int, want string) {
	s.t.Helper()
	e := s.entry(i)
	if got := e.SplitMetrics.Validation; got == nil || *got != want {
		s.t.Fatalf("attempt %d: the gate says %v, want %s: %s", i, got, want, e.Reason)
	}
}
