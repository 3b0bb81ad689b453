package audit

var ruleImmutable = rule{
	class: "path.immutable",
	about: "Harness, splits, specification, counterexamples and workflows are frozen: who changes them changes the measure, not the result.",
	fix:   "restore the file as the baseline has it",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "the path is frozen: it belongs to the evaluation", t.a.in.Scope.Frozen(c.path)
		})
	},
}
