package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// written are the lines of every shape that the decoder lists, filled to depth.
func written(tb testing.TB, depth int) (lines [][]byte) {
	for kind := range known().data {
		data := reflect.New(kind).Interface().(Data)
		fill(reflect.ValueOf(data).Elem(), depth)
		text, err := (Event{Prev: ZeroHash, Run: "speedup", Data: data}).Format()
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, text)
	}
	return lines
}

// agree checks that both decoders take text, or none, and read the same in it.
func agree(t *testing.T, s *strict, text []byte) {
	t.Helper()
	got, ok := s.event(text)
	want, err := compared(text)
	if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
		t.Errorf("taken is %v and read %+v, want %+v (%v)\n%s", ok, got.Data, want.Data, err, text)
	}
}

// TestStrictTakesWhatIsWritten holds that the fast decoder knows every shape of
// the events that it lists, filled or empty: none falls back to the slow one.
func TestStrictTakesWhatIsWritten(t *testing.T) {
	for depth := range 3 {
		for _, text := range written(t, depth) {
			agree(t, new(strict), text)
			if _, ok := new(strict).event(text); !ok {
				t.Errorf("not taken: %s", text)
			}
		}
	}
}

// TestStrictRemembers reads lines after others, like and unlike them, and holds
// that none is read otherwise for that, then or later.
func TestStrictRemembers(t *testing.T) {
	lines := slices.Concat(attempts(t, 2, 3), written(t, 2), attempts(t, 3, 1), written(t, 0), written(t, 1), attempts(t, 2, 5))
	s := strict{met: map[string]string{}}
	var events []Event
	for _, text := range lines {
		agree(t, &s, text)
		e, ok := s.event(text)
		if !ok {
			t.Fatalf("not taken: %s", text)
		}
		events = append(events, e)
	}
	for i, text := range lines {
		if want, err := compared(text); err != nil || !reflect.DeepEqual(events[i], want) {
			t.Errorf("%s has become %+v", text, events[i].Data)
		}
	}
}

// TestStrictEdits edits the lines of an attempt, by what the slow decoder
// takes and by what it does not.
func TestStrictEdits(t *testing.T) {
	lines := attempts(t, 1, 2)
	const wall = `"wall_seconds":0.25`
	for _, edit := range []struct {
		from, to string
		want     bool
	}{
		{`"accuracy":0.5,` + wall, `"accuracy":0.5`, true},
		{`"accuracy":0.5,` + wall, ``, true},
		{`{"accuracy":0.5,` + wall + `}`, `null`, true},
		{`[{"id":"a","score":1}]`, `null`, true},
		{`[{"id":"a","score":1}]`, `[]`, true},
		{`"cpu_seconds":0.125`, `"cpu_seconds":null`, true},
		{`"accuracy":0.5,` + wall, wall + `,"accuracy":0.5`, false},
		{`"accuracy":0.5,` + wall, `"accuracy":0.5,"accuracy":0.5`, false},
		{`"accuracy":0.5,` + wall, `"accuracy":0.5,` + wall + `,`, false},
		{`"accuracy":0.5,` + wall, `,` + wall, false},
		{`"accuracy":0.5,` + wall, `"accuracy",` + wall, false},
		{`"accuracy":0.5,` + wall, `"accuracy":null`, false},
		{`[{"id":"a","score":1}]`, `[{"id":"a","score":1},]`, false},
		{`[{"id":"a","score":1}]`, `[,{"id":"a","score":1}]`, false},
		{`[{"id":"a","score":1}]`, `[{"id":"a","score":1} ]`, false},
		{`[{"id":"a","score":1}]`, `[{"id":"a","score":1}`, false},
		{`"id":"a"`, `"id":null`, false},
		{`"id":"a"`, `"id":"\u0061"`, false},
		{`"id":"a"`, `"id":"a`, false},
		{`"score":1`, `"score":null`, false},
		{`"call":0`, `"call":0.5`, false},
		{`"stage":`, `"Stage":`, false},
		{`19:06:42Z`, `19:06:42.000Z`, false},
		{`19:06:42Z`, `19:06:42+00:00`, false},
		{`"time":"2027-01-15T19:06:42Z"`, `"time":"2027-01-15T21:06:42+02:00"`, false},
	} {
		s := strict{met: map[string]string{}}
		found := false
		for _, text := range lines {
			s.event(text)
			edited := bytes.Replace(text, []byte(edit.from), []byte(edit.to), 1)
			if bytes.Equal(edited, text) {
				continue
			}
			found = true
			agree(t, &s, edited)
			if _, ok := s.event(edited); ok != edit.want {
				t.Errorf("%s for %s: taken is %v, want %v\n%s", edit.to, edit.from, ok, edit.want, edited)
			}
		}
		if !found {
			t.Errorf("no line has %s", edit.from)
		}
	}
}

