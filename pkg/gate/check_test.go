package gate

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
)

// sealable is a plan that nothing stands against.
func sealable() (Plan, Facts) {
	return Plan{Queries: 20, Rule: NonInferior, Margin: 10, Duration: 120 * time.Second, Source: Untouched, Direction: contract.Higher},
		Facts{Cases: 400, FinalCases: 432, Inputs: "sha256:01", Answers: "sha256:02", PerCase: true, Outcomes: 2}
}

func codes(refusals []Refusal) []Code {
	var out []Code
	for _, r := range refusals {
		out = append(out, r.Code)
	}
	return out
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Plan, f *Facts)
		want   []Code
	}{
		{"nothing", func(*Plan, *Facts) {}, nil},
		{"G1 few cases", func(p *Plan, f *Facts) { f.Cases, p.Queries, p.Margin = 7, 2, 1 }, []Code{TooFewCases}},
		{"G2 many queries", func(p *Plan, f *Facts) { f.Cases = 100 }, []Code{TooManyQueries}},
		{"G2 just enough", func(p *Plan, f *Facts) { f.Cases, p.Queries = 100, 16 }, nil},
		{"G2 one too many", func(p *Plan, f *Facts) { f.Cases, p.Queries = 100, 17 }, []Code{TooManyQueries}},
		{"G3 buckets", func(p *Plan, f *Facts) { f.Outcomes = 5 }, []Code{TooManyResults}},
		{"G3 no outcome", func(p *Plan, f *Facts) { f.Outcomes = 0 }, []Code{TooManyResults}},
		{"G4 score", func(p *Plan, f *Facts) { f.Scores = true }, []Code{ScoreVisible}},
		{"G5 no margin", func(p *Plan, f *Facts) { p.Margin = 0 }, []Code{BadMargin}},
		{"G5 no margin to improve", func(p *Plan, f *Facts) { p.Margin, p.Rule = 0, Improve }, []Code{BadMargin}},
		{"G6 crash", func(p *Plan, f *Facts) { f.Failures = true }, []Code{FailureVisible}},
		{"G7 inputs", func(p *Plan, f *Facts) { f.Inputs = "" }, []Code{Unbound}},
		{"G7 answers", func(p *Plan, f *Facts) { f.Answers = "" }, []Code{Unbound}},
		{"G8 no query", func(p *Plan, f *Facts) { p.Queries = 0 }, []Code{TooFewQueries}},
		{"G8 the baseline's only", func(p *Plan, f *Facts) { p.Queries = 1 }, []Code{TooFewQueries}},
		{"G8 negative", func(p *Plan, f *Facts) { p.Queries = math.MinInt }, []Code{TooFewQueries}},
		{"no results of cases", func(p *Plan, f *Facts) { f.PerCase = false }, []Code{NoCaseResults}},
		{"no time", func(p *Plan, f *Facts) { p.Duration = 0 }, []Code{BadPlan}},
		{"rule", func(p *Plan, f *Facts) { p.Rule = "better" }, []Code{BadPlan}},
		{"source", func(p *Plan, f *Facts) { p.Source = "" }, []Code{BadPlan}},
		{"direction", func(p *Plan, f *Facts) { p.Direction = "" }, []Code{BadPlan}},
		{"margin below zero", func(p *Plan, f *Facts) { p.Margin = -1 }, []Code{BadMargin}},
		{"margin NaN", func(p *Plan, f *Facts) { p.Margin = math.NaN() }, []Code{BadMargin}},
		{"margin infinite", func(p *Plan, f *Facts) { p.Margin = math.Inf(1) }, []Code{BadMargin}},
		{"margin of half a case", func(p *Plan, f *Facts) { p.Margin = 1.5 }, []Code{BadMargin}},
		{"nothing can fail", func(p *Plan, f *Facts) { p.Margin = 400 }, []Code{BadMargin}},
		{"nothing can pass", func(p *Plan, f *Facts) { p.Rule, p.Margin = Improve, 401 }, []Code{BadMargin}},
		{"all must win", func(p *Plan, f *Facts) { p.Rule, p.Margin = Improve, 400 }, nil},
		{"shared", func(p *Plan, f *Facts) {
			f.Shared = []Shared{{"validation", "development", 5, 5}, {"final", "development", 0, 13}, {"final", "validation", 0, 0}}
		}, []Code{SharedCase, SharedCase}},
		{"reused", func(p *Plan, f *Facts) { f.Reused = 1 }, []Code{ReusedCase}},
		{"reused, allowed", func(p *Plan, f *Facts) { f.Reused, f.Asked, f.Allowed = 400, 18, true }, nil},
		{"reused, used up", func(p *Plan, f *Facts) { f.Reused, f.Asked, f.Allowed = 400, 19, true }, []Code{TooFewQueries}},
		{"final charged", func(p *Plan, f *Facts) { f.FinalCharged, f.Allowed = 1, true }, []Code{ReusedFinal}},
		{"final of four", func(p *Plan, f *Facts) { f.FinalCases = 4 }, []Code{FinalTooSmall}},
		{"final of five", func(p *Plan, f *Facts) { f.FinalCases = 5 }, nil},
		{"no final", func(p *Plan, f *Facts) { f.FinalCases = 0 }, nil},
		{"one workload", func(p *Plan, f *Facts) { p.Workloads, f.Cases, p.Margin = true, 1, .02 }, []Code{TooFewCases}},
		{"two workloads", func(p *Plan, f *Facts) { p.Workloads, f.Cases, p.Margin = true, 2, .02 }, nil},
		{"a workload of development", func(p *Plan, f *Facts) {
			p.Workloads, f.Cases, p.Margin = true, 2, .02
			f.Shared = []Shared{{"validation", "development", 1, 1}}
		}, []Code{SharedCase}},
		{"workloads with a margin of cases", func(p *Plan, f *Facts) { p.Workloads, f.Cases = true, 3 }, []Code{BadMargin}},
		{"one final workload", func(p *Plan, f *Facts) { p.Workloads, f.Cases, f.FinalCases, p.Margin = true, 2, 1, .02 }, []Code{FinalTooSmall}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, f := sealable()
			c.change(&p, &f)
			got := Check(p, f)
			if !slices.Equal(codes(got), c.want) {
				t.Fatalf("refusals %q, want %q", got, c.want)
			}
			for _, r := range got {
				if r.Fix == "" || r.Reason == "" || r.Error() != r.Reason {
					t.Errorf("refusal without reason or cure: %+v", r)
				}
			}
		})
	}
}

