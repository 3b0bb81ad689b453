package audit

import (
	"slices"
	"strings"
)

// Trailers are the five statements that justify a candidate.
type Trailers struct {
	Hypothesis       string
	FailureClass     string
	Mechanism        string
	PredictedVariant string
	Counterexample   string
}

// Template is what a commit message must end with.
const Template = `Hypothesis: what you expect to improve, and why it is general
Failure-class: the kind of input that fails now, not one case
Mechanism: what the change does
Predicted-variant: an input that nobody has shown you and that should improve
Counterexample: an input that must not change
`

// trailerNames are the trailers in the order of Template.
var trailerNames = []string{"Hypothesis", "Failure-class", "Mechanism", "Predicted-variant", "Counterexample"}

// ParseTrailers reads the trailers of a commit message by git's rules: they
// stand in the last paragraph, which is not the subject, and every line of it
// is a trailer, a continuation that begins with a blank, or at least a quarter
// of its lines are trailers. Names are compared without case; the last of
// doubled names counts. missing lists the names that are absent or empty, in
// the order of Template.
func ParseTrailers(message string) (t Trailers, missing []string) {
	values := map[string]string{}
	last := ""
	for _, line := range lastParagraph(message) {
		if last != "" && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) {
			values[last] = strings.TrimSpace(values[last] + " " + strings.TrimSpace(line))
			continue
		}
		name, value, ok := trailer(line)
		if last = ""; ok {
			last = strings.ToLower(name)
			values[last] = value
		}
	}
	fields := []*string{&t.Hypothesis, &t.FailureClass, &t.Mechanism, &t.PredictedVariant, &t.Counterexample}
	for i, name := range trailerNames {
		if *fields[i] = values[strings.ToLower(name)]; *fields[i] == "" {
			missing = append(missing, name)
		}
	}
	return t, missing
}

// trailer splits "Name: value". A name is letters, digits and hyphens.
func trailer(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	name = strings.TrimRight(name, " \t")
	if !ok || name == "" {
		return "", "", false
	}
	for _, c := range []byte(name) {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "", "", false
		}
	}
	return name, strings.TrimSpace(value), true
}

// lastParagraph gives the lines of the last paragraph if it is a block of
// trailers. Comment lines and what follows a scissors line are not part of a
// message.
func lastParagraph(message string) []string {
	var all []string
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n \t")
		if strings.HasPrefix(line, "# ----") && strings.Contains(line, ">8") {
			break
		}
		if !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	start := len(all)
	for start > 0 && all[start-1] != "" {
		start--
	}
	if block := all[start:]; start > 0 && isTrailerBlock(block) {
		return block
	}
	return nil
}

func isTrailerBlock(block []string) bool {
	trailers, others, known, last := 0, 0, false, false
	for _, line := range block {
		name, _, ok := trailer(line)
		switch {
		case last && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")):
			continue
		case ok:
			trailers++
			known = known || knownTrailer(name)
		default:
			others++
		}
		last = ok
	}
	return trailers > 0 && (others == 0 || known && trailers*3 >= others)
}

func knownTrailer(name string) bool {
	return strings.EqualFold(name, "Signed-off-by") ||
		slices.ContainsFunc(trailerNames, func(n string) bool { return strings.EqualFold(n, name) })
}
