package contract

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Inferred is the mark of a guess: a YAML tag that stands before the value,
// as in `timeout: !inferred 60s`. Parse refuses every field that bears it, so
// that a person has looked at the value and deleted the tag. A tag, and not a
// comment, because it belongs to its value whatever an editor does to the
// lines, and because whoever reads it without this package fails on it.
const Inferred = "!inferred"

// node is a value that has been read: the field it belongs to, its place, and
// what was written. All methods may be called on nil, an absent value.
type node struct {
	field        *field
	path         string
	line, column int
	text         string  // of string kinds and choices; the shorthand of an object
	whole        int64   // whole numbers, sizes in bytes, durations in nanoseconds
	number       float64 // numbers
	truth        bool
	regex        *regexp.Regexp
	children     []*node // of an object in the order of its fields, of a list or table in theirs
}

// get returns the child of an object called name, or nil.
func (n *node) get(names ...string) *node {
	for _, name := range names {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.children, func(c *node) bool { return c.field.name == name })
		if i < 0 {
			return nil
		}
		n = n.children[i]
	}
	return n
}

func (n *node) items() []*node {
	if n == nil {
		return nil
	}
	return n.children
}

func (n *node) string() string {
	if n == nil {
		return ""
	}
	return n.text
}

func (n *node) int() int64 {
	if n == nil {
		return 0
	}
	return n.whole
}

func (n *node) is() bool { return n != nil && n.truth }

func (n *node) float() *float64 {
	if n == nil {
		return nil
	}
	return &n.number
}

func (n *node) expression() *regexp.Regexp {
	if n == nil {
		return nil
	}
	return n.regex
}

// strings returns the texts of a list.
func (n *node) strings() []string {
	var out []string
	for _, item := range n.items() {
		out = append(out, item.text)
	}
	return out
}

// read turns y into a node of field f, or nil with the faults.
func (r *reader) read(f *field, y *yaml.Node, path string) *node {
	if f.soon {
		r.at(y, path, "not available yet", "delete it; a later version brings it")
		return nil
	}
	n := &node{field: f, path: path, line: y.Line, column: y.Column}
	ok := true
	switch {
	case y.Kind == yaml.AliasNode:
		return nil // refused already
	case y.Kind == yaml.ScalarNode && y.Tag == "!!null" && f.kind != object:
		r.at(y, path, "has no value, want "+f.wants(), "write one, or delete the key")
		return nil
	case f.kind == object:
		ok = r.object(n, y)
	case f.kind == list:
		ok = r.list(n, y)
	case f.kind == table:
		ok = r.table(n, y)
	default:
		ok = r.scalar(n, y)
	}
	if !ok {
		return nil
	}
	return n
}

func (r *reader) object(n *node, y *yaml.Node) bool {
	if y.Kind == yaml.ScalarNode && y.Tag == "!!str" && slices.Contains(n.field.enum, y.Value) {
		n.text = y.Value
		return true
	}
	if y.Kind != yaml.MappingNode {
		r.at(y, n.path, "want "+n.field.wants()+", got "+describe(y), "")
		return false
	}
	values := r.pairs(n, y)
	for i := range n.field.fields {
		f := &n.field.fields[i]
		below := n.path + "." + f.name
		value := values[f.name]
		switch {
		case value != nil:
			if child := r.read(f, value, below); child != nil {
				n.children = append(n.children, child)
			}
		case f.need:
			r.at(y, below, "missing", "add it: "+f.about())
		case f.unset != "":
			n.children = append(n.children, r.unset(f, y, below))
		}
	}
	return true
}

// unset returns the node of an absent field with a default.
func (r *reader) unset(f *field, y *yaml.Node, path string) *node {
	var d yaml.Node
	if err := yaml.Unmarshal([]byte(f.unset), &d); err != nil {
		panic("contract: the default of " + path + " is not YAML: " + err.Error()) // cannot happen: the table is fixed
	}
	value := d.Content[0]
	value.Line, value.Column = y.Line, y.Column
	return r.read(f, value, path)
}

// pairs returns the values of the mapping y by key and refuses keys that are
// unknown, doubled or no text.
func (r *reader) pairs(n *node, y *yaml.Node) map[string]*yaml.Node {
	known := n.field.names()
	values, lines := map[string]*yaml.Node{}, map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.at(key, n.path, "a key must be text, got "+describe(key), "")
		case lines[key.Value] > 0:
			r.at(key, n.path, fmt.Sprintf("%s is set twice, first on line %d", shown(key.Value), lines[key.Value]), "keep one of them")
		case !slices.Contains(known, key.Value):
			lines[key.Value] = key.Line
			hint := suggest(key.Value, known)
			fix := ""
			if hint == "" {
				fix = "known keys are " + strings.Join(known, ", ")
			}
			r.at(key, n.path, "unknown key "+shown(key.Value)+hint, fix)
		default:
			lines[key.Value] = key.Line
			values[key.Value] = value
		}
	}
	return values
}

// suggest is the end of a message about the unknown key.
func suggest(key string, known []string) string {
	if hint := didYouMean(key, known); hint != "" {
		return hint
	}
	switch homes := homesOf(key, draftFields(), ""); len(homes) {
	case 0:
		return ""
	case 1:
		return "; it belongs below " + homes[0]
	default:
		return "; it stands below " + strings.Join(homes, " and ")
	}
}

