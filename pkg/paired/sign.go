package paired

import (
	"fmt"
	"math"
	"math/big"
)

// MaxPairs is the largest number of pairs that Sign takes.
const MaxPairs = 100_000

// SignResult is what the sign test says of wins and losses.
type SignResult struct {
	Wins   int `json:"wins"`
	Losses int `json:"losses"`
	// P is the chance of at least so many wins if both arms are equal: above 0,
	// at most 1, the nearest float64 to the exact value, or the smallest one
	// above zero where that is smaller still.
	P        float64  `json:"p"`
	Warnings []string `json:"warnings"`
}

// Sign is the exact one-sided sign test. Ties are left out by the caller. It
// refuses negative counts and more than MaxPairs.
func Sign(wins, losses int) (SignResult, error) {
	if wins < 0 || losses < 0 {
		return SignResult{}, fmt.Errorf("sign test: %d wins and %d losses: counts cannot be negative", wins, losses)
	}
	if wins > MaxPairs || losses > MaxPairs-wins {
		return SignResult{}, fmt.Errorf("sign test: %d wins and %d losses: at most %d pairs are allowed", wins, losses, MaxPairs)
	}
	r := SignResult{Wins: wins, Losses: losses, P: upperTail(wins, wins+losses), Warnings: []string{}}
	if wins+losses == 0 {
		r.Warnings = append(r.Warnings, "no pair differs: nothing can be shown")
	}
	return r, nil
}

// upperTail is the chance of at least k heads in n fair throws. It adds
// binomial coefficients as whole numbers, on the side that has fewer of them,
// and rounds once.
func upperTail(k, n int) float64 {
	if k > n/2 {
		return shrink(coefficients(n-k, n), n)
	}
	// P(X >= k) = 1 - P(X <= k-1)
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return shrink(all.Sub(all, coefficients(k-1, n)), n)
}

// coefficients is C(n,0) + … + C(n,top); 0 for a negative top.
func coefficients(top, n int) *big.Int {
	sum := new(big.Int)
	term := big.NewInt(1)
	var factor big.Int
	for i := 0; i <= top; i++ {
		sum.Add(sum, term)
		term.Mul(term, factor.SetInt64(int64(n-i)))
		term.Quo(term, factor.SetInt64(int64(i+1)))
	}
	return sum
}

// shrink is count / 2^n, and never 0 for a count above 0.
func shrink(count *big.Int, n int) float64 {
	exact := new(big.Float).SetInt(count)
	p, _ := exact.SetMantExp(exact, -n).Float64()
	return math.Max(p, math.SmallestNonzeroFloat64)
}
