package vault

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Finder looks for the cases of a split in files, such as those of a tree and
// its history. A case is found where
//
//   - a file or a line is its input, and nothing else;
//   - its input stands in a text between word borders, if it has at least
//     longInput characters;
//   - a shorter input stands in a line with its answer, at most nearby words or
//     signs apart, since short inputs, such as single words, may stand anywhere
//     by chance.
//
// All of it is compared folded, word by word and sign by sign, so that white
// space and line ends do not matter. One that is binary, or not UTF-8, is
// compared byte for byte.
type Finder struct {
	Overlap
	begin node               // of the tree of the inputs' first tokens
	whole map[string]*wanted // of inputs without tokens, by their bytes
}

// node is where inputs that begin with the same tokens go on: by the next one,
// or end, or have reached the depth to which the tree goes.
type node struct {
	next  map[string]*node
	cases []*wanted
}

// wanted is one input, and the answers of all cases that have it.
type wanted struct {
	folded  string
	exact   []byte // the input without white space at its ends
	input   []string
	answers [][]string
	long    bool
}

const (
	longInput = 24 // characters of a folded input that say enough alone
	fullLine  = 4  // characters of one that says enough as a whole line
	nearby    = 64 // tokens between a short input and its answer
	treeDepth = 16 // tokens
)

// NewFinder makes a Finder for the cases of a split.
func NewFinder(cases []Case) *Finder {
	f := &Finder{whole: map[string]*wanted{}}
	known := map[string]*wanted{}
	for _, c := range cases {
		folded := Fold(c.Input)
		w := known[folded]
		if w == nil {
			w = &wanted{folded: folded, exact: bytes.TrimSpace(c.Input), long: utf8.RuneCountInString(folded) >= longInput}
			known[folded] = w
			f.index(w, c.Input)
		}
		if answer, _ := tokens(c.Answer); len(answer) > 0 {
			w.answers = append(w.answers, texts(answer))
		}
	}
	return f
}

func (f *Finder) index(w *wanted, input []byte) {
	found, ok := tokens(input)
	if !ok || len(found) == 0 {
		if len(input) > 0 {
			f.whole[string(input)] = w
		}
		return
	}
	w.input = texts(found)
	n := &f.begin
	for _, t := range w.input[:min(treeDepth, len(w.input))] {
		if n.next == nil {
			n.next = map[string]*node{}
		}
		if n.next[t] == nil {
			n.next[t] = &node{}
		}
		n = n.next[t]
	}
	n.cases = append(n.cases, w)
}

// Search looks for the cases in a file and adds what it finds to the Overlap.
func (f *Finder) Search(file string, data []byte) {
	if w := f.whole[string(data)]; w != nil {
		f.add(w.folded, true, Place{file, 1})
	}
	text, ok := tokens(data)
	if !ok {
		return
	}
	exact := map[*wanted]bool{} // of this file
	for i := range text {
		for _, w := range f.beginning(text[i:]) {
			if !w.at(text, i) {
				continue
			}
			if _, known := exact[w]; !known {
				exact[w] = bytes.Contains(data, w.exact)
			}
			f.add(w.folded, exact[w], Place{file, text[i].line})
		}
	}
}

// beginning gives the inputs whose first tokens, up to the depth of the tree,
// begin text.
func (f *Finder) beginning(text []token) (out []*wanted) {
	n := &f.begin
	for _, t := range text {
		if n = n.next[t.text]; n == nil {
			break
		}
		out = append(out, n.cases...)
	}
	return out
}

// at reports whether the case stands at the i-th token, by the rules of Finder.
func (w *wanted) at(text []token, i int) bool {
	if !starts(text[i:], w.input) {
		return false
	}
	end := i + len(w.input)
	if w.long || i == 0 && end == len(text) {
		return true
	}
	from, to := i, end // what is nearby in the lines that the input stands in
	for from > 0 && i-from < nearby && text[from-1].line == text[i].line {
		from--
	}
	for to < len(text) && to-end < nearby && text[to].line == text[end-1].line {
		to++
	}
	if from == i && to == end && utf8.RuneCountInString(w.folded) >= fullLine {
		return true
	}
	return slices.ContainsFunc(w.answers, func(answer []string) bool {
		return holds(text[from:i], answer) || holds(text[end:to], answer)
	})
}

func starts(text []token, want []string) bool {
	if len(want) > len(text) {
		return false
	}
	for i, w := range want {
		if text[i].text != w {
			return false
		}
	}
	return true
}

func holds(text []token, want []string) bool {
	for i := range text {
		if starts(text[i:], want) {
			return true
		}
	}
	return false
}

// token is a word, a number or a single sign of a folded text.
type token struct {
	text string
	line int // from 1
}

func texts(from []token) []string {
	out := make([]string, len(from))
	for i, t := range from {
		out[i] = t.text
	}
	return out
}

// tokens cuts a text; not ok where it is binary or not UTF-8.
func tokens(data []byte) (out []token, ok bool) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = foldText(text)
		for text != "" {
			n := tokenLength(text)
			if word := text[:n]; strings.TrimSpace(word) != "" {
				out = append(out, token{word, line})
			}
			text = text[n:]
		}
	}
	return out, true
}

// tokenLength is the length of the word, or else of the sign, that begins text.
func tokenLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
	if n < 0 {
		return len(text)
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
