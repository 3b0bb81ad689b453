package audit

import "fmt"

// A seed or threshold of few digits stands in much honest code.
const (
	numberInvalid = 10
	numberReview  = 6
)

var ruleListedNumber = rule{
	class: "leak.number",
	about: "A seed or threshold of the contract stands as a new literal in the change.",
	fix:   "take the number out; results must hold for every seed",
	file: func(f *file) []Finding {
		if f.added == 0 || len(f.a.in.Numbers) == 0 {
			return nil
		}
		f.read()
		listed := map[string]bool{}
		for _, s := range f.a.in.Numbers {
			if n, ok := number(s); ok {
				listed[n] = true
			}
		}
		var found []Finding
		for _, s := range f.texts {
			if s.kind != stringKind {
				continue
			}
			for _, p := range s.news() {
				bits := numberBits(p.text)
				if !p.num || !listed[p.text] || bits < numberReview || f.a.novel.known(p.text) {
					continue
				}
				severity := Invalid
				if bits < numberInvalid {
					severity = Review
				}
				found = append(found, f.at(p.line, severity, fmt.Sprintf("the number %s is a seed or threshold of the contract", p.text)))
			}
		}
		return found
	},
}