// homesOf returns the paths of the objects that know key.
func homesOf(key string, fields []field, path string) []string {
	var homes []string
	for _, f := range fields {
		at := strings.TrimPrefix(path+"."+f.name, ".")
		if slices.Contains(f.names(), key) {
			homes = append(homes, at)
		}
		homes = append(homes, homesOf(key, f.fields, at)...)
	}
	return homes
}

const maxItems = 1000

func (r *reader) list(n *node, y *yaml.Node) bool {
	if y.Kind != yaml.SequenceNode {
		fix := ""
		if y.Kind == yaml.ScalarNode && y.Tag == "!!str" {
			fix = "write it as a list: [" + visible(shorten(y.Value)) + "]"
		}
		r.at(y, n.path, "want "+n.field.wants()+", got "+describe(y), fix)
		return false
	}
	if n.field.need && len(y.Content) == 0 {
		r.at(y, n.path, "the list is empty, want at least one item", "")
		return false
	}
	if len(y.Content) > maxItems && n.field.item.kind != fileLine {
		r.at(y, n.path, fmt.Sprintf("the list has %d items, at most %d are allowed", len(y.Content), maxItems), "")
		return false
	}
	first := map[string]int{}
	for i, value := range y.Content {
		item := r.read(n.field.item, value, fmt.Sprintf("%s[%d]", n.path, i))
		if item == nil {
			continue
		}
		if value.Kind == yaml.ScalarNode {
			if line, twice := first[item.text]; twice {
				r.at(value, item.path, fmt.Sprintf("%s stands in the list twice, first on line %d", shown(item.text), line), "keep one of them")
				continue
			}
			first[item.text] = value.Line
		}
		n.children = append(n.children, item)
	}
	return r.fewPatterns(n)
}

// mostPatterns bounds what a list of patterns stands for, since every one is
// compared with every other.
const mostPatterns = 256

func (r *reader) fewPatterns(n *node) bool {
	count := 0
	for _, item := range n.children {
		if item.field.kind == pattern {
			count += len(expand(item.text))
		}
	}
	if count > mostPatterns {
		r.add(Fault{Line: n.line, Column: n.column, Path: n.path, Message: fmt.Sprintf("the list stands for %d patterns, at most %d are allowed", count, mostPatterns)})
	}
	return count <= mostPatterns
}

func (r *reader) table(n *node, y *yaml.Node) bool {
	if y.Kind != yaml.MappingNode {
		r.at(y, n.path, "want "+n.field.wants()+", got "+describe(y), "")
		return false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		path := n.path + "." + keyName(key)
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
			r.at(key, n.path, "a name must be text, got "+describe(key), "put it in quotes")
			continue
		case lines[key.Value] > 0:
			r.at(key, n.path, fmt.Sprintf("%s is set twice, first on line %d", shown(key.Value), lines[key.Value]), "keep one of them")
			continue
		}
		lines[key.Value] = key.Line
		if problem, fix := badVariable(key.Value); problem != "" {
			r.at(key, path, problem, fix)
		}
		if child := r.read(&field{name: key.Value, kind: value}, y.Content[i+1], path); child != nil {
			n.children = append(n.children, child)
		}
	}
	slices.SortFunc(n.children, func(a, b *node) int { return strings.Compare(a.field.name, b.field.name) })
	return true
}

var (
	wholeShape  = shape(`^-?(0|[1-9][0-9]*)$`)
	numberShape = shape(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// scalar reads the scalar y into n.
func (r *reader) scalar(n *node, y *yaml.Node) bool {
	quoted := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	digits := y.Kind == yaml.ScalarNode && !quoted && numberShape().MatchString(y.Value)
	problem := ""
	switch k := n.field.kind; {
	case y.Kind != yaml.ScalarNode:
		problem = "want " + n.field.wants() + ", got " + describe(y)
	case k == whole && digits && wholeShape().MatchString(y.Value), k == size && digits && wholeShape().MatchString(y.Value):
		value, err := strconv.ParseInt(y.Value, 10, 64)
		if err != nil {
			problem = "the number is too large"
		}
		n.whole = value
	case k == number && digits:
		value, err := strconv.ParseFloat(y.Value, 64)
		if err != nil || math.IsInf(value, 0) {
			problem = "the number is too large"
		}
		n.number = value
	case k == truth && !quoted && (y.Value == "true" || y.Value == "false"):
		n.truth = y.Value == "true"
	case k == whole, k == number, k == truth, y.Tag != "!!str":
		problem = "want " + n.field.wants() + ", got " + describe(y)
	default:
		n.text = y.Value
		problem = n.convert(y)
	}
	if problem == "" {
		problem = n.bounds()
	}
	if problem != "" {
		r.at(y, n.path, problem, n.field.cure(y))
	}
	return problem == ""
}

// describe says what y is, for "want …, got …".
func describe(y *yaml.Node) string {
	switch {
	case y.Kind == yaml.MappingNode:
		return "a mapping"
	case y.Kind == yaml.SequenceNode:
		return "a list"
	case y.Kind == yaml.AliasNode:
		return "an alias"
	case y.Tag == "!!null":
		return "nothing"
	case y.Tag == "!!int":
		return "the whole number " + visible(shorten(y.Value))
	case y.Tag == "!!float":
		return "the number " + visible(shorten(y.Value))
	case y.Tag == "!!bool":
		return y.Value
	case y.Tag == "!!timestamp":
		return "the date " + visible(shorten(y.Value))
	}
	return "the text " + shown(y.Value)
}
