package verify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
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
	more         []string          // its parents beyond the first
	id           string            // of its checkpoint, "" without one
	claims       int               // how many journal lines that says it covers, 0 for nothing
	said         [sha256.Size]byte // the hash of all that stands in it before the signature
	// What is found out about it: how many journal lines it holds, 0 where that
	// is not known, the tree that they make, and what is wrong with the
	// checkpoint.
	lines int
	want  string
	err   error
}

func (p *point) place(name string) string { return fmt.Sprintf("%s at %.12s", name, p.commit) }

// branch walks the state branch along its first parents and reads the
// checkpoint of every commit.
func (c *checker) branch() error {
	err := c.src.firstParents(c.src.State, func(commit repo.Commit) bool {
		p := point{commit: strings.Clone(commit.ID), tree: strings.Clone(commit.Tree)} // and not the whole commit with them
		for _, id := range commit.Parents[min(1, len(commit.Parents)):] {
			p.more = append(p.more, strings.Clone(id))
		}
		c.points = append(c.points, p)
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
	slices.Reverse(c.points)
	ids := make([]string, len(c.points))
	for i := range c.points {
		ids[i] = c.points[i].commit
	}
	return c.src.filesAt(ids, journal.Folder(c.src.Tag)+checkpointName, func(i int, id string, data []byte) error {
		p := &c.points[i]
		p.id = id
		p.claims, _ = ledger.Length(data)
		p.said = sha256.Sum256(data[:bytes.LastIndexByte(data, ' ')+1])
		return nil
	})
}

// maxForeign is how many commits that are not as they must be are looked into.
const maxForeign = 100

// grow checks that every commit holds what its journal lines make of the newest
// records, and nothing else: so many lines, more than the one before, their
// results, their logs, the contract and a checkpoint. Nothing of it is read: the
// tree that this gives has one id, and a commit that names it holds just that.
func (c *checker) grow() error {
	c.expect(c.points)
	good := -1 // the newest commit so far that is as it must be
	var foreign []*point
	for i := range c.points {
		p := &c.points[i]
		if len(foreign) < maxForeign && !c.fits(p, good) {
			if err := c.relearn(i, good); err != nil {
				return err
			}
		}
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
	if last, n := c.points[len(c.points)-1], len(c.Chain.Events); last.lines > 0 && last.lines != n {
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

// expect finds out how many journal lines every commit holds, and the tree that
// they make. The checkpoint says how many, and whether that is true the tree
// shows. Where nothing is signed, only one number of lines makes the tree.
func (c *checker) expect(points []point) {
	wants := make([]want, 0, len(points))
	if _, signed := c.Files[checkpointName]; signed {
		for i := range points {
			p := &points[i]
			if p.lines = 0; p.claims == 0 || p.claims > len(c.places) {
				continue
			}
			p.lines = p.claims
			wants = append(wants, want{lines: p.lines, checkpoint: p.id, tree: &p.want})
		}
		slices.SortStableFunc(wants, func(a, b want) int { return a.lines - b.lines })
		c.trees(wants)
		return
	}
	trees := make([]string, len(c.places))
	for i := range trees {
		wants = append(wants, want{lines: i + 1, tree: &trees[i]})
	}
	c.trees(wants)
	lines := make(map[string]int, len(trees))
	for i, tree := range trees {
		lines[tree] = i + 1
	}
	for i := range points {
		p := &points[i]
		if n, ok := lines[p.tree]; ok {
			p.lines, p.want = n, p.tree
		}
	}
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

// foreign says what is wrong with a commit whose tree is not what its checkpoint
// says: what differs from the newest one before that was as it must be. fine
// says that it is the checkpoint alone which is wrong.
func (c *checker) foreign(p *point, good int) (fine bool, err error) {
	changes, err := c.since(p, good)
	if err != nil {
		return false, err
	}
	from := c.upTo(good)
	if p.lines <= from {
		if p.lines, err = c.measure(changes); err != nil {
			return false, err
		}
	}
	if p.lines <= from {
		p.lines = 0
		c.bad(lawBranch, p.place("journal"), "is not the newest journal up to any line behind line %d: records were changed", from)
	}
	fine = p.lines > 0
	grown := c.grown(from, p.lines)
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
	c.trees([]want{{lines: p.lines, checkpoint: p.id, tree: &p.want}})
	if p.tree != p.want {
		c.bad(lawBranch, p.place("the tree "+p.tree), "is not written as git writes what it holds, want %s", p.want)
	}
	return p.tree == p.want, nil
}

// since lists what a commit changes of one that is as it must be.
func (c *checker) since(p *point, good int) ([]repo.Change, error) {
	before := ""
	if good >= 0 {
		before = c.points[good].commit
	}
	return c.src.Objects.Diff(before, p.commit)
}

// relearn looks into a commit for logs that the newest commit does not have as
// they were recorded: where this one does, what the commits from it on must hold
// is found out anew, so that not they but the newest is called wrong.
func (c *checker) relearn(i, good int) error {
	if len(c.logs.wrong) == 0 {
		return nil
	}
	changes, err := c.since(&c.points[i], good)
	if err != nil {
		return err
	}
	right := map[string]string{}
	for _, change := range changes {
		name := strings.TrimPrefix(change.Path, journal.Folder(c.src.Tag)+"logs/")
		for _, log := range c.logs.wrong {
			if log.name != name || change.To.ID == "" {
				continue
			}
			data, err := c.src.Objects.Blob(change.To.ID)
			if err != nil {
				return err
			}
			if ledger.Hash(data) == log.hash {
				right[name] = change.To.ID
			}
		}
	}
	if len(right) == 0 {
		return nil
	}
	c.logs.wrong = slices.DeleteFunc(c.logs.wrong, func(log compared) bool { return right[log.name] != "" })
	for at := range c.logs.recorded {
		if log := &c.logs.recorded[at]; right[log.name] != "" {
			log.id = right[log.name]
		}
	}
	c.expect(c.points[i:])
	return nil
}

// measure says how many journal lines a commit holds by the size of the newest
// segment that it has changed, 0 where no line ends there.
func (c *checker) measure(changes []repo.Change) (int, error) {
	newest, id := "", ""
	for _, change := range changes {
		name := strings.TrimPrefix(change.Path, journal.Folder(c.src.Tag))
		if strings.HasPrefix(name, "journal/") && change.To.ID != "" && older(newest, name) < 0 {
			newest, id = name, change.To.ID
		}
	}
	if id == "" {
		return 0, nil
	}
	data, err := c.src.Objects.Blob(id)
	if err != nil {
		return 0, err
	}
	i, found := slices.BinarySearchFunc(c.places, len(data), func(p place, end int) int {
		return cmp.Or(older(p.segmentName(), newest), cmp.Compare(p.end, end))
	})
	if !found {
		return 0, nil
	}
	return i + 1, nil
}

// older compares the names of two segments, which have three digits or more.
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
	case name == contractName && change.To.ID != c.id(name):
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
	case c.Verifier == nil && p.id != "" && c.unseen[lawSignatures] == "":
		p.err = errors.New("stands there, but the contract has no keys")
		return
	case c.Verifier == nil:
		return
	case p.id == "":
		p.err = errors.New("was not written: every commit must sign what it adds")
		return
	}
	is, ok := c.was(p.lines)
	if text, err := is.Format(); ok && err == nil && !whole && p.said == sha256.Sum256([]byte(text+"\n— "+c.Verifier.Name()+" ")) {
		return
	}
	note, err := c.src.Objects.Blob(p.id) // not kept: there are many
	if err != nil {
		p.err = fmt.Errorf("cannot be read: %w", err)
		return
	}
	signed, err := c.Verifier.Checkpoint(note)
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
	is.Lines, is.Head = n, headAt(c.Chain, n)
	return is, true
}
