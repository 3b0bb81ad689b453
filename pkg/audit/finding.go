package audit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity says what a finding does to the attempt.
type Severity string

// An invalid finding forbids the evaluation; a review finding marks the
// attempt, so that a later gate failure is reported as overfit.
const (
	Invalid Severity = "invalid"
	Review  Severity = "review"
)

// SpecScenario is the note of a candidate that spells out a case which the
// specification states as well. It is kept only with a passing gate.
const SpecScenario = "spec-scenario"

// Finding is one thing that the audit holds against a candidate.
type Finding struct {
	Class    string   `json:"class"` // which rule, such as "leak.verbatim"; see Explain
	Severity Severity `json:"severity"`
	Path     string   `json:"path"` // raw bytes as in the tree; "" for a commit as such
	Line     int      `json:"line"` // from 1; 0 where the whole file, tree or commit is meant
	Message  string   `json:"message"`
	Fix      string   `json:"fix"`
	Case     string   `json:"case"` // id of the case concerned, or ""
	// Commit is "" for a finding in the candidate's own tree. Otherwise it
	// names the commit whose shape, message or intermediate tree is at fault:
	// such a finding says nothing about the tree and is never replayed.
	Commit    string `json:"commit"`
	Inherited bool   `json:"inherited"` // the incumbent has the same finding
}

// String gives the finding as path:line: message [class] with everything
// escaped that a terminal would act on. Line 0 prints as 1.
func (f Finding) String() string {
	where := f.Path
	if f.Commit != "" {
		where = strings.TrimPrefix(where+"@"+short(f.Commit), "@")
	}
	if where == "" {
		where = "candidate"
	}
	return fmt.Sprintf("%s:%d: %s [%s]", Escape(where), max(f.Line, 1), Escape(f.Message), Escape(f.Class))
}

// Markdown gives the finding as one list item in which nothing of the
// candidate's is read as markup, mention, link or HTML.
func (f Finding) Markdown() string {
	return "- " + EscapeMarkdown(f.String()) + "; " + EscapeMarkdown(Escape(f.Fix))
}

// Workflow gives the finding as a workflow command that annotates the line.
func (f Finding) Workflow() string {
	level := "error"
	if f.Severity == Review {
		level = "warning"
	}
	return fmt.Sprintf("::%s file=%s,line=%d,title=%s::%s", level,
		escapeProperty(Escape(f.Path)), max(f.Line, 1), escapeProperty(f.Class), escapeData(Escape(f.Message)))
}

// Escape makes text safe to print on a terminal: control and format
// characters, line ends and bytes that are not UTF-8 become escapes.
func Escape(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafeRune(r):
			b.WriteString(s[i : i+n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) || hidden(r) || tagRune(r)
}

// EscapeMarkdown puts a backslash or an entity before everything that
// GitHub's Markdown gives a meaning.
func EscapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("&#64;")
		case strings.ContainsRune("\\`*_{}[]()#+-!|~>$:", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}

func short(commit string) string {
	return commit[:min(len(commit), 12)]
}

// Report is what Check found.
type Report struct {
	Findings []Finding // sorted by commit, path, line, class; no doubles
	Notes    []string  // sorted words, such as SpecScenario
}

// Verdict is "invalid", "review" or "pass".
func (r Report) Verdict() string {
	verdict := "pass"
	for _, f := range r.Findings {
		if f.Severity == Invalid {
			return string(Invalid)
		}
		verdict = string(Review)
	}
	return verdict
}

// Classes lists the classes found, sorted, each once.
func (r Report) Classes() []string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.Class)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// perClass is how many findings of one class are reported in one file.
const perClass = 5

// tidy sorts findings, drops doubles and folds the sixth and later finding of
// a class in a file into the fifth.
func tidy(all []Finding) []Finding {
	slices.SortFunc(all, compareFindings)
	all = slices.CompactFunc(all, func(a, b Finding) bool {
		return a.Commit == b.Commit && a.Path == b.Path && a.Line == b.Line && a.Class == b.Class && a.Case == b.Case
	})
	type group struct{ commit, path, class string }
	seen := map[group]int{}
	var kept []Finding
	for _, f := range all {
		g := group{f.Commit, f.Path, f.Class}
		if seen[g]++; seen[g] <= perClass {
			kept = append(kept, f)
		}
	}
	last := map[group]int{}
	for i, f := range kept {
		last[group{f.Commit, f.Path, f.Class}] = i
	}
	for g, i := range last {
		if more := seen[g] - perClass; more > 0 {
			kept[i].Message += fmt.Sprintf(" (and %d more of this class here)", more)
		}
	}
	return kept
}

func compareFindings(a, b Finding) int {
	return cmpOr(
		strings.Compare(a.Commit, b.Commit), strings.Compare(a.Path, b.Path), a.Line-b.Line,
		strings.Compare(a.Class, b.Class), strings.Compare(string(a.Severity), string(b.Severity)),
		strings.Compare(a.Case, b.Case), strings.Compare(a.Message, b.Message))
}

// cmpOr returns the first comparison that is not a tie.
func cmpOr(list ...int) int {
	for _, c := range list {
		if c != 0 {
			return c
		}
	}
	return 0
}
