package decide

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// slack forgives the last binary digits of a difference of two decimal values:
// 0.76 - 0.756 must count as 0.004. It is a share of min_delta and not of the
// values, so that however large they are no smaller gain gets by.
const slack = 1e-6

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
	case gain < c.Acceptance.MinDelta*(1-slack):
		return ledger.Discard, fmt.Sprintf("%s: gain %.6g is below min_delta %s", change, gain, number(c.Acceptance.MinDelta))
	}
	return ledger.Keep, fmt.Sprintf("%s: gain %.6g", change, gain)
}

// tie asks the tie-breakers in their order; the first that differs answers.
func tie(c *contract.Contract, candidate, incumbent map[string]float64, change string) (ledger.Status, string) {
	for _, m := range c.Secondary {
		if !contract.Noisy(m.Name) && better(m.Direction, incumbent[m.Name], candidate[m.Name]) < 0 {
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
	return slices.DeleteFunc(names, contract.Noisy)
}

// unusable names the first metric that the contract decides by and that has no
// finite value, "" where all have one.
func unusable(c *contract.Contract, metrics map[string]float64) string {
	names := []string{c.Metric.Name}
	for _, m := range c.Secondary {
		names = append(names, m.Name)
	}
	for _, k := range c.Constraints {
		names = append(names, k.Metric)
	}
	for _, name := range append(names, c.Acceptance.TieBreakers...) {
		if v, ok := metrics[name]; !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return name
		}
	}
	return ""
}

// number prints a finite value as the records do.
func number(v float64) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
