package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/ledger"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// ptr makes optional values.
func ptr[T any](v T) *T { return &v }

// sha gives a commit-like name.
func sha(n int) string { return fmt.Sprintf("%040x", n) }

// head is a filled head.
func head(claim bool) ledger.Head {
	h := ledger.Head{Incumbent: sha(1), Candidate: sha(2), Lease: "5f"}
	if claim {
		h.Claim = &ledger.Claim{
			Holder:   ledger.Holder{Host: "host/1a/2b", PID: 77, Start: "123"},
			Deadline: start.Add(time.Hour), TookOver: "4e", Why: "process 76 is gone",
		}
	}
	return h
}

// entry is an entry with every field set.
func entry(iteration int) ledger.Entry {
	return ledger.Entry{
		Iteration: iteration, Role: ledger.RoleCandidate, Commit: sha(2), Incumbent: sha(1), RollbackCommit: ptr(sha(3)),
		StartedAt: start, EndedAt: start.Add(time.Second), Contract: ledger.ZeroHash, Status: ledger.Discard,
		Reason: "no gain <b>&\u2028", PrimaryMetric: "accuracy", PrimaryValue: ptr(0.75),
		SplitMetrics: ledger.SplitMetrics{Development: ptr(0.75), Validation: ptr("pass")},
		Aggregation:  "one launch", Secondary: map[string]float64{"b": 1e21, "a": -0.5},
		Repetitions: []ledger.Repetition{{
			PairID: 1, Arm: ledger.Candidate, Phase: "deterministic", Commit: sha(2), Seed: ptr("7"),
			Primary: ptr(0.75), Metrics: map[string]float64{"accuracy": 0.75}, Duration: 1.5, Log: ptr("logs/1"),
			Failure: &ledger.Failure{Status: ledger.Crash, What: "launch", Detail: "exit 1"},
		}},
		DurationSeconds: 2.5, Hypothesis: "h", ChangeSummary: "1 file a", Queries: 1,
		LeakageAudit:    ledger.LeakageAudit{Verdict: "review", Classes: []string{"x"}},
		Counterexamples: &ledger.Counterexamples{Total: 2, Changed: []string{"c"}},
		Constraints:     map[string]*bool{"harness_unchanged": ptr(true), "generalization_gate": nil},
		Failure:         &ledger.Failure{Status: ledger.Timeout, What: "total", Detail: "d"},
		GateSealed:      ptr("age"), Level: "local", Exceptions: []string{"no-gate"},
	}
}

