package audit

// A run of 44 bits is met by chance once in 2^44 tries; 1,000 cases against
// 10,000 lines are 2^23.
const (
	verbatimBits  = 44
	verbatimAtoms = 4
	// Three atoms must be rarer: names and dates come in threes.
	threeBits = 60
)

var ruleVerbatim = rule{
	class: "leak.verbatim",
	about: "A long row of words and numbers is copied from a case and stands neither in the baseline nor in the specification.",
	fix:   "replace the copied text by a rule that holds for inputs nobody has seen",
	run: func(a *audit, r run) (Severity, bool) {
		return Invalid, r.bits >= verbatimBits && r.n >= verbatimAtoms || r.bits >= threeBits && r.n >= 3
	},
}
