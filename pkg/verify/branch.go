package verify

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// point is one commit of the state branch.
type point struct {
	commit, tree string
	more         []string // its parents beyond the first
	note         string   // its checkpoint, "" without one
	// What is found out about it: how many journal lines it holds, 0 where that
	// is not known, the tree that they make, and what is wrong with the
	// checkpoint.
	lines int
	want  string
	err   error
}

func (p *point) place(name string) string { return fmt.Sprintf("%s at %.12s", name, p.commit) }

// What is kept of a commit is bounded: git packs a message of 100 MB into some KB.
const (
	maxPoint   = 8 << 10 // bytes of a checkpoint, which has some hundred
	maxParents = 1000    // which are one for a judged commit
)

// short copies a checkpoint, and none that is longer than any can be.
func short[T string | []byte](note T) string {
	if len(note) > maxPoint {
		return ""
	}
	return strings.Clone(string(note))
}

// branch walks the state branch along its first parents. Every commit gives its
// checkpoint in its message: whether it holds that one its tree will show.
func (c *checker) branch() error {
	const some = 1024 // are kept together until all are known, and not copied over and over
	var lists [][]point
	err := c.src.Objects.FirstParents(c.src.State, func(commit repo.Commit) bool {
		p := point{commit: strings.Clone(commit.ID), tree: strings.Clone(commit.Tree), note: short(journal.Signed(commit.Message))}
		if n := len(commit.Parents); n > maxParents {
			c.bad(lawBranch, "commit "+p.commit, "has %d parents, want at most %d", n, maxParents)
			commit.Parents = commit.Parents[:1]
		}
		for _, id := range commit.Parents[min(1, len(commit.Parents)):] {
			p.more = append(p.more, strings.Clone(id)) // and not the whole commit with it
		}
		if n := len(lists); n == 0 || len(lists[n-1]) == some {
			lists = append(lists, make([]point, 0, some))
		}
		last := &lists[len(lists)-1]
		*last = append(*last, p)
		return true
	})
	c.points = slices.Concat(lists...)
	slices.Reverse(c.points)
	var missing *repo.MissingError
	switch {
	case c.isCut(lawBranch, err):
		c.cut = true
	case errors.As(err, &missing):
		c.bad(lawBranch, "the state branch", "commit %s is missing from the repository", missing.ID)
	default:
		return err
	}
	return nil
}

// maxForeign is how many commits that are not as they must be are looked into.
const maxForeign = 100

// grow checks that every commit holds what its journal lines make of the newest
// records, and nothing else: so many lines, more than the one before, their
// results, their logs, the contract and a checkpoint. Nothing of it is read: the
// tree that this gives has one id, and a commit that names it holds just that.
func (c *checker) grow() error {
	if err := c.relearn(); err != nil {
		return err
	}
	good := -1 // the newest commit so far that is as it must be
	var foreign []*point
	for i := range c.points {
		p := &c.points[i]
		fine, before := c.fits(p, good), c.upTo(good)
		if !fine {
			if foreign = append(foreign, p); len(foreign) > maxForeign {
				continue
			}
			var err error
			if fine, err = c.foreign(p, good); err != nil {
				return err
			}
		}
		c.parents(p, before)
		if fine {
			good = i
		}
	}
	if n := len(foreign); n > maxForeign {
		c.bad(lawBranch, "commit "+foreign[maxForeign].commit, "and %d more after it are not as they must be either", n-maxForeign-1)
	}
	c.signed()
	if first := c.points[0]; !c.cut && first.lines > 1 {
		c.bad(lawBranch, "commit "+first.commit, "is the first, and holds %d journal lines, want 1: what stood before it was cut off", first.lines)
	}
	if last, n := c.points[len(c.points)-1], len(c.places); last.lines > 0 && last.lines != n {
		c.bad(lawBranch, "commit "+c.src.State, "holds %d journal lines, want %d", last.lines, n)
	}
	return nil
}

// upTo says how many journal lines a commit holds that is as it must be, 0 for
// none.
func (c *checker) upTo(good int) int {
	if good < 0 {
		return 0
	}
	return c.points[good].lines
}

// fits says whether a commit is as it must be behind one that is.
func (c *checker) fits(p *point, good int) bool {
	return p.lines > c.upTo(good) && p.tree == p.want
}

