package contract

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing that is wrong with a contract, and its cure.
type Fault struct {
	Line, Column int    // from 1, columns count characters; 0: the place is not known
	Path         string // "$.scope.writable[0]"
	Message      string
	Fix          string // what to do, "" where the message says it
}

// Faults is the error of a contract that is refused: all its faults, in the
// order of the source. Source holds no secret: what looks like one is masked.
type Faults struct {
	File   string
	Source []byte
	List   []Fault
}

// mostShown bounds what Error prints.
const mostShown = 50

// Error returns every fault as file:line:column: path: message, with the
// source line, a caret and the cure.
func (f *Faults) Error() string {
	var b strings.Builder
	lines := bytes.Split(f.Source, []byte("\n"))
	for i, fault := range f.List {
		if i == mostShown {
			fmt.Fprintf(&b, "%s: and %d more\n", visible(f.File), len(f.List)-i)
			break
		}
		f.write(&b, fault, lines)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (f *Faults) write(b *strings.Builder, fault Fault, lines [][]byte) {
	b.WriteString(visible(f.File))
	if fault.Line > 0 {
		fmt.Fprintf(b, ":%d:%d", fault.Line, max(fault.Column, 1))
	}
	fmt.Fprintf(b, ": %s: %s\n", fault.Path, fault.Message)
	if 0 < fault.Line && fault.Line <= len(lines) {
		margin := len(fmt.Sprint(fault.Line))
		line, caret := window(lines[fault.Line-1], fault.Column)
		fmt.Fprintf(b, "  %*d | %s\n", margin, fault.Line, line)
		fmt.Fprintf(b, "  %*s | %s^\n", margin, "", strings.Repeat(" ", caret))
	}
	if fault.Fix != "" {
		fmt.Fprintf(b, "  fix: %s\n", fault.Fix)
	}
}

// window returns the part of line around column, one character a column, and
// how many characters stand before the caret.
func window(line []byte, column int) (string, int) {
	const wide = 100
	var runes []rune
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if hidden(r) {
			r = '�'
		}
		runes, line = append(runes, r), line[n:]
	}
	caret := max(column-1, 0)
	from := 0
	if caret > wide*3/4 {
		from = caret - wide/2
	}
	from = min(from, len(runes))
	to := min(len(runes), from+wide)
	text := string(runes[from:to])
	if from > 0 {
		text, caret = "…"+text, caret-from+1
	}
	if to < len(runes) {
		text += "…"
	}
	return text, caret
}

// sorted returns the faults in the order of the source, each once.
func sorted(list []Fault) []Fault {
	slices.SortStableFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(list)
}
