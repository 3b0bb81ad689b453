package decide_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/ledger"
)

func ptr[T any](v T) *T { return &v }

// terms is a contract with every kind of rule that decide knows.
func terms() *contract.Contract {
	return &contract.Contract{
		Metric:      contract.Metric{Name: "accuracy", Direction: contract.Higher},
		Secondary:   []contract.Metric{{Name: "recall", Direction: contract.Higher}, {Name: contract.CPUSeconds, Direction: contract.Lower}},
		Constraints: []contract.Constraint{{Metric: contract.PeakMemoryBytes, AtMost: ptr(268435456.0)}, {Metric: "recall", AtLeast: ptr(0.1)}},
		Acceptance:  contract.Acceptance{Policy: contract.Deterministic, MinDelta: 0.004, TieBreakers: []string{contract.CodeLines}},
	}
}

// metrics are those of terms, with a given accuracy.
func metrics(accuracy float64) map[string]float64 {
	return map[string]float64{"accuracy": accuracy, "recall": 0.5, contract.CPUSeconds: 1, contract.PeakMemoryBytes: 1 << 20, contract.CodeLines: 100}
}

func outputs() map[string]string { return map[string]string{"a": "1", "b": "2"} }

// gain is evidence for a candidate that is kept; tests spoil it.
func gain() decide.Evidence {
	return decide.Evidence{
		Contract: terms(), Role: ledger.RoleCandidate, Commit: "c0ffee", Incumbent: "1ncumbent", IncumbentTree: "7ree",
		Committed: ledger.Committed{Audit: ledger.Audit{Verdict: "pass"}},
		Evaluation: &ledger.Evaluation{
			Tools:        map[string]string{"go": "1.26"},
			Measurements: []ledger.Measurement{{Arm: ledger.Candidate, Metrics: metrics(0.76), Counterexamples: outputs()}},
		},
		Standing:      &ledger.Measurement{Arm: ledger.Candidate, Metrics: metrics(0.75), Counterexamples: outputs()},
		StandingTools: map[string]string{"go": "1.26"},
	}
}

// baseline is evidence for a baseline that is kept.
func baseline() decide.Evidence {
	e := gain()
	e.Role, e.Incumbent, e.IncumbentTree, e.Standing, e.StandingTools = ledger.RoleBaseline, "c0ffee", "", nil, nil
	second := e.Evaluation.Measurements[0]
	second.Repetition, second.Metrics = 1, metrics(0.76)
	e.Evaluation.Measurements = append(e.Evaluation.Measurements, second)
	return e
}

// order is one row for each line of the rule, in its order.
var order = []struct {
	name   string
	spoil  func(*decide.Evidence)
	status ledger.Status
	reason string
	replay bool
}{
	{"audit", func(e *decide.Evidence) {
		e.Committed.Audit = ledger.Audit{Verdict: "invalid", Classes: []string{"scope", "seed", "case-literal"}, Findings: []ledger.Finding{
			{Class: "scope", Severity: "invalid"}, {Class: "seed", Severity: "review"}, {Class: "case-literal", Severity: "invalid"}, {Class: "scope", Severity: "invalid"},
		}, Tree: true}
	}, ledger.Invalid, "audit: scope, case-literal", true},
	{"trailers", func(e *decide.Evidence) { e.Committed.Missing = []string{"Mechanism", "Hypothesis"} },
		ledger.Discard, "unjustified: the message lacks Mechanism, Hypothesis", false},
	{"lost", func(e *decide.Evidence) { e.Lost = "process 7 is gone" },
		ledger.Crash, "interrupted: process 7 is gone", false},
	{"state", func(e *decide.Evidence) {
		e.Evaluation.Violations = []string{"after build of arm candidate, repetition 0: arm candidate: a"}
	}, ledger.Invalid, "state check: after build of arm candidate, repetition 0: arm candidate: a", true},
	{"failure", func(e *decide.Evidence) {
		e.Evaluation.Measurements[0].Failure = &ledger.Failure{Status: ledger.Timeout, What: "total", Detail: "over 10m"}
	}, ledger.Timeout, "total: over 10m", true},
	{"extraction", func(e *decide.Evidence) { delete(e.Evaluation.Measurements[0].Metrics, "recall") },
		ledger.Crash, "extract: recall has no finite value", true},
	{"constraint", func(e *decide.Evidence) {
		e.Evaluation.Measurements[0].Metrics[contract.PeakMemoryBytes] = 268435457
	}, ledger.Discard, "constraint: peak_memory_bytes at most 268435456, measured 268435457", true},
	{"counterexample", func(e *decide.Evidence) { e.Evaluation.Measurements[0].Counterexamples["b"] = "3" },
		ledger.Discard, "counterexamples: 1 of 2 outputs changed", true},
	{"no gain", func(e *decide.Evidence) { e.Evaluation.Measurements[0].Metrics["accuracy"] = 0.7 },
		ledger.Discard, "accuracy 0.75 → 0.7: worse", true},
	{"keep", func(*decide.Evidence) {}, ledger.Keep, "accuracy 0.75 → 0.76: gain 0.01", false},
}

