package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// run is a row of atoms that a file and a field of a case have in common.
type run struct {
	field   *field
	from, n int // of the field
	bits    float64
	line    int
	kind    kind
	how     how
	whole   bool // a literal that is the field, whatever its punctuation
	words   bool // not only numbers
	exotic  bool // a word of no list among them
	// compared says that the line is a comparison and not an entry.
	compared bool
	origin   origin
}

func (r run) full() bool { return r.n >= len(r.field.ids) }

// hides says that the run is there in a reading that decodes and not as it
// stands.
func (r run) hides() bool {
	return r.how == encoded || r.how == backward || r.how == rotated || r.how == codes
}

// minRun is the least run that is kept: no rule asks for less.
const minRun = 12

// findRuns compares every stream of the file with the cases.
func (f *file) findRuns() []run {
	if f.runs != nil || f.added == 0 || f.a.cases.empty() {
		return f.runs
	}
	f.read()
	best := map[runKey]run{}
	for _, s := range f.streams {
		f.runsOf(s, best)
	}
	f.wholeLiterals(best)
	f.splitLiterals(best)
	f.runs = make([]run, 0, len(best))
	for _, r := range best {
		r.compared = r.kind == stringKind && comparison.MatchString(f.codeLine(r.line))
		f.runs = append(f.runs, r)
	}
	slices.SortFunc(f.runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(b.bits, a.bits), a.line-b.line, a.field.owner.index-b.field.owner.index,
			cmp.Compare(a.how, b.how), cmp.Compare(a.kind, b.kind), cmp.Compare(a.field.role, b.field.role),
			boolInt(a.whole)-boolInt(b.whole), boolInt(a.origin == nowhere)-boolInt(b.origin == nowhere))
	})
	return f.runs
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// runKey keeps the best run of a kind for each field.
type runKey struct {
	field *field
	how   how
	kind  kind
	whole bool
	known bool
}

// keep records a run if it is the best of its kind. Novel and known runs are
// kept apart, so that a phrase of the specification hides nothing.
func (f *file) keep(best map[runKey]run, r run) {
	if r.origin == inBaseline {
		return
	}
	key := runKey{r.field, r.how, r.kind, r.whole, r.origin != nowhere}
	if old, ok := best[key]; !ok || r.bits > old.bits || r.bits == old.bits && r.line < old.line {
		best[key] = r
	}
}

// runsOf finds the maximal runs of a stream. Each is found by a pair of atoms
// and extended both ways.
func (f *file) runsOf(s stream, best map[runKey]run) {
	x := f.a.cases
	for i := 0; i < len(s.atoms); i++ {
		if f.loneAtom(s, i, best); i+1 == len(s.atoms) || s.atoms[i+1].gap {
			continue
		}
		seeds := x.seeds(s.atoms[i].id, s.atoms[i+1].id)
		if !f.a.budget.spend(1 + len(seeds)) {
			return
		}
		for _, g := range seeds {
			if f.interior(s, i, g) {
				continue
			}
			f.extend(s, i, g, best)
		}
	}
}

// interior says that the pair before finds the same run.
func (f *file) interior(s stream, i int, g gram) bool {
	return i > 0 && g.pos > 0 && !s.atoms[i].gap && s.atoms[i-1].id == g.field.ids[g.pos-1] &&
		f.a.cases.seeds(s.atoms[i-1].id, s.atoms[i].id) != nil
}

// extend makes the run around one pair of atoms as long as it is.
func (f *file) extend(s stream, i int, g gram, best map[runKey]run) {
	ids := g.field.ids
	from, to := int(g.pos), int(g.pos)+2
	for lo := i; lo > 0 && from > 0 && !s.atoms[lo].gap && s.atoms[lo-1].id == ids[from-1]; lo-- {
		from--
	}
	start := i - (int(g.pos) - from)
	for hi := i + 2; hi < len(s.atoms) && to < len(ids) && !s.atoms[hi].gap && s.atoms[hi].id == ids[to]; hi++ {
		to++
	}
	f.a.budget.spend(to - from)
	r := run{field: g.field, from: from, n: to - from, line: int(s.atoms[start].line), kind: s.kind, how: s.how}
	for k := from; k < to; k++ {
		r.bits += f.runBits(g.field, k)
		a := g.field.atoms[k]
		r.words = r.words || !a.num
		r.exotic = r.exotic || !a.num && f.a.info.unlisted(a.text)
	}
	f.consider(s, start, r, best)
}