// everything is one event's data of every kind, in an order in which a run
// could meet them, with no field left at its zero value.
func everything() []ledger.Data {
	return []ledger.Data{
		&ledger.Sealed{Contract: ledger.ZeroHash, Baseline: sha(1), Tree: sha(9), Pinned: sha(1), Tool: "v1"},
		&ledger.Probed{Mode: "root", Limits: []string{"memory"}, Held: []string{"network"}, Open: []string{}},
		&ledger.SetupRetried{Reason: "no go on PATH"},
		&ledger.Prepared{Head: head(true)},
		&ledger.Committed{
			Head: head(false), Tree: sha(8), RecordedTip: sha(1), Commits: []string{sha(2)}, Summary: "1 file",
			Trailers: ledger.Trailers{Hypothesis: "a", FailureClass: "b", Mechanism: "c", PredictedVariant: "d", Counterexample: "e"},
			Missing:  []string{"Mechanism"},
			Audit: ledger.Audit{
				Verdict: "review", Classes: []string{"x"}, Notes: []string{"n"}, Tree: true,
				Findings: []ledger.Finding{{Class: "x", Severity: "review", Path: "a/b", Line: 3, Message: "m", Fix: "f", Commit: sha(2)}},
			},
		},
		&ledger.Started{Head: head(false), Stage: ledger.Development, Repetitions: 1},
		&ledger.Retried{Head: head(true), Stage: ledger.Development, Lost: 1, Reason: "process 76 is gone"},
		&ledger.Evaluated{Head: head(false), Evaluation: ledger.Evaluation{
			Stage: ledger.Development,
			Launches: []ledger.Launch{{
				Kind: ledger.Measure, Arm: ledger.Candidate, Commit: sha(2), Repetition: 1, Case: "a.txt", Outcome: "exited",
				Reason: "r", Exit: 1, Signal: 9, WallSeconds: 0.25, CPUSeconds: ptr(0.125), PeakMemoryBytes: ptr[int64](1 << 40),
				StdoutBytes: 1, StderrBytes: 2, Before: "b", After: "a", Log: "l",
			}},
			Measurements: []ledger.Measurement{{
				Arm: ledger.Candidate, Commit: sha(2), Repetition: 1, Metrics: map[string]float64{"accuracy": 0.75},
				Cases: []ledger.CaseScore{{ID: "a.txt", Score: 1}}, Counterexamples: map[string]string{"c": "d"},
				Failure: &ledger.Failure{Status: ledger.Invalid, What: "state", Detail: "d"},
			}},
			Tools: map[string]string{"go": "go1.26"}, Violations: []string{"v"}, EvaluatorSeconds: 0.25,
		}, Logs: map[string]string{"l.gz": ledger.ZeroHash}},
		&ledger.GateCharged{Head: head(true), Query: 1, Budget: 20, Tree: sha(8)},
		&ledger.GateResult{Head: head(false), Query: 1, Answer: ledger.Pass, Sealed: "YWdl"},
		&ledger.Decided{
			Head: head(false), Status: ledger.Discard, Reason: "no gain", Metrics: map[string]float64{"accuracy": 0.75},
			IncumbentMetrics: map[string]float64{"accuracy": 0.75}, Constraints: map[string]*bool{"harness_unchanged": ptr(true)},
			Counterexamples: &ledger.Counterexamples{Total: 1, Changed: []string{"c"}},
			Failure:         &ledger.Failure{Status: ledger.Crash, What: "build", Detail: "d"}, IntendedIncumbent: sha(1),
			Rollback: ledger.Rollback{Required: true, Tree: sha(9)}, Replay: true,
		},
		&ledger.RolledBack{Head: head(false), Commit: sha(3), By: "supervisor", Swept: []string{sha(6)}},
		&ledger.Finalized{Entry: entry(0)},
		&ledger.Published{Commit: sha(2), Verdict: "discard", Note: "n\n", Where: []string{"checks"}},
		&ledger.Opened{Branch: "research-loop/speedup", Commit: sha(1)},
		&ledger.Superseded{Tip: sha(4), Tree: sha(7), Commits: []string{sha(4)}, Reason: "again", Of: ptr(1), Restore: sha(5)},
		&ledger.Halted{Reason: "refused", Paused: true},
		&ledger.Authorised{Reason: "looked", By: "m"},
		&ledger.Closing{Reason: "enough", By: "m", Interrupt: true},
		&ledger.FinalCharged{Head: head(true), Baseline: sha(1)},
		&ledger.FinalResult{Head: head(false), Answer: ledger.Fail, Wins: 1, Losses: 2, Ties: 3, P: 0.875, Reason: "r", Sealed: "YWdl"},
		&ledger.Closed{Reason: "enough", Best: sha(1)},
	}
}

// journal writes events of the given iterations, one a data, and cuts them into segments.
func journal(t testing.TB, data []ledger.Data, iterations []int) (map[string][]byte, ledger.Chain) {
	t.Helper()
	segments := map[string][]byte{}
	var chain ledger.Chain
	for i, d := range data {
		next, text, err := chain.Append(ledger.Event{Time: start.Add(time.Duration(i) * time.Second), Run: "speedup", Iteration: iterations[i], Data: d})
		if err != nil {
			t.Fatal(err)
		}
		chain = next
		name := ledger.Segment(iterations[i])
		segments[name] = append(segments[name], text...)
	}
	return segments, chain
}

// threeSegments is a journal of every kind of event over three segments.
func threeSegments(t testing.TB) (map[string][]byte, ledger.Chain) {
	data := everything()
	iterations := make([]int, len(data))
	for i := range iterations {
		iterations[i] = 3 * i / len(data)
	}
	return journal(t, data, iterations)
}

