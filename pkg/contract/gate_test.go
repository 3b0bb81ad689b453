package contract

import (
	"strings"
	"testing"
	"time"
)

// gated is the spelling contract with a gate and a final test.
func gated(t *testing.T, keys []string) string {
	t.Helper()
	draft := string(read(t, "spelling.yml"))
	for old, fresh := range map[string]string{
		"baseline: HEAD": "keys:\n  verifier: " + testVerifier + "\n  judge: " + keys[0] + "\n  execute: " + keys[1] + "\n  final: " + keys[2] +
			"\ngate: {queries: 16, rule: non_inferior, margin: 5, seconds: 120, cases: untouched-split}",
		"exceptions: [no-gate]":                "exceptions: []",
		"development: evaluation/development}": "development: evaluation/development, validation: evaluation/validation, final: evaluation/final}",
	} {
		if !strings.Contains(draft, old) {
			t.Fatalf("no %q in the draft", old)
		}
		draft = strings.Replace(draft, old, fresh, 1)
	}
	return draft
}

func TestGate(t *testing.T) {
	keys := recipients(t, 3)
	c := mustParse(t, gated(t, keys))
	want := Gate{Queries: 16, Rule: "non_inferior", Margin: 5, Window: 2 * time.Minute, Cases: "untouched-split", Direction: Higher}
	if c.Gate == nil || *c.Gate != want {
		t.Fatalf("gate %+v, want %+v", c.Gate, want)
	}
	if c.Gate.Held() != 4*time.Minute {
		t.Errorf("held for %s", c.Gate.Held())
	}
	for path, frozen := range map[string]bool{
		"evaluation/validation.inputs.age": true, "evaluation/final.answers.age": true,
		"data/validation.inputs.age": false, "evaluation": false,
	} {
		if c.Bundle(path) != frozen || c.Frozen(path) != frozen {
			t.Errorf("%s: bundle %v, frozen %v", path, c.Bundle(path), c.Frozen(path))
		}
	}
	again := mustParse(t, strings.Replace(gated(t, keys), "margin: 5, seconds: 120, cases: untouched-split}", "margin: 0.02, seconds: 120, cases: user, direction: lower, workloads: true}", 1))
	if !again.Gate.Workloads || again.Gate.Direction != Lower {
		t.Errorf("gate %+v", again.Gate)
	}
}

// TestGateSealed: what start found out about a gate comes back.
func TestGateSealed(t *testing.T) {
	keys := recipients(t, 3)
	draft := gated(t, keys)
	facts := someFacts()
	sum := Digest("sha256:" + strings.Repeat("0f", 32))
	facts.Splits = append(facts.Splits,
		SplitFact{Name: "validation", Cases: 386, Inputs: sum, Answers: sum, Asked: 4, Marks: []string{strings.Repeat("ab", 16), strings.Repeat("cd", 16)}},
		SplitFact{Name: "final", Cases: 268, Inputs: sum, Answers: sum})
	sealed, err := Open(Seal([]byte(draft), mustParse(t, draft), facts), "")
	if err != nil {
		t.Fatal(err)
	}
	got := sealed.Facts.Splits[1]
	if got.Cases != 386 || got.Inputs != sum || got.Answers != sum || got.Asked != 4 || len(got.Marks) != 2 || got.Digest != "" {
		t.Errorf("validation came back as %+v", got)
	}
	if *sealed.Gate != *mustParse(t, draft).Gate || sealed.Splits.Final != "evaluation/final" {
		t.Errorf("gate %+v, splits %+v", sealed.Gate, sealed.Splits)
	}
}

func TestGateRefuses(t *testing.T) {
	keys := recipients(t, 3)
	for _, c := range []struct{ old, fresh, want string }{
		{"queries: 16", "queries: 1", "want at least 2, got 1"},
		{"margin: 5", "margin: 0", "without a margin luck in the gate decides"},
		{"margin: 5", "margin: 2.5", "want a whole number of cases, got 2.5"},
		{"margin: 5,", "margin: 5, workloads: true,", "the margin of workloads is a fraction of a value, got 5"},
		{"seconds: 120", "seconds: 30", "less than the timeout of one launch, 1m"},
		{"rule: non_inferior", "rule: better", `want one of non_inferior, improve, got "better"`},
		{"cases: untouched-split", "cases: found", `want one of user, untouched-split, generated, got "found"`},
		{", validation: evaluation/validation", "", "a gate needs sealed cases, and splits.validation names none"},
		{"validation: evaluation/validation", "validation: evaluation/development/more", "lie inside one another"},
		{"final: evaluation/final}", "final: evaluation/validation}", "lie inside one another"},
		{"validation: evaluation/validation", "validation: evaluation/gate", "does not end in validation"},
		{"exceptions: []", "exceptions: [no-gate]", "the contract has a gate and the exception no-gate"},
		{"extract: json", "extract: {regex: '^score: ([0-9.]+)$'}", "a regex reads no cases"},
		{"output: 16MiB", "output: 512MiB", "at most 64MiB where splits are sealed"},
		{"\n  execute: " + keys[1], "", "sealed cases need keys.execute"},
		{"\n  final: " + keys[2], "", "sealed cases need keys.final"},
		{"writable: [corrector/**]", "writable: ['evaluation/*.age']", "the sealed cases of validation"},
		{"readable: [data/words.tsv, go.mod]", "readable: [evaluation/validation.inputs.age]", "candidate code could read the sealed cases of validation"},
	} {
		draft := gated(t, keys)
		if !strings.Contains(draft, c.old) {
			t.Fatalf("no %q in the draft", c.old)
		}
		_, err := Parse("contract.yml", []byte(strings.Replace(draft, c.old, c.fresh, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s:\n%v\nwant %s", c.old, c.fresh, err, c.want)
		}
	}
}