// TestStrictNumbers holds that a number is taken if it is as it would be written.
func TestStrictNumbers(t *testing.T) {
	words := []string{"", "0", "-0", "00", "0.0", "-", "+1", "1.", ".5", "05", "-05", "00.5", "1.50", "1.2.3", "0.5e1", "1e6", "1e-7", "1e21", "1E21",
		"0.000001", "0.0000001", "0.00000012", "999999999999999", "1000000000000000", "100000000000000000000", "9007199254740993", "0.3000000000000000",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "5e-324", "1e400", "0.1", "-1.5", "123456789012.34", "1234567890123456.7", "nul"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		word := strconv.FormatInt(random.Int64N(1+random.Int64N(1e17)), 10)
		if at := random.IntN(2 * len(word)); at < len(word) {
			word = word[:at] + "." + word[at:]
		}
		words = append(words, word, "0.00"+word)
	}
	for _, word := range words {
		var f float64
		var i int64
		again, _ := json.Marshal(f)
		if json.Unmarshal([]byte(word), &f) == nil {
			again, _ = json.Marshal(f)
		}
		got, rest, ok := float(nil, []byte(word))
		ok = ok && len(rest) == 0
		if want := word == string(again); ok != want || ok && got != f {
			t.Errorf("float %s: %v %v, want %v %v", word, ok, got, want, f)
		}
		rest, ok = intShape(nil, []byte(word), reflect.ValueOf(&i).Elem())
		ok = ok && len(rest) == 0
		if want, err := strconv.ParseInt(word, 10, 64); ok != (err == nil && word == fmt.Sprint(want)) || ok && i != want {
			t.Errorf("integer %s: %v %v, want %v (%v)", word, ok, i, want, err)
		}
	}
}

// TestStrictStrings puts every character, and every byte that begins none, at
// every place of a string.
func TestStrictStrings(t *testing.T) {
	for r := range rune(0x2100) {
		for at := range 17 {
			if r >= 0x100 && r < 0x2000 && at != 9 {
				continue // those differ in nothing
			}
			for _, middle := range []string{string(r), string([]byte{byte(r)})} {
				text := []byte(`"` + strings.Repeat("x", at) + middle + strings.Repeat("y", 16-at) + `"`)
				var want string
				err := json.Unmarshal(text, &want)
				again, _ := marshal(want)
				last := ""
				got, rest, ok := new(strict).text(text, &last, true)
				ok = ok && len(rest) == 0
				if taken := err == nil && bytes.Equal(again, text); ok != taken || ok && got != want {
					t.Fatalf("%q: %v %q, want %v %q", text, ok, got, taken, want)
				}
			}
		}
	}
}

// fill sets every field to something, in pointers, slices and maps too.
func fill(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), depth, depth))
		for i := range depth {
			fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range depth {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(string(rune('a' + i)))
			fill(value, depth)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString([]string{"", "plain <&> '/'", "q\"\\\n\x01\u2028é\ufffd"}[depth])
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{0, 0.1, -1.5e-9}[depth])
	}
}

