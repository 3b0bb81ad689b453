package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	maxDraft  = 256 << 10 // bytes of a draft
	maxSealed = 64 << 20  // bytes of a sealed contract
	maxDepth  = 32
)

// reader walks one document and collects every fault.
type reader struct {
	lines  []string // of the source
	faults []Fault
}

func (r *reader) add(f Fault) { r.faults = append(r.faults, f) }

// document returns the root of the only YAML document in source, or nil with
// the faults that keep it from being read.
func (r *reader) document(source []byte, most int) *yaml.Node {
	if len(source) > most {
		r.add(Fault{Line: 1, Path: "$", Message: fmt.Sprintf("the file has %d bytes, at most %d are allowed", len(source), most)})
		return nil
	}
	if r.characters(source); len(r.faults) > 0 {
		return nil
	}
	r.lines = strings.Split(string(source), "\n")
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		r.add(Fault{Line: 1, Column: 1, Path: "$", Message: "the document is empty"})
		return nil
	case err != nil:
		r.syntax(source, err)
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		r.add(Fault{Line: second.Line, Column: second.Column, Path: "$", Message: "a second document begins here, only one is allowed"})
	} else if !errors.Is(err, io.EOF) {
		r.syntax(source, err)
	}
	root := first.Content[0]
	if !r.plain(root, "$", 0) {
		return nil
	}
	return root
}

// characters refuses what a person cannot see and an editor may change, each
// kind once with the number of its places.
func (r *reader) characters(source []byte) {
	type seen struct{ fault, count int }
	kinds := map[string]*seen{}
	line, column := 1, 1
	for rest := source; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if message, fix := strange(c, n, line == 1 && column == 1); message != "" {
			if kinds[message] == nil {
				kinds[message] = &seen{fault: len(r.faults)}
				r.add(Fault{Line: line, Column: column, Path: "$", Message: message, Fix: fix})
			}
			kinds[message].count++
		}
		rest, column = rest[n:], column+1
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	for message, k := range kinds {
		if k.count > 1 {
			r.faults[k.fault].Message = fmt.Sprintf("%s, here and in %d more places", message, k.count-1)
		}
	}
}

func strange(c rune, n int, start bool) (message, fix string) {
	switch {
	case c == utf8.RuneError && n == 1:
		return "a byte that is not UTF-8", "save the file as UTF-8"
	case c == 0xfeff && start:
		return "the file begins with a byte order mark", "save the file as UTF-8 without it"
	case c == '\r':
		return "a carriage return", "save the file with LF line ends"
	case c == '\t':
		return "a tab", `indent with spaces; in text write \t between double quotes`
	case c != '\n' && hidden(c):
		return fmt.Sprintf("the hidden character U+%04X", c), "delete it"
	}
	return "", ""
}

var (
	yamlLine   = shape(`^yaml: (?:line ([0-9]+): )?(.*)$`)
	yamlAnchor = shape(`^unknown anchor '(.*)' referenced$`)
)

// syntax turns an error of the YAML library into a Fault.
func (r *reader) syntax(source []byte, err error) {
	message, line := problem(err)
	if exact := r.whereBroken(source, message); exact > 0 {
		line = exact
	}
	line = min(max(line, 1), len(r.lines))
	text := r.lines[line-1]
	fault := Fault{Line: line, Column: 1 + len(text) - len(strings.TrimLeft(text, " ")), Path: "$", Message: "not YAML: " + visible(message)}
	switch anchor := yamlAnchor().FindStringSubmatch(message); {
	case anchor != nil:
		fault.Message, fault.Fix = "anchors and aliases are not allowed", "write the value out, or put text that begins with * in quotes"
		if at := strings.Index(text, "*"+anchor[1]); at >= 0 {
			fault.Column = utf8.RuneCountInString(text[:at]) + 1
		}
	case strings.HasSuffix(message, "<document start>"):
		fault.Message, fault.Fix = "not YAML: the document has ended before this", "delete it, or put it in quotes"
	}
	r.add(fault)
}

