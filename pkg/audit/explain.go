package audit

import (
	"slices"
)

// Classes lists every class that Check can report, sorted.
func Classes() []string {
	var list []string
	for _, r := range slices.Concat(rules, reported) {
		list = append(list, r.class)
	}
	slices.Sort(list)
	return list
}

// Explain says what a class means and what to do about it, with an example
// that is flagged; ok is false for a class that does not exist.
func Explain(class string) (text string, ok bool) {
	for _, r := range slices.Concat(rules, reported) {
		if r.class == class {
			return r.class + "\n\n" + r.about + "\n\nfix: " + r.fix + "\n", true
		}
	}
	return "", false
}
