package audit

// partialBits is what makes a row of words worth a look.
const partialBits = 30

var rulePartial = rule{
	class: "leak.partial",
	about: "A row of words is shared with a case: too short to be sure that it was copied, too rare to be nothing.",
	fix:   "say it in words of your own, or show that the phrase is general",
	run: func(a *audit, r run) (Severity, bool) {
		bits := r.bits
		for _, x := range r.field.atoms[r.from:min(r.from+r.n, len(r.field.atoms))] {
			if a.novel.vocab[x.text] {
				bits -= a.info.atom(x)
			}
		}
		return Review, bits >= partialBits+a.surplus() && r.n >= 3
	},
}
