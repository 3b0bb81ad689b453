package audit

import (
	"strings"
)

// file is one changed text file: what was added to it, cut and read.
type file struct {
	a         *audit
	change    change
	path      string
	family    family
	before    string
	lines     []string
	isAdded   []bool // by line, from 0
	added     int    // added lines that are not blank
	tokens    []token
	source    string
	starts    []int  // byte of the source at which a line begins
	code      string // the added lines with comments blanked, a line a line
	codeLines []string
	summed    string   // code with constant expressions by their value
	spans     []folded // constant expressions among the tokens
	streams   []stream
	// literals are the readings of whole strings; plainLine and line count the
	// case atoms of a line as it stands, and in its richest reading.
	literals   []literalStream
	texts      []literalStream
	plainLine  map[lineID]int
	perLine    map[int32]map[int32]int
	names      map[int32][]int32
	foreign    map[int32]float64 // bits of a line's rare words that are no case's
	rows       map[rowKey]bool
	runs       []run
	guards     []guard
	keyed      []piece
	quoted     []token // the string tokens
	single     *int    // keys that are the input of a case of one word
	plainAtoms string

	lowered [2]string // a text and its lower case
	done    bool
	found   []Finding
}

// newFile cuts a changed file; it reads nothing of it until a rule asks.
func newFile(a *audit, c change, before, after string) *file {
	f := &file{a: a, change: c, path: c.path, family: familyOf(c.path), before: before}
	f.lines = splitLines(after)
	f.isAdded = addedLines(splitLines(before), f.lines)
	for i, line := range f.lines {
		if f.isAdded[i] && strings.TrimSpace(line) != "" {
			f.added++
		}
	}
	if f.added == 0 {
		return f
	}
	if f.family.code {
		f.tokens = scan(f.family, after, f.isAddedLine)
		f.spans = foldConstants(f.tokens, f.family.real)
	}
	f.source, f.starts = after, lineStarts(after)
	f.readCode()
	return f
}

