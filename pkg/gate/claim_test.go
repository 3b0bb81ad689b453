package gate

import (
	"strings"
	"testing"
)

// record is a run that may claim everything.
func record() Record {
	return Record{
		Population: "Single lower-case words as English\n  writers misspell them.", Level: "protected", Kept: 3,
		Gate:  &Gate{Cases: 400, Source: Untouched, Use: Use{Budget: 20, Charged: 17, Passes: 3}},
		Final: FinalPassed, P: 0.00031,
	}
}

func TestState(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *Record)
		claim  Claim
		text   string
	}{
		{"all", func(r *Record) {}, Demonstrated,
			"general improvement demonstrated; population: Single lower-case words as English writers misspell them (level protected; final test passed p = 0.00031; 17 of 20 gate queries used; optimism up to 0.13 not excluded)"},
		{"signed", func(r *Record) { r.Level = "signed" }, Demonstrated, "(level signed;"},
		{"final failed", func(r *Record) { r.Final, r.P = FinalFailed, .3 }, Refuted,
			"final test failed: general improvement not demonstrated; population: Single"},
		{"final failed says p", func(r *Record) { r.Final, r.P = FinalFailed, .3 }, Refuted, "final test p = 0.3;"},
		{"no final", func(r *Record) { r.Final, r.P = NoFinal, 1 }, Passed, "gate passed; population: Single lower-case words as English writers misspell them (level protected; no final test; 17 of 20"},
		{"interrupted", func(r *Record) { r.Final, r.P = FinalInterrupted, 1 }, Passed, "final test interrupted"},
		{"local", func(r *Record) { r.Level = "local" }, Passed, "gate passed (local); population"},
		{"local says why", func(r *Record) { r.Level = "local" }, Passed, "final test passed p = 0.00031, which this run may not claim"},
		{"local, final failed", func(r *Record) { r.Level, r.Final = "local", FinalFailed }, Refuted, "final test failed"},
		{"level unknown", func(r *Record) { r.Level = "" }, Passed, "gate passed; population"},
		{"open", func(r *Record) { r.Level = "open" }, Visible, "visible-harness score improved; population"},
		{"repository secrets", func(r *Record) { r.Exceptions = []string{"repository-secrets"} }, Passed, "exceptions: repository-secrets"},
		{"in-process", func(r *Record) { r.Exceptions = []string{"in-process"} }, Visible, "visible-harness score improved, integrity not guaranteed; population"},
		{"network", func(r *Record) { r.Exceptions = []string{"network"} }, Visible, "visible-harness score improved; population"},
		{"no gate", func(r *Record) { r.Gate, r.Final = nil, NoFinal }, Visible, "no final test; no gate)"},
		{"no gate, a final", func(r *Record) { r.Gate = nil }, Visible, "which this run may not claim; no gate)"},
		{"gate without a pass", func(r *Record) { r.Gate.Use.Passes = 0 }, Visible, "visible-harness score improved; population"},
		{"nothing kept", func(r *Record) { r.Kept, r.Final, r.Gate.Use.Passes = 0, NoFinal, 0 }, Nothing, "no candidate was kept; population"},
		{"hand-written", func(r *Record) { r.Gate.Source = User }, Demonstrated, "hand-written gate: not a sample)"},
		{"generated", func(r *Record) { r.Gate.Source = Generated }, Demonstrated, "generated gate: not a sample)"},
		{"retries", func(r *Record) { r.Gate.Use.Retries = 2 }, Demonstrated, "17 of 20 gate queries used and 2 retried, each one more bit;"},
		{"labels", func(r *Record) { r.Gate.Labels = []Label{Weak, Thin} }, Demonstrated, "weak gate; thin gate)"},
		{"notes", func(r *Record) { r.Notes = []string{"author's rights unknown"} }, Demonstrated, "(level protected; author's rights unknown;"},
		{"workloads", func(r *Record) { r.Gate.Workloads, r.P = true, 1 }, Demonstrated, "(level protected; final test passed; 17 of 20 gate queries used)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := record()
			c.change(&r)
			claim, text := State(r)
			if claim != c.claim || !strings.Contains(text, c.text) {
				t.Errorf("%q: %s\nwant %q: … %s", claim, text, c.claim, c.text)
			}
			if strings.ContainsAny(text, "\n\r\t") {
				t.Errorf("%q is more than one line", text)
			}
		})
	}
}

// TestStateNeverTooMuch walks over all records: the strong claim needs all of
// its grounds.
func TestStateNeverTooMuch(t *testing.T) {
	for _, level := range []string{"protected", "signed", "open", "local", "other"} {
		for _, final := range []FinalState{NoFinal, FinalPassed, FinalFailed, FinalInterrupted} {
			for _, exception := range []string{"", "in-process", "network", "repository-secrets", "reused-gate"} {
				for passes := range 2 {
					r := record()
					r.Level, r.Final, r.Exceptions, r.Gate.Use.Passes = level, final, []string{exception}, passes
					claim, _ := State(r)
					grounds := (level == "protected" || level == "signed") && final == FinalPassed && passes == 1 &&
						(exception == "" || exception == "reused-gate")
					if (claim == Demonstrated) != grounds {
						t.Errorf("%s, final %q, %q, %d passes: %s", level, final, exception, passes, claim)
					}
				}
			}
		}
	}
}