func TestEveryKindComesBack(t *testing.T) {
	seen := map[ledger.Kind]bool{}
	for _, d := range everything() {
		seen[d.Kind()] = true
		want := ledger.Event{Seq: 3, Prev: ledger.ZeroHash, Time: start, Run: "speedup", Iteration: 2, Data: d}
		text, err := want.Format()
		if err != nil {
			t.Fatalf("%s: %v", d.Kind(), err)
		}
		got, err := ledger.ParseEvent(text)
		if err != nil {
			t.Fatalf("%s: %v", d.Kind(), err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", d.Kind(), got.Data, want.Data)
		}
		empty := reflect.New(reflect.TypeOf(d).Elem()).Interface().(ledger.Data)
		if text, err = (ledger.Event{Time: start, Data: empty}).Format(); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.ParseEvent(text); err != nil {
			t.Errorf("empty %s: %v", d.Kind(), err)
		}
		if v := reflect.ValueOf(d).Elem(); !filled(v) {
			t.Errorf("%s: the example leaves a field at its zero value: %+v", d.Kind(), d)
		}
	}
	if len(seen) != 22 {
		t.Errorf("%d kinds have an example, want 22", len(seen))
	}
}

// filled says whether every field, except lease claims and times, is set.
func filled(v reflect.Value) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Type() == reflect.TypeFor[*ledger.Claim](), f.Type() == reflect.TypeFor[time.Time]():
		case f.Kind() == reflect.Struct && !filled(f):
			return false
		case f.Kind() == reflect.Int: // an iteration may be 0
		case f.IsZero():
			return false
		}
	}
	return true
}

// sealedLine is a line that is right; tests spoil it.
const sealedLine = `{"v":1,"seq":0,"prev":"sha256:0000000000000000000000000000000000000000000000000000000000000000",` +
	`"time":"2026-01-02T03:04:05.6Z","run":"speedup","iteration":0,"event":"sealed","data":{"contract_sha256":"c",` +
	`"baseline_commit":"b","baseline_tree":"t","pinned_commit":"p","tool_version":"v1"}}` + "\n"

func TestFormIsTheDocumentedOne(t *testing.T) {
	e := ledger.Event{Time: start, Prev: ledger.ZeroHash, Run: "speedup", Data: &ledger.Sealed{Contract: "c", Baseline: "b", Tree: "t", Pinned: "p", Tool: "v1"}}
	text, err := e.Format()
	if err != nil || string(text) != sealedLine {
		t.Errorf("got %s (%v), want %s", text, err, sealedLine)
	}
	e.Time = e.Time.In(time.FixedZone("", 3600))
	if again, err := e.Format(); err != nil || string(again) != sealedLine {
		t.Errorf("in another zone: %s (%v)", again, err)
	}
}

