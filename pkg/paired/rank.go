package paired

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// MaxDifferences is the largest number of pairs that Analyse takes.
const MaxDifferences = 1000

// Result is what the signed-rank test and its estimate say of differences.
type Result struct {
	// Pairs counts all differences, Used those that are not zero.
	Pairs int `json:"pairs"`
	Used  int `json:"used"`
	// W is the sum of the ranks of the differences above zero.
	W float64 `json:"w"`
	// P is the chance of a W at least so large if both arms are equal.
	P float64 `json:"p"`
	// Estimate is the Hodges-Lehmann estimate, the median of the means of any
	// two differences, each with itself included.
	Estimate float64 `json:"estimate"`
	// Lower bounds the gain from below with confidence 1 - alpha; null where
	// there are too few pairs for any bound. Without ties and zeros it is above
	// zero exactly where P <= alpha.
	Lower    *float64 `json:"lower"`
	Warnings []string `json:"warnings"`
}

// Analyse tests whether the differences lie above zero and bounds them from
// below at the one-sided level alpha. Differences are compared after rounding
// to 12 significant digits, so that decimal values do not make or break ties.
// It refuses NaN, infinities, more than MaxDifferences and an alpha outside
// (0, 0.5]; an empty list is a result with P = 1.
func Analyse(differences []float64, alpha float64) (Result, error) {
	if !(alpha > 0 && alpha <= 0.5) {
		return Result{}, fmt.Errorf("signed-rank test: alpha %v is not above 0 and at most 0.5", alpha)
	}
	if n := len(differences); n > MaxDifferences {
		return Result{}, fmt.Errorf("signed-rank test: %d pairs, at most %d are allowed", n, MaxDifferences)
	}
	all := make([]float64, len(differences))
	for i, d := range differences {
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return Result{}, fmt.Errorf("signed-rank test: pair %d: the difference is %v", i, d)
		}
		all[i] = rounded(d)
	}
	used := slices.DeleteFunc(slices.Clone(all), func(d float64) bool { return d == 0 })
	ranks, positive, tied := doubledRanks(used)
	r := Result{Pairs: len(all), Used: len(used), W: float64(positive) / 2, P: atLeast(ranks, positive)}
	if len(all) > 0 {
		means := walsh(all)
		r.Estimate = median(means)
		if k := critical(len(all), alpha); k >= 0 {
			r.Lower = &means[k]
		}
	}
	r.Warnings = warnings(r, tied, alpha)
	return r, nil
}

// warnings says what keeps the result from meaning more.
func warnings(r Result, tied bool, alpha float64) []string {
	out := []string{}
	zeros := r.Pairs - r.Used
	if r.Used == 0 {
		return append(out, "no pair differs: nothing can be shown")
	}
	if zeros > 0 {
		out = append(out, fmt.Sprintf("%d of %d pairs do not differ and are left out of the test", zeros, r.Pairs))
	}
	if tied {
		out = append(out, "some pairs differ equally: they share their ranks")
	}
	if math.Ldexp(1, -r.Used) > alpha {
		need := int(math.Ceil(-math.Log2(alpha)))
		out = append(out, fmt.Sprintf("%d pairs that differ can never reach p <= %v: at least %d are needed", r.Used, alpha, need))
	}
	return out
}

// rounded is d with 12 significant digits, and never minus zero.
func rounded(d float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(d, 'e', 11, 64), 64)
	if err != nil { // rounded up beyond the largest float64
		return d
	}
	return r + 0
}

// doubledRanks gives twice the rank of every difference by its size, twice the
// sum of the ranks of those above zero, and whether any share a rank.
func doubledRanks(differences []float64) (ranks []int, positive int, tied bool) {
	d := slices.Clone(differences)
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks = make([]int, len(d))
	for from := 0; from < len(d); {
		to := from + 1
		for to < len(d) && math.Abs(d[to]) == math.Abs(d[from]) {
			to++
		}
		tied = tied || to-from > 1
		for i := from; i < to; i++ {
			ranks[i] = from + 1 + to // (from+1) and to are the first and last rank
			if d[i] > 0 {
				positive += ranks[i]
			}
		}
		from = to
	}
	return ranks, positive, tied
}

// distribution gives the chance of every sum of ranks of which each counts or
// not by a fair coin. Chances are halved step by step, so that nothing
// overflows; up to 53 ranks every one of them is exact.
func distribution(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	chance := make([]float64, total+1)
	chance[0] = 1
	top := 0
	for _, r := range ranks {
		top += r
		for s := top; s >= 0; s-- {
			c := chance[s]
			if s >= r {
				c += chance[s-r]
			}
			chance[s] = c / 2
		}
	}
	return chance
}

// atLeast is the chance of a sum of at least w. It adds the smaller chances first.
func atLeast(ranks []int, w int) float64 {
	chance := distribution(ranks)
	p := 0.0
	for s := len(chance) - 1; s >= w; s-- {
		p += chance[s]
	}
	return min(1, max(p, math.SmallestNonzeroFloat64))
}

// critical is the largest k for which a sum of the ranks 1 to n is at most k
// with a chance of at most alpha; -1 where there is none.
func critical(n int, alpha float64) int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	p, k := 0.0, -1
	for s, c := range distribution(ranks) {
		if p += c; p > alpha {
			break
		}
		k = s
	}
	return k
}

// walsh gives the means of any two differences, sorted.
func walsh(d []float64) []float64 {
	means := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for j := i; j < len(d); j++ {
			means = append(means, d[i]/2+d[j]/2) // the sum could overflow
		}
	}
	slices.Sort(means)
	return means
}

func median(sorted []float64) float64 {
	m := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[m]
	}
	return sorted[m-1]/2 + sorted[m]/2
}