// problem returns the message of an error of the YAML library and the line
// that it names, or 0.
func problem(err error) (string, int) {
	parts := yamlLine().FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if parts == nil {
		return err.Error(), 0
	}
	line, _ := strconv.Atoi(parts[1]) // no line: 0
	return parts[2], line
}

// whereBroken returns the line at which the document stops being YAML, or 0
// for a long one. The library names the line before, or the one where the
// surrounding mapping begins; so ever shorter beginnings of the document are
// read until the problem is gone.
func (r *reader) whereBroken(source []byte, message string) int {
	const mostLines, mostBytes = 300, 32 << 10
	if len(r.lines) > mostLines || len(source) > mostBytes {
		return 0
	}
	end := len(source)
	for line := len(r.lines); line > 0; line-- {
		end = bytes.LastIndexByte(source[:end], '\n')
		if end < 0 {
			return line
		}
		if got, _ := problem(allDocuments(source[:end+1])); got != message {
			return line
		}
	}
	return 0
}

var errNone = errors.New("yaml: none")

// allDocuments returns the first error in source, or errNone.
func allDocuments(source []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	for {
		var y yaml.Node
		if err := decoder.Decode(&y); errors.Is(err, io.EOF) {
			return errNone
		} else if err != nil {
			return err
		}
	}
}

// plain refuses, below y, whatever YAML has beyond mappings, lists and
// scalars. Tags are taken off, so that the value is checked all the same.
func (r *reader) plain(y *yaml.Node, path string, depth int) bool {
	if depth > maxDepth {
		r.at(y, path, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
		return false
	}
	if depth == 0 {
		r.directives()
	}
	r.special(y, path)
	ok := true
	for i, child := range y.Content {
		below := fmt.Sprintf("%s[%d]", path, i)
		if y.Kind == yaml.MappingNode {
			below = path + "." + keyName(y.Content[i&^1])
		}
		ok = r.plain(child, below, depth+1) && ok
	}
	return ok
}

func (r *reader) special(y *yaml.Node, path string) {
	switch {
	case y.Kind == yaml.AliasNode, y.Anchor != "":
		r.at(y, path, "anchors and aliases are not allowed", "write the value out")
	case y.Kind == yaml.ScalarNode && y.Tag == "!!merge":
		r.at(y, path, "merge keys are not allowed", "write the keys out")
	case y.Style&yaml.TaggedStyle == 0:
	case y.Tag == Inferred:
		r.at(y, path, "still bears "+Inferred+": it is a guess that nobody has confirmed", "check the value, then delete "+Inferred)
	default:
		r.at(y, path, "the tag "+shown(y.Tag)+" is not allowed", "delete it")
	}
	if y.Style&yaml.TaggedStyle != 0 {
		y.Tag, y.Style = "", y.Style&^yaml.TaggedStyle
		y.Tag = y.ShortTag()
	}
	if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 && y.Kind == yaml.ScalarNode && !r.oneLine(y) {
		r.at(y, path, "the text runs over several lines without a sign", "put it in quotes, or write >- before it; check that list items line up")
	}
}

// oneLine reports whether the plain scalar y ends on the line it begins on.
// One that does not is most often a list whose items do not line up.
func (r *reader) oneLine(y *yaml.Node) bool {
	return y.Line < 1 || y.Line > len(r.lines) || strings.Contains(r.lines[y.Line-1], y.Value)
}

func (r *reader) directives() {
	for i, line := range r.lines {
		if strings.HasPrefix(line, "%") {
			r.add(Fault{Line: i + 1, Column: 1, Path: "$", Message: "YAML directives are not allowed", Fix: "delete the line"})
		}
	}
}

// at adds a Fault at the place of y.
func (r *reader) at(y *yaml.Node, path, message, fix string) {
	r.add(Fault{Line: y.Line, Column: y.Column, Path: path, Message: message, Fix: fix})
}

var plainKey = shape(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// keyName returns a key as it stands in a path.
func keyName(y *yaml.Node) string {
	if plainKey().MatchString(y.Value) {
		return y.Value
	}
	return shown(y.Value)
}
