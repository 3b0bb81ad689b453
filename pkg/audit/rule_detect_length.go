package audit

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Two lengths that are those of cases are a probe; where cases have so many
// lengths that any number would do, more are asked.
const (
	shortProbe  = 12
	probes      = 2
	lengthsEach = 30 // distinct lengths of cases that cost one more probe
)

var ruleLengthProbe = rule{
	class: "detect.length-probe",
	about: "The code asks for the exact length of a case's input: lengths tell cases apart as well as words.",
	fix:   "treat inputs of every length alike",
	total: func(t *tree) []Finding {
		lengths := t.a.caseLengths()
		seen := map[int]bool{}
		var found []Finding
		for _, f := range t.files {
			for _, at := range f.lengthProbes() {
				if lengths[at.value] && !seen[at.value] {
					seen[at.value] = true
					found = append(found, f.at(at.line, Review, fmt.Sprintf("the length %d is that of a case's input", at.value)))
				}
			}
		}
		if len(found) >= probes+len(lengths)/lengthsEach {
			for i := range found {
				found[i].Severity = Invalid
			}
		}
		return found
	},
}

// ordinary lengths are those of digests, blocks and identifiers.
var ordinary = map[int]bool{16: true, 20: true, 24: true, 28: true, 32: true, 36: true, 40: true, 48: true, 56: true, 64: true, 96: true, 128: true, 256: true, 512: true, 1024: true}

// caseLengths are the lengths of inputs in bytes and characters.
func (a *audit) caseLengths() map[int]bool {
	lengths := map[int]bool{}
	for _, c := range a.in.Cases {
		for _, n := range []int{len(c.Input), utf8.RuneCountInString(c.Input)} {
			if n >= shortProbe && !ordinary[n] {
				lengths[n] = true
			}
		}
	}
	return lengths
}

var (
	lengthOf = `(?:\b(?:len|strlen|size|count|length|wcslen|nchar|LENGTH|RuneCountInString)\s*\(\s*[^()\n]{1,40}(?:\([^()\n]{0,20}\))?\s*\)|\.(?:length|size|len|count|Length|Count)\b(?:\(\))?|\$\{#\w+\})`
	probe    = expr(lengthOf + `\s*(?:[=!]==?|-eq|-ne|<>|\bis\b)\s*(\d+)\b|\b(\d+)\s*(?:[=!]==?)\s*[\w.]*` + lengthOf)
	probeIn  = expr(lengthOf + `\s*(?:not\s+)?in\s*[\(\[\{]([\d,\s]+)[\)\]\}]`)
	digits   = expr(`\d+`)
)

// probed is a length that a line asks for.
type probed struct{ line, value int }

func (f *file) lengthProbes() []probed {
	if f.added == 0 {
		return nil
	}
	var list []probed
	for _, re := range []*expression{probe, probeIn} {
		for _, m := range re.FindAllStringSubmatchIndex(f.summed, 64) {
			for g := 2; g < len(m); g += 2 {
				if m[g] < 0 {
					continue
				}
				for _, d := range digits.FindAllString(f.summed[m[g]:m[g+1]], 32) {
					if n, err := strconv.Atoi(d); err == nil {
						list = append(list, probed{lineAt(f.summed, m[0]), n})
					}
				}
			}
		}
	}
	return list
}