// isAddedLine says whether a line, counted from 1, was added.
func (f *file) isAddedLine(line int) bool {
	return line >= 1 && line <= len(f.isAdded) && f.isAdded[line-1]
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// addedLines marks the lines of after that before does not hold as often. A
// line that only moved is not news.
func addedLines(before, after []string) []bool {
	left := make(map[string]int, len(before))
	for _, line := range before {
		left[line]++
	}
	added := make([]bool, len(after))
	for i, line := range after {
		if left[line] > 0 {
			left[line]--
		} else {
			added[i] = true
		}
	}
	return added
}

// edit is a part of a line that is replaced.
type edit struct {
	line, from, to int // columns, from 0
	text           string
}

// columns turns a token's place in the source into columns of its line.
func (f *file) columns(t token) (from, to int) {
	start := f.starts[t.line-1]
	return max(0, min(t.pos-start, len(f.lines[t.line-1]))), max(0, min(t.end-start, len(f.lines[t.line-1])))
}

// docstring says that a string token is documentation: it is the first thing
// of the file, follows the colon of a definition, or goes on with one that
// does (again).
func (f *file) docstring(i int, again bool) bool {
	t := f.tokens[i]
	if t.kind != stringKind || !f.family.docs {
		return false
	}
	if again && t.line == f.tokens[i-1].line+1 && t.pos == f.starts[t.line-1] {
		return true
	}
	line := f.starts[t.line-1]
	if strings.TrimSpace(f.source[line:t.pos]) != "" {
		return false
	}
	before := strings.TrimRight(f.source[:line], " \t\r\n")
	return before == "" || strings.HasSuffix(before, ":")
}

// edited gives the added lines, the others empty, with edits made; edits are
// in the order of the source.
func (f *file) edited(edits []edit) string {
	var b strings.Builder
	for i, line := range f.lines {
		done := 0
		for ; len(edits) > 0 && edits[0].line == i+1; edits = edits[1:] {
			if e := edits[0]; e.from >= done {
				b.WriteString(line[done:e.from])
				b.WriteString(e.text)
				done = e.to
			}
		}
		if f.isAdded[i] {
			b.WriteString(line[done:])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// readCode fills code and summed.
func (f *file) readCode() {
	var edits []edit
	spans := f.spans
	var sums []edit
	doc := false
	for i, t := range f.tokens {
		from, to := f.columns(t)
		doc = f.docstring(i, doc)
		if t.kind == commentKind || doc {
			e := edit{t.line, from, to, strings.Repeat(" ", to-from)}
			edits, sums = append(edits, e), append(sums, e)
		}
		for ; len(spans) > 0 && spans[0].from <= i; spans = spans[1:] {
			last := f.tokens[spans[0].to-1]
			if _, end := f.columns(last); last.line == t.line {
				sums = append(sums, edit{t.line, from, end, spans[0].value})
			}
		}
	}
	f.code = f.edited(edits)
	if f.summed = f.code; len(f.spans) > 0 {
		f.summed = f.edited(sums)
	}
}

// lineAt gives the line, from 1, of a position in code.
func lineAt(code string, pos int) int {
	return 1 + strings.Count(code[:pos], "\n")
}

// pattern is a regular expression over the code of added lines.
type pattern struct {
	severity Severity
	re       *expression
	message  string      // what the match does
	need     string      // in lower case, what every match holds; "" is worked out
	unless   *expression // a match that this matches as well is harmless
	comments bool        // look at comments instead
	prose    bool        // look at files of prose too
	always   bool        // the file may have had such a match before
	sums     bool        // look at constant expressions by their value
}

// match applies patterns. A review pattern is silent where the file had a
// match before; an invalid one weakens to review where the baseline holds the
// very same text: a library about git speaks of git.
func (f *file) match(list []pattern) []Finding {
	if f.added == 0 || len(list) == 0 {
		return nil
	}
	var found []Finding
	for _, p := range list {
		text := f.textFor(p)
		if !f.family.code && !p.prose && !p.comments {
			continue
		}
		for _, at := range p.find(text, f.lower(text)) {
			what := text[at[0]:at[1]]
			old := strings.Contains(f.before, what) || p.severity == Invalid && f.a.novel.writes(what)
			if p.unless != nil && p.unless.MatchString(what) {
				continue
			}
			if p.severity == Review && (old || !p.always && p.re.MatchString(f.before)) {
				continue
			}
			severity := p.severity
			if old {
				severity = Review
			}
			found = append(found, f.at(lineAt(text, at[0]), severity, p.message))
		}
	}
	return found
}

// textFor chooses the text that a pattern looks at.
func (f *file) textFor(p pattern) string {
	switch {
	case p.comments:
		return f.commentText()
	case p.sums:
		return f.summed
	}
	return f.code
}

// lower is strings.ToLower with a memory of one.
func (f *file) lower(text string) string {
	if text != f.lowered[0] {
		f.lowered = [2]string{text, strings.ToLower(text)}
	}
	return f.lowered[1]
}

// commentText is the comments of the added lines, a line a line.
func (f *file) commentText() string {
	var b strings.Builder
	line := 1
	for _, t := range f.tokens {
		if t.kind != commentKind {
			continue
		}
		for ; line < t.line; line++ {
			b.WriteByte('\n')
		}
		b.WriteByte(' ')
		b.WriteString(t.text)
	}
	return b.String()
}

// codeLine is one added line without comments.
func (f *file) codeLine(line int) string {
	if f.codeLines == nil {
		f.codeLines = strings.Split(f.code, "\n")
	}
	if line < 1 || line > len(f.codeLines) {
		return ""
	}
	return f.codeLines[line-1]
}

// at makes a finding at a line of the file.
func (f *file) at(line int, severity Severity, message string) Finding {
	return Finding{Severity: severity, Path: f.path, Line: line, Message: message}
}

// strings lists the string tokens, once.
func (f *file) strings() []token {
	if f.quoted == nil {
		f.quoted = []token{}
		for _, t := range f.tokens {
			if t.kind == stringKind {
				f.quoted = append(f.quoted, t)
			}
		}
	}
	return f.quoted
}