func TestParseEventRefuses(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(sealedLine, old) {
			t.Fatalf("no %q in the line", old)
		}
		return strings.Replace(sealedLine, old, new, 1)
	}
	tests := []struct{ name, line, want string }{
		{"nothing", "", `not one object`},
		{"newline only", "\n", `not one object`},
		{"no newline", strings.TrimSuffix(sealedLine, "\n"), `not one object`},
		{"two newlines", sealedLine + "\n", `not one object`},
		{"carriage return", strings.Replace(sealedLine, "\n", "\r\n", 1), `not one object`},
		{"two objects", strings.TrimSuffix(sealedLine, "\n") + sealedLine, `after top-level value`},
		{"byte order mark", "\ufeff" + sealedLine, "invalid character"},
		{"array", "[1]\n", `not one object`},
		{"null", "null\n", `not one object`},
		{"version 2", swap(`"v":1`, `"v":2`), "version 2: this program reads version 1"},
		{"version as text", swap(`"v":1`, `"v":"1"`), "cannot unmarshal string"},
		{"version with a point", swap(`"v":1`, `"v":1.0`), "cannot unmarshal number 1.0"},
		{"no version", swap(`"v":1,`, ``), "version 0"},
		{"unknown key", swap(`"v":1`, `"v":1,"w":2`), `from byte 8 on "w`},
		{"unknown key in data", swap(`"tool_version"`, `"x":0,"tool_version"`), `from byte 268`},
		{"doubled key", swap(`"seq":0`, `"seq":0,"seq":0`), "from byte"},
		{"doubled key in data", swap(`"tool_version":"v1"`, `"tool_version":"v0","tool_version":"v1"`), "from byte"},
		{"key in capitals", swap(`"seq":0`, `"Seq":0`), "from byte"},
		{"keys in another order", swap(`"v":1,"seq":0`, `"seq":0,"v":1`), "from byte"},
		{"white space", swap(`"v":1`, `"v": 1`), "from byte"},
		{"missing data", swap(`,"data":{"contract_sha256":"c","baseline_commit":"b","baseline_tree":"t","pinned_commit":"p","tool_version":"v1"}`, ``), `not one object`},
		{"null data", swap(`{"contract_sha256":"c","baseline_commit":"b","baseline_tree":"t","pinned_commit":"p","tool_version":"v1"}`, `null`), "from byte"},
		{"array as data", swap(`{"contract_sha256":"c","baseline_commit":"b","baseline_tree":"t","pinned_commit":"p","tool_version":"v1"}`, `[]`), "cannot unmarshal array"},
		{"missing key in data", swap(`,"tool_version":"v1"`, ``), "from byte"},
		{"wrong type in data", swap(`"tool_version":"v1"`, `"tool_version":1`), "cannot unmarshal number"},
		{"unknown event", swap(`"event":"sealed"`, `"event":"gate_opened"`), `unknown event "gate_opened"`},
		{"another event's data", swap(`"event":"sealed"`, `"event":"halted"`), `from byte 184`},
		{"negative seq", swap(`"seq":0`, `"seq":-1`), "neither is ever negative"},
		{"negative iteration", swap(`"iteration":0`, `"iteration":-1`), "neither is ever negative"},
		{"seq with an exponent", swap(`"seq":0`, `"seq":0e0`), "cannot unmarshal number"},
		{"seq beyond 64 bits", swap(`"seq":0`, `"seq":18446744073709551616`), "cannot unmarshal number"},
		{"time in another zone", swap(`03:04:05.6Z`, `04:04:05.6+01:00`), "from byte"},
		{"time with more digits", swap(`05.6Z`, `05.60Z`), "from byte"},
		{"time without zone", swap(`05.6Z`, `05.6`), "cannot parse"},
		{"escaped letter", swap(`"speedup"`, `"\u0073peedup"`), "from byte"},
		{"escaped slash", swap(`"speedup"`, `"speed\/up"`), "from byte"},
		{"lone surrogate", swap(`"speedup"`, `"\ud800"`), "from byte"},
		{"not UTF-8", swap(`"speedup"`, "\"\xff\""), "from byte"},
		{"raw control character", swap(`"speedup"`, "\"\x01\""), "invalid character"},
		{"open string", swap(`"speedup"`, `"speedup`), "invalid character"},
		{"deep nesting", swap(`"data":{`, `"data":`+strings.Repeat("[", 20_000)+`{`), "exceeded max depth"},
		{"data before its place", swap(`"v":1`, `"v":1,"data":{}`), "unknown event"},
	}
	for _, tt := range tests {
		if e, err := ledger.ParseEvent([]byte(tt.line)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", tt.name, e, err, tt.want)
		}
	}
	if _, err := ledger.ParseEvent([]byte(sealedLine)); err != nil {
		t.Errorf("the line that all of them spoil: %v", err)
	}
}

