package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/research-loop/research-loop/pkg/vault"
)

// shape is what the inputs, or the answers, of many cases have in common. It
// holds counts and classes, and of their text nothing but the names of members
// that every one of them has.
type shape struct {
	text, json                   bool
	size, lines, words           []int // of every file
	ended                        int   // files whose last line ends
	upper, lower, digit          bool
	blank, sign, accent, foreign bool // blank: spaces and tabs inside a line
	members                      map[string]string
}

func shapeOf(files [][]byte) *shape {
	s := &shape{text: true, json: true}
	for i, data := range files {
		s.size = append(s.size, len(data))
		s.text = s.text && utf8.Valid(data) && !bytes.ContainsRune(data, 0)
		s.addMembers(data, i == 0)
	}
	if !s.text {
		return s
	}
	for _, data := range files {
		s.addText(string(data))
	}
	return s
}

func (s *shape) addText(text string) {
	lines := slices.Collect(strings.Lines(text))
	s.lines = append(s.lines, len(lines))
	s.words = append(s.words, len(strings.Fields(text)))
	if strings.HasSuffix(text, "\n") {
		s.ended++
	}
	for _, r := range strings.TrimRight(text, "\n") {
		switch {
		case r >= 'a' && r <= 'z':
			s.lower = true
		case r >= 'A' && r <= 'Z':
			s.upper = true
		case r >= '0' && r <= '9':
			s.digit = true
		case r == ' ' || r == '\t':
			s.blank = true
		case r == '\n' || r == '\r':
		case r < utf8.RuneSelf:
			s.sign = true
		case unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Mn, r):
			s.accent = true
		default:
			s.foreign = true
		}
	}
}

// addMembers keeps the members that this JSON object has too, of one type.
func (s *shape) addMembers(data []byte, first bool) {
	s.json = s.json && json.Valid(data)
	var object map[string]json.RawMessage
	if !s.json || json.Unmarshal(data, &object) != nil {
		s.members = nil
		return
	}
	if first {
		s.members = map[string]string{}
		for name, value := range object {
			s.members[name] = jsonType(value)
		}
	}
	for name, kind := range s.members {
		value, ok := object[name]
		if !ok {
			delete(s.members, name)
		} else if jsonType(value) != kind {
			s.members[name] = "of several types"
		}
	}
}

func jsonType(value json.RawMessage) string {
	switch bytes.TrimSpace(value)[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "number"
}

// facts are the rows of a table about the shape: what, and how it is.
func (s *shape) facts() [][2]string {
	rows := [][2]string{{"format", s.format()}, {"bytes", span(s.size)}}
	if !s.text {
		return rows
	}
	ends := "in some files, and in others not"
	switch s.ended {
	case 0:
		ends = "never"
	case len(s.size):
		ends = "always"
	}
	return append(rows, [][2]string{
		{"lines", span(s.lines)}, {"words", span(s.words)},
		{"the last line ends in a newline", ends}, {"characters", s.characters()},
	}...)
}

func (s *shape) format() string {
	switch {
	case s.json && len(s.size) >= enoughCases && len(s.members) > 0:
		var names []string
		for _, name := range slices.Sorted(maps.Keys(s.members)) {
			names = append(names, fmt.Sprintf("%+q (%s)", name, s.members[name]))
		}
		return "a JSON object; all have the members " + strings.Join(names, ", ")
	case s.json:
		return "JSON"
	case s.text:
		return "text in UTF-8"
	}
	return "binary"
}

// enoughCases is how many objects must share a member for its name to be form
// and no case's own.
const enoughCases = 5

func (s *shape) characters() string {
	var out []string
	for _, class := range []struct {
		there bool
		name  string
	}{
		{s.lower, "letters a to z"}, {s.upper, "letters A to Z"}, {s.digit, "digits"}, {s.blank, "spaces or tabs"},
		{s.sign, "other ASCII signs"}, {s.accent, "Latin letters beyond ASCII"}, {s.foreign, "other characters"},
	} {
		if class.there {
			out = append(out, class.name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// span says from where to where numbers go, and where their middle is.
func span(numbers []int) string {
	sorted := slices.Sorted(slices.Values(numbers))
	low, high := sorted[0], sorted[len(sorted)-1]
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d, half of the files at most %d", low, high, sorted[(len(sorted)-1)/2])
}

// suffix is the ending that the names of all cases have, "" for none.
func suffix(cases []vault.Case) string {
	ending := path.Ext(cases[0].ID)
	for _, c := range cases {
		if path.Ext(c.ID) != ending || len(ending) > 6 || len(cases) < enoughCases {
			return ""
		}
	}
	return ending
}
