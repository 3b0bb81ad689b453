package audit

import "fmt"

// Rare words of an input in a comparison recognise it as well as the whole.
const (
	fragmentBits   = 24
	fragmentAnswer = 13 // with the answer beside
	fragmentReview = 15 // more than one common word
	fragmentExotic = 20 // neighbours, and a word of no list among them
	fragmentNumber = 9
	fragmentCases  = 3
	fragmentAlone  = 11 // a number alone, for review
	// with an answer of its own, what both must have
	fragmentBoth = 20
)

var ruleFragment = rule{
	class: "guard.fragment",
	about: "A comparison asks for rare words or numbers of one case, words that neither the baseline nor the specification uses.",
	fix:   "ask for what all inputs of the kind have in common",
	file: func(f *file) []Finding {
		var found []Finding
		more := f.a.surplus()
		for _, g := range f.findGuards() {
			severity := Review
			switch {
			case g.answered && g.fragment >= rareBits && g.fragment+g.answerBits() >= fragmentBoth+more:
				severity = Invalid
			case g.number >= fragmentAlone+more && g.fragment < fragmentAnswer+more:
			case g.fragment < fragmentAnswer+more:
				continue
			case g.fragment >= fragmentBits+more || g.answered || g.exotic && g.fragment >= fragmentExotic+more:
				severity = Invalid
			case g.fragment < fragmentReview+more:
				continue
			}
			finding := f.at(g.line, severity, fmt.Sprintf("the comparison asks for words that only case %s has (%.0f bits)", g.c.id, g.fragment))
			finding.Case = g.c.id
			found = append(found, finding)
		}
		return found
	},
	total: func(t *tree) []Finding {
		var hit []guard
		more := t.a.surplus()
		for _, g := range t.guards() {
			if g.fragment >= fragmentAnswer+more || g.number >= fragmentNumber+more {
				hit = append(hit, g)
			}
		}
		if len(hit) < fragmentCases {
			return nil
		}
		return []Finding{hit[0].file.at(hit[0].line, Invalid, fmt.Sprintf("comparisons ask for rare words or numbers of %d cases", len(hit)))}
	},
}
