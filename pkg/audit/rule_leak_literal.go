package audit

// A literal that is a field and nothing else says more than a run of words.
const literalBits = 14

var ruleLiteral = rule{
	class: "leak.literal",
	about: "A string of the change is, but for punctuation and case, the whole input or answer of one case.",
	fix:   "remove the literal; derive the answer from the input",
	run: func(a *audit, r run) (Severity, bool) {
		need := float64(literalBits)
		if r.field.ids != nil && len(r.field.ids) == 1 {
			need += a.surplus()
		}
		return Invalid, r.whole && r.kind == stringKind && r.bits >= need
	},
}
