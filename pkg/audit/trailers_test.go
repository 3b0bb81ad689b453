package audit

import (
	"reflect"
	"testing"
)

func TestParseTrailers(t *testing.T) {
	full := Trailers{"h", "f", "m", "p", "c"}
	block := "Hypothesis: h\nFailure-class: f\nMechanism: m\nPredicted-variant: p\nCounterexample: c\n"
	for _, tt := range []struct {
		name, message string
		want          Trailers
		missing       []string
	}{
		{"full", "subject\n\nbody\n\n" + block, full, nil},
		{"carriage returns", "subject\r\n\r\nHypothesis: h\r\nFailure-class: f\r\nMechanism: m\r\nPredicted-variant: p\r\nCounterexample: c\r\n", full, nil},
		{"any case", "s\n\nHYPOTHESIS: h\nfailure-class:f\nMechanism : m\nPredicted-Variant:  p  \ncounterexample: c", full, nil},
		{"continued", "s\n\nHypothesis: h\n and\n\tmore\n", Trailers{Hypothesis: "h and more"}, trailerNames[1:]},
		{"last of doubles counts", "s\n\nMechanism: a\nMechanism: b\n", Trailers{Mechanism: "b"}, []string{"Hypothesis", "Failure-class", "Predicted-variant", "Counterexample"}},
		{"comments and scissors", "s\n\n# note\n" + block + "# ------------------------ >8 ----\nMechanism: x\n", full, nil},
		{"others beside ours", "s\n\nsome text\n" + block, full, nil},
		{"blank lines after", "s\n\n" + block + "\n\n  \n", full, nil},
		{"empty", "", Trailers{}, trailerNames},
		{"subject only", "Hypothesis: h\n", Trailers{}, trailerNames},
		{"not the last paragraph", block + "\n\nThe end.\n", Trailers{}, trailerNames},
		{"prose with a colon", "s\n\nThis is prose, and note: it has a colon\nand goes on here\n", Trailers{}, trailerNames},
		{"empty value", "s\n\nHypothesis:\nMechanism: m\n", Trailers{Mechanism: "m"}, []string{"Hypothesis", "Failure-class", "Predicted-variant", "Counterexample"}},
	} {
		got, missing := ParseTrailers(tt.message)
		if got != tt.want || !reflect.DeepEqual(missing, tt.missing) {
			t.Errorf("%s: got %+v, missing %q", tt.name, got, missing)
		}
	}
	if _, missing := ParseTrailers("subject\n\n" + Template); missing != nil {
		t.Errorf("the template itself misses %q", missing)
	}
}

func FuzzParseTrailers(f *testing.F) {
	f.Add("s\n\nHypothesis: h\n more\n")
	f.Fuzz(func(t *testing.T, message string) {
		got, missing := ParseTrailers(message)
		again, m := ParseTrailers(message)
		if got != again || len(missing) != len(m) || len(missing) > len(trailerNames) {
			t.Fatal("not deterministic")
		}
		filled := 0
		for _, v := range []string{got.Hypothesis, got.FailureClass, got.Mechanism, got.PredictedVariant, got.Counterexample} {
			if v != "" {
				filled++
			}
		}
		if filled+len(missing) != len(trailerNames) {
			t.Fatalf("%d filled and %d missing", filled, len(missing))
		}
	})
}
