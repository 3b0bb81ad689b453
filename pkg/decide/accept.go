package decide

import (
	"fmt"
	"math"
	"slices"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// tolerance forgives the last binary digits of a difference of two decimal
// values: 0.754 - 0.75 must count as 0.004. It is relative to the larger value.
const tolerance = 1e-12

// accept applies the deterministic policy: a gain of at least min_delta is
// kept; a tie is kept by a declared tie-breaker with nothing else worse.
func accept(c *contract.Contract, candidate, incumbent map[string]float64) (ledger.Status, string) {
	name := c.Metric.Name
	a, b := incumbent[name], candidate[name]
	gain := better(c.Metric.Direction, a, b)
	change := fmt.Sprintf("%s %s → %s", name, number(a), number(b))
	switch {
	case a == b:
		return tie(c, candidate, incumbent, change)
	case gain < 0:
		return ledger.Discard, change + ": worse"
	case gain+tolerance*math.Max(math.Abs(a), math.Abs(b)) < c.Acceptance.MinDelta:
		return ledger.Discard, fmt.Sprintf("%s: gain %s is below min_delta %s", change, number(gain), number(c.Acceptance.MinDelta))
	}
	return ledger.Keep, fmt.Sprintf("%s: gain %s", change, number(gain))
}

// tie asks the tie-breakers in their order; the first that differs answers.
func tie(c *contract.Contract, candidate, incumbent map[string]float64, change string) (ledger.Status, string) {
	for _, m := range c.Secondary {
		if !noisy(m.Name) && better(m.Direction, incumbent[m.Name], candidate[m.Name]) < 0 {
			return ledger.Discard, fmt.Sprintf("%s: tie, and %s is worse", change, m.Name)
		}
	}
	for _, name := range c.Acceptance.TieBreakers {
		gain := better(direction(c, name), incumbent[name], candidate[name])
		if gain > 0 {
			return ledger.Keep, fmt.Sprintf("%s: tie, kept by %s %s → %s", change, name, number(incumbent[name]), number(candidate[name]))
		}
		if gain < 0 {
			return ledger.Discard, fmt.Sprintf("%s: tie, and %s is worse", change, name)
		}
	}
	return ledger.Discard, change + ": no gain"
}

// better gives by how much b is better than a.
func better(d contract.Direction, a, b float64) float64 {
	if d == contract.Lower {
		return a - b
	}
	return b - a
}

// direction of a tie-breaker: as declared, lower for what the supervisor measures.
func direction(c *contract.Contract, name string) contract.Direction {
	for _, m := range append([]contract.Metric{c.Metric}, c.Secondary...) {
		if m.Name == name {
			return m.Direction
		}
	}
	return contract.Lower
}

// deterministic lists the metrics that two launches must agree on.
func deterministic(c *contract.Contract) []string {
	names := []string{c.Metric.Name}
	for _, m := range c.Secondary {
		names = append(names, m.Name)
	}
	names = append(names, c.Acceptance.TieBreakers...)
	return slices.DeleteFunc(names, noisy)
}

// noisy says that a metric differs from launch to launch by its nature.
func noisy(name string) bool {
	return name == "wall_seconds" || name == "cpu_seconds" || name == "peak_memory_bytes"
}

// number prints a value with at most six significant digits.
func number(v float64) string { return fmt.Sprintf("%.6g", v) }