func TestOrder(t *testing.T) {
	for i, first := range order {
		for _, second := range order[i:] {
			e := gain()
			second.spoil(&e)
			first.spoil(&e)
			d, err := decide.Decide(e)
			if err != nil {
				t.Errorf("%s before %s: %v", first.name, second.name, err)
				continue
			}
			if d.Status != first.status || d.Reason != first.reason || d.Replay != first.replay {
				t.Errorf("%s before %s: %s, %q, replay %v; want %s, %q, %v",
					first.name, second.name, d.Status, d.Reason, d.Replay, first.status, first.reason, first.replay)
			}
			want := ledger.Rollback{Required: true, Tree: "7ree"}
			incumbent := "1ncumbent"
			if first.status == ledger.Keep {
				want, incumbent = ledger.Rollback{}, "c0ffee"
			}
			if d.Rollback != want || d.IntendedIncumbent != incumbent {
				t.Errorf("%s: rollback %+v, intended incumbent %s", first.name, d.Rollback, d.IntendedIncumbent)
			}
			// The journal takes it.
			if _, err := (ledger.Event{Data: &d}).Format(); err != nil {
				t.Errorf("%s: %v", first.name, err)
			}
			if again, err := decide.Decide(e); err != nil || !reflect.DeepEqual(again, d) {
				t.Errorf("%s: decided twice, two decisions", first.name)
			}
		}
	}
}

// Findings about shape, history or messages are never replayed.
func TestAuditReplaysTreesOnly(t *testing.T) {
	e := gain()
	e.Evaluation = nil
	e.Committed.Audit = ledger.Audit{Verdict: "invalid", Classes: []string{"shape"}, Findings: []ledger.Finding{{Class: "shape", Severity: "invalid"}}}
	d, err := decide.Decide(e)
	if err != nil || d.Status != ledger.Invalid || d.Replay {
		t.Errorf("%+v, %v", d, err)
	}
	e = gain()
	e.Committed.Audit.Verdict = "review"
	if d, err := decide.Decide(e); err != nil || d.Status != ledger.Keep {
		t.Errorf("review: %+v, %v", d, err)
	}
}

// What a decision shows of the measurements and the constraints.
func TestRecordOfADecision(t *testing.T) {
	d, err := decide.Decide(gain())
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.Decided{
		Status: ledger.Keep, Reason: "accuracy 0.75 → 0.76: gain 0.01", Metrics: metrics(0.76), IncumbentMetrics: metrics(0.75),
		Constraints: map[string]*bool{
			decide.HarnessUnchanged: ptr(true), decide.TreeUnchanged: ptr(true), decide.GeneralizationGate: nil,
			"peak_memory_bytes at most 268435456": ptr(true), "recall at least 0.1": ptr(true),
		},
		Counterexamples:   &ledger.Counterexamples{Total: 2, Changed: []string{}},
		IntendedIncumbent: "c0ffee",
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v\nwant %+v", d, want)
	}
}

