package evaluate

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/ledger"
)

func TestReadAccepts(t *testing.T) {
	tests := []struct {
		name, out string
		want      map[string]float64
		cases     []ledger.CaseScore
	}{
		{"plain", `{"metrics": {"accuracy": 0.5, "misses": 3}}`, map[string]float64{"accuracy": 0.5, "misses": 3}, nil},
		{"white space around", "\n {\"metrics\":{\"misses\":0,\"accuracy\":1e-3}} \n\n", map[string]float64{"accuracy": 1e-3, "misses": 0}, nil},
		{"no cases", `{"cases": [], "metrics": {"accuracy": 1, "misses": 0}}`, map[string]float64{"accuracy": 1, "misses": 0}, nil},
		{"all cases", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": "b", "score": 1}, {"score": -0.5, "id": "a"}]}`,
			map[string]float64{"accuracy": 1, "misses": 0}, []ledger.CaseScore{{ID: "b", Score: 1}, {ID: "a", Score: -0.5}}},
		{"minus nought", `{"metrics": {"accuracy": -0.0, "misses": -0}}`, map[string]float64{"accuracy": 0, "misses": 0}, nil},
	}
	e := extraction{metrics: []string{"accuracy", "misses"}, ids: []string{"a", "b"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := e.read([]byte(tt.out))
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got.metrics, tt.want) || !slices.Equal(got.cases, tt.cases) {
				t.Errorf("got %v", got)
			}
			for name, v := range got.metrics {
				if v == 0 && math.Signbit(v) {
					t.Errorf("%s is -0", name)
				}
			}
		})
	}
}

