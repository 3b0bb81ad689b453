package audit

var ruleListedName = rule{
	class: "leak.name",
	about: "The change names a benchmark, a fixture or a part of the harness that the contract keeps apart.",
	fix:   "leave the names of the evaluation out of the code",
	marks: true,
	run: func(a *audit, r run) (Severity, bool) {
		return Invalid, r.field.role == nameRole
	},
}
