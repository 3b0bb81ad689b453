package verify

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// want asks for the tree that the first lines of the journal make, with a
// checkpoint of that id, "" for none.
type want struct {
	lines      int
	checkpoint string
	tree       *string // where the id goes
	files      []version
}

// version is a segment as it once was: the id of so many of its bytes, as a tree
// holds it.
type version struct{ name, raw string }

// trees computes the trees that are asked for, by their number of lines. What
// they hold follows from the newest records: segments only grow, so that each
// once was a beginning of what it is now, and logs were there with their line.
func (c *checker) trees(wants []want) {
	parallel(len(wants), func(i int) {
		from := 0
		if i > 0 {
			from = wants[i-1].lines
		}
		wants[i].files = c.segments(from, wants[i].lines)
	})
	root, h := &folder{width: len(c.src.State) / 2}, newHash(len(c.src.State)/2)
	prefix := journal.Folder(c.src.Tag)
	root.set(prefix+contractName, c.id(contractName))
	logs := c.logs.recorded
	for _, w := range wants {
		for _, f := range w.files {
			root.put(prefix+f.name, f.raw)
		}
		for ; len(logs) > 0 && logs[0].event < w.lines; logs = logs[1:] {
			if logs[0].id != "" {
				root.set(prefix+"logs/"+logs[0].name, logs[0].id)
			}
		}
		if w.checkpoint != "" {
			root.set(prefix+checkpointName, w.checkpoint)
		}
		*w.tree = hex.EncodeToString(root.sum(h))
	}
}

// segments gives the segments that lines from+1 to n of the journal make longer,
// as they are then.
func (c *checker) segments(from, n int) []version {
	var out []version
	h := newHash(len(c.src.State) / 2)
	add := func(name string, length int) {
		if length > 0 && length <= len(c.Files[name]) {
			out = append(out, version{name, string(sumBlob(h, c.Files[name][:length]))})
		}
	}
	results := 0
	for i := from; i < n; i++ {
		at := c.places[i]
		results = max(results, at.entry)
		if i+1 == n || c.places[i+1].segment != at.segment {
			add(at.segmentName(), at.end)
			add(ledger.Results(at.segment*ledger.SegmentSize), results)
			results = 0
		}
	}
	return out
}

// grown gives the files that lines from+1 to n of the journal make or make
// longer, with their ids.
func (c *checker) grown(from, n int) map[string]string {
	out := map[string]string{}
	for _, f := range c.segments(from, n) {
		out[f.name] = hex.EncodeToString([]byte(f.raw))
	}
	for _, l := range c.logs.recorded {
		if from <= l.event && l.event < n {
			out["logs/"+l.name] = l.id
		}
	}
	return out
}

// id is the id of a file of the newest commit.
func (c *checker) id(name string) string {
	return hex.EncodeToString(sumBlob(newHash(len(c.src.State)/2), c.Files[name]))
}

// newHash gives the hash whose sums are ids of so many bytes.
func newHash(width int) hash.Hash {
	if width == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// begin begins to hash a git object.
func begin(h hash.Hash, kind string, size int) {
	var head [32]byte
	h.Reset()
	h.Write(append(strconv.AppendInt(append(append(head[:0], kind...), ' '), int64(size), 10), 0))
}

// sumBlob is the id that git gives to a blob.
func sumBlob(h hash.Hash, data []byte) []byte {
	begin(h, "blob", len(data))
	h.Write(data)
	return h.Sum(nil)
}

// folder is a tree as git writes it, of which files are set one after the other.
// What has changed since its id was asked for last is hashed anew, of a long one
// only what stands behind the first change: records are added at the end.
type folder struct {
	width   int // bytes of an id
	raw     []byte
	entries []slot // in git's order
	touched []string
	low     int       // offset of the first change
	known   []byte    // the id, nil where something has changed
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
	f.known = nil
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
func (f *folder) sum(h hash.Hash) []byte {
	if f.known != nil {
		return f.known
	}
	for _, key := range f.touched {
		i, _ := f.find(key)
		f.write(i, string(f.entries[i].below.sum(h)))
	}
	f.touched = f.touched[:0]
	if cloner, ok := f.prefix(); ok {
		h = cloner
	} else {
		begin(h, "tree", len(f.raw))
		f.low = 0
	}
	h.Write(f.raw[f.low:])
	f.low, f.known = len(f.raw), h.Sum(nil)
	return f.known
}

// prefix gives a hash that has read the tree up to the first change, where that
// is worth keeping.
func (f *folder) prefix() (h hash.Hash, ok bool) {
	if len(f.raw) < longFolder {
		return nil, false
	}
	if f.state == nil {
		f.state = newHash(f.width)
	}
	cloner, ok := f.state.(hash.Cloner)
	if !ok {
		return nil, false
	}
	if f.done == 0 || f.low < f.done {
		begin(f.state, "tree", len(f.raw))
		f.done = 0
	}
	f.state.Write(f.raw[f.done:f.low])
	f.done = f.low
	h, err := cloner.Clone()
	return h, err == nil
}