// Numbers of data have one spelling each.
func TestParseEventRefusesOtherNumbers(t *testing.T) {
	text, err := ledger.Event{Time: start, Data: &ledger.Evaluated{Evaluation: ledger.Evaluation{EvaluatorSeconds: 1.5}}}.Format()
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"1.50", "15e-1", "1.5E0", "+1.5", "01.5", "1e400", "NaN", "Infinity", "0x1p1", `"1.5"`, "null", "true"} {
		line := strings.Replace(string(text), `"evaluator_seconds":1.5`, `"evaluator_seconds":`+number, 1)
		if e, err := ledger.ParseEvent([]byte(line)); err == nil {
			t.Errorf("%s is read as %v", number, e.Data.(*ledger.Evaluated).EvaluatorSeconds)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	_, chain := journal(t, []ledger.Data{&ledger.Sealed{}, &ledger.Prepared{}}, []int{0, 101})
	tests := []struct {
		name, want string
		event      ledger.Event
	}{
		{"NaN", "unsupported value", ledger.Event{Run: "speedup", Iteration: 101, Data: &ledger.Decided{Metrics: map[string]float64{"a": math.NaN()}}}},
		{"infinity", "unsupported value", ledger.Event{Run: "speedup", Iteration: 101, Data: &ledger.Evaluated{Evaluation: ledger.Evaluation{EvaluatorSeconds: math.Inf(1)}}}},
		{"another run", `run "other"`, ledger.Event{Run: "other", Iteration: 101, Data: &ledger.Halted{}}},
		{"an iteration of the past", "iteration 100 after iteration 101", ledger.Event{Run: "speedup", Iteration: 100, Data: &ledger.Halted{}}},
		{"a year beyond 9999", "year outside of range", ledger.Event{Run: "speedup", Iteration: 101, Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), Data: &ledger.Halted{}}},
		{"two keys that are one in UTF-8", "from byte", ledger.Event{Run: "speedup", Iteration: 101, Data: &ledger.Decided{Metrics: map[string]float64{"\xfe": 1, "\xff": 2}}}},
		{"a huge line", "fit one line", ledger.Event{Run: "speedup", Iteration: 101, Data: &ledger.Halted{Reason: strings.Repeat("x", ledger.MaxLine)}}},
	}
	for _, tt := range tests {
		if _, _, err := chain.Append(tt.event); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	if len(chain.Events) != 2 {
		t.Errorf("a refused event stayed: %d events", len(chain.Events))
	}
}

// Whatever bytes an author writes can be recorded, and are read as they were recorded.
func TestHostileText(t *testing.T) {
	for _, text := range []string{
		"\xff\xfe", "a\x00b", "\u2028\u2029", `\ufffd`, `\\ufffd`, "\\\xff", "\xed\xa0\x80", "\ufffd", "\x1b[31m", "<script>&", "\r\n", "\"", "é\xcc", strings.Repeat("\xff", 1000),
	} {
		segments, chain := journal(t, []ledger.Data{&ledger.Halted{Reason: text}}, []int{0})
		got, err := ledger.ReadJournal(segments)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want := strings.Map(func(r rune) rune { return r }, text) // each byte that is not UTF-8 → U+FFFD
		if reason := got.Events[0].Data.(*ledger.Halted).Reason; reason != want || chain.Events[0].Data.(*ledger.Halted).Reason != want {
			t.Errorf("%q is read as %q", text, reason)
		}
		e := entry(0)
		e.Hypothesis = text
		line, err := ledger.FormatEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ledger.ParseEntry(line); err != nil || back.Hypothesis != want {
			t.Errorf("entry with %q: %q, %v", text, back.Hypothesis, err)
		}
	}
}

func TestReadJournal(t *testing.T) {
	segments, chain := threeSegments(t)
	if len(segments) != 3 {
		t.Fatalf("%d segments", len(segments))
	}
	got, err := ledger.ReadJournal(segments)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, chain) {
		t.Errorf("read %+v, wrote %+v", got, chain)
	}
	// A chain that was read goes on like the one that was written.
	more := ledger.Event{Time: start, Run: "speedup", Iteration: 200, Data: &ledger.Published{}}
	_, a, err := got.Append(more)
	if err != nil {
		t.Fatal(err)
	}
	if _, b, _ := chain.Append(more); !bytes.Equal(a, b) {
		t.Errorf("%s\n%s", a, b)
	}
}

// Beyond ten segments names no longer sort like numbers.
func TestReadJournalOfManySegments(t *testing.T) {
	data := []ledger.Data{&ledger.Sealed{}}
	iterations := []int{0}
	for i := 1; i <= 1001; i++ {
		data, iterations = append(data, &ledger.Prepared{}), append(iterations, i)
	}
	segments, _ := journal(t, data, iterations)
	if _, err := ledger.ReadJournal(segments); err != nil {
		t.Error(err)
	}
}

// corrupt checks that an error is a *CorruptError that names what it is about.
func corrupt(t *testing.T, what string, err error, segment string, line int) {
	t.Helper()
	var c *ledger.CorruptError
	if !errors.As(err, &c) {
		t.Errorf("%s: %v, want a *CorruptError", what, err)
		return
	}
	if segment != "" && (c.Segment != segment || c.Line != line) || c.Why == "" {
		t.Errorf("%s: %q names %s line %d, want %s line %d", what, c, c.Segment, c.Line, segment, line)
	}
}

// spoilt gives the segments with one of them replaced.
func spoilt(segments map[string][]byte, name string, data []byte) map[string][]byte {
	out := map[string][]byte{}
	for n, d := range segments {
		out[n] = d
	}
	out[name] = data
	return out
}

