package audit

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// novelty knows what is not news: the text of the sealed baseline, as far as
// it is no frozen file (those hold the cases), and of the specification.
type novelty struct {
	texts                []string        // the files of the baseline that were read
	base, spec           string          // atoms joined by blanks
	specWords            []string        // the words of spec, sorted
	baseTight, specTight string          // squeezed
	vocab                map[string]bool // words of the baseline, parts of its identifiers too
	partial              bool            // not all of the baseline was read
}

// known says that a word stands in the baseline or in the specification.
func (n *novelty) known(word string) bool {
	_, found := slices.BinarySearch(n.specWords, word)
	return found || n.vocab[word]
}

// begins says that a word of the specification begins with a stem.
func (n *novelty) begins(stem string) bool {
	i, _ := slices.BinarySearch(n.specWords, stem)
	return i < len(n.specWords) && strings.HasPrefix(n.specWords[i], stem)
}

// state takes in texts that the author was shown. No run goes from one into
// the next.
func (n *novelty) state(texts ...string) {
	var spec, tight strings.Builder
	for _, text := range texts {
		list := atoms(text)
		join(&spec, list)
		for _, x := range list {
			n.specWords = append(n.specWords, x.text)
		}
		tight.WriteString(squeeze(text))
		tight.WriteByte(' ')
	}
	n.spec += spec.String()
	n.specTight += tight.String()
	slices.Sort(n.specWords)
	n.specWords = slices.Compact(n.specWords)
}

// origin says where a text already stands.
type origin uint8

const (
	nowhere origin = iota
	inSpec
	inBaseline
)

// of finds atoms, joined by blanks, in the baseline or in the specification.
func (n *novelty) of(run string) origin {
	switch {
	case strings.Contains(n.base, run):
		return inBaseline
	case strings.Contains(n.spec, run):
		return inSpec
	}
	return nowhere
}

// writes says that the baseline holds a text as it is.
func (n *novelty) writes(text string) bool {
	return slices.ContainsFunc(n.texts, func(t string) bool { return strings.Contains(t, text) })
}

// ofTight is of for squeezed text.
func (n *novelty) ofTight(text string) origin {
	switch {
	case strings.Contains(n.baseTight, text):
		return inBaseline
	case strings.Contains(n.specTight, text):
		return inSpec
	}
	return nowhere
}

// readBaseline reads up to limit bytes of the baseline, what lies nearest to
// the changes first.
func (a *audit) readBaseline(limit int) *novelty {
	n := &novelty{vocab: map[string]bool{}}
	var base, tight strings.Builder
	n.partial = a.in.Rest != nil && limit < farBytes
	entries := a.textEntries(n.partial)
	base.Grow(limit)
	tight.Grow(limit)
	for from := 0; from < len(entries); from += atOnce {
		group := entries[from:min(from+atOnce, len(entries))]
		if !n.partial {
			a.fetch(group)
		}
		for _, e := range group {
			b := a.blob(e.ID)
			if b.err != nil || b.kind != plainText && b.kind != badEncoding {
				continue
			}
			if limit -= len(b.text); limit < 0 {
				n.partial, from = true, len(entries)
				break
			}
			n.texts = append(n.texts, b.text)
			n.learn(b.text, &base)
			tight.WriteString(squeeze(b.text))
			tight.WriteByte(' ')
		}
	}
	n.base, n.baseTight = base.String(), tight.String()
	n.state(a.in.Specification)
	return n
}

// textEntries lists what is read of the baseline, nearest first.
func (a *audit) textEntries(near bool) []Entry {
	entries := a.in.Baseline
	if !near {
		entries = a.whole()
	}
	nearness := a.nearness()
	type ranked struct {
		Entry
		rank int
	}
	var list []ranked
	for _, e := range entries {
		if (e.Mode == "100644" || e.Mode == "100755") && !a.in.Scope.Frozen(e.Path) {
			list = append(list, ranked{e, nearness(e.Path)})
		}
	}
	slices.SortFunc(list, func(x, y ranked) int {
		return cmp.Or(y.rank-x.rank, strings.Compare(x.Path, y.Path))
	})
	out := make([]Entry, len(list))
	for i, r := range list {
		out[i] = r.Entry
	}
	return out
}

// bulk is a store that is faster when it is asked for many blobs at once.
type bulk interface {
	Blobs(ids []string, take func(i int, data []byte) error) error
}

// atOnce is how many blobs are asked for at once.
const atOnce = 500

// fetch reads blobs ahead. What goes wrong is left for whoever reads the blob
// that is at fault.
func (a *audit) fetch(list []Entry) {
	store, ok := a.in.Blobs.(bulk)
	if !ok {
		return
	}
	var ids []string
	for _, e := range list {
		if _, known := a.blobs[e.ID]; !known {
			ids = append(ids, e.ID)
		}
	}
	_ = store.Blobs(ids, func(i int, data []byte) error {
		a.blobs[ids[i]] = classify(bytes.Clone(data))
		return nil
	})
}

// nearness ranks a path by how near it lies to the changes: by the depth of the
// deepest folder in which something changes, and what changes itself first.
func (a *audit) nearness() func(path string) int {
	list, _ := changes(a.in.Baseline, a.in.Candidate)
	changed, depth := map[string]bool{}, map[string]int{}
	for _, c := range list {
		changed[c.path] = true
		for dir := parent(c.path); dir != "" && depth[dir] == 0; dir = parent(dir) {
			depth[dir] = 1 + strings.Count(dir, "/")
		}
	}
	return func(path string) int {
		if changed[path] {
			return math.MaxInt
		}
		for dir := parent(path); dir != ""; dir = parent(dir) {
			if d := depth[dir]; d > 0 {
				return d
			}
		}
		return 0
	}
}

func folder(path string) string {
	return path[:strings.LastIndexByte(path, '/')+1]
}

// learn takes in the words of a text.
func (n *novelty) learn(text string, b *strings.Builder) {
	b.WriteByte(' ')
	eachAtom(text, func(word string, _ bool) {
		if !n.vocab[word] {
			n.vocab[strings.Clone(word)] = true
		}
		b.WriteString(word)
		b.WriteByte(' ')
	})
	for _, part := range camelParts(text) {
		n.vocab[fold(part)] = true
	}
}

func join(b *strings.Builder, list []atom) {
	b.WriteByte(' ')
	for _, x := range list {
		b.WriteString(x.text)
		b.WriteByte(' ')
	}
}

// camelParts gives the parts of the words in which a capital follows a small
// letter.
func camelParts(text string) []string {
	var parts []string
	for i := 1; i < len(text); i++ {
		if text[i] < 'A' || text[i] > 'Z' || text[i-1] < 'a' || text[i-1] > 'z' {
			continue
		}
		start, end := i, i+1
		for start > 0 && isLetter(text[start-1]) {
			start--
		}
		for end < len(text) && isLetter(text[end]) {
			end++
		}
		parts = append(parts, splitCamel(text[start:end])...)
		i = end
	}
	return parts
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func splitCamel(word string) []string {
	var parts []string
	start := 0
	for i := 1; i < len(word); i++ {
		if unicode.IsUpper(rune(word[i])) && unicode.IsLower(rune(word[i-1])) {
			parts = append(parts, word[start:i])
			start = i
		}
	}
	return append(parts, word[start:])
}
