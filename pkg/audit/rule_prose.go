package audit

import "fmt"

// A rule in prose paraphrases, so words count, not their order.
const (
	invalidProse, invalidRatio = 30, 0.5
	reviewProse, reviewRatio   = 18, 0.4
	proseWords                 = 3
)

var ruleProse = rule{
	class: "prose.case-rule",
	about: "A sentence of a prompt, a long string or a comment describes one case, in its words or near them, and says what to do with it.",
	fix:   "describe the kind of input, not the one that was seen",
	file: func(f *file) []Finding {
		if f.added == 0 || f.a.cases.empty() {
			return nil
		}
		f.read()
		var found []Finding
		for _, s := range f.sentences() {
			for _, o := range f.overlaps(s) {
				severity, ok := proseSeverity(s, o)
				if !ok {
					continue
				}
				if o.spec {
					found = append(found, f.a.scenario(f, s.line, o.c.id)...)
					continue
				}
				finding := f.at(s.line, severity, fmt.Sprintf("the text describes case %s: %d rare words in common (%.0f bits)", o.c.id, o.words, o.bits))
				finding.Case = o.c.id
				found = append(found, finding)
			}
		}
		return found
	},
}

// proseSeverity decides by bits and by the share that they are. A comment
// changes nothing by itself, so it is reviewed.
func proseSeverity(s sentence, o overlap) (Severity, bool) {
	switch {
	case s.how != plain && o.bits >= reviewProse && o.ratio >= reviewRatio && o.words >= proseWords && s.kind != commentKind:
		return Invalid, true
	case o.bits >= invalidProse && o.ratio >= invalidRatio && o.words >= proseWords && s.kind != commentKind:
		return Invalid, true
	}
	return Review, o.bits >= reviewProse && o.ratio >= reviewRatio
}
