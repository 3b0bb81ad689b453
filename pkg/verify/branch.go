package verify

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// point is one commit of the state branch.
type point struct {
	commit string
	more   []string          // its parents beyond the first
	note   []byte            // the checkpoint, if it changed
	files  map[string]string // segments that changed → blob
	// What is found out about it: how many journal lines it holds, 0 where that
	// is not known, and, if it was looked at, what it signs or why nothing.
	lines  int
	says   int // the lines that the checkpoint claims, 0 without one
	signed ledger.Checkpoint
	err    error
}

func (p *point) place(name string) string { return fmt.Sprintf("%s at %.12s", name, p.commit) }

// branch walks the state branch along its first parents and lists what the
// commits to check have changed since the one before.
func (c *checker) branch() error {
	var commits []repo.Commit
	for id := c.src.State; id != ""; {
		commit, ok, err := c.commit(lawBranch, "the state branch", id, true)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		commits = append(commits, commit)
		id = ""
		if len(commit.Parents) > 0 {
			id = commit.Parents[0]
		}
	}
	slices.Reverse(commits)
	c.past = len(commits)
	before, done := "", 0
	for _, i := range c.toCheck() {
		p := point{commit: commits[i].ID, files: map[string]string{}}
		for ; done <= i; done++ {
			p.more = append(p.more, commits[done].Parents[min(1, len(commits[done].Parents)):]...)
		}
		changes, err := c.src.Objects.Diff(before, p.commit)
		if err != nil {
			return err
		}
		for _, change := range changes {
			if err := c.change(&p, change, before == ""); err != nil {
				return err
			}
		}
		c.points = append(c.points, p)
		before = p.commit
	}
	c.say(lawBranch, "%d commits, each only adds to journal, results and logs", c.past)
	return nil
}

// parents refuses further parents of a commit that its own lines do not name.
func (c *checker) parents(p *point, from int) {
	named := map[string]bool{}
	for _, e := range c.Chain.Events[from:max(p.lines, from)] {
		for _, id := range journal.Naming(e.Data) {
			named[id] = true
		}
	}
	for _, id := range p.more {
		if !named[id] {
			c.bad(lawBranch, "commit "+p.commit, "has, or one just before it, the parent %s, which none of its %d journal lines names", id, max(p.lines-from, 0))
		}
	}
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
		p.note, err = c.src.Objects.Blob(entry.ID)
		return err
	case name == contractName && !first:
		c.bad(lawBranch, p.place(name), "was changed, or added late: a run has one contract")
	case strings.HasPrefix(name, "logs/") && change.From.ID != "":
		c.bad(lawBranch, p.place(name), "was changed: a log is written once")
	case strings.HasPrefix(name, "logs/"):
		c.logs[strings.TrimPrefix(name, "logs/")] = entry.ID
	case name != contractName:
		p.files[name] = entry.ID
	}
	return nil
}

// maxPast is how many commits of the state branch are checked where not all are
// asked for. What lies behind the newest commit is bound by its chain; checking
// it too names a commit that was damaged, and is most of the work: every commit
// holds its whole segment anew.
const maxPast = 2000

// toCheck lists the commits to check: all where there are few, nothing is signed
// or all are asked for, else the newest ones and an even spread of those before.
func (c *checker) toCheck() []int {
	var out []int
	if c.past <= maxPast || c.src.All || c.Verifier == nil {
		for i := range c.past {
			out = append(out, i)
		}
		return out
	}
	const newest = maxPast / 2
	older := c.past - newest
	for i := range maxPast - newest {
		out = append(out, i*older/(maxPast-newest))
	}
	for i := older; i < c.past; i++ {
		out = append(out, i)
	}
	return out
}

// open opens the checkpoints and every verdict note.
func (c *checker) open() {
	if c.Verifier == nil {
		return
	}
	parallel(len(c.points), func(i int) {
		p := &c.points[i]
		if p.note == nil {
			p.err = errors.New("was not written: every commit must sign what it adds")
			return
		}
		p.says, _ = ledger.Length(p.note)
		p.signed, p.err = c.Verifier.Checkpoint(p.note)
	})
	var published []int
	for i, e := range c.Chain.Events {
		if _, ok := e.Data.(*ledger.Published); ok {
			published = append(published, i)
		}
	}
	read := make([]verdict, len(published))
	parallel(len(published), func(i int) {
		d, _ := c.Chain.Events[published[i]].Data.(*ledger.Published)
		read[i].note, read[i].err = c.Verifier.Verdict([]byte(d.Note))
	})
	c.verdicts = map[int]verdict{}
	for i, v := range read {
		c.verdicts[published[i]] = v
	}
}

