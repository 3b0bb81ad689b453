package audit

import (
	"slices"
	"strings"
)

// windowIndex holds the windows of all fields: five bytes and the number of
// the field in one integer, sorted, behind a filter.
type windowIndex struct {
	fields  []*field
	keys    []uint64
	filter  []uint64
	longest int // windows of the longest field
	common  int // a window of more fields identifies none
}

const filterBits = 22

func filterAt(window uint64) (word, bit uint64) {
	h := window * 0x9e3779b97f4a7c15 >> (64 - filterBits)
	return h / 64, h % 64
}

// window packs five bytes.
func window(s string) uint64 {
	return uint64(s[0])<<32 | uint64(s[1])<<24 | uint64(s[2])<<16 | uint64(s[3])<<8 | uint64(s[4])
}

// maxFields is how many fields fit beside a window in 64 bits.
const maxFields = 1 << 24

// windows builds the index, once.
func (a *audit) windows() *windowIndex {
	if a.window != nil {
		return a.window
	}
	x := &windowIndex{filter: make([]uint64, 1<<filterBits/64), common: max(3, len(a.cases.list)/10)}
	a.window = x
	for _, c := range a.cases.list {
		for _, fd := range []*field{&c.in, &c.out} {
			if len(fd.squeezed) < nearMin+nearWindow-1 || len(x.fields) == maxFields {
				continue
			}
			for i := 0; i+nearWindow <= len(fd.squeezed); i++ {
				w := window(fd.squeezed[i:])
				word, bit := filterAt(w)
				x.filter[word] |= 1 << bit
				x.keys = append(x.keys, w<<24|uint64(len(x.fields)))
			}
			x.fields = append(x.fields, fd)
			x.longest = max(x.longest, len(fd.squeezed)-nearWindow+1)
		}
	}
	slices.Sort(x.keys)
	x.keys = slices.Compact(x.keys)
	return x
}

// holders lists the fields that hold a window, nil if none or too many.
func (x *windowIndex) holders(w uint64) []uint64 {
	if word, bit := filterAt(w); x.filter[word]>>bit&1 == 0 {
		return nil
	}
	from, _ := slices.BinarySearch(x.keys, w<<24)
	to := from
	for to < len(x.keys) && x.keys[to]>>24 == w {
		if to++; to-from > x.common {
			return nil
		}
	}
	return x.keys[from:to]
}

// near finds a case that a text is nearly a copy of.
func (a *audit) near(original string) *caseText {
	text := squeeze(original)
	if len(text) < nearMin+nearWindow-1 {
		return nil
	}
	x := a.windows()
	windows := distinct(text)
	if windows < nearMin {
		return nil
	}
	if nearFar*float64(windows) > float64(x.longest) {
		return nil // no field holds so many
	}
	best, most := x.most(text, a.budget)
	share := nearShare
	if windows >= nearFarMin {
		share = nearFar
	}
	if float64(most) < nearFloor*float64(windows) {
		return nil
	}
	fd := x.fields[best]
	if float64(most) < share*float64(windows) && !a.misspells(original, fd) {
		return nil
	}
	long := windows >= nearLong || float64(most) >= nearOfField*float64(len(fd.squeezed)-nearWindow+1)
	if !long || fd.shared || a.oldWindows(text) {
		return nil
	}
	return fd.owner
}

// distinct counts the windows of a text, equal ones once.
func distinct(text string) int {
	seen := map[uint64]bool{}
	for i := range len(text) - nearWindow + 1 {
		seen[window(text[i:])] = true
	}
	return len(seen)
}

// most finds the field that holds most windows of a text.
func (x *windowIndex) most(text string, b *budget) (best uint64, most int) {
	hits, seen := map[uint64]int{}, map[uint64]bool{}
	for i := range len(text) - nearWindow + 1 {
		w := window(text[i:])
		if seen[w] {
			continue
		}
		seen[w] = true
		list := x.holders(w)
		if !b.spend(1 + len(list)) {
			return 0, 0
		}
		for _, key := range list {
			hits[key&(maxFields-1)]++
		}
	}
	for number, n := range hits {
		if n > most || n == most && number < best {
			best, most = number, n
		}
	}
	return best, most
}

// oldWindows says that half of a text's windows stand in the baseline or in
// the specification.
func (a *audit) oldWindows(text string) bool {
	old, n := 0, 0
	for i := 0; i+nearWindow <= len(text); i += 2 {
		n++
		w := text[i : i+nearWindow]
		a.budget.spend(1 + len(a.novel.baseTight)/(64<<10))
		old += boolInt(strings.Contains(a.novel.baseTight, w) || strings.Contains(a.novel.specTight, w))
	}
	return 2*old >= n
}

// A text misspells a field if four fifths of its words are words of the field
// but for one or two letters, and these are rare.
const (
	misspeltWords = 5
	misspeltBits  = 40
)

func (a *audit) misspells(text string, fd *field) bool {
	list := atoms(text)
	hit, bits := 0, 0.0
	for _, w := range list {
		best := -1.0
		for i, o := range fd.atoms {
			if !a.budget.spend(1) {
				return false
			}
			if b := fd.bits[i]; b > best && alike(w.text, o.text) {
				best = b
			}
		}
		if best >= 0 {
			hit, bits = hit+1, bits+best
		}
	}
	return hit >= misspeltWords && 5*hit >= 4*len(list) && bits >= misspeltBits
}

// alike compares words: one letter may differ from five on, two from eight on.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	short := min(len(a), len(b))
	allowed := 0
	switch {
	case short >= 8:
		allowed = 2
	case short >= 4:
		allowed = 1
	}
	if d := len(a) - len(b); d > allowed || -d > allowed {
		return false
	}
	return distance(a, b, allowed) <= allowed
}

// distance is the edit distance of two words, or more than limit.
func distance(a, b string, limit int) int {
	if limit < 0 {
		return 1
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	return 1 + min(distance(a[1:], b, limit-1), distance(a, b[1:], limit-1), distance(a[1:], b[1:], limit-1))
}
