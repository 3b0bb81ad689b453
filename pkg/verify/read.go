package verify

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// Objects reads git objects by their full ids, and hashes what it reads. An
// object that is not there is a *repo.MissingError. *repo.Clone and *repo.Work
// satisfy it.
type Objects interface {
	Commit(id string) (repo.Commit, error)
	// Diff lists what differs between the trees of two commits, all files of
	// the second where the first is "".
	Diff(from, to string) ([]repo.Change, error)
	Blob(id string) ([]byte, error)
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

// bulk is an Objects that is faster when it is asked for many objects at once;
// *repo.Clone and *repo.Work are.
type bulk interface {
	FirstParents(tip string, visit func(repo.Commit) bool) error
	FilesAt(commits []string, path string, take func(i int, id string, data []byte) error) error
	Blobs(ids []string, take func(i int, data []byte) error) error
}

// firstParents shows visit a commit, its first parent, and so on.
func (src Source) firstParents(tip string, visit func(repo.Commit) bool) error {
	if o, ok := src.Objects.(bulk); ok {
		return o.FirstParents(tip, visit)
	}
	for id := tip; id != ""; {
		c, err := src.Objects.Commit(id)
		if err != nil {
			return err
		}
		visit(c)
		id = ""
		if len(c.Parents) > 0 {
			id = c.Parents[0]
		}
	}
	return nil
}

// filesAt shows take the file at a path of each commit of a line of them: its
// id, "" where there is none, and its contents, take's only while it runs.
func (src Source) filesAt(commits []string, path string, take func(i int, id string, data []byte) error) error {
	if o, ok := src.Objects.(bulk); ok {
		return o.FilesAt(commits, path, take)
	}
	before, id := "", ""
	var data []byte
	for i, commit := range commits {
		changes, err := src.Objects.Diff(before, commit)
		if err != nil {
			return err
		}
		for _, change := range changes {
			if change.Path != path {
				continue
			}
			if id, data = change.To.ID, nil; id == "" {
				continue
			}
			if data, err = src.Objects.Blob(id); err != nil {
				return err
			}
		}
		if err := take(i, id, data); err != nil {
			return err
		}
		before = commit
	}
	return nil
}

// blobs shows take the contents of many blobs; data is take's only while it runs.
func (src Source) blobs(ids []string, take func(i int, data []byte) error) error {
	if o, ok := src.Objects.(bulk); ok {
		return o.Blobs(ids, take)
	}
	for i, id := range ids {
		data, err := src.Objects.Blob(id)
		if err == nil {
			err = take(i, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	// Files are the files of the run's folder by their names below it, logs left out.
	Files map[string][]byte
	// Verifier is the key that signs the run, nil where nothing is signed.
	Verifier *ledger.Verifier
	// Ignored are anchors that do not verify, by their place.
	Ignored []string

	logs map[string]string // files below logs/ → blob
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
	r, sealed, err := src.open()
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

// open reads the files of the state branch and the sealed contract.
func (src Source) open() (*Records, *contract.Sealed, error) {
	r := &Records{Files: map[string][]byte{}, logs: map[string]string{}}
	all, err := src.Objects.Diff("", src.State)
	if err != nil {
		return nil, nil, err
	}
	var names, ids []string
	seen := make(map[string]bool, len(all))
	for _, f := range all {
		name, err := src.name(f.To)
		if err != nil {
			return nil, nil, err
		}
		if seen[name] {
			return nil, nil, breach("branch", f.Path, "stands in the tree twice")
		}
		seen[name] = true
		if log, ok := strings.CutPrefix(name, "logs/"); ok {
			r.logs[log] = f.To.ID
			continue
		}
		names, ids = append(names, name), append(ids, f.To.ID)
	}
	err = src.blobs(ids, func(i int, data []byte) error {
		r.Files[names[i]] = bytes.Clone(data)
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

// name gives a file's name below the run's folder.
func (src Source) name(e repo.Entry) (string, error) {
	name, ok := strings.CutPrefix(e.Path, journal.Folder(src.Tag))
	folder, rest, nested := strings.Cut(name, "/")
	switch {
	case !ok:
	case e.Mode != repo.ModeFile:
		return "", breach("branch", e.Path, "has mode %s, want %s", e.Mode, repo.ModeFile)
	case !nested && (name == contractName || name == checkpointName),
		nested && (folder == "journal" || folder == "results") && !strings.Contains(rest, "/"),
		nested && folder == "logs":
		return name, nil
	}
	return "", breach("branch", fmt.Sprintf("%+q", e.Path), "does not belong on %s", journal.StateBranch(src.Tag))
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
	switch head := headAt(r.Chain, c.Lines); {
	case c.Contract != is:
		return breach(law, a.Where, "was seen under contract %s, the run is now under %s: REPLACED", c.Contract, is)
	case head == "":
		return breach(law, a.Where, "was seen with %d journal lines, there are only %d now, at state commit %.12s: ROLLBACK", c.Lines, len(r.Chain.Events), src.State)
	case head != c.Head:
		return breach(law, a.Where, "has %s as the hash of line %d, the journal now has %s there: FORK", c.Head, c.Lines, head)
	}
	return nil
}

// headAt is the hash of the last of the first n lines, "" where there are fewer.
func headAt(chain ledger.Chain, n int) string {
	switch {
	case n < len(chain.Events):
		return chain.Events[n].Prev
	case n == len(chain.Events):
		return chain.Head
	}
	return ""
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