func TestStateViolations(t *testing.T) {
	tests := []struct {
		violations    []string
		harness, tree bool
	}{
		{[]string{"before build of arm candidate, repetition 0: harness: score.py"}, false, true},
		{[]string{`after candidate of arm candidate, repetition 0, case "a": contract: contract.md is not the one`}, false, true},
		{[]string{"at the end of the pass: arm incumbent: x"}, true, false},
		{[]string{"after score of arm candidate, repetition 0: generated state build/ of arm candidate: x"}, true, false},
		{[]string{"at the end of the pass: harness: x", "at the end of the pass: arm candidate: y"}, false, false},
		{[]string{"something that this version does not know"}, true, false},
	}
	for _, tt := range tests {
		e := gain()
		e.Evaluation.Violations = tt.violations
		for _, measurements := range [][]ledger.Measurement{e.Evaluation.Measurements, nil} {
			e.Evaluation.Measurements = measurements
			d, err := decide.Decide(e)
			if err != nil || d.Status != ledger.Invalid || d.Metrics != nil {
				t.Errorf("%q with %d measurements: %+v, %v", tt.violations, len(measurements), d, err)
				continue
			}
			if *d.Constraints[decide.HarnessUnchanged] != tt.harness || *d.Constraints[decide.TreeUnchanged] != tt.tree {
				t.Errorf("%q: harness %v, tree %v", tt.violations, *d.Constraints[decide.HarnessUnchanged], *d.Constraints[decide.TreeUnchanged])
			}
		}
	}
}

func TestMinDelta(t *testing.T) {
	tests := []struct {
		name                        string
		direction                   contract.Direction
		delta, incumbent, candidate float64
		want                        ledger.Status
	}{
		{"exactly", contract.Higher, 0.004, 0.75, 0.754, ledger.Keep},
		{"exactly, binary falls short", contract.Higher, 0.004, 0.756, 0.76, ledger.Keep},
		{"exactly, lower", contract.Lower, 0.004, 0.76, 0.756, ledger.Keep},
		{"exactly, tenths", contract.Higher, 0.1, 0.2, 0.3, ledger.Keep},
		{"exactly, lower tenths", contract.Lower, 0.1, 0.3, 0.2, ledger.Keep},
		{"exactly, a thousand and a bit", contract.Higher, 0.1, 1000.1, 1000.2, ledger.Keep},
		{"a third", contract.Higher, 1.0 / 798, 600.0 / 798, 601.0 / 798, ledger.Keep},
		{"just missed", contract.Higher, 0.004, 0.75, 0.75399, ledger.Discard},
		{"just missed, lower", contract.Lower, 0.004, 0.76, 0.75601, ledger.Discard},
		{"the smallest gain", contract.Higher, 0.004, 0.75, math.Nextafter(0.75, 1), ledger.Discard},
		{"worse by the smallest", contract.Higher, 0.004, 0.75, math.Nextafter(0.75, 0), ledger.Discard},
		{"worse by min_delta", contract.Higher, 0.004, 0.754, 0.75, ledger.Discard},
		{"worse, lower", contract.Lower, 0.004, 0.75, 0.754, ledger.Discard},
		{"negative", contract.Higher, 0.004, -0.754, -0.75, ledger.Keep},
		{"negative, just missed", contract.Higher, 0.004, -0.75399, -0.75, ledger.Discard},
		{"negative, lower", contract.Lower, 0.004, -0.75, -0.754, ledger.Keep},
		{"across zero", contract.Higher, 0.004, -0.002, 0.002, ledger.Keep},
		{"from zero", contract.Higher, 0.004, 0, 0.004, ledger.Keep},
		{"to zero", contract.Lower, 0.004, 0.004, 0, ledger.Keep},
		{"both zero", contract.Higher, 0.004, 0, math.Copysign(0, -1), ledger.Discard},
		{"a count", contract.Lower, 1, 100, 99, ledger.Keep},
		{"large counts", contract.Lower, 1, 1 << 52, 1<<52 - 1, ledger.Keep},
		{"large counts, one short", contract.Lower, 1000, 1 << 52, 1<<52 - 999, ledger.Discard},
		{"larger than any gain", contract.Higher, 0.004, 1e300, 1e300, ledger.Discard},
		{"huge", contract.Higher, 1e292, 1e300, 1.0000001e300, ledger.Keep},
		{"difference beyond a float", contract.Higher, 1, -math.MaxFloat64, math.MaxFloat64, ledger.Keep},
		{"loss beyond a float", contract.Lower, 1, -math.MaxFloat64, math.MaxFloat64, ledger.Discard},
		{"tiny", contract.Higher, 1e-300, 1e-300, 2e-300, ledger.Keep},
		{"tiny, just missed", contract.Higher, 1e-300, 1e-300, 1.9e-300, ledger.Discard},
	}
	for _, tt := range tests {
		e := gain()
		e.Contract.Metric.Direction, e.Contract.Acceptance.MinDelta = tt.direction, tt.delta
		e.Standing.Metrics["accuracy"] = tt.incumbent
		e.Evaluation.Measurements[0].Metrics["accuracy"] = tt.candidate
		d, err := decide.Decide(e)
		if err != nil || d.Status != tt.want {
			t.Errorf("%s: %v → %v by %v is %s (%s, %v), want %s", tt.name, tt.incumbent, tt.candidate, tt.delta, d.Status, d.Reason, err, tt.want)
		}
	}
}

