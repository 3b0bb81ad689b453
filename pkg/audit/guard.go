package audit

import (
	"cmp"
	"slices"
	"strings"
)

// guard is a line that compares with, or maps from, what a case holds.
type guard struct {
	c        *caseText
	file     *file
	line     int
	pair     float64 // bits of input and answer if all of both is there, else 0
	scenario bool    // the specification states both
	fragment float64 // bits of the rare atoms of the input
	number   float64 // bits of the rarest number among them
	exotic   bool    // among them are neighbours and a word of no list
	answered bool    // the answer stands beside
}

// comparison is code that asks for an operand by its value.
var comparison = expr(`[=!]=|<>|\bcase\b|\bwhen\b|\b(?:not\s+)?in\s*[\[\(\{]|["'\x60]\s+(?:not\s+)?in\b|\bis\s+["'\d]|-eq\b|-ne\b|\s=~\s|\blike\s+['"]|` +
	`(?i:equals?(?:ignorecase|fold)?|includes|contains|starts_?with|ends_?with|has_?prefix|has_?suffix|strcmp|strncmp|memcmp|strstr|indexof|\bfind|compare|matches|match|search|fullmatch|\.test|\.eq|\.has|\bget|is_?match)\??\s*\(`)

// arm is a pattern of a shell's case, and test a comparison in brackets.
var arm = expr(`^\s*\(?[^\s()]+(?:\s*\|\s*[^\s()|]+)*\)(?:\s|$)|(?:^|\s)(?:\[\[?|test)\s.*\s=\s`)

// match is a pattern with what is done where it matches, as in awk, or what is
// matched with one.
var match = expr(`^\s*!?/[^/\s][^/]*/\s*(?:[{&|,]|$)|[\w\])]\s*!?~\s`)

// entry is a key with its value: of a table, a map, a row of tuples.
var entry = expr(`^\s*[\(\[]?["'\x60\(\[\d][^=]*:\s|["'\x60\)\]\d]\s*:\s*["'\x60\(\[\d-]|=>|["'\x60\)\]\d]\s*\]\s*=[^=]|["'\x60\)\]]\s*,\s*["'\x60\(\[\{\d-]|->`)

// row is an entry in a file of text or data.
var row = expr(`\t|->|=>|→|\||[:=]\s|,|^\s*\d*s(?:/[^/]+/[^/]*/|#[^#]+#[^#]*#|,[^,]+,[^,]*,)`)

// columns are a line of two words or numbers and nothing else.
var columns = expr(`^\s*\S+\s+\S+\s*$`)

// within is how many lines below a guard its answer may stand.
const within = 2

// findGuards weighs every added line that compares or maps, best first.
func (f *file) findGuards() []guard {
	if f.guards != nil || f.added == 0 || f.a.cases.empty() {
		return f.guards
	}
	f.read()
	best := map[*caseText]guard{}
	compares := map[int]bool{}
	for i, text := range strings.Split(f.code, "\n") {
		line := i + 1
		if len(f.perLine[int32(line)]) == 0 {
			continue
		}
		if compares[line] = f.compares(text); compares[line] {
			continue
		}
		if entry.MatchString(text) || f.tabular(text) {
			f.guardLine(line, false, f.perLine[int32(line)], best)
		}
	}
	for line := 1; line <= len(f.lines); line++ {
		if compares[line] {
			f.guardLine(line, true, f.nested(line, compares), best)
		}
	}
	f.guards = make([]guard, 0, len(best))
	for _, g := range best {
		f.guards = append(f.guards, g)
	}
	slices.SortFunc(f.guards, func(a, b guard) int { return cmp.Or(a.line-b.line, a.c.index-b.c.index) })
	return f.guards
}

// compares says that a line of code asks for an operand by its value.
func (f *file) compares(text string) bool {
	if !f.family.code || f.family.data {
		return false
	}
	return comparison.MatchString(text) || f.family.words && arm.MatchString(text) || f.family.regex && match.MatchString(text)
}

// tabular says that a line of text or data, or of what a shell feeds to a
// command, maps one thing to another.
func (f *file) tabular(text string) bool {
	return f.family.prose && row.MatchString(text) || (f.family.prose || f.family.words) && columns.MatchString(text)
}