// parents refuses further parents of a commit that the lines which it adds to
// those before do not name.
func (c *checker) parents(p *point, before int) {
	if len(p.more) == 0 {
		return
	}
	named := c.named(before, p.lines)
	for _, id := range p.more {
		if !named[id] {
			c.bad(lawBranch, "commit "+p.commit, "has the parent %s, which none of its %d journal lines names", id, max(p.lines-before, 0))
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

// foreign says what is wrong with a commit whose tree is not what its message
// says: what differs from the newest one before that was as it must be. fine
// says that it is the checkpoint or the message alone which is wrong.
func (c *checker) foreign(p *point, good int) (fine bool, err error) {
	before := ""
	if good >= 0 {
		before = c.points[good].commit
	}
	changes, err := c.src.Objects.Diff(before, p.commit)
	if errors.Is(err, repo.ErrTooMany) { // no honest one comes near
		p.lines = 0
		c.bad(lawBranch, "commit "+p.commit, "cannot be looked into: %v", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	from := c.upTo(good)
	if err := c.length(p, good, changes); err != nil {
		return false, err
	}
	if p.lines <= from {
		p.lines = 0
		c.bad(lawBranch, p.place("journal"), "is not the newest journal up to any line behind line %d: records were changed", from)
	}
	grown, err := c.grown(from, p.lines)
	if err != nil {
		return false, err
	}
	fine = p.lines > 0
	for _, change := range changes {
		name, why := c.change(change, good < 0, grown)
		if why != "" {
			fine = false
			c.bad(lawBranch, p.place(name), "%s", why)
		}
		delete(grown, name)
	}
	for _, name := range slices.Sorted(maps.Keys(grown)) {
		fine = false
		c.bad(lawBranch, p.place(name), "is not what the journal up to line %d makes of it: records were changed", p.lines)
	}
	if !fine {
		return false, nil
	}
	return c.plain(p)
}

// plain checks that the tree of a commit is written as git writes what it holds.
func (c *checker) plain(p *point) (fine bool, err error) {
	all, err := c.src.Objects.Diff("", p.commit)
	if err != nil {
		return false, err
	}
	root := &folder{width: len(p.tree) / 2}
	for _, f := range all {
		root.set(f.Path, f.To.ID)
	}
	if p.want = hex.EncodeToString(root.sum(repo.NewHasher(root.width))); p.tree != p.want {
		c.bad(lawBranch, p.place("the tree "+p.tree), "is not written as git writes what it holds, want %s", p.want)
	}
	return p.tree == p.want, nil
}

// length finds out the checkpoint that a commit holds, and by it how many journal
// lines, or by the size of its newest segment: 0 where no line ends there.
func (c *checker) length(p *point, good int, changes []repo.Change) error {
	said := p.note
	p.note, p.lines = "", 0
	if good >= 0 {
		p.note = c.points[good].note
	}
	newest, id := "", ""
	for _, change := range changes {
		switch name := strings.TrimPrefix(change.Path, journal.Folder(c.src.Tag)); {
		case name == checkpointName:
			p.note = ""
			if change.To.ID == "" {
				continue
			}
			data, err := c.src.Objects.Blob(change.To.ID)
			if err != nil {
				return err
			}
			p.note = short(data)
		case strings.HasPrefix(name, "journal/") && change.To.ID != "" && older(newest, name) < 0:
			newest, id = name, change.To.ID
		}
	}
	if c.Verifier != nil && p.note != "" && p.note != said {
		c.bad(lawBranch, p.place("the message"), "is not the one that goes with its checkpoint")
	}
	if n, ok := ledger.Length(p.note); ok && n > c.upTo(good) && n <= len(c.places) {
		p.lines = n
	} else if id != "" {
		data, err := c.src.Objects.Blob(id)
		if err != nil {
			return err
		}
		p.lines = c.measured(newest, len(data))
	}
	return nil
}

// measured says how many journal lines there are up to so many bytes of a
// segment, 0 where no line ends there.
func (c *checker) measured(segment string, bytes int) int {
	i, found := slices.BinarySearchFunc(c.places, bytes, func(p place, end int) int {
		return cmp.Or(older(ledger.Segment(p.iteration), segment), cmp.Compare(p.end, end))
	})
	if !found {
		return 0
	}
	return i + 1
}

// older compares the names of two segments, whose numbers are written without
// zeros before them.
func older(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// change says why a change of a commit must not be; grown are the files that its
// lines make, first says that it is no change but stands in the first commit.
func (c *checker) change(change repo.Change, first bool, grown map[string]string) (name, why string) {
	if change.To.ID == "" {
		return fmt.Sprintf("%+q", change.Path), "is gone: records are never removed"
	}
	name, err := c.src.name(change.To)
	var b *BreachError
	if errors.As(err, &b) {
		return b.Place, b.Why
	}
	isLog := strings.HasPrefix(name, "logs/")
	want, ok := grown[name]
	switch {
	case name == checkpointName:
	case name == contractName && !first:
		why = "was changed, or added late: a run has one contract"
	case name == contractName && change.To.ID != c.newest.files[contractName]:
		why = "is not the contract of the newest commit: a run has one contract"
	case name == contractName:
	case isLog && change.From.ID != "":
		why = "was changed: a log is written once"
	case isLog && !ok:
		why = "is recorded by none of the lines that the commit adds"
	case isLog && change.To.ID != want:
		why = "is not the newest one: a log is written once"
	case change.To.ID != want:
		why = "is not what the journal up to the commit's last line makes of it: records were changed"
	}
	return name, why
}

// grown gives the files that lines from+1 to n of the journal make or make
// longer, with their ids.
func (c *checker) grown(from, n int) (map[string]string, error) {
	out := map[string]string{}
	if n <= from {
		return out, nil
	}
	h := repo.NewHasher(len(c.src.State) / 2)
	for iteration := c.places[from].iteration; iteration <= c.places[n-1].iteration; iteration++ {
		name := ledger.Segment(iteration)
		data, err := c.src.Objects.Blob(c.newest.files[name])
		if err != nil {
			return nil, err
		}
		lines, err := ledger.Decode(name, data)
		if err != nil {
			return nil, err
		}
		logs, err := c.src.logsOf(c.newest, iteration)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if seq := l.Event.Seq; seq < from || seq >= n {
				continue
			}
			g := makes(l)
			out[name] = string(h.ID("blob", l.UpTo))
			if g.entry != nil {
				out[ledger.Results(iteration)] = string(h.ID("blob", g.entry))
			}
			for log := range g.logs {
				out["logs/"+log] = cmp.Or(c.right[log], logs[log])
			}
		}
	}
	return out, nil
}

// maxNotes is how many checkpoints, and how many verdict notes, have their own
// signature checked where not all are asked for. What lies behind the newest
// commit is bound by its chain.
const maxNotes = 1000

// sample picks what is checked of n things: all where there are few or all are
// asked for, else the newest ones and an even spread of those before.
func (c *checker) sample(n int) []int {
	var out []int
	most := maxNotes
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

// signed checks the checkpoint of every commit.
func (c *checker) signed() {
	whole := make([]bool, len(c.points))
	for _, i := range c.sample(len(c.points)) {
		whole[i] = true
		c.count.signed++
	}
	parallel(len(c.points), func(i int) { c.checkpoint(&c.points[i], whole[i]) })
	for i := range c.points {
		if p := &c.points[i]; p.err != nil {
			c.bad(lawSignatures, p.place(checkpointName), "%v", p.err)
		}
	}
}

// checkpoint finds out what is wrong with the checkpoint of a commit; whole asks
// for its signature where it says what it must.
func (c *checker) checkpoint(p *point, whole bool) {
	switch {
	case c.Verifier == nil && p.note != "" && c.unseen[lawSignatures] == "":
		p.err = errors.New("stands there, but the contract has no keys")
		return
	case c.Verifier == nil:
		return
	case p.note == "":
		p.err = errors.New("was not written: every commit must sign what it adds")
		return
	}
	is, ok := c.was(p.lines)
	if text, err := is.Format(); ok && err == nil && !whole && strings.HasPrefix(p.note, text+"\n— "+c.Verifier.Name()+" ") {
		return
	}
	signed, err := c.Verifier.Checkpoint([]byte(p.note))
	if err != nil {
		p.err = err
		return
	}
	if ok { // what was said of the length or of the order need not be said again
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
	if i < 0 || n == 0 || n > c.followed {
		return is, false
	}
	is = c.marks[i]
	is.Lines, is.Head = n, c.head(n)
	return is, true
}