// FuzzStrict holds that the fast decoder takes nothing that the slow one
// refuses, and reads in it what the slow one reads, whatever it read before.
func FuzzStrict(f *testing.F) {
	for depth := range 3 {
		for _, text := range written(f, depth) {
			f.Add(text, 0, byte(0))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, at int, b byte) {
		s := strict{met: map[string]string{}}
		s.event(text)
		if n := len(text); n > 0 { // most lines must stay nearly right to say anything
			text = bytes.Clone(text)
			text[(at%n+n)%n] ^= b
		}
		for _, s := range []*strict{{}, &s} {
			got, ok := s.event(text)
			if !ok {
				continue
			}
			if want, err := compared(text); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q is read as %+v, want %+v (%v)", text, got.Data, want.Data, err)
			}
		}
	})
}

// TestStrictEveryFlip spoils every bit of a line of every shape.
func TestStrictEveryFlip(t *testing.T) {
	step := 3 // every position of a byte has its turn
	if os.Getenv("CI") == "true" {
		step = 1
	}
	for _, text := range written(t, 1) {
		s := strict{met: map[string]string{}}
		for bit := 0; bit < 8*len(text); bit += step {
			s.event(text)
			spoilt := bytes.Clone(text)
			spoilt[bit/8] ^= 1 << (bit % 8)
			agree(t, &s, spoilt)
		}
	}
}

// BenchmarkStrict decodes the lines of a segment, of attempts with one
// repetition and with 64.
func BenchmarkStrict(b *testing.B) {
	for _, repetitions := range []int{1, 64} {
		b.Run(fmt.Sprint(repetitions), func(b *testing.B) {
			lines := attempts(b, 10, repetitions)
			b.SetBytes(int64(len(bytes.Join(lines, nil))))
			b.ReportAllocs()
			for b.Loop() {
				s := strict{met: map[string]string{}}
				for _, text := range lines {
					if _, ok := s.event(text); !ok {
						b.Fatalf("not taken: %s", text)
					}
				}
			}
		})
	}
}

// attempts are the lines of n candidates that gained nothing.
func attempts(tb testing.TB, n, repetitions int) (lines [][]byte) {
	for i := range n {
		for _, data := range attemptOf(i, repetitions) {
			e := Event{Seq: len(lines), Prev: hashOf("line", len(lines)), Time: firstTime.Add(time.Duration(len(lines)) * time.Second), Run: "speedup", Iteration: i, Data: data}
			text, err := e.Format()
			if err != nil {
				tb.Fatal(err)
			}
			lines = append(lines, text)
		}
	}
	return lines
}

var firstTime = time.Date(2027, 1, 15, 19, 6, 42, 0, time.UTC)

// hashOf gives a hash, the same for the same name.
func hashOf(of string, i int) string { return Hash(fmt.Append(nil, of, i)) }

// commitOf gives a commit likewise.
func commitOf(of string, i int) string { return hashOf(of, i)[len("sha256:"):][:40] }

