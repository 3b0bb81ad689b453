package verify

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/research-loop/research-loop/pkg/contract"
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
	Laws  []Law
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
	mu       sync.Mutex // over found, text and unseen
	found    map[string][]Finding
	text     map[string]string // what a law's line says
	unseen   map[string]string // why a law was not checked
	places   []place           // of the journal's lines
	past     int               // commits of the state branch
	points   []point           // those of them to check, oldest first
	verdicts map[int]verdict   // by the event that published it
	logs     map[string]string // files below logs/ → blob
	kept     []string          // commits that the run branch must hold
	size     int               // of what a query seals
	count    struct{ claims, candidates, decisions, restores, verdicts, signed, logs, gone, finals int }
}

// Run checks every law. An error means that the records could not be read at
// all; what is wrong with them stands in the report.
func Run(src Source) (*Report, error) {
	c := &checker{src: src, found: map[string][]Finding{}, text: map[string]string{}, unseen: map[string]string{}, logs: map[string]string{}}
	if err := c.run(); err != nil {
		return nil, err
	}
	r := &Report{Head: src.State}
	if c.Records != nil {
		r.Lines = len(c.Chain.Events)
		if c.Verifier != nil {
			r.Verifier = c.Verifier.String()
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
	if ok, err := c.seal(); !ok || err != nil {
		c.skip("the contract cannot be read", names()...)
		return err
	}
	walked := make(chan error, 1)
	go func() { walked <- c.branch() }()
	whole := c.chain()
	if err := <-walked; err != nil {
		return err
	}
	if !whole {
		c.skip("the journal cannot be read", lawResults, lawSignatures, lawAnchors, lawOrder, lawTip,
			lawLeases, lawLimits, lawGate, lawCandidates, lawDecisions, lawRestores, lawLogs)
		return nil
	}
	var results sync.WaitGroup
	results.Go(c.results)
	defer results.Wait()
	c.measure()
	c.open()
	c.grow()
	if err := c.replay(); err != nil {
		return err
	}
	if left := c.past - len(c.points); left > 0 {
		c.say(lawBranch, "%s; %d older ones were looked at by their successors alone", c.text[lawBranch], left)
		c.say(lawSignatures, "%s; %d older checkpoints were not checked", c.text[lawSignatures], left)
	}
	if err := c.checkLogs(); err != nil {
		return err
	}
	if err := c.tip(); err != nil {
		return err
	}
	c.anchors()
	return nil
}

// say notes how much of a law was checked.
func (c *checker) say(law, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text[law] = fmt.Sprintf(format, args...)
}

// bad notes a record that is wrong.
func (c *checker) bad(law, place, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// commit reads a commit that the records name; ok is false where it is not in
// the repository. One that must be there is then a finding.
func (c *checker) commit(law, place, id string, must bool) (commit repo.Commit, ok bool, err error) {
	if !objectID.MatchString(id) {
		c.bad(law, place, "%q is no object id", id)
		return commit, false, nil
	}
	commit, err = c.src.Objects.Commit(id)
	var missing *repo.MissingError
	switch {
	case err == nil:
		return commit, true, nil
	case !errors.As(err, &missing):
		return commit, false, err
	case must:
		c.bad(law, place, "commit %s is missing from the repository", id)
	default:
		c.count.gone++
	}
	return commit, false, nil
}

// chain reads the journal; whole is false where it cannot be read.
func (c *checker) chain() (whole bool) {
	segments := map[string][]byte{}
	for name, data := range c.Files {
		if strings.HasPrefix(name, "journal/") {
			segments[name] = data
		}
	}
	var err error
	if c.Chain, err = ledger.ReadJournal(segments); err != nil {
		_ = c.note(lawChain, err) // always a *ledger.CorruptError
		return false
	}
	c.say(lawChain, "%d lines in %d segments, each names the hash of the one before", len(c.Chain.Events), len(segments))
	c.places = placesOf(c.Chain.Events)
	return true
}

// results compares the results with the journal.
func (c *checker) results() {
	results := map[string][]byte{}
	for name, data := range c.Files {
		if strings.HasPrefix(name, "results/") {
			results[name] = data
		}
	}
	entries, err := ledger.ReadResults(results, c.Chain.Events)
	if err != nil {
		_ = c.note(lawResults, err) // always a *ledger.CorruptError
	}
	c.say(lawResults, "%d entries, as the journal finalized them", len(entries))
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
	segment string
	line    int // from 1
	end     int // offset behind the line, in its segment
	entry   int // offset behind the line's entry in its results segment, 0 without one
}

// placesOf gives the segment and number of every line; measure adds where it ends.
func placesOf(events []ledger.Event) []place {
	out := make([]place, len(events))
	line := 0
	for i, e := range events {
		name := ledger.Segment(e.Iteration)
		if i == 0 || name != out[i-1].segment {
			line = 0
		}
		line++
		out[i] = place{segment: name, line: line}
	}
	return out
}

// at names the journal line of an event.
func (c *checker) at(i int) string {
	e, p := c.Chain.Events[i], c.places[i]
	return fmt.Sprintf("%s:%d (%s of iteration %d)", p.segment, p.line, e.Data.Kind(), e.Iteration)
}
