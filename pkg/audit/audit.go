package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Entry is one file of a flattened tree. Path holds the raw bytes of the tree
// object with slashes, Mode is git's octal mode, such as "100644".
type Entry struct{ Path, Mode, ID string }

// Commit is one commit of a push with its flattened tree.
type Commit struct {
	ID, Message string
	Parents     []string
	Tree        []Entry
}

// Blobs gives the raw bytes of a blob by its object id. It may be asked for
// the same id again. An error makes the candidate invalid, never a skip.
type Blobs interface {
	Blob(id string) ([]byte, error)
}

// Scope says what the contract allows for a slash path; *contract.Contract is
// one. Frozen wins over Writable.
type Scope interface {
	Writable(path string) bool
	Readable(path string) bool
	Frozen(path string) bool
	Generated(path string) bool
}

// Case is one input with the answer that is expected of it.
type Case struct{ ID, Input, Answer string }

// Input is everything that Check looks at. All trees may leave out folders that
// are the same in each of them, and must then list these in Folders; folders
// with frozen files are never left out.
type Input struct {
	Scope         Scope // nil: nothing is writable
	Blobs         Blobs
	Baseline      []Entry // the sealed baseline: what stands there is not news
	Incumbent     []Entry // nil: the baseline
	Candidate     []Entry // nil: the tree of the last commit
	Commits       []Commit
	Folders       []string                // left out of all trees
	Rest          func() ([]Entry, error) // lists what is in them; nil: nothing is left out
	Recorded      string                  // the recorded tip that the first commit must stand on; "" is not checked
	Specification string
	Cases         []Case
	Names         []string // benchmark, fixture and harness names that must not appear
	Numbers       []string // the contract's seeds and thresholds
	Gate          bool     // the run has a sealed gate
}

// Check audits a candidate: the shape of its commits, the tree of its tip, and
// the message and tree of every commit below it. Missing trailers are no
// finding. It never panics, whatever the bytes.
func Check(in Input) Report {
	if n := len(in.Commits); in.Candidate == nil && n > 0 {
		in.Candidate = in.Commits[n-1].Tree
	}
	if in.Incumbent == nil {
		in.Incumbent = in.Baseline
	}
	// A small neighbourhood of the change shows whether there is anything to
	// weigh; only then is the rest of the baseline read for novelty.
	report, partial := check(in, nearBytes)
	if partial && (len(report.Notes) > 0 || slices.ContainsFunc(report.Findings, ofText)) {
		report, _ = check(in, farBytes)
	}
	return report
}

// ofText says that a finding may be none where more of the baseline is known.
func ofText(f Finding) bool {
	family, _, _ := strings.Cut(f.Class, ".")
	return !slices.Contains([]string{"path", "hidden", "history", "audit"}, family)
}

// check is Check with a bound on the bytes of the baseline that are read for
// novelty; partial says that the bound cut something off.
func check(in Input, bytes int) (r Report, partial bool) {
	// A mistake in a rule must not let a candidate stop the supervisor.
	defer func() {
		if recover() != nil {
			r = Report{Findings: ruleBounds.name([]Finding{{Severity: Invalid, Message: stumbled}})}
		}
	}()
	a := newAudit(in, bytes)
	a.index(in.Cases)
	tip := a.tree(in.Candidate)
	found := a.run(tip)
	own := map[identity]bool{}
	for _, f := range found {
		own[identify(f)] = true
	}
	a.inherit(found)
	found = append(found, checkShape(in)...)
	for _, c := range in.Commits[:min(len(in.Commits), maxCommits)] {
		found = append(found, stamp(a.message(c), c.ID)...)
		if sameTree(c.Tree, in.Candidate) {
			continue
		}
		for _, f := range a.run(a.tree(c.Tree)) {
			if !own[identify(f)] {
				f.Commit = c.ID
				found = append(found, f)
			}
		}
	}
	return Report{Findings: tidy(found), Notes: a.noteList()}, a.novel.partial
}

// stumbled is all that is said of a mistake in the audit itself: a trace could
// hold the text of a case.
const stumbled = "the audit cannot read this change; that is a mistake of the audit, please report it"

