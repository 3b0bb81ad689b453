package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// want asks for the tree that the first lines of the journal make, with the
// checkpoint of a commit.
type want struct {
	lines int
	point *point
}

// grown is what a line of the journal adds to the records.
type grown struct {
	upTo  []byte            // the segment as it is then
	entry []byte            // of the results, nil for none
	logs  map[string]string // name → hash
}

func makes(l ledger.Line) grown {
	g := grown{upTo: l.UpTo}
	switch d := l.Event.Data.(type) {
	case *ledger.Finalized:
		g.entry = l.Entry()
	case *ledger.Evaluated:
		g.logs = d.Logs
	}
	return g
}

// growth computes what the trees of the state branch were, while the journal is
// read. What they held follows from the newest records and the number of lines
// that a commit's checkpoint says: a segment was a beginning of what it is now,
// and a log came with the line that names it.
type growth struct {
	c      *checker
	ids    []string         // of the segments
	wants  []want           // by their lines
	every  map[string][]int // where nothing is signed: tree → points
	page   page             // that is being filled
	pages  *pages
	spare  chan []byte // room for segments
	done   chan error
	lines  int // that were followed
	root   *folder
	prefix string
	hash   *repo.Hasher
}

// newGrowth prepares to follow the journal.
func (c *checker) newGrowth() *growth {
	width := len(c.src.State) / 2
	g := &growth{c: c, ids: c.ids, pages: newPages(), spare: make(chan []byte, 64), done: make(chan error, 1),
		root: &folder{width: width}, hash: repo.NewHasher(width), prefix: journal.Folder(c.src.Tag)}
	g.root.set(g.prefix+contractName, c.newest.files[contractName])
	return g
}

// expect prepares to find out how many journal lines every commit holds, and the
// tree that they make. The checkpoint says how many, and whether that is true the
// tree shows. Where nothing is signed, only one number of lines makes the tree.
func (g *growth) expect(points []point) {
	g.wants = make([]want, 0, len(points))
	if g.c.sealed.Keys == nil {
		g.every = make(map[string][]int, len(points))
	}
	for i := range points {
		p := &points[i]
		p.lines, p.want = 0, ""
		if g.every != nil {
			p.note = "" // another part of the message
			g.every[p.tree] = append(g.every[p.tree], i)
		} else if n, ok := ledger.Length(p.note); ok {
			g.wants = append(g.wants, want{n, p})
		}
	}
	slices.SortStableFunc(g.wants, func(a, b want) int { return a.lines - b.lines })
}

// errEnough ends a reading that was not read to its end.
var errEnough = errors.New("enough")

