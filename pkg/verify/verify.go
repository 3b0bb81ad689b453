package verify

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// State says what became of a law.
type State string

// The states of a law.
const (
	Holds      State = "holds"
	Broken     State = "broken"
	NotChecked State = "not checked"
)

// Finding is one record that is wrong.
type Finding struct {
	// Place names the record, Is says what it is and what it should have been.
	Place string `json:"place"`
	Is    string `json:"is"`
}

// Law is one law and what was found.
type Law struct {
	Name  string `json:"law"`
	State State  `json:"state"`
	// Text says how much was checked, or why it was not.
	Text     string    `json:"text"`
	Findings []Finding `json:"findings"`
}

// Report is the outcome of a verification.
type Report struct {
	// Verifier is the key that all signatures were checked with, "" where
	// nothing is signed.
	Verifier string
	// Head is the commit of the state branch, Lines the length of the journal.
	Head  string
	Lines int
	// Cut says that laws were not checked because the clone is shallow.
	Cut  bool
	Laws []Law
	// Exceptions are the walls that the sealed contract does without; nil where
	// it cannot be read.
	Exceptions []string
}

// First gives the first record that is wrong; ok is false where none is.
func (r *Report) First() (law string, f Finding, ok bool) {
	for _, l := range r.Laws {
		if len(l.Findings) > 0 {
			return l.Name, l.Findings[0], true
		}
	}
	return "", Finding{}, false
}

// The laws, in the order in which they are reported: where one breach breaks
// several, the record that is named first is the one that was touched.
const (
	lawSeal       = "seal"
	lawChain      = "chain"
	lawResults    = "results"
	lawBranch     = "branch"
	lawSignatures = "signatures"
	lawAnchors    = "anchors"
	lawOrder      = "order"
	lawTip        = "tip"
	lawLeases     = "leases"
	lawLimits     = "limits"
	lawGate       = "gate"
	lawCandidates = "candidates"
	lawDecisions  = "decisions"
	lawRestores   = "restores"
	lawLogs       = "logs"
)

// names lists the laws in that order.
func names() []string {
	return []string{lawSeal, lawChain, lawResults, lawBranch, lawSignatures, lawAnchors, lawOrder, lawTip,
		lawLeases, lawLimits, lawGate, lawCandidates, lawDecisions, lawRestores, lawLogs}
}

// checker is one verification.
type checker struct {
	*Records
	src      Source
	sealed   *contract.Sealed
	redactor *evaluate.Redactor
	mu       sync.Mutex // over found, more, text and unseen
	found    map[string][]Finding
	more     map[string]int    // findings beyond those, by law
	text     map[string]string // what a law's line says
	unseen   map[string]string // why a law was not checked
	absent   map[string]int    // commits that a shallow clone does not have, by law
	ids      []string          // of the journal's segments
	places   []place           // of the journal's lines
	names    []naming          // commits that its lines name, in their order
	followed int               // lines that were added to Run
	marks    []ledger.Checkpoint
	marked   marked // as of the last of them
	results  results
	ended    string  // the end of an attempt that needs a restore, until the next event
	points   []point // the commits of the state branch, oldest first
	cut      bool    // there are more, which are not in a shallow clone
	verdicts []verdict
	logs     *logs
	right    map[string]string // logs as they were recorded, where the newest commit has others → blob
	kept     []string          // commits that the run branch must hold
	charged  []int             // lines, from 0, that charge a query
	size     int               // of what a query seals
	count    struct{ claims, candidates, decisions, restores, entries, signed, notes, gone, finals int }
}

// naming is a line of the journal, from 0, that names a commit.
type naming struct {
	line int
	id   string
}

// Run checks every law. An error means that the records could not be read at
// all; what is wrong with them stands in the report.
func Run(src Source) (*Report, error) {
	c := &checker{src: src, found: map[string][]Finding{}, more: map[string]int{}, text: map[string]string{}, unseen: map[string]string{}, absent: map[string]int{}}
	err := c.run()
	var object *repo.ObjectError
	var size *repo.SizeError
	const unread = "an object that belongs to the records cannot be read"
	switch {
	case errors.As(err, &object):
		c.bad(lawBranch, "object "+object.ID, "%s", object.Why)
		c.skip(unread, names()...)
	case errors.As(err, &size):
		c.bad(lawBranch, "object "+size.ID, "%s", tooLong(size))
		c.skip(unread, names()...)
	case err != nil:
		return nil, err
	}
	r := &Report{Head: src.State, Cut: len(c.absent) > 0}
	if c.Records != nil {
		r.Lines = len(c.places)
		if c.Verifier != nil {
			r.Verifier = c.Verifier.String()
		}
		if sealed, err := contract.Open(c.Files[contractName], ""); err == nil {
			r.Exceptions = sealed.Exceptions
		}
	}
	for _, name := range names() {
		l := Law{Name: name, State: Holds, Text: c.text[name], Findings: c.found[name]}
		switch why, unseen := c.unseen[name]; {
		case len(l.Findings) > 0:
			l.State = Broken
		case unseen:
			l.State, l.Text = NotChecked, why
		}
		if n := c.more[name]; n > 0 {
			l.Findings = append(l.Findings, Finding{Place: "further records", Is: fmt.Sprintf("%d more are wrong", n)})
		}
		if l.Findings == nil {
			l.Findings = []Finding{}
		}
		r.Laws = append(r.Laws, l)
	}
	return r, nil
}

