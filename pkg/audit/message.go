package audit

// messagePath stands for the commit message in findings.
const messagePath = "commit message"

// message audits what a commit says of itself, like prose. A message runs
// nothing, so what it gives away is a review finding.
func (a *audit) message(c Commit) []Finding {
	if len(c.Message) > maxFile {
		return ruleBounds.name([]Finding{{Severity: Invalid, Path: messagePath, Message: "the commit message is longer than the bound"}})
	}
	key := change{path: messagePath + ".txt", to: Entry{ID: c.Message}}
	f := newFile(a, key, "", c.Message)
	f.path = messagePath
	var found []Finding
	found = append(found, ruleMessage.name(messageLeaks(f))...)
	found = append(found, ruleVariant.name(variantLeaks(a, c.Message))...)
	for _, r := range []rule{ruleBidi, ruleZeroWidth} {
		found = append(found, r.name(r.file(f))...)
	}
	return found
}

// messageLeaks are the runs that the rules on text would call invalid.
func messageLeaks(f *file) []Finding {
	var found []Finding
	for _, r := range f.findRuns() {
		for _, rule := range rules {
			if rule.run == nil || rule.marks || r.field.marks() || r.origin != nowhere {
				continue
			}
			if severity, ok := rule.run(f.a, r); ok && severity == Invalid {
				finding := f.at(r.line, Review, "the message repeats a case: "+r.describe())
				finding.Case = r.field.owner.id
				found = append(found, finding)
				break
			}
		}
	}
	return found
}

// variantBits is what the predicted variant may share with a case at most.
const variantBits = 20

// variantLeaks checks that the predicted variant is no case that is known.
func variantLeaks(a *audit, message string) []Finding {
	t, _ := ParseTrailers(message)
	f := newFile(a, change{path: "variant.txt"}, "", t.PredictedVariant)
	f.path = messagePath
	for _, r := range f.findRuns() {
		if r.how == plain && r.bits >= variantBits && r.n >= 3 && r.origin == nowhere && !r.field.marks() {
			finding := f.at(0, Review, "the Predicted-variant is one that is known: "+r.describe())
			finding.Case = r.field.owner.id
			return []Finding{finding}
		}
	}
	return nil
}
