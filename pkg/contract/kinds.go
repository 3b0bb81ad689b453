package contract

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// names returns the keys of an object.
func (f *field) names() []string {
	var out []string
	for _, child := range f.fields {
		out = append(out, child.name)
	}
	return out
}

// wants says what a value must be, for messages.
func (f *field) wants() string {
	switch f.kind {
	case object:
		if len(f.enum) > 0 {
			return strings.Join(f.enum, ", ") + ", or a mapping with the key " + strings.Join(f.names(), ", ")
		}
		return "a mapping"
	case list:
		return "a list"
	case table:
		return "a mapping from names to text"
	case whole:
		return "a whole number"
	case number:
		return "a finite decimal number"
	case truth:
		return "true or false"
	case span:
		return "a duration such as 60s, 5m or 24h"
	case size:
		return "a size such as 512MiB or 1GiB, or a whole number of bytes"
	case choice:
		if len(f.enum) > 1 {
			return "one of " + strings.Join(f.enum, ", ")
		}
		return f.enum[0]
	case file, folder, pattern, host:
		return "a path as text"
	}
	return "text"
}

// about is the document line of a field, or what it wants.
func (f *field) about() string {
	if f.doc != "" {
		return strings.TrimSuffix(strings.ToLower(f.doc[:1])+f.doc[1:], ".")
	}
	return f.wants()
}

// cure is the fix of a value y that is wrong in itself.
func (f *field) cure(y *yaml.Node) string {
	digits := y.Kind == yaml.ScalarNode && wholeShape().MatchString(y.Value)
	switch {
	case f.kind == span && digits:
		return "write the unit, such as " + shorten(y.Value) + "s"
	case f.kind == truth && slices.Contains([]string{"yes", "on", "y"}, strings.ToLower(y.Value)):
		return "write true"
	case f.kind == truth && slices.Contains([]string{"no", "off", "n"}, strings.ToLower(y.Value)):
		return "write false"
	case f.kind == size && digits:
		return "write the unit, such as " + shorten(y.Value) + "MiB"
	case (f.kind == whole || f.kind == number) && y.Tag == "!!str" && y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && numberShape().MatchString(y.Value):
		return "write it without quotes"
	case f.textual() && y.Kind == yaml.ScalarNode && y.Tag != "!!str" && y.Tag != "!!null":
		return "put it in quotes: " + shown(y.Value)
	}
	return ""
}

// textual reports whether any text could be a value of f.
func (f *field) textual() bool {
	switch f.kind {
	case prose, command, value, raw, label, program, variable, revision, commit, file, folder, pattern, host, regex, slug, vkey, recipient:
		return true
	}
	return false
}

const (
	maxText     = 16 << 10 // bytes of a text or command
	maxPath     = 1024     // bytes of a path or pattern
	maxSpan     = 8760 * time.Hour
	maxName     = 64
	timeLayout  = "2006-01-02T15:04:05Z"
	tebibyte    = 1 << 40
	maxQuantity = 1 << 60
)

var (
	labelShape    = shape(`^[a-z][a-z0-9_]*$`)
	programShape  = shape(`^[A-Za-z0-9_+][A-Za-z0-9_.+-]*$`)
	variableShape = shape(`^[A-Za-z_][A-Za-z0-9_]*$`)
	commitShape   = shape(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
	spanShape     = shape(`^([1-9][0-9]*)(ms|s|m|h)$`)
	sizeShape     = shape(`^([1-9][0-9]*)(KiB|MiB|GiB|TiB)$`)
	decimalSize   = shape(`^([0-9]+) ?([KMGTkmgt])[Bb]?$`)
)

// convert checks the text of n by its kind and fills in what it stands for.
// It returns what is wrong, or "".
func (n *node) convert(y *yaml.Node) string {
	switch n.field.kind {
	case prose, command:
		if y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			n.text = strings.TrimRight(n.text, "\n")
		}
		return badText(n.text)
	case raw:
		return ""
	case value:
		return badCharacters(n.text)
	case choice:
		return n.field.badChoice(n.text)
	case span:
		return n.convertSpan()
	case size:
		return n.convertSize()
	case regex:
		return n.convertRegex()
	case file, folder:
		return n.convertPath()
	case pattern:
		return badPattern(n.text)
	}
	return badWord(n.field.kind, n.text)
}

// badWord checks the kinds that are one word of a fixed shape.
func badWord(k kind, s string) string {
	switch {
	case len(s) > maxPath:
		return fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(s), maxPath)
	case k == label && (!labelShape().MatchString(s) || len(s) > maxName):
		return "want the name of a metric, lower-case letters, digits and _, got " + shown(s)
	case k == program && (!programShape().MatchString(s) || len(s) > maxName):
		return "want the name of a program, without a folder, got " + shown(s)
	case k == variable:
		problem, _ := badVariable(s)
		return problem
	case k == revision && s != "HEAD" && !commitShape().MatchString(s):
		return "want HEAD or a full commit id of 40 or 64 lower-case hexadecimal digits, got " + shown(s)
	case k == commit && !commitShape().MatchString(s):
		return "want a full commit id, got " + shown(s)
	case k == checksum && !digestShape().MatchString(s):
		return "want sha256: and 64 lower-case hexadecimal digits, got " + shown(s)
	case k == host && (!path.IsAbs(s) || path.Clean(s) != s || s == "/" || badText(s) != "" || strings.Contains(s, "\n")):
		return "want an absolute folder of the machine such as /usr/local/go, got " + shown(s)
	case k == vkey:
		return badVerifier(s)
	case k == recipient:
		return badRecipient(s)
	case k == slug:
		if _, err := ParseTag(s); err != nil {
			return err.Error()
		}
	case k == moment:
		if t, err := time.Parse(timeLayout, s); err != nil || t.Format(timeLayout) != s {
			return "want a time such as 2026-01-31T12:00:00Z, got " + shown(s)
		}
	case k == fileLine:
		if _, err := parseFile(s); err != nil {
			return err.Error()
		}
	}
	return ""
}

