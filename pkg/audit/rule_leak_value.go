package audit

import "fmt"

// An answer that stands alone in the code is a coincidence once, a table
// three times.
const (
	valueBits  = 12
	valueCases = 3
)

var ruleValue = rule{
	class: "leak.value",
	about: "Rare answers of cases stand in the code as values: one is worth a look, three are a table of answers.",
	fix:   "compute the value, or say where it comes from",
	total: func(t *tree) []Finding {
		var found []Finding
		cases := map[*caseText]bool{}
		for _, f := range t.files {
			for _, v := range f.values() {
				cases[v.c] = true
				finding := f.at(v.line, Review, fmt.Sprintf("the answer of case %s stands in the code", v.c.id))
				finding.Case = v.c.id
				found = append(found, finding)
			}
		}
		if len(cases) >= valueCases {
			for i := range found {
				found[i].Severity = Invalid
				found[i].Message += fmt.Sprintf(", with those of %d more", len(cases)-1)
			}
		}
		return found
	},
}

// value is a line that holds the answer of a case.
type value struct {
	c    *caseText
	line int
}

// values finds the last atom of short answers among the literals of the code.
func (f *file) values() []value {
	if f.added == 0 || f.a.cases.empty() {
		return nil
	}
	f.read()
	var list []value
	seen := map[*caseText]bool{}
	need := valueBits + f.a.surplus()
	for _, s := range f.streams {
		if s.kind != stringKind {
			continue
		}
		for _, p := range s.atoms {
			if p.id < 0 {
				continue
			}
			for _, fd := range f.a.cases.answers[p.id] {
				last := len(fd.ids) - 1
				if !seen[fd.owner] && fd.bits[last] >= need && !f.a.novel.known(fd.atoms[last].text) {
					seen[fd.owner] = true
					list = append(list, value{fd.owner, int(p.line)})
				}
			}
		}
	}
	return list
}
