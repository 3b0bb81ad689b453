package paired

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The reference cases were computed with R 4.2.2 and scipy 1.10.1, but for the
// estimates and bounds of data with zeros, which R leaves out of them too:
// those are counted from the means.

var (
	maize = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	sleep = []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, .8, 4.6, 1.4}
	zeros = []float64{0, 0, .02, .02, -.02, .04, .04, .06, .02, -.04, .08, .02}
)

// depression is the example of R's wilcox.test, by Hollander and Wolfe.
func depression() []float64 {
	x := []float64{1.83, .50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{.878, .647, .598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	return d
}

func analyse(t *testing.T, d []float64, alpha float64) Result {
	t.Helper()
	r, err := Analyse(d, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sign(t *testing.T, wins, losses int) float64 {
	t.Helper()
	r, err := Sign(wins, losses)
	if err != nil {
		t.Fatal(err)
	}
	return r.P
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if math.Abs(got-want) > relative*math.Abs(want) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

func TestAnalyseReference(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     []float64
		alpha float64
		want  Result
		lower float64
	}{
		{"maize", maize, .05, Result{Pairs: 15, Used: 15, W: 96, P: 676. / 32768, Estimate: 25}, 8},
		{"maize, 97.5 %", maize, .025, Result{Pairs: 15, Used: 15, W: 96, P: 0.0206298828125, Estimate: 25}, 4},
		{"depression", depression(), .05, Result{Pairs: 9, Used: 9, W: 40, P: 10. / 512, Estimate: .46}, .175},
		{"depression, 97.5 %", depression(), .025, Result{Pairs: 9, Used: 9, W: 40, P: 10. / 512, Estimate: .46}, .010},
		{"sleep", sleep, .05, Result{Pairs: 10, Used: 9, W: 45, P: 0.001953125, Estimate: 1.3}, 1},
		{"zeros and ties", zeros, .05, Result{Pairs: 12, Used: 10, W: 45, P: 0.044921875, Estimate: .02}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyse(t, c.d, c.alpha)
			if r.Pairs != c.want.Pairs || r.Used != c.want.Used || r.W != c.want.W {
				t.Errorf("pairs, used, W = %d, %d, %v, want %d, %d, %v", r.Pairs, r.Used, r.W, c.want.Pairs, c.want.Used, c.want.W)
			}
			near(t, "P", r.P, c.want.P, 0)
			near(t, "Estimate", r.Estimate, c.want.Estimate, 1e-12)
			if r.Lower == nil {
				t.Fatal("no lower bound")
			}
			near(t, "Lower", *r.Lower, c.lower, 1e-12)
		})
	}
}

func TestSmallestP(t *testing.T) {
	for n, want := range map[int]float64{5: .03125, 8: .00390625, 10: .0009765625} {
		d := make([]float64, n)
		for i := range d {
			d[i] = float64(i + 1)
		}
		near(t, "signed-rank P", analyse(t, d, .05).P, want, 0)
		near(t, "sign P", sign(t, n, 0), want, 0)
	}
}

// TestCritical compares with R's qsignrank, the smallest sum that is reached
// with a chance of at least alpha.
func TestCritical(t *testing.T) {
	for n, want := range map[int][2]int{8: {6, 2}, 10: {11, 6}, 16: {36, 24}, 24: {92, 70}} {
		for i, alpha := range []float64{.05, .01} {
			if got := critical(n, alpha) + 1; got != want[i] {
				t.Errorf("qsignrank(%v, %d) = %d, want %d", alpha, n, got, want[i])
			}
		}
	}
	if got := critical(4, .05); got != -1 {
		t.Errorf("critical(4, .05) = %d, want none", got)
	}
}

func TestSignReference(t *testing.T) {
	for _, c := range []struct {
		wins, losses int
		want         float64
	}{
		{13, 2, 0.003692626953125},          // maize
		{12, 2, 0.00646972656250},           // McNemar, one-sided
		{150, 86, 3.71593613957143e-05 / 2}, // R's binom.test(86, 236), two-sided
		{0, 0, 1}, {0, 7, 1}, {1, 0, .5}, {1, 1, .75}, {5, 0, 1. / 32},
		{10000, 0, math.SmallestNonzeroFloat64},
		{0, 10000, 1},
	} {
		near(t, "P", sign(t, c.wins, c.losses), c.want, 2e-14)
	}
}

// TestSignLarge compares with a distribution that is built throw by throw.
func TestSignLarge(t *testing.T) {
	for _, c := range [][2]int{{500, 500}, {1000, 900}, {900, 1000}, {5100, 4900}, {4900, 5100}, {5400, 4600}} {
		throws := slices.Repeat([]int{1}, c[0]+c[1])
		near(t, "P", sign(t, c[0], c[1]), atLeast(throws, c[0]), 1e-11)
	}
	if p := sign(t, 9000, 1000); p != math.SmallestNonzeroFloat64 {
		t.Errorf("P of 9000 wins and 1000 losses = %v, want the smallest above 0", p)
	}
}

func TestSignOfEqualCounts(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 5000} {
		p, q := sign(t, n, n), sign(t, n+1, n-1)
		if p <= .5 || q >= p {
			t.Errorf("%d wins, %d losses: P = %v, one more win %v", n, n, p, q)
		}
	}
}

// TestSymmetry: at least w wins and at most w-1 wins are all that can happen.
func TestSymmetry(t *testing.T) {
	for n := 1; n < 80; n++ {
		for w := 1; w <= n; w++ {
			near(t, "sum", sign(t, w, n-w)+sign(t, n-w+1, w-1), 1, 1e-15)
		}
	}
}

func TestRefused(t *testing.T) {
	big := make([]float64, MaxDifferences+1)
	for _, c := range []struct {
		name  string
		d     []float64
		alpha float64
		want  string
	}{
		{"NaN", []float64{1, math.NaN()}, .05, "pair 1: the difference is NaN"},
		{"infinite", []float64{math.Inf(-1)}, .05, "pair 0: the difference is -Inf"},
		{"too many", big, .05, "1001 pairs, at most 1000"},
		{"alpha zero", maize, 0, "alpha 0 is not"},
		{"alpha NaN", maize, math.NaN(), "alpha NaN is not"},
		{"alpha one", maize, 1, "alpha 1 is not"},
	} {
		if _, err := Analyse(c.d, c.alpha); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for _, c := range [][2]int{{-1, 0}, {0, -1}, {MaxPairs, 1}, {math.MaxInt, math.MaxInt}, {0, math.MaxInt}} {
		if r, err := Sign(c[0], c[1]); err == nil {
			t.Errorf("Sign(%d, %d) = %v, want an error", c[0], c[1], r)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name string
		d    []float64
		want []string
	}{
		{"none", maize, nil},
		{"empty", nil, []string{"no pair differs"}},
		{"all zero", []float64{0, 0}, []string{"no pair differs"}},
		{"zeros and ties", zeros, []string{"2 of 12 pairs", "share their ranks"}},
		{"few", []float64{1, 2, 3, 4}, []string{"4 pairs that differ can never reach p <= 0.05: at least 5"}},
	} {
		r := analyse(t, c.d, .05)
		if len(r.Warnings) != len(c.want) {
			t.Errorf("%s: warnings %q, want %q", c.name, r.Warnings, c.want)
			continue
		}
		for i, w := range c.want {
			if !strings.Contains(r.Warnings[i], w) {
				t.Errorf("%s: warning %q, want %q", c.name, r.Warnings[i], w)
			}
		}
	}
	if r := analyse(t, nil, .05); r.P != 1 || r.Lower != nil || r.Estimate != 0 {
		t.Errorf("empty: %+v", r)
	}
	if r := analyse(t, []float64{1, 2, 3, 4}, .05); r.Lower != nil {
		t.Errorf("four pairs have a lower bound %v", *r.Lower)
	}
}

// TestDecimalTies: 0.3-0.1 and 0.2 are two floats and one difference.
func TestDecimalTies(t *testing.T) {
	three, one := 0.3, 0.1
	r := analyse(t, []float64{three - one, 0.2, -(three - one), 0.5}, .05)
	if r.W != 2+2+4 {
		t.Errorf("W = %v, want 8", r.W)
	}
}

func TestExtremes(t *testing.T) {
	d := []float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1, 2}
	r := analyse(t, d, .1)
	if math.IsInf(r.Estimate, 0) || math.IsNaN(r.Estimate) || r.Used != 6 {
		t.Errorf("%+v", r)
	}
	full := make([]float64, MaxDifferences)
	for i := range full {
		full[i] = float64(i + 1)
	}
	if r := analyse(t, full, .05); !(r.P > 0 && r.P < 1e-290) {
		t.Errorf("P of %d wins = %v", len(full), r.P)
	}
}

// random gives n differences, with ties and zeros where coarse.
func random(r *rand.Rand, n int, coarse bool) []float64 {
	d := make([]float64, n)
	for i := range d {
		if d[i] = r.NormFloat64(); coarse {
			d[i] = float64(r.IntN(7) - 3)
		}
	}
	return d
}

// TestBruteForce throws all coins.
func TestBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		d := random(r, 1+r.IntN(11), true)
		got := analyse(t, d, .05)
		used := slices.DeleteFunc(slices.Clone(d), func(x float64) bool { return x == 0 })
		near(t, "P", got.P, bruteForce(used, got.W), 0)
	}
}

// bruteForce is the share of all choices of signs with a rank sum of at least w.
func bruteForce(d []float64, w float64) float64 {
	count := 0
	for signs := range 1 << len(d) {
		sum := 0.0
		for i := range d {
			if signs>>i&1 == 1 {
				sum += midrank(d, i)
			}
		}
		if sum >= w {
			count++
		}
	}
	return math.Ldexp(float64(count), -len(d))
}

// midrank is the rank of d[i] by its definition: one more than those that are
// smaller, and half of those that are equal.
func midrank(d []float64, i int) float64 {
	rank := 1.0
	for j := range d {
		switch a, b := math.Abs(d[j]), math.Abs(d[i]); {
		case a < b:
			rank++
		case a == b && j != i:
			rank += .5
		}
	}
	return rank
}

func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		coarse := r.IntN(2) == 0
		d := random(r, 5+r.IntN(20), coarse)
		alpha := []float64{.05, .01, .2}[r.IntN(3)]
		got := analyse(t, d, alpha)

		scaled, negated := slices.Clone(d), slices.Clone(d)
		for i := range d {
			scaled[i], negated[i] = 4*d[i], -d[i]
		}
		if s := analyse(t, scaled, alpha); s.P != got.P || s.W != got.W {
			t.Errorf("four times %v: P %v, W %v, want %v, %v", d, s.P, s.W, got.P, got.W)
		}
		if back := analyse(t, negated, alpha); got.P+back.P < 1 {
			t.Errorf("%v: both sides together have P %v", d, got.P+back.P)
		} else {
			near(t, "negated estimate", back.Estimate, -got.Estimate, 1e-12)
		}
		shuffled := slices.Clone(d)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if s := analyse(t, shuffled, alpha); s.P != got.P || s.Estimate != got.Estimate {
			t.Errorf("another order of %v: %+v, want %+v", d, s, got)
		}
		if bounded := got.Lower != nil && *got.Lower > 0; !coarse && bounded != (got.P <= alpha) {
			t.Errorf("%v: lower bound above 0 %v, P %v, alpha %v", d, bounded, got.P, alpha)
		}
		if got.Lower != nil && *got.Lower > got.Estimate {
			t.Errorf("%v: lower bound %v above the estimate %v", d, *got.Lower, got.Estimate)
		}
	}
}

