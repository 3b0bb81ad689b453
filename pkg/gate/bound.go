package gate

import "math"

// Use is what a run has asked its gate so far.
type Use struct {
	// Budget is the contract's number of queries.
	Budget int `json:"budget"`
	// Earlier counts queries that earlier runs were charged on the same cases.
	Earlier int `json:"earlier"`
	// Charged counts the queries of this run, the baseline's included, whatever
	// became of them.
	Charged int `json:"charged"`
	// Retries counts launches of a charged query after its pass was lost.
	Retries int `json:"retries"`
	// Passes counts the candidates that passed.
	Passes int `json:"passes"`
	// Overlaps counts queries that ended as a protected overlap.
	Overlaps int `json:"overlaps"`
}

// Used is how many queries of the budget are gone.
func (u Use) Used() int { return u.Earlier + u.Charged }

// Left is how many queries may still be charged.
func (u Use) Left() int { return max(0, u.Budget-u.Used()) }

// Exhausted says that the run must stop before its next query.
func (u Use) Exhausted() bool { return u.Left() == 0 }

// Bits is what the answers so far can have told: one bit a query, one more a
// retry, and the position of every protected overlap.
func (u Use) Bits() float64 { return float64(u.Used()) + u.extra() }

// extra is what was told beside pass and fail, in bits.
func (u Use) extra() float64 {
	return float64(u.Retries) + float64(u.Overlaps)*math.Log2(float64(u.Budget)+1)
}

// Bound says how far a gate's scores can be trusted after adaptive queries.
type Bound struct {
	// Bits is what has been told, Budget what may be told in all.
	Bits   float64 `json:"bits"`
	Budget float64 `json:"bits_budget"`
	// EpsAll and EpsPasses bound how much the last kept commit's mean score,
	// between 0 and 1, may exceed the true one: for any answers, and for so
	// many passes. With confidence 95 %; 1 where nothing is excluded.
	EpsAll    float64 `json:"eps_all"`
	EpsPasses float64 `json:"eps_passes"`
	// Optimism is the smaller of them. For a difference of two commits it doubles.
	Optimism float64 `json:"optimism_bound_95"`
	// Practical is the mean gain of an attack that knows nothing and combines
	// what passed.
	Practical float64 `json:"practical_attack"`
}

// Inform computes the bound for a gate of so many cases. The budget counts as
// if it had been used up, so that a run that stops early is covered.
func Inform(cases int, u Use) Bound {
	queries := max(u.Budget, u.Used())
	told := float64(queries) + u.extra()
	b := Bound{Bits: u.Bits(), Budget: told, EpsAll: 1, EpsPasses: 1, Optimism: 1, Practical: 1}
	if cases <= 0 {
		return b
	}
	n := float64(cases)
	both := math.Log(2 / level) // the error is divided between the two bounds
	choices := logChoose(queries, u.Passes) + math.Log(float64(queries)+1) + u.extra()*math.Ln2
	b.EpsAll = min(1, math.Sqrt((told*math.Ln2+both)/(2*n)))
	b.EpsPasses = min(1, math.Sqrt((choices+both)/(2*n)))
	b.Optimism = min(b.EpsAll, b.EpsPasses)
	b.Practical = min(1, math.Sqrt(float64(u.Used())/n)/math.Pi)
	return b
}

// logChoose is ln C(n,k), and that of the middle for a k that cannot be.
func logChoose(n, k int) float64 {
	if k < 0 || k > n {
		k = n / 2
	}
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(float64(k) + 1)
	out, _ := math.Lgamma(float64(n-k) + 1)
	return all - in - out
}