func TestCheckSaysHowMany(t *testing.T) {
	p, f := sealable()
	f.Cases = 100
	got := Check(p, f)[0]
	want := Refusal{TooManyQueries, "gate: 20 queries can tell 28.8 bits, more than a quarter of 100 cases", "allow at most 16 queries, or bring at least 116 cases"}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestQueriesAndCases checks both searches against the law itself.
func TestQueriesAndCases(t *testing.T) {
	for n := 0; n < 3000; n++ {
		q := MaxQueries(n)
		if q > 0 && bits(q) > float64(n)/4 || bits(q+1) <= float64(n)/4 {
			t.Fatalf("MaxQueries(%d) = %d", n, q)
		}
	}
	for q := 0; q < 700; q++ {
		n := MinCases(q)
		if bits(q) > float64(n)/4 || n > minCases && bits(q) <= float64(n-1)/4 {
			t.Fatalf("MinCases(%d) = %d", q, n)
		}
	}
	if MaxQueries(-5) != 0 || MinCases(-5) != minCases || DefaultMargin(-5) != 0 {
		t.Error("counts below zero are taken")
	}
	for n, want := range map[int]int{100: 5, 400: 10, 101: 6} {
		if got := DefaultMargin(n); got != want {
			t.Errorf("DefaultMargin(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestUnchanged(t *testing.T) {
	p, f := sealable()
	if got := Unchanged(p, p, f, f); got != nil {
		t.Errorf("the same gate is refused: %v", got)
	}
	for _, change := range []func(p *Plan, f *Facts){
		func(p *Plan, f *Facts) { p.Queries++ },
		func(p *Plan, f *Facts) { p.Rule = Improve },
		func(p *Plan, f *Facts) { p.Margin++ },
		func(p *Plan, f *Facts) { p.Duration++ },
		func(p *Plan, f *Facts) { p.Source = User },
		func(p *Plan, f *Facts) { p.Direction = contract.Lower },
		func(p *Plan, f *Facts) { p.Workloads = true },
		func(p *Plan, f *Facts) { f.Cases++ },
		func(p *Plan, f *Facts) { f.Inputs = "sha256:03" },
		func(p *Plan, f *Facts) { f.Answers = "sha256:03" },
	} {
		q, g := sealable()
		change(&q, &g)
		if got := Unchanged(p, q, f, g); len(got) != 1 || got[0].Code != Changed {
			t.Errorf("%+v %+v: refusals %v, want one", q, g, got)
		}
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		cases, queries int
		workloads      bool
		want           []Label
	}{
		{400, 20, false, nil},
		{100, 16, false, []Label{Weak}},
		{29, 2, false, []Label{Weak, Thin}},
		{2, 20, true, nil},
	} {
		p, f := sealable()
		p.Queries, p.Workloads, f.Cases = c.queries, c.workloads, c.cases
		if got := Labels(p, f); !slices.Equal(got, c.want) {
			t.Errorf("%d cases, %d queries: %v, want %v", c.cases, c.queries, got, c.want)
		}
	}
}
