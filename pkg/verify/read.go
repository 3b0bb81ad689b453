package verify

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// Objects reads git objects by their full ids, and hashes what it reads. An
// object that is not there is a *repo.MissingError. *repo.Clone and *repo.Work
// satisfy it.
type Objects interface {
	Single
	Bulk
}

// Single reads one object.
type Single interface {
	Commit(id string) (repo.Commit, error)
	// Diff lists what differs between the trees of two commits, all files of
	// the second where the first is "".
	Diff(from, to string) ([]repo.Change, error)
	Blob(id string) ([]byte, error)
}

// Bulk reads many objects, in their order, until there is an error, also one of
// its caller's.
type Bulk interface {
	// FirstParents shows a commit, its first parent, and so on.
	FirstParents(tip string, visit func(repo.Commit) (more bool)) error
	// Folders shows what stands directly in each of many trees, names in place
	// of paths.
	Folders(trees []string, take func(i int, entries []repo.Entry) error) error
	// Stream shows some n blobs, or what is wrong with them, while ids go on to
	// come; data is take's only while it runs.
	Stream(n int, ids iter.Seq[string], take func(i int, data []byte, err error) error) error
}

// Source says where the records of a run are, and by what they are judged.
type Source struct {
	Objects Objects
	Tag     contract.Tag
	// Origin is the run's name in its notes: see ledger.Origin.
	Origin string
	// State, Default and Branch are the commits at which state branch, default
	// branch and run branch stand. Only Branch may be "", for none.
	State, Default, Branch string
	// Anchors are notes of the same run that were seen before.
	Anchors []Anchor
	// Shallow says that history was cut off when the repository was fetched:
	// what is missing from it is then not checked, and not wrong.
	Shallow bool
	// All asks Run to check the signature of every checkpoint and of every
	// verdict note, however many there are.
	All bool
}

// blobs shows take the contents of many records, which name names; data is take's
// only while it runs. An error that is one of a record is a *BreachError.
func (src Source) blobs(ids []string, name func(i int) string, take func(i int, data []byte) error) error {
	return src.Objects.Stream(len(ids), slices.Values(ids), func(i int, data []byte, err error) error {
		var size *repo.SizeError
		switch {
		case errors.As(err, &size):
			return breach("branch", name(i), "%s", tooLong(size))
		case err != nil:
			return err
		}
		return take(i, data)
	})
}

// tooLong says what is wrong with a record that is not read.
func tooLong(e *repo.SizeError) string {
	return fmt.Sprintf("has %d bytes, more than the %d that are read of a record", e.Bytes, e.Limit)
}

// Anchor is a checkpoint or a verdict note that was seen before. One that does not
// verify is none.
type Anchor struct {
	// Where names the place that it was read from.
	Where string
	Note  []byte
}

// Records are the records of a run, as far as a reader must look at them.
type Records struct {
	Run   *journal.Run
	Chain ledger.Chain
	// Files are the files of the run's folder by their names below it, logs left
	// out: all of them for a reader, contract and checkpoint for Run.
	Files map[string][]byte
	// Verifier is the key that signs the run, nil where nothing is signed.
	Verifier *ledger.Verifier
	// Ignored are anchors that do not verify, by their place.
	Ignored []string

	newest *newest
	hashes []string // of the journal's lines
}

// BreachError says that records are not what they must be. It is an integrity
// error: whoever meets it stops, and a person must look.
type BreachError struct {
	// Law is the law that is broken, Place the record, Why what it is and what
	// it should have been.
	Law, Place, Why string
}

func (e *BreachError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Law, e.Place, e.Why) }

func breach(law, place, format string, args ...any) *BreachError {
	return &BreachError{Law: law, Place: place, Why: fmt.Sprintf(format, args...)}
}

