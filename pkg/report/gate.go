package report

import (
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Claim is the strongest sentence that the records support, with all that
// weakens it.
func Claim(r *journal.Run) string {
	_, text := gate.State(record(r))
	return Line(text)
}

// record is what a claim rests on.
func record(r *journal.Run) gate.Record {
	c := r.Contract
	out := gate.Record{Population: c.Population, Level: c.Facts.Level, Exceptions: c.Exceptions, P: 1}
	for _, e := range r.Candidates() {
		if e.Status == ledger.Keep {
			out.Kept++
		}
	}
	if c.Gate != nil {
		plan := gate.PlanOf(c.Contract)
		out.Gate = &gate.Gate{
			Cases: r.Cases(ledger.Validation), Workloads: plan.Workloads, Source: plan.Source, Use: r.Use(),
			Labels: gate.Labels(plan, gate.Facts{Cases: r.Cases(ledger.Validation)}),
		}
	}
	if r.Final != nil {
		out.Final, out.P = gate.FinalState(r.Final.Answer), r.Final.P
	}
	return out
}

// GateOf says in lines what a contract asks of sealed cases and what the
// answers can tell; nothing where it has none.
func GateOf(c *contract.Contract, f contract.Facts) []string {
	var out []string
	for _, s := range f.Splits {
		switch s.Name {
		case string(ledger.Validation):
			use := gate.Use{Budget: c.Gate.Queries, Earlier: s.Asked}
			out = append(out, fmt.Sprintf("%d sealed cases (%s), %s with margin %g, %d queries, %s each", s.Cases, c.Gate.Cases, c.Gate.Rule, c.Gate.Margin, c.Gate.Queries, c.Gate.Held()),
				Informed(c, s.Cases, use))
			if s.Asked > 0 {
				out = append(out, fmt.Sprintf("earlier runs were charged %d queries on these cases, which count", s.Asked))
			}
		case string(ledger.Final):
			out = append(out, fmt.Sprintf("final test on %d sealed cases, once, at close", s.Cases))
		}
	}
	return out
}

// Informed says what the answers of a gate can have told: the information
// bound of package gate.
func Informed(c *contract.Contract, cases int, u gate.Use) string {
	plan := gate.PlanOf(c)
	if plan.Workloads {
		return fmt.Sprintf("%d of %d queries used; workloads are no sample, so no bound is claimed", u.Used(), u.Budget)
	}
	b := gate.Inform(cases, u)
	text := fmt.Sprintf("%d of %d queries used, %.1f of %.1f bits told; optimism up to %.2f not excluded (95 %%)", u.Used(), u.Budget, b.Bits, b.Budget, b.Optimism)
	for _, l := range gate.Labels(plan, gate.Facts{Cases: cases}) {
		text += "; " + strings.ReplaceAll(string(l), "_", " ")
	}
	return text
}

// sealedFacts are what a report says of gate and final test.
func sealedFacts(r *journal.Run) [][2]string {
	var out [][2]string
	c := r.Contract
	if c.Gate != nil {
		out = append(out, [2]string{"validation", validation(r)}, [2]string{"gate queries", Informed(c.Contract, r.Cases(ledger.Validation), r.Use())})
	}
	switch f := r.Final; {
	case f != nil && f.Answer == ledger.Interrupted:
		out = append(out, [2]string{"final", "interrupted: charged, and no result"})
	case f != nil:
		out = append(out, [2]string{"final", fmt.Sprintf("%s (%s), %d cases", f.Answer, f.Reason, r.Cases(ledger.Final))})
	case c.Splits.Final != "":
		out = append(out, [2]string{"final", "not asked"})
	}
	return out
}

// validation counts the answers of the gate.
func validation(r *journal.Run) string {
	passed, failed := 0, 0
	for _, e := range r.Candidates() {
		switch v := e.SplitMetrics.Validation; {
		case v == nil:
		case *v == string(ledger.Pass):
			passed++
		default:
			failed++
		}
	}
	return fmt.Sprintf("%d passed, %d not passed, of candidates that gained on development; %d cases", passed, failed, r.Cases(ledger.Validation))
}

// uncertainty is what the run has not shown.
func uncertainty(r *journal.Run) string {
	var parts []string
	switch {
	case r.Contract.Gate == nil && r.Final == nil:
		return "no sealed gate and no final test: the gain is shown on cases that the author could see"
	case r.Contract.Gate == nil:
		parts = append(parts, "no sealed gate: keeps were decided on cases that the author could see")
	default:
		parts = append(parts, Informed(r.Contract.Contract, r.Cases(ledger.Validation), r.Use()))
		if r.Contract.Gate.Cases != "untouched-split" {
			parts = append(parts, "the gate is no sample of the population")
		}
	}
	if r.Final == nil || r.Final.Answer == ledger.Interrupted {
		parts = append(parts, "no final test")
	}
	return strings.Join(parts, "; ")
}