// TestLevel: with equal arms P is at most alpha in at most alpha of all cases.
func TestLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const runs = 4000
	hits := 0
	for range runs {
		if analyse(t, random(r, 16, false), .05).P <= .05 {
			hits++
		}
	}
	if share := float64(hits) / runs; share > .06 || share < .03 {
		t.Errorf("equal arms reach p <= 0.05 in %v of all cases", share)
	}
}

func FuzzAnalyse(f *testing.F) {
	f.Add(1.0, -2.0, 3.0, 0.0, .05)
	f.Add(math.MaxFloat64, -math.MaxFloat64, 5e-324, 0.0, .5)
	f.Fuzz(func(t *testing.T, a, b, c, d, alpha float64) {
		r, err := Analyse([]float64{a, b, c, d, a, b}, alpha)
		if err != nil {
			return
		}
		if !(r.P > 0 && r.P <= 1) || math.IsNaN(r.Estimate) || math.IsInf(r.Estimate, 0) || r.W < 0 {
			t.Errorf("%v %v %v %v: %+v", a, b, c, d, r)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	for b.Loop() {
		if _, err := Sign(5001, 4999); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnalyse200(b *testing.B) {
	d := random(rand.New(rand.NewPCG(7, 8)), 200, false)
	for b.Loop() {
		if _, err := Analyse(d, .05); err != nil {
			b.Fatal(err)
		}
	}
}
