package audit

var ruleSpecScenario = rule{
	class: SpecScenario,
	about: "The change spells out a case that the specification itself states. With a gate it is a note, because the gate tells a rule from a memory; in a run without a gate nothing does, so it is marked.",
	fix:   "none is needed if the rule is general; say so in the Mechanism trailer",
}

// scenario answers for text that would be a finding if the specification did
// not state it.
func (a *audit) scenario(f *file, line int, id string) []Finding {
	if a.in.Gate {
		a.note(SpecScenario)
		return nil
	}
	finding := f.at(line, Review, "the change spells out case "+id+", which the specification states")
	finding.Case = id
	return ruleSpecScenario.name([]Finding{finding})
}
