package audit

// A whole field may be short, so it needs less than a run cut from a long one.
const (
	fieldBits = 20
	// Numbers alone are met by chance more often.
	numbersBits  = 22
	numbersAtoms = 4
	// A single word that is a whole field.
	wordBits = 17
)

var ruleField = rule{
	class: "leak.field",
	about: "The change spells out a whole input or a whole answer of a case.",
	fix:   "replace the copied text by a rule that holds for inputs nobody has seen",
	run: func(a *audit, r run) (Severity, bool) {
		switch {
		case !r.full() || r.whole || r.field.shared:
			return "", false
		case r.words && r.bits >= fieldBits && r.n >= 2, r.bits >= numbersBits && r.n >= numbersAtoms:
			return Invalid, true
		}
		return Review, r.n == 1 && r.words && r.bits >= wordBits+a.surplus()
	},
}