// badText says what is wrong with s as text for people or a shell.
func badText(s string) string {
	if strings.TrimSpace(s) == "" {
		return "the text is empty"
	}
	return badCharacters(s)
}

func badCharacters(s string) string {
	if len(s) > maxText {
		return fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(s), maxText)
	}
	for _, r := range s {
		if r != '\n' && hidden(r) {
			return fmt.Sprintf("the text holds the hidden character U+%04X", r)
		}
	}
	return ""
}

func (f *field) badChoice(s string) string {
	switch {
	case slices.Contains(f.enum, s):
		return ""
	case slices.Contains(f.later, s):
		return shown(s) + " is not available yet, want " + f.wants()
	}
	return "want " + f.wants() + ", got " + shown(s) + didYouMean(s, f.enum)
}

func (n *node) convertSpan() string {
	parts := spanShape().FindStringSubmatch(n.text)
	if parts == nil {
		return "want " + n.field.wants() + ", got " + shown(n.text)
	}
	unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}[parts[2]]
	count, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || count > int64(maxSpan/unit) {
		return "at most " + writeSpan(maxSpan) + " is allowed, got " + shown(n.text)
	}
	n.whole = count * int64(unit)
	return ""
}

func (n *node) convertSize() string {
	if !sizeShape().MatchString(n.text) {
		hint := ""
		if d := decimalSize().FindStringSubmatch(n.text); d != nil {
			hint = "; did you mean " + shown(d[1]+strings.ToUpper(d[2])+"iB") + "?"
		}
		return "want " + n.field.wants() + ", got " + shown(n.text) + hint
	}
	bytes, err := ParseSize(n.text)
	if err != nil {
		return "the size is too large"
	}
	n.whole = bytes
	return ""
}

func (n *node) convertRegex() string {
	if problem := badText(n.text); problem != "" {
		return problem
	}
	re, err := regexp.Compile(n.text)
	if err != nil {
		return "not an RE2 expression: " + visible(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if n.field.name == "pattern" && re.MatchString("") {
		return "the expression matches the empty text, and so every log"
	}
	n.regex = re
	return ""
}

// convertPath checks a path that is no pattern. A folder may end in a slash,
// which is taken off.
func (n *node) convertPath() string {
	if n.field.kind == folder {
		n.text = strings.TrimSuffix(n.text, "/")
		if n.text == "." && n.field.name == "directory" {
			return ""
		}
	}
	if strings.ContainsAny(n.text, "*?[]{}") {
		return "want a path, got the pattern " + shown(n.text)
	}
	return badPath(n.text)
}

// bounds checks a number against the field's range.
func (n *node) bounds() string {
	f, value, write := n.field, n.number, writeNumber
	switch f.kind {
	case whole:
		value = float64(n.whole)
	case size:
		value, write = float64(n.whole), func(v float64) string { return writeSize(int64(v)) }
		if n.whole > maxQuantity {
			return "the size is too large"
		}
	case number:
	default:
		return ""
	}
	if value < f.min && (f.min != 0 || f.max != 0) {
		return "want at least " + write(f.min) + ", got " + write(value)
	}
	if f.max != 0 && value > f.max {
		return "want at most " + write(f.max) + ", got " + write(value)
	}
	return ""
}

// badVariable says what is wrong with the name of an environment variable.
func badVariable(name string) (problem, fix string) {
	switch {
	case !variableShape().MatchString(name) || len(name) > maxName:
		return "want the name of an environment variable, letters, digits and _, got " + shown(name), ""
	case strings.HasPrefix(name, "RESEARCH_LOOP_"):
		return "names that begin with RESEARCH_LOOP_ belong to the supervisor", "choose another name"
	case slices.Contains([]string{"PATH", "HOME", "TMPDIR"}, name):
		return "the sandbox sets " + name, "delete it; toolchains brings folders onto PATH"
	case strings.HasPrefix(name, "LD_") || name == "BASH_ENV" || name == "ENV" || name == "IFS":
		return name + " changes what every program of a launch does", "delete it, or set it in the command that needs it"
	}
	return "", ""
}

// writeNumber, writeSpan and writeSize write the one form that a sealed
// contract has.
func writeNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func writeSpan(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}

func writeSize(bytes int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"TiB", tebibyte}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes != 0 && bytes%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", bytes/unit.bytes, unit.name)
		}
	}
	return strconv.FormatInt(bytes, 10)
}
