package audit

import "fmt"

// A literal that is a field and nothing else says more than a run of words.
const literalBits = 14

var ruleLiteral = rule{
	class: "leak.literal",
	about: "A string of the change is, but for punctuation and case, the whole input or answer of one case.",
	fix:   "remove the literal; derive the answer from the input",
	run: func(a *audit, r run) (Severity, bool) {
		switch {
		case !r.whole || r.kind != stringKind || r.bits < literalBits:
			return "", false
		case len(r.field.ids) == 1 && !r.compared:
			// One word of a list; see total.
			return Review, r.bits >= literalBits+a.surplus()
		}
		return Invalid, len(r.field.ids) > 1 || r.bits >= literalBits+a.surplus()
	},
	total: func(t *tree) []Finding {
		for _, f := range t.files {
			if f.added == 0 || t.a.cases.empty() {
				continue
			}
			list := f.keys()
			n := t.a.cases.singles(f)
			if n >= listedInputs && n*vocabularyShare > len(list) {
				return []Finding{f.at(list[0].line, Invalid, fmt.Sprintf("%d entries are whole inputs of cases", n))}
			}
		}
		return nil
	},
}

// listedInputs is how many inputs of one word make a list of cases, where not
// many more words stand beside them.
const listedInputs = 3
