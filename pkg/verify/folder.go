package verify

import (
	"encoding/hex"
	"hash"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/repo"
)

// folder is a tree as git writes it, of which files are set one after the other.
// What has changed since its id was asked for last is hashed anew, of a long one
// only what stands behind the first change: records are added at the end.
type folder struct {
	width   int // bytes of an id
	raw     []byte
	entries []slot // in git's order
	touched []string
	low     int       // offset of the first change
	known   []byte    // the id, empty where something has changed
	state   hash.Hash // of a long one, it has read the object up to done
	done    int       // 0 where it has read nothing
}

// slot is one entry of a tree: what git sorts it by, where it and the id in it
// stand, and what is below it.
type slot struct {
	key       string
	start, at int
	below     *folder
}

// longFolder is how many bytes of a tree are worth keeping what was hashed.
const longFolder = 1 << 11

// set puts a file with the blob of that id at a path.
func (f *folder) set(path, id string) {
	raw, _ := hex.DecodeString(id) // was read from a tree, or made here
	f.put(path, string(raw))
}

// put is set, of an id as a tree holds it.
func (f *folder) put(path, raw string) {
	name, rest, nested := strings.Cut(path, "/")
	f.known = f.known[:0]
	if !nested {
		f.write(f.slot("100644 ", name, name), raw)
		return
	}
	i := f.slot("40000 ", name, path[:len(name)+1])
	if f.entries[i].below == nil {
		f.entries[i].below = &folder{width: f.width}
	}
	f.entries[i].below.put(rest, raw)
	if !slices.Contains(f.touched, f.entries[i].key) {
		f.touched = append(f.touched, f.entries[i].key)
	}
}

// find looks for an entry.
func (f *folder) find(key string) (i int, found bool) {
	return slices.BinarySearchFunc(f.entries, key, func(s slot, key string) int { return strings.Compare(s.key, key) })
}

// slot finds an entry, and makes it if there is none.
func (f *folder) slot(mode, name, key string) int {
	i, found := f.find(key)
	if found {
		return i
	}
	start := len(f.raw)
	if i < len(f.entries) {
		start = f.entries[i].start
	}
	at := start + len(mode) + len(name) + 1
	f.raw = slices.Insert(f.raw, start, append([]byte(mode+name+"\x00"), make([]byte, f.width)...)...)
	f.entries = slices.Insert(f.entries, i, slot{key: strings.Clone(key), start: start, at: at})
	for j := i + 1; j < len(f.entries); j++ {
		f.entries[j].start += at + f.width - start
		f.entries[j].at += at + f.width - start
	}
	f.low, f.done = min(f.low, start), 0 // the length stands at the object's beginning
	return i
}

// write writes the id of an entry.
func (f *folder) write(i int, raw string) {
	at := f.entries[i].at
	copy(f.raw[at:at+f.width], raw)
	f.low = min(f.low, at)
}

// sum is the tree's id, by a hash that may be used again.
func (f *folder) sum(h *repo.Hasher) []byte {
	if len(f.known) > 0 {
		return f.known
	}
	for _, key := range f.touched {
		i, _ := f.find(key)
		f.write(i, string(f.entries[i].below.sum(h)))
	}
	f.touched = f.touched[:0]
	var by hash.Hash = h
	if behind, ok := f.prefix(h); ok {
		by = behind
	} else {
		h.Begin(h, "tree", len(f.raw))
		f.low = 0
	}
	by.Write(f.raw[f.low:])
	f.low, f.known = len(f.raw), by.Sum(f.known[:0])
	return f.known
}

// forget keeps of a folder at a path no more than its id: nothing is put into it
// any more.
func (f *folder) forget(path string, h *repo.Hasher) {
	name, rest, nested := strings.Cut(path, "/")
	i, found := f.find(name + "/")
	if !found || f.entries[i].below == nil {
		return
	}
	if nested {
		f.entries[i].below.forget(rest, h)
		return
	}
	f.write(i, string(f.entries[i].below.sum(h)))
	f.entries[i].below = nil
	f.touched = slices.DeleteFunc(f.touched, func(key string) bool { return key == name+"/" })
}

// prefix gives a hash that has read the tree up to the first change, where that
// is worth keeping.
func (f *folder) prefix(h *repo.Hasher) (behind hash.Hash, ok bool) {
	if len(f.raw) < longFolder {
		return nil, false
	}
	if f.state == nil {
		f.state = repo.NewHash(f.width)
	}
	cloner, ok := f.state.(hash.Cloner)
	if !ok {
		return nil, false
	}
	if f.done == 0 || f.low < f.done {
		h.Begin(f.state, "tree", len(f.raw))
		f.done = 0
	}
	f.state.Write(f.raw[f.done:f.low])
	f.done = f.low
	behind, err := cloner.Clone()
	return behind, err == nil
}
