package supervisor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

// The gated task: words that begin with q stay as they are, all others are
// doubled. Development shows no q.
const gatedDraft = `research_loop: 1
goal: Answer more words.
population: Words.
keys: {verifier: %q, judge: %s, execute: %s, final: %s, maintainer: %s}
harness: {paths: [evaluation/**], source: user}
scope: {writable: [solver/**]}
candidate: {mode: batch, run: sh solver/run.sh}
evaluation:
  score: sh evaluation/score.sh
  extract: json
  timeout: 2s
  total: 60s
  resources: {memory: 256MiB, pids: 64, output: 64KiB, temporary: 16MiB}
splits: {development: evaluation/development, validation: evaluation/validation, final: evaluation/final}
metric: {name: accuracy, direction: higher}
acceptance: {policy: deterministic, min_delta: 0.01}
gate: {queries: 6, rule: non_inferior, margin: 3, seconds: %d, cases: untouched-split}
limits: {attempts: 50}
`

// gatedScorer starts no process of its own: a query has little time.
const gatedScorer = `right=0 cases= comma=
for a in "$RESEARCH_LOOP_ANSWERS"/*; do
	score=0 want= got= out="$RESEARCH_LOOP_OUTPUTS/${a##*/}"
	read -r want <"$a"
	[ -f "$out" ] && read -r got <"$out"
	[ "$got" = "$want" ] && score=1
	right=$((right + score))
	cases="$cases$comma{\"id\": \"${a##*/}\", \"score\": $score}" comma=,
done
echo "{\"metrics\": {\"accuracy\": $right}, \"cases\": [$cases]}"
`

// solver answers every word with what a shell case says of it in $w.
func solver(arms string) map[string]string {
	return map[string]string{"solver/run.sh": `for f in "$RESEARCH_LOOP_INPUTS"/*; do
	read -r w <"$f"
	case $w in
` + arms + `
	esac >"$RESEARCH_LOOP_OUTPUTS/${f##*/}"
done
`}
}

// gatedCandidates by what becomes of them. All but nothing gain on development.
var gatedCandidates = map[string]map[string]string{
	"nothing": solver(`*) echo "$w" ;; # the same`),
	"general": solver(`q*) echo "$w" ;; *) echo "$w$w" ;;`),
	"half":    solver(`t*) echo "$w$w" ;; *) echo "$w" ;;`),
	"overfit": solver(`*) echo "$w$w" ;;`),
	"crashes": solver(`q*) exit 3 ;; *) echo "$w$w" ;;`),
	"sleeps":  solver(`q*) sleep 60 ;; *) echo "$w$w" ;;`),
	"floods":  solver(`q*) head -c 1000000 /dev/zero ;; *) echo "$w$w" ;;`),
}

// words draws n words that begin with one of the letters, all different.
func words(seed uint64, n int, letters string) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []string
	for i := range n {
		w := string(letters[r.IntN(len(letters))])
		for range 3 {
			w += string("aeiou"[r.IntN(5)]) + string("bcdfghjklmnprsvwxz"[r.IntN(18)])
		}
		out = append(out, fmt.Sprintf("%s%c%c", w, 'a'+i/26, 'a'+i%26))
	}
	return out
}

// secret makes a split of so many words that are doubled and so many that stay.
func secret(seed uint64, doubled, same int) (inputs, answers []vault.File) {
	all := append(words(seed, doubled, "bdfgklm"), words(seed+1, same, "q")...)
	for i, w := range all {
		answer := w
		if i < doubled {
			answer += w
		}
		id := fmt.Sprintf("case%03d", i)
		inputs = append(inputs, vault.File{ID: id, Data: []byte(w + "\n")})
		answers = append(answers, vault.File{ID: id, Data: []byte(answer + "\n")})
	}
	return inputs, answers
}

// newGatedWorld makes the gated task; its queries take so many seconds for
// each of their two steps.
func newGatedWorld(t *testing.T, seconds int) *world {
	t.Helper()
	w := emptyWorld(t, t.TempDir())
	keys, err := vault.Generate()
	if err != nil {
		t.Fatal(err)
	}
	w.keys = keys
	signer, err := ledger.NewSigner(keyName, keys.Judge.Seed())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		contract.DraftPath: fmt.Sprintf(gatedDraft, signer.Verifier(), keys.Judge.Recipient(), keys.Execute.Recipient(),
			keys.Final.Recipient(), keys.Maintainer.Recipient(), seconds),
		"evaluation/score.sh":              gatedScorer,
		"evaluation/development/inputs/a":  "tok\n",
		"evaluation/development/inputs/b":  "bom\n",
		"evaluation/development/answers/a": "toktok\n",
		"evaluation/development/answers/b": "bombom\n",
	}
	for name, data := range solver(`*) echo "$w" ;;`) {
		files[name] = data
	}
	w.sealSplits(files)
	w.commit("baseline", files)
	w.git(w.author, "push", "--quiet", "origin", "HEAD:main")
	return w
}