func TestTies(t *testing.T) {
	tests := []struct {
		name         string
		tieBreakers  []string
		candidate    map[string]float64
		counter      bool // a counterexample's output changes
		want         ledger.Status
		reasonHolder string
	}{
		{"nothing differs", []string{contract.CodeLines}, nil, false, ledger.Discard, "accuracy 0.75 → 0.75: no gain"},
		{"no tie-breaker", nil, map[string]float64{contract.CodeLines: 50, "recall": 0.9}, false, ledger.Discard, "no gain"},
		{"fewer lines", []string{contract.CodeLines}, map[string]float64{contract.CodeLines: 99}, false, ledger.Keep, "tie, kept by code_lines 100 → 99"},
		{"more lines", []string{contract.CodeLines}, map[string]float64{contract.CodeLines: 101}, false, ledger.Discard, "tie, and code_lines is worse"},
		{"better recall", []string{"recall"}, map[string]float64{"recall": 0.6}, false, ledger.Keep, "kept by recall 0.5 → 0.6"},
		{"first better, second worse", []string{"recall", contract.CodeLines}, map[string]float64{"recall": 0.6, contract.CodeLines: 101}, false, ledger.Keep, "recall"},
		{"first worse, second better", []string{contract.CodeLines, "recall"}, map[string]float64{"recall": 0.6, contract.CodeLines: 101}, false, ledger.Discard, "code_lines is worse"},
		{"first equal, second better", []string{"recall", contract.CodeLines}, map[string]float64{contract.CodeLines: 99}, false, ledger.Keep, "code_lines"},
		{"fewer lines, worse secondary", []string{contract.CodeLines}, map[string]float64{contract.CodeLines: 99, "recall": 0.499}, false, ledger.Discard, "tie, and recall is worse"},
		{"fewer lines, worse noisy secondary", []string{contract.CodeLines}, map[string]float64{contract.CodeLines: 99, contract.CPUSeconds: 100}, false, ledger.Keep, "code_lines"},
		{"better noisy secondary alone", []string{contract.CodeLines}, map[string]float64{contract.CPUSeconds: 0.1}, false, ledger.Discard, "no gain"},
		{"fewer lines, broken constraint", []string{contract.CodeLines}, map[string]float64{contract.CodeLines: 99, contract.PeakMemoryBytes: 1e9}, false, ledger.Discard, "constraint: "},
		{"fewer lines, changed counterexample", []string{contract.CodeLines}, map[string]float64{contract.CodeLines: 99}, true, ledger.Discard, "counterexamples: "},
		{"the smallest gain is no tie", []string{contract.CodeLines}, map[string]float64{"accuracy": math.Nextafter(0.75, 1), contract.CodeLines: 1}, false, ledger.Discard, "below min_delta 0.004"},
	}
	for _, tt := range tests {
		e := gain()
		e.Contract.Acceptance.TieBreakers = tt.tieBreakers
		m := &e.Evaluation.Measurements[0]
		m.Metrics["accuracy"] = 0.75
		for name, v := range tt.candidate {
			m.Metrics[name] = v
		}
		if tt.counter {
			m.Counterexamples["a"] = "0"
		}
		d, err := decide.Decide(e)
		if err != nil || d.Status != tt.want || !strings.Contains(d.Reason, tt.reasonHolder) {
			t.Errorf("%s: %s, %q, %v; want %s, %q", tt.name, d.Status, d.Reason, err, tt.want, tt.reasonHolder)
		}
	}
}