// Read reads the newest records of a run and refuses those that are not signed
// as the contract on the default branch says: another key, another origin, a
// longer or shorter journal than the signed one, a journal that does not go on
// from an anchor. Errors are *BreachError, *ledger.CorruptError,
// *contract.SealError; and whatever Objects says.
func Read(src Source) (*Records, error) {
	r, sealed, err := src.open(func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	if r.Verifier, err = src.trust(sealed, r.Files[contractName]); err != nil {
		return nil, err
	}
	signed, err := src.signature(r)
	if err != nil {
		return nil, err
	}
	if r.Run, r.Chain, err = journal.Read(src.Tag, r.Files); err != nil {
		return nil, err
	}
	for _, e := range r.Chain.Events[1:] {
		r.hashes = append(r.hashes, e.Prev)
	}
	r.hashes = append(r.hashes, r.Chain.Head)
	if r.Verifier != nil {
		if b := agree(signed, r.Run.Checkpoint(src.Origin, r.Chain), checkpointName); b != nil {
			return nil, b
		}
	}
	return r, src.anchored(r)
}

const (
	contractName   = "contract.md"
	checkpointName = "checkpoint"
)

// open lists the records, reads those files of them that are wanted, contract and
// checkpoint always, and opens the sealed contract.
func (src Source) open(wanted func(name string) bool) (*Records, *contract.Sealed, error) {
	list, err := src.list()
	if err != nil {
		return nil, nil, err
	}
	r := &Records{Files: map[string][]byte{}, newest: list}
	var names, ids []string
	for _, name := range slices.Sorted(maps.Keys(list.files)) { // what lies together is read together
		if name == contractName || name == checkpointName || wanted(name) {
			names, ids = append(names, name), append(ids, list.files[name])
		}
	}
	err = src.blobs(ids, func(i int) string { return names[i] }, func(i int, data []byte) error {
		r.Files[names[i]] = append([]byte{}, data...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if _, ok := r.Files[contractName]; !ok {
		return nil, nil, breach("seal", contractName, "is missing from %s", journal.StateBranch(src.Tag))
	}
	sealed, err := contract.Open(r.Files[contractName], "")
	var faults *contract.Faults
	if errors.As(err, &faults) {
		err = breach("seal", contractName, "is no sealed contract: %s", faults.List[0].Message)
	}
	return r, sealed, err
}

// trust finds the run's verifier where alone it may be found: in the draft on
// the default branch at the commit that the seal pinned. What was sealed must
// be that draft and no other.
func (src Source) trust(sealed *contract.Sealed, text []byte) (*ledger.Verifier, error) {
	pinned := sealed.Facts.Pinned
	if sealed.Facts.Tag != src.Tag {
		return nil, breach("seal", contractName, "is the contract of run %s, want %s", sealed.Facts.Tag, src.Tag)
	}
	ok, err := descends(src.Objects, pinned, src.Default)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, breach("seal", contractName, "is pinned to %.12s, which is not below the default branch at %.12s: only there may the keys stand", pinned, src.Default)
	}
	draft, err := file(src.Objects, pinned, contract.DraftPath)
	if err != nil {
		return nil, err
	}
	if draft == nil {
		return nil, breach("seal", contractName, "is pinned to %.12s, where there is no %s", pinned, contract.DraftPath)
	}
	c, err := contract.Parse(contract.DraftPath, draft)
	if err != nil {
		return nil, breach("seal", contractName, "is pinned to %.12s, whose %s is refused: %v", pinned, contract.DraftPath, err)
	}
	if was, is := verifierOf(c), verifierOf(sealed.Contract); was != is {
		return nil, breach("seal", contractName, "has the verifier %q, the default branch at %.12s has %q", is, pinned, was)
	}
	if !bytes.Equal(contract.Seal(draft, c, sealed.Facts), text) {
		return nil, breach("seal", contractName, "is not the contract that stands in %s at %.12s", contract.DraftPath, pinned)
	}
	if c.Keys == nil {
		return nil, nil
	}
	return ledger.ParseVerifier(c.Keys.Verifier)
}

func verifierOf(c *contract.Contract) string {
	if c.Keys == nil {
		return ""
	}
	return c.Keys.Verifier
}

// signature opens the newest checkpoint, of a run that has keys.
func (src Source) signature(r *Records) (ledger.Checkpoint, error) {
	data, ok := r.Files[checkpointName]
	switch {
	case r.Verifier == nil && ok:
		return ledger.Checkpoint{}, breach("signatures", checkpointName, "stands there, but the contract has no keys")
	case r.Verifier == nil:
		return ledger.Checkpoint{}, nil
	case !ok:
		return ledger.Checkpoint{}, breach("signatures", checkpointName, "is missing, but the contract has keys")
	}
	c, err := r.Verifier.Checkpoint(data)
	if err != nil {
		return c, breach("signatures", checkpointName, "%v", err)
	}
	return c, nil
}

// agree compares a signed checkpoint with what the records are.
func agree(signed, is ledger.Checkpoint, place string) *BreachError {
	const law = "signatures"
	switch {
	case signed.Origin != is.Origin:
		return breach(law, place, "is of %s, want %s", signed.Origin, is.Origin)
	case signed.Contract != is.Contract:
		return breach(law, place, "is of contract %s, the journal's is %s", signed.Contract, is.Contract)
	case signed.Lines != is.Lines:
		return breach(law, place, "covers %d journal lines, there are %d", signed.Lines, is.Lines)
	case signed.Head != is.Head:
		return breach(law, place, "has the head %s, the journal's last line has %s", signed.Head, is.Head)
	case signed.Results != is.Results:
		return breach(law, place, "has results %s, there are %s", signed.Results, is.Results)
	case signed != is:
		return breach(law, place, "says gate %d/%d, want %d/%d", signed.Used, signed.Budget, is.Used, is.Budget)
	}
	return nil
}

// anchored refuses records that do not go on from every anchor.
func (src Source) anchored(r *Records) error {
	for _, a := range src.Anchors {
		if err := src.anchor(r, a); err != nil {
			return err
		}
	}
	return nil
}

func (src Source) anchor(r *Records, a Anchor) error {
	const law = "anchors"
	if len(a.Note) == 0 {
		return nil
	}
	if r.Verifier == nil {
		return breach(law, a.Where, "is a signed checkpoint of this run, which is unsigned now: REPLACED")
	}
	is := string(contract.Sum(r.Files[contractName]))
	c, err := r.Verifier.Checkpoint(a.Note)
	if err != nil { // a verdict note names no contract
		var v ledger.VerdictNote
		v, err = r.Verifier.Verdict(a.Note)
		c = ledger.Checkpoint{Origin: v.Origin, Lines: v.Lines, Head: v.Head, Contract: is}
	}
	if err != nil || c.Origin != src.Origin {
		r.Ignored = append(r.Ignored, a.Where)
		return nil
	}
	switch head := r.head(c.Lines); {
	case c.Contract != is:
		return breach(law, a.Where, "was seen under contract %s, the run is now under %s: REPLACED", c.Contract, is)
	case head == "":
		return breach(law, a.Where, "was seen with %d journal lines, there are only %d now, at state commit %.12s: ROLLBACK", c.Lines, len(r.hashes), src.State)
	case head != c.Head:
		return breach(law, a.Where, "has %s as the hash of line %d, the journal now has %s there: FORK", c.Head, c.Lines, head)
	}
	return nil
}

// head is the hash of the last of the first n lines, "" where there are fewer.
func (r *Records) head(n int) string {
	if n < 1 || n > len(r.hashes) {
		return ""
	}
	return r.hashes[n-1]
}

// descends says whether ancestor is tip or reachable from it.
func descends(o Objects, ancestor, tip string) (bool, error) {
	found := false
	err := walk(o, tip, func(c repo.Commit) bool {
		found = found || c.ID == ancestor
		return !found
	})
	return found, err
}

// walk visits every commit that is reachable from tip once, nearest first,
// until visit says no.
func walk(o Objects, tip string, visit func(repo.Commit) bool) error {
	seen := map[string]bool{tip: true}
	for queue := []string{tip}; len(queue) > 0; queue = queue[1:] {
		c, err := o.Commit(queue[0])
		if err != nil {
			return err
		}
		if !visit(c) {
			return nil
		}
		for _, p := range c.Parents {
			if !seen[p] {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return nil
}

// file reads a file of a commit, nil where there is no such plain file.
func file(o Objects, commit, path string) ([]byte, error) {
	all, err := o.Diff("", commit)
	if err != nil {
		return nil, err
	}
	var found []byte
	n := 0
	for _, f := range all {
		if f.Path != path || f.To.Mode != repo.ModeFile && f.To.Mode != repo.ModeExecutable {
			continue
		}
		if found, err = o.Blob(f.To.ID); err != nil {
			return nil, err
		}
		n++
	}
	if n > 1 {
		return nil, fmt.Errorf("commit %s: %q stands in its tree %d times", commit, path, n)
	}
	return found, nil
}