// audit holds what all trees of one Check share.
type audit struct {
	in     Input
	rules  []rule
	info   information
	novel  *novelty
	cases  *caseIndex
	budget *budget
	chance float64 // bits by which some case matches some line by luck
	blobs  map[string]blob
	broken error            // an object that could not be read
	memo   map[change]*file // a file and what its rules found, by change
	notes  map[string]bool
	// what the digests of the cases were asked for, and found
	digestHits  map[string]digestHit
	digestAsked map[string]bool
	digestTried int
	frozen      *frozenNames
	all         []Entry // the whole baseline, once somebody asked
	window      *windowIndex
}

// newAudit reads the baseline.
func newAudit(in Input, bytes int) *audit {
	a := &audit{in: in, rules: rules, info: newInformation(), budget: newBudget(), blobs: map[string]blob{}, memo: map[change]*file{}, notes: map[string]bool{}}
	if in.Scope == nil {
		a.in.Scope = closed{}
	}
	a.novel = a.readBaseline(bytes)
	return a
}

// index makes the cases ready and reads the candidate, whose size sets what is
// chance.
func (a *audit) index(cases []Case) {
	a.in.Cases = cases
	if a.cases = newCaseIndex(cases, a.in.Names, a.info, a.novel); len(a.cases.list) < len(cases) {
		a.budget.over = fmt.Sprintf("the cases hold more than %d MiB", maxCaseBytes>>20)
	}
	lines := 1
	for _, f := range a.tree(a.in.Candidate).files {
		lines += f.added
	}
	a.chance = math.Log2(float64(lines) * float64(len(cases)+1))
}

// whole lists the baseline with what the trees leave out.
func (a *audit) whole() []Entry {
	if a.all == nil {
		a.all = a.in.Baseline
		if a.in.Rest != nil {
			rest, err := a.in.Rest()
			if err != nil {
				a.budget.over, a.broken = "the files that do not change cannot be listed: "+err.Error(), err
			}
			a.all = slices.Concat(a.in.Baseline, rest)
		}
		a.all = sortedEntries(a.all)
	}
	return a.all
}

// closed is the scope of a contract that is not there.
type closed struct{}

func (closed) Writable(string) bool  { return false }
func (closed) Readable(string) bool  { return false }
func (closed) Frozen(string) bool    { return false }
func (closed) Generated(string) bool { return false }

// run applies every rule to one tree.
func (a *audit) run(t *tree) []Finding {
	var found []Finding
	for _, r := range a.rules {
		if r.tree != nil {
			found = append(found, r.name(r.tree(t))...)
		}
	}
	for _, f := range t.files {
		if !f.done {
			f.found, f.done = a.runFile(f), true
		}
		found = append(found, f.found...)
	}
	for _, r := range a.rules {
		if r.total != nil {
			found = append(found, r.name(r.total(t))...)
		}
	}
	return append(found, a.budget.findings(t)...)
}

func (a *audit) runFile(f *file) []Finding {
	var found []Finding
	for _, r := range a.rules {
		if r.file != nil {
			found = append(found, r.name(r.file(f))...)
		}
		found = append(found, r.name(f.match(r.patterns))...)
	}
	return append(found, a.weighRuns(f)...)
}

// inherit marks what the incumbent has as well.
func (a *audit) inherit(found []Finding) {
	if len(found) == 0 || sameTree(a.in.Incumbent, a.in.Baseline) {
		return
	}
	old := map[identity]bool{}
	for _, f := range a.run(a.tree(a.in.Incumbent)) {
		old[identify(f)] = true
	}
	for i, f := range found {
		found[i].Inherited = old[identify(f)]
	}
}

// identity is what makes two findings of different trees the same finding.
// Lines move, so they are not part of it.
type identity struct {
	class, path, id string
	severity        Severity
}

func identify(f Finding) identity {
	return identity{f.Class, f.Path, f.Case, f.Severity}
}

func stamp(found []Finding, commit string) []Finding {
	for i := range found {
		found[i].Commit = commit
	}
	return found
}

// note records a word for the report.
func (a *audit) note(word string) { a.notes[word] = true }

func (a *audit) noteList() []string {
	var list []string
	for word := range a.notes {
		list = append(list, word)
	}
	slices.Sort(list)
	return list
}

// sameTree compares two flattened trees entry by entry.
func sameTree(a, b []Entry) bool {
	return slices.Equal(a, b)
}