// nested counts the atoms of a comparison and of those right below it, which
// may be the rest of one condition.
func (f *file) nested(line int, compares map[int]bool) map[int32]int {
	sum := map[int32]int{}
	for l := line; l <= line+within; l++ {
		if l != line && !compares[l] {
			continue
		}
		for id, n := range f.perLine[int32(l)] {
			sum[id] += n
		}
	}
	return sum
}

// guardLine weighs one line against the cases that its atoms point at.
func (f *file) guardLine(line int, op bool, here map[int32]int, best map[*caseText]guard) {
	beside, rare := f.beside(line), f.rare(line, here)
	touched := map[*caseText]guard{}
	for id := range here {
		keyed, holders := f.a.cases.keyed[id], f.a.cases.holders[id]
		f.a.budget.spend(1 + len(keyed) + len(holders))
		for _, c := range keyed {
			g := touched[c]
			g.pair, g.scenario = f.pairBits(c, op, here, beside)
			touched[c] = g
		}
		for _, c := range holders {
			if _, ok := touched[c]; !ok {
				touched[c] = guard{}
			}
		}
	}
	for c, g := range touched {
		g.c, g.file, g.line = c, f, line
		f.weighFragment(&g, op, here)
		g.answered = answered(c, beside)
		if share := f.share(g, here, rare); op && share < 0.5 {
			g.fragment, g.number, g.exotic, g.answered = g.fragment*share, g.number*share, false, false
		}
		merge(best, g)
	}
}

// merge keeps the strongest evidence of each sort for a case.
func merge(best map[*caseText]guard, g guard) {
	old, ok := best[g.c]
	if !ok {
		best[g.c] = g
		return
	}
	strongest := old
	if max(g.pair, g.fragment) > max(old.pair, old.fragment) || max(g.pair, g.fragment) == max(old.pair, old.fragment) && g.line < old.line {
		strongest = g
	}
	strongest.scenario = old.pair > g.pair && old.scenario || g.pair >= old.pair && g.scenario
	strongest.pair, strongest.number = max(old.pair, g.pair), max(old.number, g.number)
	strongest.exotic = old.exotic || g.exotic
	if strongest.fragment = max(old.fragment, g.fragment); g.fragment > old.fragment {
		strongest.answered = g.answered
	} else if g.fragment == old.fragment {
		strongest.answered = old.answered || g.answered
	}
	best[g.c] = strongest
}

// beside counts the atoms of a line and of the added lines right below it,
// names included.
func (f *file) beside(line int) map[int32]int {
	sum := map[int32]int{}
	for l := line; l <= line+within && (l == line || f.isAddedLine(l)); l++ {
		for id, n := range f.perLine[int32(l)] {
			sum[id] += n
		}
		for _, id := range f.names[int32(l)] {
			sum[id]++
		}
	}
	return sum
}

// pairBits are the bits of a case whose whole input, as far as it is no
// vocabulary of the baseline, stands on the line, and whose whole answer
// stands beside it in copies of its own; 0 if anything is missing.
func (f *file) pairBits(c *caseText, op bool, here, beside map[int32]int) (bits float64, scenario bool) {
	need := map[int32]int{}
	for _, i := range c.need {
		id := c.in.ids[i]
		if need[id]++; here[id] < need[id] {
			return 0, false
		}
		bits += c.in.bits[i]
	}
	if len(c.out.ids) == 0 {
		return 0, false
	}
	for i, id := range c.out.ids {
		if need[id]++; beside[id] < need[id] {
			return 0, false
		}
		bits += c.out.bits[i]
	}
	if !op && f.vocabulary(c, here) {
		return 0, false
	}
	in, out := f.a.novel.of(f.a.cases.text(c.in.ids)), f.a.novel.of(f.a.cases.text(c.out.ids))
	if in == inBaseline && out == inBaseline && len(c.in.ids) > 1 {
		return 0, false
	}
	return bits, in != nowhere && out != nowhere
}

