package audit

import (
	"embed"
	"slices"
	"strings"
)

// examples holds one candidate a class that is flagged with it. A section
// "base/PATH" or "cand/PATH" is a file, "case ID" an input and, after =>, its
// answer; src/ is writable and eval/ is frozen unless a section says otherwise.
//
//go:embed testdata/*/flagged.txt
var examples embed.FS

// Classes lists every class that Check can report, sorted.
func Classes() []string {
	var list []string
	for _, r := range allRules() {
		list = append(list, r.class)
	}
	slices.Sort(list)
	return list
}

// allRules is every rule, also those whose findings arise outside the list.
func allRules() []rule {
	return slices.Concat(rules, []rule{ruleBounds, ruleShape, ruleSpecScenario})
}

// Explain says what a class means and what to do about it, with an example
// that is flagged; ok is false for a class that does not exist.
func Explain(class string) (text string, ok bool) {
	for _, r := range allRules() {
		if r.class != class {
			continue
		}
		text = r.class + "\n\n" + r.about + "\n\nfix: " + r.fix + "\n"
		if example, err := examples.ReadFile("testdata/" + class + "/flagged.txt"); err == nil {
			text += "\nexample that is flagged:\n\n" + escapeLines(string(example))
		}
		return text, true
	}
	return "", false
}

// escapeLines escapes a text line by line.
func escapeLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
		b.WriteString("  " + Escape(line) + "\n")
	}
	return b.String()
}
