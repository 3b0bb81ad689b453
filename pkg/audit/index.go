package audit

import (
	"math"
	"slices"
	"strings"
)

// role says what a field is of its case.
type role uint8

const (
	inputRole role = iota
	answerRole
	idRole   // the id of a case
	nameRole // a name that must not appear
)

// field is the input, the answer or the id of a case, or a name, as atoms.
type field struct {
	owner    *caseText
	role     role
	atoms    []atom
	ids      []int32
	bits     []float64 // less what many cases share
	raw      float64   // sum of the bits before that
	words    bool      // not only numbers
	squeezed string
	shared   bool // other cases have the same text: a class label
}

func (fd *field) name() string {
	return [...]string{"input", "answer", "id", "name"}[fd.role]
}

// marks says that the field is an id or a name and not the text of a case.
func (fd *field) marks() bool { return fd.role >= idRole }

// caseText is a case made ready for comparison.
type caseText struct {
	id      string
	index   int
	in, out field
	need    []int // atoms of the input that are no vocabulary of the baseline
	// bits of the rare stems, of those that are news and of all
	proseNovel, proseAll float64
}

// stemHit is a case that holds a rare stem.
type stemHit struct {
	c     *caseText
	bits  float64
	known bool
}

// gram is where two atoms stand in a row: field.ids[pos] and the next.
type gram struct {
	field *field
	pos   int32
}

// caseIndex finds cases by what they are made of.
type caseIndex struct {
	list    []*caseText
	vocab   map[string]int32
	atoms   []atom  // by id
	df      []int32 // cases that hold the atom, by id
	grams   map[uint64][]gram
	whole   map[string][]*field   // by squeezed text
	prefix  map[string][]*field   // by its first bytes
	single  map[int32][]*field    // fields of one atom
	answers map[int32][]*field    // short answers by their last atom
	keyed   map[int32][]*caseText // by the rarest needed atom
	holders map[int32][]*caseText // by any rare atom of the input
	stems   map[string][]stemHit
	bytes   int
}

// id gives an atom's number in the vocabulary of the cases, or -1.
func (x *caseIndex) id(text string) int32 {
	if id, ok := x.vocab[text]; ok {
		return id
	}
	return -1
}

// empty says that there is nothing to compare with.
func (x *caseIndex) empty() bool { return len(x.atoms) == 0 }

func newCaseIndex(cases []Case, names []string, info information, n *novelty) *caseIndex {
	x := &caseIndex{
		vocab: map[string]int32{}, grams: map[uint64][]gram{}, whole: map[string][]*field{}, prefix: map[string][]*field{},
		single: map[int32][]*field{}, answers: map[int32][]*field{}, stems: map[string][]stemHit{}, keyed: map[int32][]*caseText{}, holders: map[int32][]*caseText{},
	}
	for i, c := range cases {
		if x.bytes += len(c.Input) + len(c.Answer); x.bytes > maxCaseBytes {
			break
		}
		t := &caseText{id: c.ID, index: i}
		x.fill(&t.in, t, c.Input, inputRole, info)
		x.fill(&t.out, t, c.Answer, answerRole, info)
		x.list = append(x.list, t)
		x.count(t)
	}
	for _, t := range x.list {
		x.weigh(&t.in, info)
		x.weigh(&t.out, info)
		x.enter(&t.in)
		x.enter(&t.out)
		x.enterGuards(t, n)
		x.enterStems(t, n)
		x.mark(t.id, idRole, info)
	}
	for _, name := range names {
		x.mark(name, nameRole, info)
	}
	return x
}

func (x *caseIndex) fill(fd *field, owner *caseText, text string, role role, info information) {
	*fd = field{owner: owner, role: role, atoms: atoms(text), squeezed: squeeze(text)}
	for _, a := range fd.atoms {
		id, ok := x.vocab[a.text]
		if !ok {
			id = int32(len(x.atoms))
			x.vocab[a.text] = id
			x.atoms = append(x.atoms, a)
			x.df = append(x.df, 0)
		}
		fd.ids = append(fd.ids, id)
		fd.words = fd.words || !a.num
	}
	fd.raw = info.atoms(fd.atoms)
}

// mark makes an id or a name findable. Its bits are not lowered: ids of a set
// have most of their atoms in common.
func (x *caseIndex) mark(text string, r role, info information) {
	t := &caseText{id: text}
	x.fill(&t.in, t, text, r, info)
	for _, a := range t.in.atoms {
		t.in.bits = append(t.in.bits, info.atom(a))
	}
	x.enter(&t.in)
}

// count adds a case to the frequency of each of its atoms.
func (x *caseIndex) count(t *caseText) {
	ids := slices.Concat(t.in.ids, t.out.ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		x.df[id]++
	}
}

