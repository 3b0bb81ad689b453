package audit

import "fmt"

// Input and answer together need less than either alone: that they stand side
// by side is evidence too.
const (
	pairBits   = 14
	pairReview = 9
)

var rulePair = rule{
	class: "guard.pair",
	about: "A comparison or table entry holds the input of a case, and its answer stands beside it: the case is recognised, not solved.",
	fix:   "remove the entry; compute the answer from the input",
	file: func(f *file) []Finding {
		var found []Finding
		for _, g := range f.findGuards() {
			severity := Invalid
			if g.pair < pairBits {
				severity = Review
			}
			switch {
			case g.pair < pairReview:
			case g.scenario:
				found = append(found, f.a.scenario(f, g.line, g.c.id)...)
			default:
				finding := f.at(g.line, severity, fmt.Sprintf("the line maps the input of case %s to its answer (%.0f bits)", g.c.id, g.pair))
				finding.Case = g.c.id
				found = append(found, finding)
			}
		}
		return found
	},
}
