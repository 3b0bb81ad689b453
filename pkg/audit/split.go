package audit

import "strings"

// minSplit is the shortest field that is looked for across pieces.
const minSplit = 5

// splitLiterals finds fields that only the concatenation of neighbouring
// strings holds, with a word of the field cut between two of them.
func (f *file) splitLiterals(best map[runKey]run) {
	list := f.strings()
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].line-list[j-1].line <= 2 && list[j].pos-list[j-1].end <= chainGap {
			j++
		}
		if j-i > 1 {
			f.splitChain(list[i:j], best)
		}
		i = j
	}
}

// splitChain looks for fields in one chain of strings.
func (f *file) splitChain(chain []token, best map[runKey]run) {
	var b strings.Builder
	starts := make([]int, len(chain))
	for i, t := range chain {
		starts[i] = b.Len()
		b.WriteString(squeeze(t.value()))
	}
	text := b.String()
	piece := 0
	for at := 0; at+minSplit <= len(text); at++ {
		for piece+1 < len(chain) && starts[piece+1] <= at {
			piece++
		}
		fields := f.a.cases.prefix[text[at:at+minSplit]]
		if !f.a.budget.spend(1 + len(fields)) {
			return
		}
		for _, fd := range fields {
			if strings.HasPrefix(text[at:], fd.squeezed) {
				f.splitField(fd, chain, starts, piece, at+len(fd.squeezed), best)
			}
		}
	}
}

// splitField keeps a field that begins in one piece and ends in a later one.
func (f *file) splitField(fd *field, chain []token, starts []int, first, end int, best map[runKey]run) {
	last := first
	for last+1 < len(chain) && starts[last+1] < end {
		last++
	}
	if last == first || !cutsWord(fd, chain[first:last+1]) || fd.shared {
		return
	}
	r := run{field: fd, n: len(fd.ids), bits: fd.raw, line: chain[first].line, kind: stringKind, how: joined, whole: true, words: fd.words}
	r.origin = f.a.novel.ofTight(fd.squeezed)
	f.keep(best, r)
}

// cutsWord says that a word of the field stands in none of the pieces.
func cutsWord(fd *field, pieces []token) bool {
	have := map[string]bool{}
	for _, t := range pieces {
		for _, a := range atoms(t.value()) {
			have[a.text] = true
		}
	}
	for _, a := range fd.atoms {
		if len(a.text) >= 3 && !have[a.text] {
			return true
		}
	}
	return false
}
