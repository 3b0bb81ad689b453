package audit

import (
	"cmp"
	"math"
	"slices"
)

// sentence is a sentence of added text in one reading.
type sentence struct {
	text string
	line int
	kind kind
	how  how
}

// longString is the length from which a string is read as prose.
const longString = 40

var (
	sentenceEnd = expr(`[.;!?]\s`)
	// cue is what a rule in prose has and mere narration seldom.
	cue = expr(`(?i)\b(?:if|when|whenever|for|in case|asked|asks|says|say|about|known|answers?|examples?|messages?|labels?|questions?|reply|respond|returns?|input|output|e\.g\.|then|should|must)\b|:|->|=>|→`)
)

// sentences cuts prose, long strings and comments into sentences. A sentence
// of prose may run over two lines.
func (f *file) sentences() []sentence {
	var list []sentence
	add := func(text string, line int, k kind, h how) {
		if len(text) < 16 || h == plain && !cue.MatchString(text) {
			return
		}
		for _, s := range sentenceEnd.Split(text, -1) {
			list = append(list, sentence{s, line, k, h})
		}
	}
	for _, s := range f.texts {
		for i, p := range s.pieces {
			switch {
			case p.num, s.how != plain && !p.turned:
			case s.kind == proseKind && s.how == plain && i+1 < len(s.pieces) && s.pieces[i+1].line == p.line+1:
				add(p.text+" "+s.pieces[i+1].text, p.line, s.kind, s.how)
			case s.kind != stringKind || len(p.text) >= longString || s.how != plain:
				add(p.text, p.line, s.kind, s.how)
			}
		}
	}
	return list
}

// overlap is what a sentence shares with a case.
type overlap struct {
	c     *caseText
	bits  float64 // after the correction for chance
	ratio float64 // of the rarer side's bits
	words int
	spec  bool // only with words of the specification
}

// wordBitsFloor is below which a word of prose is no evidence.
const wordBitsFloor = 6.5

// overlaps compares a sentence with all cases by its rare stems.
func (f *file) overlaps(s sentence) []overlap {
	stems, novel, all := f.a.rareStems(s.text)
	if len(stems) < 2 {
		return nil
	}
	type sums struct {
		novel, all   float64
		nNovel, nAll int
	}
	hits := map[*caseText]sums{}
	for _, w := range stems {
		list := f.a.cases.stems[w.stem]
		if !f.a.budget.spend(1 + len(list)) {
			return nil
		}
		for _, h := range list {
			t := hits[h.c]
			t.all, t.nAll = t.all+h.bits, t.nAll+1
			if !w.known && !h.known {
				t.novel, t.nNovel = t.novel+h.bits, t.nNovel+1
			}
			hits[h.c] = t
		}
	}
	var list []overlap
	for c, t := range hits {
		o := f.a.correct(c, t.novel, t.nNovel, c.proseNovel, novel)
		if o.bits < reviewProse {
			if o = f.a.correct(c, t.all, t.nAll, c.proseAll, all); o.bits < reviewProse {
				continue
			}
			o.spec = true
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b overlap) int { return cmp.Compare(a.c.index, b.c.index) })
	return list
}

// correct takes off what chance gives: a word costs 0.6 bits, and so does
// every bit by which cases and lines are many.
func (a *audit) correct(c *caseText, bits float64, words int, ofCase, ofText float64) overlap {
	o := overlap{c: c, words: words}
	if words < 2 || ofCase <= 0 || ofText <= 0 {
		return o
	}
	o.ratio = bits / math.Min(ofCase, ofText)
	o.bits = bits - math.Max(0, a.chance-8) - 0.6*float64(words)
	return o
}

// rareStem is the stem of a rare word.
type rareStem struct {
	stem  string
	known bool // it stands in the baseline or the specification
}

// rareStems gives the stems of the rare words of a text, and the bits of the
// novel ones and of all.
func (a *audit) rareStems(text string) (list []rareStem, novel, all float64) {
	seen := map[string]bool{}
	for _, x := range atoms(text) {
		bits := a.info.atom(x)
		w := stem(x.text)
		if bits < wordBitsFloor || seen[w] {
			continue
		}
		seen[w] = true
		known := a.novel.vocab[w] || a.novel.vocab[x.text] || a.novel.begins(w)
		list = append(list, rareStem{w, known})
		if all += bits; !known {
			novel += bits
		}
	}
	return list, novel, all
}