func TestTruncation(t *testing.T) {
	segments, whole := short(t)
	for name, data := range segments {
		for n := range data {
			got, err := ledger.ReadJournal(spoilt(segments, name, data[:n]))
			lines := bytes.Count(data[:n], []byte("\n"))
			switch atEnd := n > 0 && data[n-1] == '\n'; {
			case n == 0:
				corrupt(t, "empty segment", err, name, 0)
			case !atEnd:
				corrupt(t, fmt.Sprintf("%s cut at %d", name, n), err, name, lines+1)
			case name == ledger.Segment(2):
				// Whole lines are gone from the end: a shorter journal, which
				// only somebody who saw the longer one can tell.
				if err != nil || got.Head == whole.Head || len(got.Events) >= len(whole.Events) {
					t.Errorf("%s cut at %d: %v, head %s", name, n, err, got.Head)
				}
			default:
				next := ledger.Segment(1)
				if name == next {
					next = ledger.Segment(2)
				}
				corrupt(t, fmt.Sprintf("%s cut at line end %d", name, n), err, next, 1)
			}
		}
	}
}

// short is a journal of twelve short lines over three segments.
func short(t testing.TB) (map[string][]byte, ledger.Chain) {
	data := []ledger.Data{&ledger.Sealed{}}
	iterations := []int{0}
	for i := 1; i < 12; i++ {
		data = append(data, []ledger.Data{&ledger.Halted{Reason: "x"}, &ledger.Authorised{}}[i%2])
		iterations = append(iterations, i/4)
	}
	return journal(t, data, iterations)
}

func TestBitFlips(t *testing.T) {
	segments, whole := short(t)
	names := []string{ledger.Segment(0), ledger.Segment(1), ledger.Segment(2)}
	for i, name := range names {
		data := bytes.Clone(segments[name])
		for at := range data {
			line := 1 + bytes.Count(segments[name][:at], []byte("\n"))
			last := i == len(names)-1 && line == bytes.Count(segments[name], []byte("\n"))
			for bit := range 8 {
				if os.Getenv("CI") != "true" && (8*at+bit)%5 != 0 {
					continue // every position of a byte has its turn
				}
				data[at] ^= 1 << bit
				got, err := ledger.ReadJournal(spoilt(segments, name, data))
				data[at] ^= 1 << bit
				if err == nil {
					if !last || got.Head == whole.Head {
						t.Fatalf("%s: bit %d of byte %d flipped, and nobody sees it", name, bit, at)
					}
					continue
				}
				var c *ledger.CorruptError
				if !errors.As(err, &c) || c.Line == 0 {
					t.Fatalf("%s byte %d bit %d: %v", name, at, bit, err)
				}
				// The line itself is refused, or the one after it no longer fits.
				next := c.Segment == name && c.Line == line+1 || i+1 < len(names) && c.Segment == names[i+1] && c.Line == 1
				if !(c.Segment == name && c.Line == line) && !next {
					t.Fatalf("%s byte %d (line %d) bit %d: %v", name, at, line, bit, err)
				}
			}
		}
	}
}

func TestLinesMoved(t *testing.T) {
	segments, _ := threeSegments(t)
	for name, data := range segments {
		lines := bytes.SplitAfter(data, []byte("\n"))
		lines = lines[:len(lines)-1]
		join := func(parts ...[][]byte) []byte {
			var all []byte
			for _, p := range parts {
				all = append(all, bytes.Join(p, nil)...)
			}
			return all
		}
		for i := range lines {
			_, err := ledger.ReadJournal(spoilt(segments, name, join(lines[:i+1], lines[i:])))
			corrupt(t, "doubled line", err, name, i+2)
			for j := i + 1; j < len(lines); j++ {
				moved := append([][]byte{}, lines...)
				moved[i], moved[j] = moved[j], moved[i]
				_, err = ledger.ReadJournal(spoilt(segments, name, join(moved)))
				corrupt(t, "swapped lines", err, name, i+1)
			}
			if i+1 < len(lines) {
				_, err = ledger.ReadJournal(spoilt(segments, name, join(lines[:i], lines[i+1:])))
				corrupt(t, "missing line", err, name, i+1)
			}
			_, err = ledger.ReadJournal(spoilt(segments, name, join(lines[:i], [][]byte{[]byte("\n")}, lines[i:])))
			corrupt(t, "empty line", err, name, i+1)
		}
	}
}