// sealSplits seals 50 validation and 20 final cases.
func (w *world) sealSplits(files map[string]string) {
	w.t.Helper()
	judge := w.keys.Judge.Recipient()
	for _, s := range []struct {
		name          string
		seed          uint64
		doubled, same int
		key           vault.Recipient
	}{{"validation", 10, 10, 40, w.keys.Execute.Recipient()}, {"final", 20, 15, 5, w.keys.Final.Recipient()}} {
		inputs, answers := secret(s.seed, s.doubled, s.same)
		for kind, half := range map[vault.Kind][]vault.File{vault.Inputs: inputs, vault.Answers: answers} {
			data, _, err := vault.SealSplit(kind, s.name, half, judge, s.key)
			if err != nil {
				w.t.Fatal(err)
			}
			files["evaluation/"+s.name+"."+string(kind)+".age"] = string(data)
		}
	}
}

// opening gives the keys to whoever plans a run of this world. What the tree
// holds of the cases is package setup's business.
func (w *world) opening() *supervisor.Opening {
	return &supervisor.Opening{
		Judge:  func(*contract.Contract) (*vault.Judge, error) { return &w.keys.Judge, nil },
		Search: func(*contract.Contract, string, string, []vault.Case) error { return nil },
	}
}

// close closes the run and gives it as it then stands.
func (w *world) close() *journal.Run {
	w.t.Helper()
	s := w.supervisor(nil)
	if err := s.RequestClose(context.Background(), "enough", "ada", false); err != nil {
		w.t.Fatal(err)
	}
	if _, err := s.Reconcile(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return s.Run
}

// TestGate takes a run with a gate from its start to its final test.
func TestGate(t *testing.T) {
	t.Parallel()
	w := newGatedWorld(t, 2)
	w.open()
	for _, c := range []struct {
		name, status, validation string
	}{
		{"nothing", "discard", ""}, {"overfit", "discard", "fail"}, {"crashes", "discard", "fail"}, {"general", "keep", "pass"},
	} {
		if short() && c.validation == "" || short() && c.name == "crashes" {
			continue
		}
		id := w.candidate(c.name, gatedCandidates[c.name])
		run := w.judge()
		e := run.Entries[len(run.Entries)-1]
		got := ""
		if e.SplitMetrics.Validation != nil {
			got = *e.SplitMetrics.Validation
		}
		if string(e.Status) != c.status || got != c.validation || e.Commit != id {
			t.Fatalf("%s: %s, validation %q: %s; sealed: %s", c.name, e.Status, got, e.Reason, w.unsealed(run, e))
		}
		if (e.GateSealed != nil) != (c.validation != "") {
			t.Errorf("%s: gate_sealed is %v", c.name, e.GateSealed)
		}
		if v, _ := run.Verdict(id); v.Overfit != (c.validation == "fail") {
			t.Errorf("%s: verdict %+v", c.name, v)
		}
	}
	skipped := 0
	if short() {
		skipped = 1
	}
	run := w.close()
	if use := run.Use(); use.Charged != 4-skipped || use.Passes != 1 {
		t.Errorf("used %+v", use)
	}
	if run.Closed == nil || run.Final == nil || run.Final.Answer != ledger.Pass || run.Final.Wins != 15 || run.Final.Losses != 0 {
		t.Fatalf("closed %+v, final %+v", run.Closed, run.Final)
	}
	w.opened(run)
}

// unsealed says what the gate saw of an attempt.
func (w *world) unsealed(run *journal.Run, e ledger.Entry) string {
	if e.GateSealed == nil {
		return "nothing"
	}
	v, err := supervisor.OpenValue(w.keys.Maintainer, run, e.Iteration, ledger.Validation, *e.GateSealed)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v, failure %+v, violations %q", v.Verdict, v.Failure, v.Violations)
}

// opened opens what was sealed of every attempt, with the maintainer's key.
func (w *world) opened(run *journal.Run) {
	w.t.Helper()
	for _, e := range run.Entries {
		if e.GateSealed == nil {
			continue
		}
		v, err := supervisor.OpenValue(w.keys.Maintainer, run, e.Iteration, ledger.Validation, *e.GateSealed)
		if err != nil {
			w.t.Error(err)
			continue
		}
		if v.Commit != e.Commit || v.Verdict.Pass != (*e.SplitMetrics.Validation == "pass") {
			w.t.Errorf("attempt %d: sealed is %+v", e.Iteration, v.Verdict)
		}
	}
	if _, err := supervisor.OpenValue(w.keys.Maintainer, run, run.Iteration, ledger.Final, run.Final.Sealed); err != nil {
		w.t.Error(err)
	}
	if text := fmt.Sprintf("%+v", run.Entries); strings.Contains(text, "case0") {
		w.t.Error("an entry names a sealed case")
	}
}
