package audit

// A generic name such as test-1 has fewer bits.
const idBits = 18

var ruleCaseID = rule{
	class: "leak.case-id",
	about: "The change names a case by its id. Code that knows the names of the cases knows when it is measured.",
	fix:   "speak of the kind of input, not of the case",
	marks: true,
	run: func(a *audit, r run) (Severity, bool) {
		return Invalid, r.field.role == idRole && r.n >= 2 && r.field.raw >= idBits
	},
}
