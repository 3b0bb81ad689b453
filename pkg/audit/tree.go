package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// change is one path that differs between the baseline and a tree.
type change struct {
	path     string
	from, to Entry // from.ID is "" where the path is new, to.ID where it is gone
}

func (c change) isNew() bool  { return c.from.ID == "" }
func (c change) isGone() bool { return c.to.ID == "" }

// tree is one tree of the candidate against the baseline.
type tree struct {
	a       *audit
	entries []Entry
	changes []change
	doubles []string // paths that stand twice
	files   []*file  // the changed text files
	texts   map[string]textKind
	bounds  []Finding
}

// textKind says what a changed blob is.
type textKind int

const (
	plainText textKind = iota
	notText
	badEncoding
	lfsPointer
	tooLarge
)

// blob is a blob's text, decoded from UTF-16 where a byte order mark says so.
type blob struct {
	text string
	kind textKind
	err  error
}

// changes pairs two flattened trees by path.
func changes(base, cand []Entry) (list []change, doubles []string) {
	base, cand = sortedEntries(base), sortedEntries(cand)
	for i, j := 0, 0; i < len(base) || j < len(cand); {
		switch {
		case j+1 < len(cand) && cand[j].Path == cand[j+1].Path:
			doubles = append(doubles, cand[j].Path)
			j++
		case j == len(cand) || i < len(base) && base[i].Path < cand[j].Path:
			list = append(list, change{path: base[i].Path, from: base[i]})
			i++
		case i == len(base) || cand[j].Path < base[i].Path:
			list = append(list, change{path: cand[j].Path, to: cand[j]})
			j++
		default:
			if base[i] != cand[j] {
				list = append(list, change{base[i].Path, base[i], cand[j]})
			}
			i, j = i+1, j+1
		}
	}
	return list, slices.Compact(doubles)
}

func sortedEntries(list []Entry) []Entry {
	byPath := func(a, b Entry) int { return strings.Compare(a.Path, b.Path) }
	if slices.IsSortedFunc(list, byPath) {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, byPath)
	return list
}

// tree compares entries with the baseline and reads what changed.
func (a *audit) tree(entries []Entry) *tree {
	t := &tree{a: a, entries: entries, texts: map[string]textKind{}}
	t.changes, t.doubles = changes(a.in.Baseline, entries)
	if len(t.changes) > maxFiles {
		t.over("", "%d files change, more than the bound of %d", len(t.changes), maxFiles)
		return t
	}
	total := 0
	for _, c := range t.changes {
		if c.isGone() || c.to.Mode != "100644" && c.to.Mode != "100755" || c.from.ID == c.to.ID {
			continue
		}
		if total += t.read(c); total > maxChanged {
			t.over("", "the changed files are larger than %d MiB together", maxChanged>>20)
			return t
		}
	}
	return t
}

func (t *tree) over(path, format string, args ...any) {
	t.bounds = append(t.bounds, Finding{Severity: Invalid, Path: path, Message: fmt.Sprintf(format, args...)})
}

// read reads one changed file and returns the bytes that it holds.
func (t *tree) read(c change) int {
	b := t.a.blob(c.to.ID)
	if b.err != nil {
		t.over(c.path, "object %s cannot be read: %v", short(c.to.ID), b.err)
		return 0
	}
	t.texts[c.path] = b.kind
	switch b.kind {
	case tooLarge:
		t.over(c.path, "the file is larger than the bound of %d MiB", maxFile>>20)
		return 0
	case notText, lfsPointer:
		return len(b.text)
	}
	f, ok := t.a.memo[c]
	if !ok {
		before := ""
		if !c.isNew() {
			before = t.a.blob(c.from.ID).text
		}
		f = newFile(t.a, c, before, b.text)
		t.a.memo[c] = f
	}
	t.files = append(t.files, f)
	return len(b.text)
}

// blob reads a blob once.
func (a *audit) blob(id string) blob {
	if b, ok := a.blobs[id]; ok {
		return b
	}
	var b blob
	if a.in.Blobs == nil {
		b.err = fmt.Errorf("no object store")
		a.broken = b.err
	} else if data, err := a.in.Blobs.Blob(id); err != nil {
		b.err, a.broken = err, err
	} else {
		b = classify(data)
	}
	a.blobs[id] = b
	return b
}

// classify finds the text of a blob. Bytes that are not UTF-8 are read as
// Latin-1, so that what stands between them is still seen.
func classify(data []byte) blob {
	switch {
	case len(data) > maxFile:
		return blob{kind: tooLarge}
	case bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")):
		return blob{text: string(data), kind: lfsPointer}
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return classifyUTF16(data)
	case bytes.IndexByte(data, 0) >= 0, manyControls(data):
		return blob{text: string(data), kind: notText}
	case !utf8.Valid(data):
		return blob{text: latin1(data), kind: badEncoding}
	}
	return blob{text: strings.TrimPrefix(string(data), "\ufeff")}
}

// manyControls says that more than one byte in fifty is a control character
// that no text has: what is so written is read by a program alone.
func manyControls(data []byte) bool {
	n := 0
	for _, c := range data {
		if c < ' ' && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", rune(c)) || c == 0x7f {
			n++
		}
	}
	return n > 8 && n*50 > len(data)
}

func classifyUTF16(data []byte) blob {
	text, ok := fromUTF16(data[2:], data[0] == 0xfe)
	if !ok || strings.ContainsRune(text, 0) {
		return blob{text: string(data), kind: notText}
	}
	return blob{text: text}
}

// fromUTF16 decodes 16-bit units; ok is false for an odd length or a lone
// surrogate.
func fromUTF16(data []byte, bigEndian bool) (text string, ok bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		low, high := data[2*i], data[2*i+1]
		if bigEndian {
			low, high = high, low
		}
		units[i] = uint16(high)<<8 | uint16(low)
	}
	text = string(utf16.Decode(units))
	return text, !strings.ContainsRune(text, utf8.RuneError)
}

func latin1(data []byte) string {
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return string(runes)
}
