package audit

import (
	"fmt"
	"math"
	"slices"
)

// An answer that stands alone in the code is a coincidence once, a table
// three times.
const (
	valueBits  = 12
	valueCases = 3
	// In a table the values need fewer bits each, but more than the luck of
	// that many numbers against that many cases.
	tableBits, tableLuck = 8, 2
	// A comparison with an answer is a threshold taken from it.
	comparedBits = 16
)

var ruleValue = rule{
	class: "leak.value",
	about: "Rare answers of cases stand in the code as values: one is worth a look, three are a table of answers.",
	fix:   "compute the value, or say where it comes from",
	total: func(t *tree) []Finding {
		table := t.tableBits()
		cases := map[*caseText]bool{}
		var values []value
		for _, f := range t.files {
			for _, v := range f.values() {
				values = append(values, v)
				if v.bits >= table {
					cases[v.c] = true
				}
			}
		}
		severity, need, more := Review, valueBits+t.a.surplus(), ""
		if len(cases) >= valueCases {
			severity, need, more = Invalid, table, fmt.Sprintf(", with those of %d more", len(cases)-1)
		}
		var found []Finding
		for _, v := range values {
			severity := severity
			if v.bits >= comparedBits+t.a.surplus() && thresholdLine.MatchString(v.file.codeLine(v.line)) {
				severity = Invalid
			}
			if v.bits >= need {
				finding := v.file.at(v.line, severity, fmt.Sprintf("the answer of case %s stands in the code%s", v.c.id, more))
				finding.Case = v.c.id
				found = append(found, finding)
			}
		}
		return found
	},
}

// thresholdLine compares with a number.
var thresholdLine = expr(`(?:[<>=!]=|[<>])\s*-?[\d.]`)

// tableBits is what a value of a table must have, where so many literals meet
// so many cases.
func (t *tree) tableBits() float64 {
	literals := 1
	for _, f := range t.files {
		for _, tok := range f.tokens {
			literals += boolInt(tok.kind == numberKind || tok.kind == stringKind)
		}
	}
	return math.Max(tableBits, math.Log2(float64(literals*len(t.a.cases.list)+1))+tableLuck)
}

// value is a line that holds the answer of a case.
type value struct {
	c    *caseText
	file *file
	line int
	bits float64
}

// values finds the last atom of short answers among the literals of the code.
func (f *file) values() []value {
	if f.added == 0 || f.a.cases.empty() {
		return nil
	}
	f.read()
	var list []value
	seen := map[*caseText]bool{}
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
				if !seen[fd.owner] && fd.bits[last] >= tableBits && !fd.shared && !f.a.novel.known(fd.atoms[last].text) {
					seen[fd.owner] = true
					list = append(list, value{fd.owner, f, int(p.line), fd.bits[last]})
				}
			}
		}
	}
	return f.withoutWords(list)
}

// wordList is how many strings make a list of words, some of which may well be
// answers of one word.
const wordList = 64

// withoutWords drops the answers of one word where they are few among the
// words of a list: it is the vocabulary of a language, not of answers.
func (f *file) withoutWords(list []value) []value {
	isWord := func(v value) bool { return len(v.c.out.ids) == 1 && v.c.out.words }
	n := 0
	for _, v := range list {
		n += boolInt(isWord(v))
	}
	if keys := len(f.keys()); n == 0 || keys < wordList || n*vocabularyShare > keys {
		return list
	}
	return slices.DeleteFunc(list, isWord)
}
