package audit

// weighRuns gives each run to the first rule that takes it. A run that stands
// in the specification becomes a note, or a finding where there is no gate.
func (a *audit) weighRuns(f *file) []Finding {
	var found []Finding
	for _, r := range f.findRuns() {
		for _, rule := range a.rules {
			if rule.run == nil || rule.marks != r.field.marks() {
				continue
			}
			severity, holds := rule.run(a, r)
			if !holds {
				continue
			}
			if r.origin == inSpec {
				found = append(found, a.scenario(f, r.line, r.field.owner.id)...)
				break
			}
			finding := f.at(r.line, severity, r.describe())
			finding.Case = r.field.owner.id
			found = append(found, rule.name([]Finding{finding})...)
			break
		}
	}
	return found
}