// run checks the laws in an order in which each finds what it needs. What is
// read from git and what is computed from the journal go on side by side.
func (c *checker) run() error {
	ahead, walked := make(chan error, 1), make(chan error, 1)
	go func() { walked <- c.branch() }()
	go func() { ahead <- c.warm() }()
	ok, err := c.seal()
	if warm := <-ahead; err == nil {
		err = warm
	}
	if !ok || err != nil {
		c.skip("the contract cannot be read", names()...)
		<-walked // it has said what it found
		return err
	}
	whole, err := c.replay(walked)
	if err != nil {
		return err
	}
	if !whole {
		c.skip("the journal cannot be read", lawResults, lawSignatures, lawAnchors, lawOrder, lawTip,
			lawLeases, lawLimits, lawGate, lawCandidates, lawDecisions, lawRestores, lawLogs)
		return nil
	}
	if err := c.grow(); err != nil {
		return err
	}
	c.open()
	c.summarise()
	if err := c.tip(); err != nil {
		return err
	}
	c.anchors()
	return nil
}

// warm has the commits of the run branch read, which will be asked for one by one.
func (c *checker) warm() error {
	o, ok := c.src.Objects.(interface {
		Warm(tips, without []string) error
	})
	if !ok || c.src.Branch == "" {
		return nil
	}
	return o.Warm([]string{c.src.Branch}, []string{c.src.Default})
}

// say notes how much of a law was checked.
func (c *checker) say(law, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text[law] = fmt.Sprintf(format, args...)
}

// maxFindings is how many records are named that break a law; the others are
// counted. One cheap tree may hold millions.
const maxFindings = 1000

// bad notes a record that is wrong.
func (c *checker) bad(law, place, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.found[law]) >= maxFindings {
		c.more[law]++
		return
	}
	c.found[law] = append(c.found[law], Finding{Place: place, Is: fmt.Sprintf(format, args...)})
}

// note notes an error that says what is wrong with a record; another error is
// given back.
func (c *checker) note(law string, err error) error {
	var b *BreachError
	var corrupt *ledger.CorruptError
	var seal *contract.SealError
	switch {
	case errors.As(err, &b):
		c.bad(b.Law, b.Place, "%s", b.Why)
	case errors.As(err, &corrupt):
		at := corrupt.Segment
		if corrupt.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, corrupt.Line)
		}
		c.bad(law, at, "%s", corrupt.Why)
	case errors.As(err, &seal):
		c.bad(law, contractName, "has the digest %s, want %s", seal.Got, seal.Want)
	default:
		return err
	}
	return nil
}

// skip says why laws that have no finding were not checked.
func (c *checker) skip(why string, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if _, said := c.unseen[name]; !said {
			c.unseen[name] = why
		}
	}
}

// isObject says whether s is a whole object id.
func isObject(s string) bool {
	return (len(s) == 2*sha1.Size || len(s) == 2*sha256.Size) && strings.Trim(s, "0123456789abcdef") == ""
}

// commit reads a commit that the records name; ok is false where it is not in
// the repository. One that must be there is then a finding.
func (c *checker) commit(law, place, id string, must bool) (commit repo.Commit, ok bool, err error) {
	if !isObject(id) {
		c.bad(law, place, "%q is no object id", id)
		return commit, false, nil
	}
	commit, err = c.src.Objects.Commit(id)
	var missing *repo.MissingError
	var object *repo.ObjectError
	switch {
	case err == nil:
		return commit, true, nil
	case errors.As(err, &object):
		c.bad(law, place, "names a commit, but %v", object)
		return commit, false, nil
	case !errors.As(err, &missing):
		return commit, false, err
	case c.isAbsent(law):
	case must:
		c.bad(law, place, "commit %s is missing from the repository", id)
	default:
		c.count.gone++
	}
	return commit, false, nil
}

// isAbsent notes that a commit is missing, which means nothing in a shallow clone.
func (c *checker) isAbsent(law string) bool {
	if !c.src.Shallow {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.absent[law]++
	return true
}

// isCut says whether an error comes of a shallow clone, and notes it.
func (c *checker) isCut(law string, err error) bool {
	var missing *repo.MissingError
	return errors.As(err, &missing) && c.isAbsent(law)
}

// anchors compares the records with every checkpoint that was seen before.
func (c *checker) anchors() {
	n := 0
	for _, a := range c.src.Anchors {
		if len(a.Note) == 0 {
			continue
		}
		n++
		if err := c.src.anchor(c.Records, a); err != nil {
			_ = c.note(lawAnchors, err) // always a *BreachError
		}
	}
	switch n -= len(c.Ignored); {
	case n > 0:
		c.say(lawAnchors, "the records go on from %d checkpoints seen before", n)
	case c.Verifier == nil:
		c.skip("nothing is signed: an older state put back would not be noticed", lawAnchors)
	default:
		c.skip("no checkpoint was seen before: an older state put back would not be noticed", lawAnchors)
	}
}

// parallel calls do for 0 to n-1 on all processors.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wait.Wait()
}

// place is where a journal line stands.
type place struct {
	iteration int
	line      int // from 1
	end       int // offset behind the line, in its segment
	kind      ledger.Kind
}

// at names the journal line of an event.
func (c *checker) at(i int) string {
	p := c.places[i]
	return fmt.Sprintf("%s:%d (%s of iteration %d)", ledger.Segment(p.iteration), p.line, p.kind, p.iteration)
}