// weighFragment sums the rare atoms of an input that a line holds. In a table
// a single word is vocabulary; there numbers count and keys of several words.
func (f *file) weighFragment(g *guard, op bool, here map[int32]int) {
	row := f.rows[rowKey{g.c, int32(g.line)}]
	seen := map[int32]bool{}
	for i, id := range g.c.in.ids {
		b, a := g.c.in.bits[i], g.c.in.atoms[i]
		if here[id] == 0 || seen[id] || b < rareBits || f.a.novel.known(a.text) || !op && !row && !a.num {
			continue
		}
		seen[id] = true
		g.fragment += b
		if a.num {
			g.number = max(g.number, b)
		}
		g.exotic = g.exotic || row && !a.num && f.a.info.unlisted(a.text)
	}
}

// rare sums the bits of the rare words of a line that are news.
func (f *file) rare(line int, here map[int32]int) float64 {
	sum := f.foreign[int32(line)]
	for id := range here {
		sum += f.rareBits(id)
	}
	return sum
}

// rareBits are the bits of a case's atom that is rare and news, else 0.
func (f *file) rareBits(id int32) float64 {
	a := f.a.cases.atoms[id]
	if b := f.a.info.atom(a); b >= rareBits && !f.a.novel.known(a.text) {
		return b
	}
	return 0
}

// share is what part of the rare words of a comparison is this case's. One that
// asks for many words, some of which are a case's, asks for a kind of input.
func (f *file) share(g guard, here map[int32]int, rare float64) float64 {
	own, seen := 0.0, map[int32]bool{}
	for _, id := range g.c.in.ids {
		if here[id] > 0 && !seen[id] {
			seen[id] = true
			own += f.rareBits(id)
		}
	}
	for _, id := range g.c.out.ids { // the answer says nothing of either
		if here[id] > 0 && !seen[id] {
			seen[id] = true
			rare -= f.rareBits(id)
		}
	}
	if own == 0 || rare <= own {
		return 1
	}
	return own / rare
}

// vocabulary says that a single word of a case stands in a long list of added
// words that are no cases: a table of a language, not of answers.
func (f *file) vocabulary(c *caseText, here map[int32]int) bool {
	if len(c.need) != 1 || c.in.atoms[c.need[0]].num {
		return false
	}
	return f.a.cases.singles(f)*vocabularyShare <= len(f.keys())
}

// keys are what a table of this file may be keyed by: its strings, and where
// words need no quotes the first word of every line.
func (f *file) keys() []piece {
	if f.keyed != nil {
		return f.keyed
	}
	f.keyed = []piece{}
	for _, t := range f.strings() {
		f.keyed = append(f.keyed, piece{text: t.value(), line: t.line})
	}
	if !f.family.prose && !f.family.words {
		return f.keyed
	}
	for i, line := range f.lines {
		if key := leading.FindStringSubmatch(line); f.isAdded[i] && key != nil {
			f.keyed = append(f.keyed, piece{text: key[1], line: i + 1})
		}
	}
	return f.keyed
}

// leading is the first word of a line that is more than a letter, as of `s/`.
var leading = expr(`^[^\pL\pN]*(?:\pL[^\pL\pN]+)?([\pL\pN]+)`)

// vocabularyShare is how many strings stand against one that is a whole input
// where a table is vocabulary.
const vocabularyShare = 4

// rowKey is a case two atoms of which stand in a row on a line.
type rowKey struct {
	c    *caseText
	line int32
}

// indexRows fills rows from the code streams.
func (f *file) indexRows() {
	f.rows = map[rowKey]bool{}
	for _, s := range f.streams {
		if s.kind != stringKind {
			continue
		}
		for i := 1; i < len(s.atoms); i++ {
			a, b := s.atoms[i-1], s.atoms[i]
			if b.gap || b.first || a.line != b.line {
				continue
			}
			for _, g := range f.a.cases.seeds(a.id, b.id) {
				if g.field.role == inputRole {
					f.rows[rowKey{g.field.owner, a.line}] = true
				}
			}
		}
	}
}

// answerBits are the bits of the answer, 0 for a class label.
func (g guard) answerBits() float64 {
	sum := 0.0
	if !g.c.out.shared {
		for _, b := range g.c.out.bits {
			sum += b
		}
	}
	return sum
}

func answered(c *caseText, beside map[int32]int) bool {
	for _, id := range c.out.ids {
		if beside[id] == 0 {
			return false
		}
	}
	return len(c.out.ids) > 0
}