// A line of another run, or one whose hash chain is right but whose place is
// not, does not fit.
func TestForeignLines(t *testing.T) {
	sealed := ledger.Event{Prev: ledger.ZeroHash, Time: start, Run: "speedup", Data: &ledger.Sealed{}}
	first, err := sealed.Format()
	if err != nil {
		t.Fatal(err)
	}
	fits := ledger.Event{Seq: 1, Prev: ledger.Hash(first), Time: start, Run: "speedup", Data: &ledger.Halted{}}
	tests := []struct {
		name, want string
		spoil      func(*ledger.Event)
	}{
		{"fits", "", func(*ledger.Event) {}},
		{"another run", `run "other"`, func(e *ledger.Event) { e.Run = "other" }},
		{"a seq of the future", "seq 2, want 1", func(e *ledger.Event) { e.Seq = 2 }},
		{"another prev", "prev is sha256:0000", func(e *ledger.Event) { e.Prev = ledger.ZeroHash }},
		{"prev in capitals", "prev is SHA256", func(e *ledger.Event) { e.Prev = strings.ToUpper(e.Prev) }},
		{"another segment's iteration", "iteration 1 belongs to journal/000/1.jsonl", func(e *ledger.Event) { e.Iteration = 1 }},
	}
	for _, tt := range tests {
		e := fits
		tt.spoil(&e)
		text, err := e.Format()
		if err != nil {
			t.Fatal(err)
		}
		_, err = ledger.ReadJournal(map[string][]byte{ledger.Segment(0): append(bytes.Clone(first), text...)})
		if tt.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		corrupt(t, tt.name, err, ledger.Segment(0), 2)
		if err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestSegmentNames(t *testing.T) {
	segments, _ := threeSegments(t)
	rename := func(from, to string) map[string][]byte {
		out := spoilt(segments, to, segments[from])
		delete(out, from)
		return out
	}
	tests := []struct {
		name     string
		segments map[string][]byte
		want     string // the segment that is named
	}{
		{"none", nil, "journal/000/0.jsonl"},
		{"an empty one", map[string][]byte{"journal/000/0.jsonl": nil}, "journal/000/0.jsonl"},
		{"first missing", rename("journal/000/0.jsonl", "journal/000/3.jsonl"), "journal/000/3.jsonl"},
		{"middle missing", rename("journal/000/1.jsonl", "journal/000/3.jsonl"), "journal/000/3.jsonl"},
		{"two digits", rename("journal/000/2.jsonl", "journal/000/02.jsonl"), "journal/000/02.jsonl"},
		{"another folder", rename("journal/000/2.jsonl", "journal/001/2.jsonl"), "journal/001/2.jsonl"},
		{"no folder", rename("journal/000/2.jsonl", "2.jsonl"), "2.jsonl"},
		{"another ending", rename("journal/000/2.jsonl", "journal/000/2.json"), "journal/000/2.json"},
		{"hostile name", spoilt(segments, "journal/../../x", nil), "journal/../../x"},
		{"an empty one at the end", spoilt(segments, "journal/000/3.jsonl", nil), "journal/000/3.jsonl"},
		{"doubled segment", spoilt(segments, "journal/000/3.jsonl", segments["journal/000/2.jsonl"]), "journal/000/3.jsonl"},
	}
	for _, tt := range tests {
		_, err := ledger.ReadJournal(tt.segments)
		line := 0
		if tt.name == "doubled segment" {
			line = 1
		}
		corrupt(t, tt.name, err, tt.want, line)
	}
}

func TestHugeLine(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MiB")
	}
	segments, _ := journal(t, []ledger.Data{&ledger.Sealed{}}, []int{0})
	name := ledger.Segment(0)
	line := bytes.Repeat([]byte("x"), ledger.MaxLine)
	_, err := ledger.ReadJournal(spoilt(segments, name, append(segments[name], append(line, '\n')...)))
	corrupt(t, "huge line", err, name, 2)
}

// TestManyLines reads a segment of nothing but line ends, for which nobody needs
// more room than it has bytes: git packs a gigabyte of them into a megabyte.
func TestManyLines(t *testing.T) {
	const size = 4 << 20
	name := ledger.Segment(0)
	segment := bytes.Repeat([]byte("\n"), size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ledger.Decode(name, segment)
	runtime.ReadMemStats(&after)
	corrupt(t, "line ends", err, name, 1)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*size {
		t.Errorf("took %d bytes of memory for %d bytes that hold no line", took, size)
	}
}

// TestLongLine reads lines of nothing but empty objects, which are decoded into a
// hundred times as much: nobody does.
func TestLongLine(t *testing.T) {
	e := ledger.Event{Prev: ledger.ZeroHash, Run: "speedup", Data: &ledger.Evaluated{}}
	text, err := e.Format()
	if err != nil {
		t.Fatal(err)
	}
	const size = 4 << 20
	many := "[{}" + strings.Repeat(",{}", size/3) + "]"
	long := strings.Replace(string(text), `"measurements":null`, `"measurements":`+many, 1)
	for name, line := range map[string]string{"data": long, "front": strings.Replace(long, `"v":1`, `"v": 1`, 1)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ledger.ParseEvent([]byte(line))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "not in the form") {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; len(line) < size || took > 8*size {
			t.Errorf("%s: took %d bytes of memory for %d", name, took, len(line))
		}
	}
}

func TestParseEntryRefuses(t *testing.T) {
	text, err := ledger.FormatEntry(entry(3))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ledger.ParseEntry(text); err != nil || !reflect.DeepEqual(got, entry(3)) {
		t.Fatalf("%+v, %v", got, err)
	}
	line := string(text)
	for _, tt := range []struct{ name, line string }{
		{"nothing", ""},
		{"no newline", strings.TrimSuffix(line, "\n")},
		{"two lines", line + line},
		{"unknown key", strings.Replace(line, `"role"`, `"rolle":1,"role"`, 1)},
		{"unknown key deep inside", strings.Replace(line, `"pair_id":1`, `"pair_id":1,"pair":1`, 1)},
		{"doubled key", strings.Replace(line, `"role":"candidate"`, `"role":"baseline","role":"candidate"`, 1)},
		{"missing key", strings.Replace(line, `"role":"candidate",`, ``, 1)},
		{"wrong type", strings.Replace(line, `"iteration":3`, `"iteration":"3"`, 1)},
		{"other spelling", strings.Replace(line, `"primary_value":0.75`, `"primary_value":0.750`, 1)},
		{"map in another order", strings.Replace(line, `{"a":-0.5,"b":1e+21}`, `{"b":1e+21,"a":-0.5}`, 1)},
		{"not UTF-8", strings.Replace(line, `"hypothesis":"h"`, "\"hypothesis\":\"\xff\"", 1)},
	} {
		if tt.line == line {
			t.Fatalf("%s: nothing was changed", tt.name)
		}
		if _, err := ledger.ParseEntry([]byte(tt.line)); err == nil {
			t.Errorf("%s is accepted", tt.name)
		}
	}
}

func TestReadResults(t *testing.T) {
	var data []ledger.Data
	var iterations []int
	results := map[string][]byte{}
	for i := range 3 {
		data, iterations = append(data, &ledger.Finalized{Entry: entry(i)}, &ledger.Published{}), append(iterations, i, i)
		line, err := ledger.FormatEntry(entry(i))
		if err != nil {
			t.Fatal(err)
		}
		results[ledger.Results(i)] = append(results[ledger.Results(i)], line...)
	}
	_, chain := journal(t, data, iterations)
	got, err := ledger.ReadResults(results, chain.Events)
	if err != nil || len(got) != 3 || !reflect.DeepEqual(got[1], entry(1)) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	first, second := ledger.Results(0), ledger.Results(1)
	without := spoilt(results, second, nil)
	delete(without, second)
	tests := []struct {
		name  string
		files map[string][]byte
		want  string
		line  int
	}{
		{"none at all", nil, first, 0},
		{"a file missing", without, second, 0},
		{"an empty file", spoilt(results, second, []byte{}), second, 1},
		{"cut within the line", spoilt(results, first, results[first][:10]), first, 1},
		{"cut before the newline", spoilt(results, first, bytes.TrimSuffix(results[first], []byte("\n"))), first, 1},
		{"the line doubled", spoilt(results, first, bytes.Repeat(results[first], 2)), first, 1},
		{"the line of another", spoilt(results, first, results[second]), first, 1},
		{"a value changed", spoilt(results, second, bytes.Replace(results[second], []byte("0.75"), []byte("0.76"), 1)), second, 1},
		{"a file that no attempt has", spoilt(results, "results/000/3.json", results[first]), "results/000/3.json", 0},
		{"an empty file that no attempt has", spoilt(results, "results/000/3.json", nil), "results/000/3.json", 0},
		{"a hostile name", spoilt(results, "results/..", nil), "results/..", 0},
	}
	for _, tt := range tests {
		_, err := ledger.ReadResults(tt.files, chain.Events)
		corrupt(t, tt.name, err, tt.want, tt.line)
	}
	if got, err := ledger.ReadResults(nil, nil); err != nil || len(got) != 0 {
		t.Errorf("no attempts, no results: %v, %v", got, err)
	}
}
