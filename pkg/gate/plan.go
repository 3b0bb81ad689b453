package gate

import (
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
)

// Rule says what a candidate must show in the gate.
type Rule string

// The rules.
const (
	NonInferior Rule = "non_inferior" // not worse than the reference by more than the margin
	Improve     Rule = "improve"      // better than the reference by at least the margin
)

// Source says where the cases of a gate come from.
type Source string

// The sources.
const (
	User      Source = "user"            // written by hand
	Untouched Source = "untouched-split" // a part of a sample that nobody has worked with
	Generated Source = "generated"       // written by a program or a model
)

// Plan is what a contract says of its gate.
type Plan struct {
	// Queries is the budget: how often the gate may be asked, the baseline's
	// query included.
	Queries int
	Rule    Rule
	// Margin is a whole number of cases, for workloads a fraction of the
	// reference's value.
	Margin float64
	// Duration is the time that every validation launch and scoring fills.
	Duration time.Duration
	Source   Source
	// Direction says which score of a case is better.
	Direction contract.Direction
	// Workloads says that every case is a workload that must pass by itself.
	Workloads bool
}

// PlanOf gives the plan of a contract that has a gate. One that has only a
// final test has the rest of a plan that the final test goes by.
func PlanOf(c *contract.Contract) Plan {
	if c.Gate == nil {
		return Plan{Direction: c.Metric.Direction}
	}
	return Plan{
		Queries: c.Gate.Queries, Rule: Rule(c.Gate.Rule), Margin: c.Gate.Margin, Duration: c.Gate.Window,
		Source: Source(c.Gate.Cases), Direction: c.Gate.Direction, Workloads: c.Gate.Workloads,
	}
}

// Facts are what start found out about the gate of a plan.
type Facts struct {
	// Cases and FinalCases count the cases of the two splits; FinalCases is 0
	// where the run has no final split.
	Cases, FinalCases int
	// Inputs and Answers are the digests of the sealed bundles.
	Inputs, Answers string
	// PerCase says that the scorer gives a result for every case.
	PerCase bool
	// Outcomes is how many results of one query an author can tell apart.
	Outcomes int
	// Scores says that a score of the gate would be published, Failures that a
	// crash or timeout would be told from a fail.
	Scores, Failures bool
	// Shared lists what else holds cases of the gate or the final split.
	Shared []Shared
	// Reused counts the cases that an earlier run's gate used, Asked the
	// queries that those runs were charged, Allowed whether the contract has
	// the exception for it.
	Reused, Asked int
	Allowed       bool
	// FinalCharged counts the final cases that an earlier run's final used.
	FinalCharged int
}

// Shared says how many cases of one split stand somewhere else too.
type Shared struct {
	Split string // "validation" or "final"
	With  string // another split, "the tree" or "the history"
	Exact int    // byte for byte
	Alike int    // all, those that are alike after normalisation included
}