// attemptOf is what the events of a candidate say.
func attemptOf(i, repetitions int) []Data {
	yes, back, primary := true, commitOf("rollback", i), 0.5
	const why, summary = "accuracy 0.5 → 0.5: no gain", "1 file solver/run.sh"
	head := Head{Incumbent: commitOf("incumbent", 0), Candidate: commitOf("candidate", i)}
	leased := Head{Incumbent: head.Incumbent, Candidate: head.Candidate, Lease: fmt.Sprintf("%016x", i)}
	claim := &Claim{Holder: Holder{Host: "host", PID: 5000 + i, Start: "1"}, Deadline: firstTime.Add(time.Hour)}
	evaluated, results := passOf(leased, i, repetitions)
	constraints := map[string]*bool{"generalization_gate": nil, "harness_unchanged": &yes, "writable_tree_unchanged": &yes}
	return []Data{
		&Prepared{Head{Incumbent: head.Incumbent, Lease: leased.Lease, Claim: claim}},
		&Committed{Head: leased, Tree: commitOf("tree", i), RecordedTip: commitOf("tip", i), Commits: []string{head.Candidate}, Summary: summary,
			Trailers: Trailers{"h", "f", "m", "p", "c"}, Missing: []string{},
			Audit: Audit{Verdict: "pass", Classes: []string{}, Findings: []Finding{}, Notes: []string{}}},
		&Started{Head: leased, Stage: Development, Repetitions: repetitions},
		evaluated,
		&Decided{Head: head, Status: Discard, Reason: why, Metrics: twoMetrics(), IncumbentMetrics: twoMetrics(), Constraints: constraints,
			IntendedIncumbent: head.Incumbent, Rollback: Rollback{Required: true, Tree: commitOf("tree", 0)}, Replay: true},
		&RolledBack{Head: head, Commit: back, By: "supervisor", Swept: []string{}},
		&Finalized{Entry{Iteration: i, Role: RoleCandidate, Commit: head.Candidate, Incumbent: head.Incumbent, RollbackCommit: &back,
			StartedAt: firstTime, EndedAt: firstTime.Add(time.Minute), Contract: hashOf("contract", 0), Status: Discard, Reason: why,
			PrimaryMetric: "accuracy", PrimaryValue: &primary, SplitMetrics: SplitMetrics{Development: &primary}, Aggregation: "one launch",
			Secondary: map[string]float64{}, Repetitions: results, DurationSeconds: 5, Hypothesis: "h", ChangeSummary: summary,
			LeakageAudit: LeakageAudit{Verdict: "pass", Classes: []string{}}, Constraints: constraints, Level: "local", Exceptions: []string{"no-gate"}}},
		&Published{Commit: head.Candidate, Verdict: "discard", Where: []string{},
			Note: "research-loop/octo-org/widget/speedup\nverdict discard\ncommit " + head.Candidate + "\n\n— example.com/widget kFJ0M8R8pD1uVnpX6bycTHNymcf4Xlz8\n"},
	}
}

func twoMetrics() map[string]float64 {
	return map[string]float64{"accuracy": 0.5, "wall_seconds": 0.25}
}

// passOf is what one launch a repetition came to.
func passOf(head Head, i, repetitions int) (*Evaluated, []Repetition) {
	e := &Evaluated{Head: head, Logs: map[string]string{}, Evaluation: Evaluation{
		Stage: Development, Tools: map[string]string{"go": "go1.26"}, Violations: []string{}, EvaluatorSeconds: 0.25 * float64(repetitions)}}
	var results []Repetition
	for n := range repetitions {
		primary, wall, cpu, memory := 0.5, 0.25+float64(n)/1024, 0.125+float64(n)/4096, int64(1<<20+4096*n)
		log := fmt.Sprintf("000/%04d/candidate-%d.log", i, n)
		e.Launches = append(e.Launches, Launch{Kind: Measure, Arm: Candidate, Commit: head.Candidate, Repetition: n, Outcome: "exited",
			WallSeconds: wall, CPUSeconds: &cpu, PeakMemoryBytes: &memory, StdoutBytes: 20, Before: ZeroHash, After: ZeroHash, Log: log})
		e.Measurements = append(e.Measurements, Measurement{Arm: Candidate, Commit: head.Candidate, Repetition: n, Metrics: twoMetrics(),
			Cases: []CaseScore{{ID: "a", Score: 1}}, Counterexamples: map[string]string{}})
		e.Logs[log+".gz"] = hashOf(log, 0)
		results = append(results, Repetition{PairID: n, Arm: Candidate, Phase: "deterministic", Commit: head.Candidate,
			Primary: &primary, Metrics: twoMetrics(), Duration: wall, Log: &log})
	}
	return e, results
}