// A secondary metric with its own direction breaks a tie by that direction.
func TestTieByDirection(t *testing.T) {
	e := gain()
	e.Contract.Secondary[0] = contract.Metric{Name: "recall", Direction: contract.Lower}
	e.Contract.Acceptance.TieBreakers = []string{"recall"}
	e.Evaluation.Measurements[0].Metrics["accuracy"] = 0.75
	e.Evaluation.Measurements[0].Metrics["recall"] = 0.4
	if d, err := decide.Decide(e); err != nil || d.Status != ledger.Keep {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestConstraints(t *testing.T) {
	tests := []struct {
		metric string
		value  float64
		ok     bool
	}{
		{contract.PeakMemoryBytes, 268435456, true},
		{contract.PeakMemoryBytes, 268435456.5, false},
		{contract.PeakMemoryBytes, -1, true},
		{"recall", 0.1, true},
		{"recall", math.Nextafter(0.1, 0), false},
	}
	for _, tt := range tests {
		e := gain()
		e.Evaluation.Measurements[0].Metrics[tt.metric] = tt.value
		d, err := decide.Decide(e)
		if err != nil || (d.Status == ledger.Keep) != tt.ok {
			t.Errorf("%s %v: %s, %q, %v", tt.metric, tt.value, d.Status, d.Reason, err)
		}
	}
	// All results are recorded, the first broken one in the contract's order is the reason.
	e := gain()
	e.Evaluation.Measurements[0].Metrics[contract.PeakMemoryBytes] = 1e9
	e.Evaluation.Measurements[0].Metrics["recall"] = 0
	d, err := decide.Decide(e)
	if err != nil || !strings.HasPrefix(d.Reason, "constraint: peak_memory_bytes") ||
		*d.Constraints["recall at least 0.1"] || *d.Constraints["peak_memory_bytes at most 268435456"] {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestCounterexamples(t *testing.T) {
	tests := []struct {
		name    string
		of      map[string]string
		changed []string
	}{
		{"the same", outputs(), []string{}},
		{"one changed", map[string]string{"a": "1", "b": "x"}, []string{"b"}},
		{"both changed", map[string]string{"a": "x", "b": "x"}, []string{"a", "b"}},
		{"one missing", map[string]string{"a": "1"}, []string{"b"}},
		{"all missing", map[string]string{}, []string{"a", "b"}},
		{"nothing recorded", nil, []string{"a", "b"}},
		{"one more", map[string]string{"a": "1", "b": "2", "c": "3"}, []string{"c"}},
		{"one more without a digest", map[string]string{"a": "1", "b": "2", "c": ""}, []string{"c"}},
	}
	for _, tt := range tests {
		e := gain()
		e.Evaluation.Measurements[0].Counterexamples = tt.of
		d, err := decide.Decide(e)
		if err != nil || d.Counterexamples == nil || !reflect.DeepEqual(d.Counterexamples.Changed, tt.changed) {
			t.Errorf("%s: %+v, %v", tt.name, d.Counterexamples, err)
			continue
		}
		if want := map[bool]ledger.Status{true: ledger.Keep, false: ledger.Discard}[len(tt.changed) == 0]; d.Status != want {
			t.Errorf("%s: %s", tt.name, d.Status)
		}
	}
	e := gain()
	e.Standing.Counterexamples, e.Evaluation.Measurements[0].Counterexamples = nil, map[string]string{}
	if d, err := decide.Decide(e); err != nil || d.Status != ledger.Keep || d.Counterexamples != nil {
		t.Errorf("no such split: %+v, %v", d.Counterexamples, err)
	}
}

func TestBaseline(t *testing.T) {
	d, err := decide.Decide(baseline())
	if err != nil || d.Status != ledger.Keep || d.IntendedIncumbent != "c0ffee" || d.Rollback.Required || d.IncumbentMetrics != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	tests := []struct {
		name   string
		spoil  func(e *decide.Evidence, second *ledger.Measurement)
		status ledger.Status
		reason string
	}{
		{"two values", func(_ *decide.Evidence, m *ledger.Measurement) { m.Metrics["accuracy"] = 0.77 },
			ledger.Invalid, "accuracy is 0.76, then 0.77"},
		{"two values of a secondary", func(_ *decide.Evidence, m *ledger.Measurement) { m.Metrics["recall"] = 0.4 },
			ledger.Invalid, "recall is 0.5, then 0.4"},
		{"two values of a tie-breaker", func(_ *decide.Evidence, m *ledger.Measurement) { m.Metrics[contract.CodeLines] = 9 },
			ledger.Invalid, "code_lines is 100, then 9"},
		{"two values of a noisy secondary", func(_ *decide.Evidence, m *ledger.Measurement) { m.Metrics[contract.CPUSeconds] = 9 },
			ledger.Keep, "baseline"},
		{"two outputs", func(_ *decide.Evidence, m *ledger.Measurement) {
			m.Counterexamples = map[string]string{"a": "8", "b": "9"}
		},
			ledger.Invalid, `the output of counterexample "a" changes`},
		{"an output is missing", func(_ *decide.Evidence, m *ledger.Measurement) { m.Counterexamples = map[string]string{"a": "1"} },
			ledger.Invalid, `the output of counterexample "b" changes`},
		{"second launch fails", func(_ *decide.Evidence, m *ledger.Measurement) {
			m.Metrics, m.Failure = nil, &ledger.Failure{Status: ledger.Timeout, What: "launch", Detail: "over"}
		}, ledger.Timeout, "second launch: launch: over"},
		{"gate passed", func(e *decide.Evidence, _ *ledger.Measurement) { askGate(e, ledger.Pass) }, ledger.Keep, "baseline"},
		{"gate failed", func(e *decide.Evidence, _ *ledger.Measurement) { askGate(e, ledger.Fail) }, ledger.Invalid,
			"gate: within the 15s of a query (gate: seconds) the baseline gave no result for each of the sealed cases"},
		{"constraint broken", func(e *decide.Evidence, _ *ledger.Measurement) {
			e.Evaluation.Measurements[0].Metrics["recall"] = 0
		}, ledger.Discard, "constraint: recall at least 0.1, measured 0"},
		{"first launch fails", func(e *decide.Evidence, _ *ledger.Measurement) {
			e.Evaluation.Measurements = []ledger.Measurement{{Arm: ledger.Candidate, Failure: &ledger.Failure{Status: ledger.Crash, What: "build", Detail: "exit 1"}}}
		}, ledger.Crash, "build: exit 1"},
	}
	for _, tt := range tests {
		e := baseline()
		tt.spoil(&e, &e.Evaluation.Measurements[1])
		for range 20 { // maps have no order: the reason must
			d, err := decide.Decide(e)
			if err != nil || d.Status != tt.status || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s: %s, %q, %v", tt.name, d.Status, d.Reason, err)
				break
			}
			if (d.Status == ledger.Crash || d.Status == ledger.Timeout) != (d.Failure != nil) || d.Rollback.Required {
				t.Errorf("%s: %+v", tt.name, d)
			}
		}
	}
	e := baseline()
	e.Evaluation.Measurements = e.Evaluation.Measurements[:1]
	if d, err := decide.Decide(e); err == nil {
		t.Errorf("one launch is enough: %+v", d)
	}
}

// askGate has the contract have a gate and lets it answer.
func askGate(e *decide.Evidence, a ledger.Answer) {
	c := terms()
	c.Gate = &contract.Gate{Window: 15 * time.Second}
	e.Contract, e.Gate = c, &ledger.GateResult{Answer: a}
}

// fresh gives evidence in which the incumbent was measured again.
func fresh(tools string, accuracy float64) decide.Evidence {
	e := gain()
	e.Evaluation.Tools = map[string]string{"go": tools}
	e.Evaluation.Measurements = append([]ledger.Measurement{{Arm: ledger.Incumbent, Metrics: metrics(accuracy), Counterexamples: outputs()}}, e.Evaluation.Measurements...)
	return e
}

func TestToolsChanged(t *testing.T) {
	d, err := decide.Decide(fresh("1.27", 0.759))
	if err != nil || d.Status != ledger.Discard || d.IncumbentMetrics["accuracy"] != 0.759 {
		t.Errorf("the fresh value must count: %s, %q, %v", d.Status, d.Reason, err)
	}
	d, err = decide.Decide(fresh("1.27", 0.6))
	if err != nil || d.Status != ledger.Keep || d.IncumbentMetrics["accuracy"] != 0.6 {
		t.Errorf("%s, %q, %v", d.Status, d.Reason, err)
	}
	// So do the fresh outputs.
	e := fresh("1.27", 0.75)
	e.Evaluation.Measurements[0].Counterexamples["a"] = "new"
	e.Evaluation.Measurements[1].Counterexamples["a"] = "new"
	if d, err := decide.Decide(e); err != nil || d.Status != ledger.Keep {
		t.Errorf("%s, %q, %v", d.Status, d.Reason, err)
	}
}

// A machine at fault is an error and never a decision.
func TestIncumbentErrors(t *testing.T) {
	failing := fresh("1.27", 0.75)
	failing.Evaluation.Measurements[0].Failure = &ledger.Failure{Status: ledger.Crash, What: "launch", Detail: "exit 9"}
	output := fresh("1.26", 0.75)
	output.Evaluation.Measurements[0].Counterexamples["a"] = "x"
	valueless := fresh("1.27", 0.75)
	valueless.Evaluation.Measurements[0].Metrics = nil
	unknown := gain()
	unknown.Standing = nil
	old := gain()
	delete(old.Standing.Metrics, "recall")
	nan := gain()
	nan.Standing.Metrics["accuracy"] = math.NaN()
	tests := []struct {
		name, want string
		e          decide.Evidence
	}{
		{"fails when measured again", "fails: exit 9", failing},
		{"drifts under the same tools", "accuracy is 0.75, then 0.749", fresh("1.26", 0.749)},
		{"drifts for the better", "accuracy is 0.75, then 0.751", fresh("1.26", 0.751)},
		{"another output under the same tools", `counterexample "a"`, output},
		{"has no value", "has no value of accuracy", valueless},
		{"was never measured", "never measured", unknown},
		{"record lacks a metric", "has no value of recall", old},
		{"record is not finite", "has no value of accuracy", nan},
	}
	for _, tt := range tests {
		d, err := decide.Decide(tt.e)
		var i *decide.IncumbentError
		if !errors.As(err, &i) || i.Commit != "1ncumbent" || !strings.Contains(err.Error(), tt.want) || !reflect.DeepEqual(d, ledger.Decided{}) {
			t.Errorf("%s: %+v, %v; want an *IncumbentError with %q", tt.name, d, err, tt.want)
		}
	}
	if d, err := decide.Decide(fresh("1.26", 0.75)); err != nil || d.Status != ledger.Keep {
		t.Errorf("no drift: %s, %v", d.Status, err)
	}
	// What the audit says is not about the machine.
	e := fresh("1.26", 0.749)
	e.Committed.Missing = []string{"Mechanism"}
	if d, err := decide.Decide(e); err != nil || d.Status != ledger.Discard {
		t.Errorf("%s, %v", d.Status, err)
	}
}

func TestNothingInfiniteSlipsIn(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name := range metrics(0) {
			e := gain()
			e.Evaluation.Measurements[0].Metrics[name] = v
			d, err := decide.Decide(e)
			if err != nil || d.Status == ledger.Keep && name != contract.CPUSeconds || d.Status != ledger.Crash || d.Metrics != nil {
				t.Errorf("%s %v: %s, %q, %v", name, v, d.Status, d.Reason, err)
			}
		}
		e := baseline()
		e.Evaluation.Measurements[0].Metrics["accuracy"] = v
		if d, err := decide.Decide(e); err != nil || d.Status != ledger.Crash {
			t.Errorf("baseline %v: %s, %v", v, d.Status, err)
		}
		e = baseline()
		e.Evaluation.Measurements[1].Metrics["accuracy"] = v
		if d, err := decide.Decide(e); err != nil || d.Status == ledger.Keep {
			t.Errorf("baseline's second launch %v: %s, %v", v, d.Status, err)
		}
	}
}

// Evidence that is not whole is no reason to judge anybody.
func TestIncompleteEvidence(t *testing.T) {
	nothing := gain()
	nothing.Evaluation = nil
	other := gain()
	other.Evaluation.Measurements[0].Arm = ledger.Incumbent
	second := gain()
	second.Evaluation.Measurements[0].Repetition = 1
	status := gain()
	status.Evaluation.Measurements[0].Failure = &ledger.Failure{Status: ledger.Keep}
	for name, e := range map[string]decide.Evidence{"nothing evaluated": nothing, "no candidate": other, "no first repetition": second, "a failure that keeps": status} {
		if d, err := decide.Decide(e); err == nil || !reflect.DeepEqual(d, ledger.Decided{}) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