// verdict is a verdict note, or why it is none.
type verdict struct {
	note ledger.VerdictNote
	err  error
}

// grow checks that journal and results of every commit to check are the
// beginning of the newest ones, longer than those of the one before. No blob is
// read: its id is the hash of what it must be.
func (c *checker) grow() {
	before := 0
	from := make([]int, len(c.points))
	for i := range c.points {
		p := &c.points[i]
		from[i] = before
		p.lines = c.length(p, before)
		c.parents(p, before)
		if p.lines == 0 {
			c.bad(lawBranch, p.place("journal"), "is not the newest journal up to any line behind line %d: records were changed", before)
		} else {
			before = p.lines
		}
	}
	if n := len(c.Chain.Events); before != n {
		c.bad(lawBranch, "commit "+c.src.State, "holds %d journal lines, want %d", before, n)
	}
	wrong := make([]string, len(c.points))
	parallel(len(c.points), func(i int) {
		if p := &c.points[i]; p.lines > 0 {
			wrong[i] = c.mismatch(p, from[i], p.lines)
		}
	})
	for i, name := range wrong {
		if p := &c.points[i]; name != "" {
			c.bad(lawBranch, p.place(name), "is not the newest one up to journal line %d: records were changed", p.lines)
		}
	}
}

// length says how many lines of the journal a commit holds, more than before;
// 0 if that cannot be found out. The checkpoint says it; whether that is true
// its signature and the blobs show. Without one the blobs are tried.
func (c *checker) length(p *point, before int) int {
	if c.Verifier != nil && p.says > 0 {
		if p.says > before && p.says <= len(c.Chain.Events) {
			return p.says
		}
		return 0
	}
	for n := before + 1; n <= len(c.Chain.Events); n++ {
		if c.mismatch(p, before, n) == "" {
			return n
		}
	}
	return 0
}

// mismatch names the first segment of a commit that is not what lines from+1 to
// n of the journal make of it, "" where there is none.
func (c *checker) mismatch(p *point, from, n int) string {
	want := map[string]int{} // segment → length
	for i := from; i < n; i++ {
		at := c.places[i]
		want[at.segment] = at.end
		if at.entry > 0 {
			want[ledger.Results(c.Chain.Events[i].Iteration)] = at.entry
		}
	}
	for name, id := range p.files {
		length, ok := want[name]
		if !ok || length > len(c.Files[name]) || blobID(c.Files[name][:length], len(id)) != id {
			return name
		}
		delete(want, name)
	}
	for name := range want {
		return name
	}
	return ""
}

// measure finds out where every journal line and every entry ends.
func (c *checker) measure() {
	journal, results := map[string]int{}, map[string]int{}
	for i, e := range c.Chain.Events {
		p := &c.places[i]
		journal[p.segment] += lineLength(c.Files[p.segment][journal[p.segment]:])
		p.end = journal[p.segment]
		if f, ok := e.Data.(*ledger.Finalized); ok {
			name := ledger.Results(f.Entry.Iteration)
			results[name] += lineLength(c.Files[name][min(results[name], len(c.Files[name])):])
			p.entry = results[name]
		}
	}
}

// lineLength is the length of the first line, with its newline.
func lineLength(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1
	}
	return len(data)
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

// checkLogs compares every log with what its pass recorded.
func (c *checker) checkLogs() error {
	for i, e := range c.Chain.Events {
		d, ok := e.Data.(*ledger.Evaluated)
		if !ok {
			continue
		}
		for name, want := range d.Logs {
			id, ok := c.logs[name]
			if !ok {
				c.bad(lawLogs, "logs/"+name, "is missing, %s recorded it", c.at(i))
				continue
			}
			delete(c.logs, name)
			data, err := c.src.Objects.Blob(id)
			if err != nil {
				return err
			}
			if is := ledger.Hash(data); is != want {
				c.bad(lawLogs, "logs/"+name, "has %s, %s recorded %s", is, c.at(i), want)
			}
			c.count.logs++
		}
	}
	for name := range c.logs {
		c.bad(lawLogs, "logs/"+name, "was recorded by no pass")
	}
	c.say(lawLogs, "%d files, each as its pass recorded it", c.count.logs)
	return nil
}
