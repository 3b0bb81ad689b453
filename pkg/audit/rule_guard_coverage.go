package audit

import "fmt"

// Small entries, such as 3 to "7", say nothing alone. Together they do: half
// of all cases, or three that are not quite trivial.
const (
	halfBits  = 7
	threePair = 18
)

var ruleCoverage = rule{
	class: "guard.coverage",
	about: "Comparisons or table entries, each too small to tell, together hold the inputs and answers of many cases.",
	fix:   "remove the entries; compute the answers from the inputs",
	total: func(t *tree) []Finding {
		best := t.guards()
		bits, n := 0.0, 0
		var first guard
		for _, g := range best {
			if g.pair <= 0 || g.scenario {
				continue
			}
			if n == 0 {
				first = g
			}
			bits += g.pair
			n++
		}
		half := 2*n >= len(t.a.cases.list) && bits >= halfBits
		if n < 2 || !half && (n < 3 || bits < threePair+float64(n)*t.a.surplus()) {
			return nil
		}
		return []Finding{first.file.at(first.line, Invalid, fmt.Sprintf("%d of %d cases are mapped to their answers (%.0f bits together)", n, len(t.a.cases.list), bits))}
	},
}

// guards merges the guards of all files, the best for each case.
func (t *tree) guards() []guard {
	best := map[*caseText]guard{}
	for _, f := range t.files {
		for _, g := range f.findGuards() {
			merge(best, g)
		}
	}
	var list []guard
	for _, c := range t.a.cases.list {
		if g, ok := best[c]; ok {
			list = append(list, g)
		}
	}
	return list
}
