package verify_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/vault"
)

// everything plays a short run that holds every kind of event: a gate, a final
// test, a lost pass, a superseded tip, a halt. What is sealed in it is not: no
// reader without keys can tell.
func everything(t testing.TB, sink io.Writer) *clerk {
	all, err := vault.Generate()
	if err != nil {
		t.Fatal(err)
	}
	signer := key(t, "example.com/widget", 1)
	text := fmt.Sprintf("keys: {verifier: %q, judge: %s, execute: %s, final: %s, maintainer: %s}\n", signer.Verifier(),
		all.Judge.Recipient(), all.Execute.Recipient(), all.Final.Recipient(), all.Maintainer.Recipient()) +
		strings.NewReplacer("{development: evaluation/development}",
			"{development: evaluation/development, validation: evaluation/validation, final: evaluation/final}",
			"limits:", "gate: {queries: 6, rule: non_inferior, margin: 3, seconds: 20, cases: user}\nlimits:",
			"exceptions: [no-gate]\n", "").Replace(draft)
	files := map[string][]byte{}
	var splits []contract.SplitFact
	for name, cases := range map[string]int{"validation": 50, "final": 20} {
		fact := contract.SplitFact{Name: name, Cases: cases}
		for half, digest := range map[string]*contract.Digest{"inputs": &fact.Inputs, "answers": &fact.Answers} {
			data := []byte(name + " " + half)
			files["evaluation/"+name+"."+half+".age"] = data
			*digest = contract.Digest(vault.Digest(data))
		}
		splits = append(splits, fact)
	}
	k := sealedClerk(t, sink, signer, text, files, splits)
	k.hold(&ledger.Probed{Mode: "user", Limits: []string{"memory"}, Held: []string{"network"}, Open: []string{}})
	k.flush()
	k.play(trial{value: 0.5, repetitions: 1, answer: ledger.Pass, setup: true})
	k.play(trial{value: 0.5, repetitions: 1})
	k.play(trial{value: 0.9, repetitions: 1, answer: ledger.Pass, lost: true})
	k.play(trial{value: 0.99, repetitions: 1, answer: ledger.Fail})
	k.supersede()
	k.hold(&ledger.Halted{Reason: "the restore was refused"})
	k.flush()
	k.hold(&ledger.Authorised{Reason: "looked", By: "ada"})
	k.hold(&ledger.Closing{Reason: "enough", By: "ada"})
	k.flush()
	k.final()
	return k
}

// supersede has the author push the incumbent's own tree.
func (k *clerk) supersede() {
	script := k.project["solver/run.sh"]
	tip, tree := k.make(k.project, []string{k.run.Tip}, "the same\n", script)
	k.hold(&ledger.Superseded{Tip: tip, Tree: tree, Commits: []string{tip}, Reason: "the tree is the incumbent's"})
	k.publish(tip, tree)
	k.flush()
}

// final tests the best commit and closes the run.
func (k *clerk) final() {
	head := k.claimed(ledger.Head{Incumbent: k.run.Best(), Candidate: k.run.Best()}, "")
	k.hold(&ledger.FinalCharged{Head: head, Baseline: k.run.Sealed.Baseline})
	k.flush()
	head.Claim = nil
	k.hold(&ledger.FinalResult{Head: head, Answer: ledger.Pass, Wins: 8, Losses: 1, Ties: 11, P: 0.01953125, Sealed: base64.StdEncoding.EncodeToString([]byte("sealed"))})
	k.hold(&ledger.Closed{Reason: "enough", Best: k.run.Best()})
	k.flush()
}

// TestEverything verifies that run, and that no kind of event is missing in it.
func TestEverything(t *testing.T) {
	dir := t.TempDir() + "/widget.git"
	kinds := map[ledger.Kind]bool{}
	write(t, dir, func(sink io.Writer) *clerk {
		k := everything(t, sink)
		for _, e := range k.chain.Events {
			kinds[e.Data.Kind()] = true
		}
		return k
	})
	const all = 22 // of ledger.Kind
	if len(kinds) != all {
		t.Errorf("it holds %d of %d kinds of event: %v", len(kinds), all, kinds)
	}
	checkHolds(t, packed(t, dir))
}