// segments reads the journal.
func (g *growth) segments(yield func([]byte, error) bool) {
	err := g.c.src.blobs(g.ids, ledger.Segment, func(_ int, data []byte) error {
		if !yield(append(g.room(len(data)), data...), nil) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		yield(nil, err)
	}
}

// room gives room for a segment, which may have been another's.
func (g *growth) room(n int) []byte {
	select {
	case old := <-g.spare:
		if cap(old) >= n {
			return old[:0]
		}
	default:
	}
	return make([]byte, 0, n+n/4)
}

// add takes the next line of the journal, and says what it adds to the records.
func (g *growth) add(l ledger.Line) grown {
	if segment := l.Event.Iteration; segment != g.page.segment {
		g.pages.put(g.page)
		g.page = page{segment: segment, lines: make([]grown, 0, cap(g.page.lines))}
	}
	made := makes(l)
	g.page.lines = append(g.page.lines, made)
	return made
}

// end waits until all lines were followed.
func (g *growth) end() error {
	g.pages.put(g.page)
	g.pages.end()
	return <-g.done
}

// follow takes the pages as they come, once it is known what is wanted, and has
// their logs compared.
func (g *growth) follow(l *logs, walked <-chan error) {
	err := <-walked
	if err == nil {
		g.expect(g.c.points)
	}
	for p := range g.pages.all {
		if err == nil {
			err = g.turn(p, l)
		}
		if n := len(p.lines); n > 0 {
			select {
			case g.spare <- p.lines[n-1].upTo: // nobody looks at it any more
			default:
			}
		}
	}
	g.done <- err
}

// turn follows the lines of one segment.
func (g *growth) turn(p page, l *logs) error {
	name := g.prefix + ledger.Segment(p.segment)
	var held map[string]string
	for _, line := range p.lines {
		g.lines++
		if line.entry != nil {
			raw := string(g.hash.Raw("blob", line.entry))
			g.root.put(g.prefix+ledger.Results(p.segment), raw)
			g.c.results.compare(g.c.newest, p.segment, raw, line.entry)
		}
		if len(line.logs) > 0 {
			var err error
			if held, err = l.held(p.segment, held); err != nil {
				return err
			}
			for _, log := range l.record(g.lines-1, line.logs, held) {
				g.root.set(g.prefix+"logs/"+log.name, log.id)
			}
		}
		if g.wanted() {
			g.root.put(name, string(g.hash.Raw("blob", line.upTo)))
			g.answer()
		}
	}
	g.root.set(name, g.ids[p.segment])
	g.root.forget(g.prefix+"logs/"+ledger.Folder(p.segment), g.hash)
	return l.leave(held)
}

// wanted says whether anybody wants the tree of the lines so far.
func (g *growth) wanted() bool {
	for len(g.wants) > 0 && g.wants[0].lines < g.lines {
		g.wants = g.wants[1:]
	}
	return g.every != nil || len(g.wants) > 0 && g.wants[0].lines == g.lines
}

// answer gives that tree.
func (g *growth) answer() {
	if g.every != nil {
		tree := hex.EncodeToString(g.root.sum(g.hash))
		for _, i := range g.every[tree] {
			p := &g.c.points[i]
			p.lines, p.want = g.lines, tree
		}
	}
	for ; len(g.wants) > 0 && g.wants[0].lines == g.lines; g.wants = g.wants[1:] {
		p := g.wants[0].point
		g.root.put(g.prefix+checkpointName, string(g.hash.Raw("blob", []byte(p.note))))
		p.lines, p.want = g.lines, g.tree(p.tree)
	}
}

// tree is the id of the tree of the lines so far; like is one that it is likely to
// be, whose memory it then shares.
func (g *growth) tree(like string) string {
	var room [2 * sha256.Size]byte
	id := hex.AppendEncode(room[:0], g.root.sum(g.hash))
	if string(id) == like {
		return like
	}
	return string(id)
}

// page is a segment of which every line stands in its place.
type page struct {
	segment int
	lines   []grown
}

// pages wait to be followed: as many as fit into some memory, which whoever reads
// the journal is ahead by while the commits are still being listed.
type pages struct {
	mu    sync.Mutex
	moved sync.Cond
	list  []page
	bytes int
	ended bool
}

// maxAhead is what may wait, in bytes.
const maxAhead = 16 << 20

func newPages() *pages {
	p := &pages{}
	p.moved.L = &p.mu
	return p
}

func (p *pages) put(add page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.bytes > maxAhead {
		p.moved.Wait()
	}
	p.list, p.bytes = append(p.list, add), p.bytes+add.size()
	p.moved.Signal()
}

// end says that no more come.
func (p *pages) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.moved.Signal()
}

// all gives them in their order until the end; it is an iter.Seq.
func (p *pages) all(yield func(page) bool) {
	for {
		p.mu.Lock()
		for len(p.list) == 0 && !p.ended {
			p.moved.Wait()
		}
		list := p.list
		p.list, p.bytes = nil, 0
		p.moved.Signal()
		p.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, next := range list {
			if !yield(next) {
				return
			}
		}
	}
}

func (p page) size() int {
	if len(p.lines) == 0 {
		return 0
	}
	return len(p.lines[len(p.lines)-1].upTo)
}