func TestReadByCase(t *testing.T) {
	e := extraction{metrics: []string{"accuracy"}, ids: []string{"a"}, byCase: true}
	for _, out := range []string{`{"metrics": {"accuracy": 1}}`, `{"metrics": {"accuracy": 1}, "cases": []}`} {
		if _, err := e.read([]byte(out)); err == nil || !strings.Contains(err.Error(), `cases: none, and a sealed split is judged case by case: print "cases"`) {
			t.Errorf("%s: error %v", out, err)
		}
	}
	if _, err := e.read([]byte(`{"metrics": {"accuracy": 1}, "cases": [{"id": "a", "score": 1}]}`)); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, out, want string }{
		{"nothing", " \n", "printed nothing"},
		{"not JSON", "accuracy 0.5", "invalid character 'a'"},
		{"NaN", `{"metrics": {"accuracy": NaN, "misses": 0}}`, `metric "accuracy": invalid character 'N'`},
		{"infinity", `{"metrics": {"accuracy": 1e999, "misses": 0}}`, `metric "accuracy": "1e999" is not a finite`},
		{"number in a string", `{"metrics": {"accuracy": "1", "misses": 0}}`, `metric "accuracy": 1 is not a number`},
		{"null", `{"metrics": {"accuracy": null, "misses": 0}}`, `is not a number`},
		{"missing metric", `{"metrics": {"accuracy": 1}}`, "metrics: misses is missing"},
		{"unknown metric", `{"metrics": {"accuracy": 1, "misses": 0, "wall_seconds": 1}}`, `"wall_seconds" is not asked of the scorer: name it under secondary`},
		{"metric twice", `{"metrics": {"accuracy": 1, "misses": 0, "accuracy": 1}}`, `key "accuracy" stands there twice`},
		{"escaped twin", `{"metrics": {"accuracy": 1, "misses": 0, "\u0061ccuracy": 1}}`, `key "accuracy" stands there twice`},
		{"metrics twice", `{"metrics": {"accuracy": 1, "misses": 0}, "metrics": {"accuracy": 1, "misses": 0}}`, `key "metrics" stands there twice`},
		{"unknown key", `{"metrics": {"accuracy": 1, "misses": 0}, "note": 1}`, `unknown key "note"`},
		{"another case of key", `{"Metrics": {"accuracy": 1, "misses": 0}}`, `unknown key "Metrics"`},
		{"no metrics", `{"cases": []}`, `key "metrics" is missing`},
		{"text before", `debug {"metrics": {"accuracy": 1, "misses": 0}}`, "invalid character 'd'"},
		{"text after", `{"metrics": {"accuracy": 1, "misses": 0}} ok`, "text after the object"},
		{"two objects", `{"metrics": {"accuracy": 1, "misses": 0}}{}`, "text after the object"},
		{"cut short", `{"metrics": {"accuracy": 1, "misses": 0}`, "ends too early"},
		{"array", `[1]`, "[ where { is due"},
		{"metrics array", `{"metrics": [1]}`, "metrics: [ where { is due"},
		{"not UTF-8", "{\"metrics\": {\"accuracy\": 1, \"misses\": 0, \"\xff\": 1}}", "not UTF-8"},
		{"strange case", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": "z", "score": 1}]}`, `"z" is no case`},
		{"case twice", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": "a", "score": 1}, {"id": "a", "score": 1}]}`, `"a" stands there twice`},
		{"some cases", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": "a", "score": 1}]}`, "1 of 2 have a score"},
		{"case without score", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": "a"}]}`, "cases[0]: id and score are both needed"},
		{"case with more", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": "a", "score": 1, "x": 1}]}`, `cases[0]: unknown key "x"`},
		{"case of number", `{"metrics": {"accuracy": 1, "misses": 0}, "cases": [{"id": 1, "score": 1}]}`, "1 is not a string"},
	}
	e := extraction{metrics: []string{"accuracy", "misses"}, ids: []string{"a", "b"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := e.read([]byte(tt.out))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, error %v; want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestReadPattern(t *testing.T) {
	tests := []struct {
		name, pattern, out string
		want               float64
		err                string
	}{
		{"anchored", `^score: ([0-9.]+)$`, "loading\nscore: 0.75\r\nbye\n", 0.75, ""},
		{"anchored with m", `(?m)^score: ([0-9.]+)$`, "score: 0.75", 0.75, ""},
		{"no group", `[0-9]+`, "found 42", 42, ""},
		{"none", `^score: (.*)$`, "points: 1\n", 0, "matched 0 times"},
		{"two lines", `^score: (.*)$`, "score: 1\nscore: 1\n", 0, "matched 2 times"},
		{"two on a line", `score: ([0-9]+)`, "score: 1 score: 2\n", 0, "matched 2 times"},
		{"NaN", `^score: (.*)$`, "score: NaN\n", 0, `"NaN" is not a finite`},
		{"hexadecimal", `^score: (.*)$`, "score: 0x1p-2\n", 0, `"0x1p-2" is not a finite`},
		{"dots", `^score: ([0-9.]+)$`, "score: 1.2.3\n", 0, `"1.2.3" is not a finite`},
		{"empty", `^score: (.*)$`, "score: \n", 0, `"" is not a finite`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := extraction{regex: regexp.MustCompile(tt.pattern), metrics: []string{"accuracy"}}
			got, err := e.read([]byte(tt.out))
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, error %v; want an error with %q", got, err, tt.err)
				}
			case err != nil || got.metrics["accuracy"] != tt.want:
				t.Errorf("got %v, error %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestReadPatternNeedsOneMetric(t *testing.T) {
	e := extraction{regex: regexp.MustCompile(`.*`), metrics: []string{"a", "b"}}
	if _, err := e.read([]byte("1")); err == nil || !strings.Contains(err.Error(), "asks for 2") {
		t.Errorf("got %v", err)
	}
}

// FuzzParseScores holds what is accepted against encoding/json: the same
// numbers, written again, are read again.
func FuzzParseScores(f *testing.F) {
	for _, s := range []string{
		`{"metrics": {"accuracy": 0.5}, "cases": [{"id": "a", "score": 1}]}`, `{"metrics": {"a": NaN}}`,
		`{"metrics": {"a": 1, "a": 2}}`, `{"metrics": {}} x`, `[`, `{"metrics": {"a": -0}}`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseScores(data)
		if err != nil {
			return
		}
		type document struct {
			Metrics map[string]float64 `json:"metrics"`
			Cases   []ledger.CaseScore `json:"cases"`
		}
		var twin document
		if err := json.Unmarshal(data, &twin); err != nil || !maps.Equal(twin.Metrics, s.metrics) || !slices.Equal(twin.Cases, s.cases) {
			t.Fatalf("encoding/json reads %v (%v), we %v", twin, err, s)
		}
		again, err := json.Marshal(document{s.metrics, s.cases})
		if err != nil {
			t.Fatal(err)
		}
		if s.cases == nil {
			again = []byte(strings.Replace(string(again), `,"cases":null`, "", 1))
		}
		if back, err := parseScores(again); err != nil || !maps.Equal(back.metrics, s.metrics) || !slices.Equal(back.cases, s.cases) {
			t.Fatalf("%s is read as %v (%v)", again, back, err)
		}
	})
}