// weigh lowers the bits of an atom by the share of cases that hold it: an atom
// of every case identifies none. Sets of three cases or fewer say nothing.
func (x *caseIndex) weigh(fd *field, info information) {
	fd.bits = make([]float64, len(fd.ids))
	n := math.Log(float64(len(x.list)))
	for i, id := range fd.ids {
		fd.bits[i] = info.atom(fd.atoms[i])
		if df := x.df[id]; df > 1 && len(x.list) > 3 {
			fd.bits[i] *= math.Max(0, 1-math.Log(float64(df))/n)
		}
	}
}

// enter makes a field findable by two atoms in a row, as a whole, and by its
// atom if it has one.
func (x *caseIndex) enter(fd *field) {
	for i := 0; i+1 < len(fd.ids); i++ {
		key := gramKey(fd.ids[i], fd.ids[i+1])
		if list := x.grams[key]; len(list) < maxPostings {
			x.grams[key] = append(list, gram{fd, int32(i)})
		}
	}
	if len(fd.ids) == 1 {
		x.single[fd.ids[0]] = capped(x.single[fd.ids[0]], fd)
	}
	if n := len(fd.ids); fd.role == answerRole && n > 0 && n <= 3 {
		x.answers[fd.ids[n-1]] = capped(x.answers[fd.ids[n-1]], fd)
	}
	if fd.squeezed == "" || fd.marks() {
		return
	}
	for _, other := range x.whole[fd.squeezed] {
		if other.owner != fd.owner && other.role == fd.role {
			other.shared, fd.shared = true, true
		}
	}
	x.whole[fd.squeezed] = capped(x.whole[fd.squeezed], fd)
	if len(fd.squeezed) >= minSplit {
		key := fd.squeezed[:minSplit]
		x.prefix[key] = append(x.prefix[key], fd)
	}
}

// maxPostings is how many places a pair of atoms may have and still point at
// one; maxSame is how many equal fields are kept apart. What more cases share
// has next to no bits.
const (
	maxPostings = 256
	maxSame     = 16
)

func capped(list []*field, fd *field) []*field {
	if len(list) < maxSame {
		list = append(list, fd)
	}
	return list
}

// singles counts the keys of a file that are the whole input of a case of one
// rare word.
func (x *caseIndex) singles(f *file) int {
	if f.single != nil {
		return *f.single
	}
	n := 0
	f.single = &n
	for _, key := range f.keys() {
		for _, fd := range x.whole[squeeze(key.text)] {
			if fd.role == inputRole && len(fd.ids) == 1 && fd.raw >= rareBits && !f.a.novel.known(fd.atoms[0].text) {
				n++
				break
			}
		}
	}
	return n
}

// seeds are the places of two atoms in a row, or nil where they are too many
// to mean anything.
func (x *caseIndex) seeds(a, b int32) []gram {
	if a < 0 || b < 0 {
		return nil
	}
	if list := x.grams[gramKey(a, b)]; len(list) < maxPostings {
		return list
	}
	return nil
}

func gramKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

// rareBits is what an atom must have to point at a case.
const rareBits = 7

// maxNeed is the longest input that a guard is expected to spell out.
const maxNeed = 60

// enterGuards makes a case findable by the atoms that a guard would hold.
func (x *caseIndex) enterGuards(t *caseText, n *novelty) {
	key, rarest := int32(-1), int32(math.MaxInt32)
	for i, a := range t.in.atoms {
		id := t.in.ids[i]
		if a.num || !n.vocab[a.text] && len(a.text) > 1 {
			t.need = append(t.need, i)
			if x.df[id] < rarest {
				key, rarest = id, x.df[id]
			}
		}
		if t.in.bits[i] >= rareBits && !n.known(a.text) && !slices.Contains(t.in.ids[:i], id) {
			x.holders[id] = append(x.holders[id], t)
		}
	}
	if len(t.need) > 0 && len(t.need) <= maxNeed {
		x.keyed[key] = append(x.keyed[key], t)
	}
}

// enterStems makes a case findable by its rare words, in any form.
func (x *caseIndex) enterStems(t *caseText, n *novelty) {
	seen := map[string]bool{}
	for _, fd := range []*field{&t.in, &t.out} {
		for i, a := range fd.atoms {
			w := stem(a.text)
			if fd.bits[i] < wordBitsFloor || seen[w] {
				continue
			}
			seen[w] = true
			known := n.vocab[w] || n.vocab[a.text] || n.begins(w)
			x.stems[w] = append(x.stems[w], stemHit{t, fd.bits[i], known})
			if t.proseAll += fd.bits[i]; !known {
				t.proseNovel += fd.bits[i]
			}
		}
	}
}

// text joins atoms with blanks, as novelty holds them.
func (x *caseIndex) text(ids []int32) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, id := range ids {
		b.WriteString(x.atoms[id].text)
		b.WriteByte(' ')
	}
	return b.String()
}
