package gate

import (
	"fmt"
	"slices"
	"strings"
)

// Claim is what a report may say that a run has shown.
type Claim string

// The claims, the strongest first.
const (
	Demonstrated Claim = "general improvement demonstrated"
	Passed       Claim = "gate passed"
	Visible      Claim = "visible-harness score improved"
	Refuted      Claim = "final test failed: general improvement not demonstrated"
	Nothing      Claim = "no improvement: no candidate was kept"
)

// FinalState says what became of the final test.
type FinalState string

// The states of the final test.
const (
	NoFinal          FinalState = ""
	FinalPassed      FinalState = "pass"
	FinalFailed      FinalState = "fail"
	FinalInterrupted FinalState = "interrupted" // charged, and claimed as no final
)

// Record is what the ledger says of a run, as far as a claim rests on it.
type Record struct {
	Population string
	// Level is protected, signed, open or local.
	Level string
	// Notes stand beside the level, such as "author's rights unknown".
	Notes      []string
	Exceptions []string
	// Kept counts the candidates that were kept.
	Kept int
	// Gate is nil where the run has none.
	Gate *Gate
	// Final and its P; P is 1 where there was no sign test.
	Final FinalState
	P     float64
}

// Gate is the part of a Record that the gate has written.
type Gate struct {
	Cases     int
	Workloads bool
	Source    Source
	Use       Use
	Labels    []Label
}

// State chooses the claim and gives the one sentence that says it, with all
// that weakens it.
func State(r Record) (Claim, string) {
	c := r.claim()
	text := string(c)
	if c == Visible && slices.Contains(r.Exceptions, "in-process") {
		text += ", integrity not guaranteed"
	}
	if c == Passed && r.Level == "local" {
		text += " (local)"
	}
	population := strings.TrimRight(strings.Join(strings.Fields(r.Population), " "), ".")
	return c, fmt.Sprintf("%s; population: %s (%s)", text, population, strings.Join(r.details(c), "; "))
}

func (r Record) claim() Claim {
	passed := r.Gate != nil && r.Gate.Use.Passes > 0 && r.Level != "open" &&
		!slices.Contains(r.Exceptions, "in-process") && !slices.Contains(r.Exceptions, "network")
	switch {
	case r.Kept == 0:
		return Nothing
	case r.Final == FinalFailed:
		return Refuted
	case !passed:
		return Visible
	case r.Final == FinalPassed && !r.capped():
		return Demonstrated
	}
	return Passed
}

// capped says that the supervisor could have been reached by the author, so
// that nothing above a passed gate is claimed.
func (r Record) capped() bool {
	return r.Level != "protected" && r.Level != "signed" || slices.Contains(r.Exceptions, "repository-secrets")
}

// details lists what a reader must know beside the claim.
func (r Record) details(c Claim) []string {
	out := append([]string{"level " + r.Level}, r.Notes...)
	if len(r.Exceptions) > 0 {
		out = append(out, "exceptions: "+strings.Join(r.Exceptions, ", "))
	}
	switch r.Final {
	case FinalPassed:
		text := "final test passed" + r.p()
		if c != Demonstrated {
			text += ", which this run may not claim"
		}
		out = append(out, text)
	case FinalFailed:
		if p := r.p(); p != "" {
			out = append(out, "final test"+p)
		}
	case FinalInterrupted:
		out = append(out, "final test interrupted")
	case NoFinal:
		out = append(out, "no final test")
	}
	if r.Gate == nil {
		return append(out, "no gate")
	}
	return append(out, r.Gate.details()...)
}

func (r Record) p() string {
	if r.Gate != nil && r.Gate.Workloads || r.P >= 1 {
		return ""
	}
	return fmt.Sprintf(" p = %.2g", r.P)
}

func (g Gate) details() []string {
	used := fmt.Sprintf("%d of %d gate queries used", g.Use.Used(), g.Use.Budget)
	if g.Use.Retries > 0 {
		used += fmt.Sprintf(" and %d retried, each one more bit", g.Use.Retries)
	}
	out := []string{used}
	if !g.Workloads {
		out = append(out, fmt.Sprintf("optimism up to %.2f not excluded", Inform(g.Cases, g.Use).Optimism))
	}
	for _, l := range g.Labels {
		out = append(out, strings.ReplaceAll(string(l), "_", " "))
	}
	switch g.Source {
	case User:
		out = append(out, "hand-written gate: not a sample")
	case Generated:
		out = append(out, "generated gate: not a sample")
	}
	return out
}