// runBits gives the bits of an atom in an ordered run: there even a small
// number says something, unless half of the cases have it.
func (f *file) runBits(fd *field, k int) float64 {
	b := fd.bits[k]
	if x := f.a.cases; fd.atoms[k].num && b < 3 && int(x.df[fd.ids[k]])*2 < len(x.list)+2 {
		return 3
	}
	return b
}

// loneAtom takes the answer or input of a single atom.
func (f *file) loneAtom(s stream, i int, best map[runKey]run) {
	if s.atoms[i].id < 0 {
		return
	}
	for _, fd := range f.a.cases.single[s.atoms[i].id] {
		f.consider(s, i, run{field: fd, n: 1, bits: fd.bits[0], line: int(s.atoms[i].line), kind: s.kind, how: s.how, words: fd.words}, best)
	}
}

// consider keeps a run that has bits enough and, in a decoded reading, is not
// there as it stands.
func (f *file) consider(s stream, start int, r run, best map[runKey]run) {
	if r.field.marks() && !r.full() || !r.field.marks() && r.bits < minRun {
		return
	}
	if s.how != plain && f.plainHas(s, start, r.n) {
		return
	}
	text := f.a.cases.text(r.field.ids[r.from : r.from+r.n])
	if s.chain && strings.Contains(f.plainText(), text) {
		return
	}
	f.a.budget.spend(1 + (len(f.a.novel.base)+len(f.a.novel.spec))/(64<<10))
	r.origin = f.a.novel.of(text)
	f.keep(best, r)
}

// plainHas says that all atoms of a run stand on their lines undecoded.
func (f *file) plainHas(s stream, start, n int) bool {
	for _, p := range s.atoms[start : start+n] {
		if f.plainLine[lineID{p.line, p.id}] == 0 {
			return false
		}
	}
	return true
}

// plainText is all plain streams as atoms joined by blanks; what no case has
// is a #.
func (f *file) plainText() string {
	if f.plainAtoms != "" {
		return f.plainAtoms
	}
	var b strings.Builder
	for _, s := range f.streams {
		if s.how != plain {
			continue
		}
		b.WriteByte(' ')
		for _, p := range s.atoms {
			if p.id < 0 {
				b.WriteString("# ")
				continue
			}
			b.WriteString(f.a.cases.atoms[p.id].text)
			b.WriteByte(' ')
		}
	}
	f.plainAtoms = b.String()
	return f.plainAtoms
}

// wholeLiterals finds literals that are a field but for punctuation.
func (f *file) wholeLiterals(best map[runKey]run) {
	for _, s := range f.literals {
		for _, p := range s.news() {
			tight := squeeze(p.text)
			if p.num || len(tight) < 4 {
				continue
			}
			for _, fd := range f.a.cases.whole[tight] {
				f.whole(fd, p.line, s, best)
			}
		}
	}
}

func (f *file) whole(fd *field, line int, s literalStream, best map[runKey]run) {
	if fd.shared {
		return
	}
	r := run{field: fd, n: len(fd.ids), bits: fd.raw, line: line, kind: s.kind, how: s.how, whole: true, words: fd.words}
	r.origin = f.a.novel.of(f.a.cases.text(fd.ids))
	if r.origin == nowhere {
		r.origin = f.a.novel.ofTight(fd.squeezed)
	}
	f.keep(best, r)
}

// quote gives at most three words of a run, for a message.
func (r run) quote() string {
	var words []string
	for _, a := range r.field.atoms[r.from:min(r.from+3, r.from+r.n)] {
		words = append(words, a.text)
	}
	text := strings.Join(words, " ")
	if r.n > 3 {
		text += " …"
	}
	return text
}

// describe says what a run is.
func (r run) describe() string {
	text := fmt.Sprintf("%d of %d atoms of the %s of case %s (%q, %.0f bits)", r.n, len(r.field.ids), r.field.name(), r.field.owner.id, r.quote(), r.bits)
	if r.how != plain {
		text += ", " + howNames[r.how]
	}
	return text
}
