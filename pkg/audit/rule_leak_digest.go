package audit

import (
	"math"
)

// digestSurplus is how many bits a digest must have beyond what tokens times
// digests give by chance.
const digestSurplus = 8

var ruleDigest = rule{
	class: "leak.digest",
	about: "A literal is the digest of a case's text: the case is recognised without its words.",
	fix:   "remove the digests; treat all inputs by one rule",
	total: func(t *tree) []Finding {
		tokens := t.digestTokens()
		if len(tokens) == 0 {
			return nil
		}
		hits, tried := t.a.digests(tokens)
		chance := math.Log2(float64(len(tokens))*float64(tried+1)) + digestSurplus
		var found []Finding
		for _, k := range tokens {
			if hit, ok := hits[k.key()]; ok && hit.bits >= chance {
				finding := k.file.at(k.line, Invalid, "the literal is a digest of the text of case "+hit.id)
				finding.Case = hit.id
				found = append(found, finding)
			}
		}
		return found
	},
}
