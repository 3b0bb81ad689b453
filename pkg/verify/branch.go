package verify

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// point is one commit of the state branch that is checked.
type point struct {
	index  int // in the branch, from its first commit
	commit string
	id     string            // of the checkpoint, "" where it did not change
	note   []byte            // the checkpoint
	files  map[string]string // segments that changed → blob
	// What is found out about it: how many journal lines the point before it
	// and it itself hold, 0 where that is not known, which segment is not what
	// they make of it, and what is wrong with the checkpoint.
	from, lines int
	wrong       string
	err         error
}

func (p *point) place(name string) string { return fmt.Sprintf("%s at %.12s", name, p.commit) }

// branch walks the state branch along its first parents and lists what the
// commits to check have changed since the one before.
func (c *checker) branch() error {
	var ids []string
	var more [][]string // parents beyond the first
	err := c.src.firstParents(c.src.State, func(commit repo.Commit) bool {
		var others []string
		for _, id := range commit.Parents[min(1, len(commit.Parents)):] {
			others = append(others, strings.Clone(id)) // and not the whole commit with it
		}
		ids, more = append(ids, strings.Clone(commit.ID)), append(more, others)
		return true
	})
	var missing *repo.MissingError
	switch {
	case c.isCut(lawBranch, err):
		c.cut = true
	case errors.As(err, &missing):
		c.bad(lawBranch, "the state branch", "commit %s is missing from the repository", missing.ID)
	case err != nil:
		return err
	}
	slices.Reverse(ids)
	slices.Reverse(more)
	c.past, c.more = len(ids), more
	var checked []string
	for _, i := range c.sample(c.past) {
		c.points = append(c.points, point{index: i, commit: ids[i], files: map[string]string{}})
		checked = append(checked, ids[i])
	}
	err = c.src.diffs(checked, func(i int, changes []repo.Change) error {
		for _, change := range changes {
			if err := c.change(&c.points[i], change, i == 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.notes()
}

// notes reads the checkpoints of the points.
func (c *checker) notes() error {
	var ids []string
	var of []*point
	for i := range c.points {
		if p := &c.points[i]; p.id != "" {
			ids, of = append(ids, p.id), append(of, p)
		}
	}
	return c.src.blobs(ids, func(i int, data []byte) error {
		of[i].note = bytes.Clone(data[:min(len(data), maxAnchor)]) // no note is as long as that
		return nil
	})
}

// parents refuses further parents of the commits up to a point that the lines
// they added do not name.
func (c *checker) parents(p *point, after int) {
	var named map[string]bool
	for _, ids := range c.more[after : p.index+1] {
		for _, id := range ids {
			if named == nil {
				named = c.named(p.from, p.lines)
			}
			if !named[id] {
				c.bad(lawBranch, "commit "+p.commit, "has, or one just before it, the parent %s, which none of its %d journal lines names", id, max(p.lines-p.from, 0))
			}
		}
	}
}

// named lists the commits that the journal names from one line on up to another.
func (c *checker) named(from, to int) map[string]bool {
	out := map[string]bool{}
	i, _ := slices.BinarySearchFunc(c.names, from, func(n naming, line int) int { return n.line - line })
	for ; i < len(c.names) && c.names[i].line < to; i++ {
		out[c.names[i].id] = true
	}
	return out
}

// change sorts one change of a commit.
func (c *checker) change(p *point, change repo.Change, first bool) error {
	entry := change.To
	if entry.ID == "" {
		c.bad(lawBranch, p.place(fmt.Sprintf("%+q", change.Path)), "is gone: records are never removed")
		return nil
	}
	name, err := c.src.name(entry)
	if err != nil {
		return c.note(lawBranch, err)
	}
	switch {
	case name == checkpointName:
		p.id = entry.ID
	case name == contractName && !first:
		c.bad(lawBranch, p.place(name), "was changed, or added late: a run has one contract")
	case strings.HasPrefix(name, "logs/"):
		if change.From.ID != "" {
			c.bad(lawBranch, p.place(name), "was changed: a log is written once")
		}
	case name != contractName:
		p.files[name] = entry.ID
	}
	return nil
}

// maxPast is how many commits of the state branch, and how many verdict notes,
// are checked where not all are asked for. What lies behind the newest commit is
// bound by its chain; checking it too names a commit that was damaged, and is
// most of the work: every commit holds its whole segment anew.
const maxPast = 1000

// sample picks what is checked of n things: all where there are few or all are
// asked for, else the newest ones and an even spread of those before.
func (c *checker) sample(n int) []int {
	var out []int
	most := maxPast
	if n <= most || c.src.All {
		most = n
	}
	newest := most / 2
	for i := range most - newest {
		out = append(out, i*(n-newest)/(most-newest))
	}
	for i := n - newest; i < n; i++ {
		out = append(out, i)
	}
	return out
}

// grow checks that journal and results of every commit to check are the
// beginning of the newest ones, longer than those of the one before, and that
// its checkpoint signs them. No segment is read: its id is the hash of what it
// must be.
func (c *checker) grow() error {
	sizes, err := c.sizes()
	if err != nil {
		return err
	}
	before, after := 0, 0
	for i := range c.points {
		p := &c.points[i]
		p.from, p.lines = before, c.length(p, before, sizes)
		c.parents(p, after)
		if after = p.index + 1; p.lines > 0 {
			before = p.lines
		}
	}
	parallel(len(c.points), func(i int) {
		if p := &c.points[i]; p.lines > 0 {
			p.wrong = c.mismatch(p, p.from, p.lines)
		}
		c.checkpoint(&c.points[i])
	})
	for i := range c.points {
		p := &c.points[i]
		if p.lines == 0 {
			c.bad(lawBranch, p.place("journal"), "is not the newest journal up to any line behind line %d: records were changed", p.from)
		}
		if p.wrong != "" {
			c.bad(lawBranch, p.place(p.wrong), "is not the newest one up to journal line %d: records were changed", p.lines)
		}
		if p.err != nil {
			c.bad(lawSignatures, p.place(checkpointName), "%v", p.err)
		}
	}
	if n := len(c.Chain.Events); before != n {
		c.bad(lawBranch, "commit "+c.src.State, "holds %d journal lines, want %d", before, n)
	}
	return nil
}

// checkpoint finds out what is wrong with the checkpoint of a commit.
func (c *checker) checkpoint(p *point) {
	switch {
	case c.Verifier == nil && p.note != nil && c.unseen[lawSignatures] == "":
		p.err = errors.New("stands there, but the contract has no keys")
		return
	case c.Verifier == nil:
		return
	case p.note == nil:
		p.err = errors.New("was not written: every commit must sign what it adds")
		return
	}
	signed, err := c.Verifier.Checkpoint(p.note)
	if err != nil {
		p.err = err
		return
	}
	// What was said of the length or of the order need not be said again.
	if is, ok := c.was(p.lines); ok && p.lines > 0 {
		if b := agree(signed, is, checkpointName); b != nil {
			p.err = errors.New(b.Why)
		}
	}
}

// was is what a checkpoint of the first n lines says; ok is false where the
// journal could not be followed so far.
func (c *checker) was(n int) (is ledger.Checkpoint, ok bool) {
	i, found := slices.BinarySearchFunc(c.marks, n, func(m ledger.Checkpoint, n int) int { return m.Lines - n })
	if !found {
		i--
	}
	if i < 0 || n > c.followed {
		return is, false
	}
	is = c.marks[i]
	is.Lines, is.Head = n, headAt(c.Chain, n)
	return is, true
}

// sizes gives the sizes of all journal segments of the points, where they are
// needed and can be had.
func (c *checker) sizes() (map[string]int64, error) {
	out := map[string]int64{}
	sizer, ok := c.src.Objects.(interface {
		Sizes(ids []string, take func(i int, size int64)) error
	})
	if !ok || c.Verifier != nil {
		return out, nil
	}
	var ids []string
	for _, p := range c.points {
		if id := p.files[p.newest()]; id != "" {
			ids = append(ids, id)
		}
	}
	return out, sizer.Sizes(ids, func(i int, size int64) { out[ids[i]] = size })
}

// newest names the newest journal segment that a commit changed.
func (p *point) newest() string {
	newest := ""
	for name := range p.files {
		if strings.HasPrefix(name, "journal/") && older(newest, name) < 0 {
			newest = name
		}
	}
	return newest
}

// older compares the names of two segments, which have three digits or more.
func older(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// length says how many lines of the journal a commit holds, more than before;
// 0 if that cannot be found out. The checkpoint says it, or the size of the
// newest segment; whether that is true its signature and the blobs show. Where
// nothing says it, the blobs are tried.
func (c *checker) length(p *point, before int, sizes map[string]int64) int {
	n := 0
	size, known := sizes[p.files[p.newest()]]
	if known {
		n = c.upTo(p.newest(), int(size))
	} else if c.Verifier != nil {
		n, _ = ledger.Length(p.note)
		known = n > 0
	}
	switch {
	case known && n > before && n <= len(c.Chain.Events):
		return n
	case known:
		return 0
	}
	for n := before + 1; n <= len(c.Chain.Events); n++ {
		if c.mismatch(p, before, n) == "" {
			return n
		}
	}
	return 0
}

// upTo counts the lines of the journal up to an offset in a segment, 0 where no
// line ends there.
func (c *checker) upTo(segment string, end int) int {
	i, found := slices.BinarySearchFunc(c.places, end, func(p place, end int) int {
		return cmp.Or(older(p.segmentName(), segment), cmp.Compare(p.end, end))
	})
	if !found {
		return 0
	}
	return i + 1
}

// mismatch names the first segment of a commit that is not what lines from+1 to
// n of the journal make of it, "" where there is none.
func (c *checker) mismatch(p *point, from, n int) string {
	want := map[string]int{} // segment → length
	for _, at := range c.places[from:n] {
		want[at.segmentName()] = at.end
		if at.entry > 0 {
			want[ledger.Results(at.segment*ledger.SegmentSize)] = at.entry
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		length, ok := want[name]
		if !ok || length > len(c.Files[name]) || blobID(c.Files[name][:length], len(p.files[name])) != p.files[name] {
			return name
		}
		delete(want, name)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		return name
	}
	return ""
}

// blobID is the id that git gives to a blob; digits says by which hash.
func blobID(data []byte, digits int) string {
	var h hash.Hash = sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
