package audit

import "slices"

var ruleListedName = rule{
	class: "leak.name",
	about: "The change names a benchmark, a fixture or a part of the harness that the contract keeps apart.",
	fix:   "leave the names of the evaluation out of the code",
	marks: true,
	run: func(a *audit, r run) (Severity, bool) {
		severity := Invalid
		if r.kind != stringKind {
			severity = Review // text may speak of the tests
		}
		return severity, r.field.role == nameRole && r.n >= 2 && r.field.raw >= idBits && !generic(r.field.owner.id) && !a.elsewhere(r.field.owner.id)
	},
}

// elsewhere says that a file that is not frozen has the name.
func (a *audit) elsewhere(name string) bool {
	return slices.ContainsFunc(a.whole(), func(e Entry) bool { return base(e.Path) == name && !a.in.Scope.Frozen(e.Path) })
}
