package journal

import (
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Folder gives the folder of a run's records on its state branch.
func Folder(tag contract.Tag) string { return ".research-loop/" + string(tag) + "/" }

// RunBranch and StateBranch give the names of a run's two branches.
func RunBranch(tag contract.Tag) string { return "research-loop/" + string(tag) }

// StateBranch gives the name of the branch that holds the records.
func StateBranch(tag contract.Tag) string { return "research-loop-state/" + string(tag) }

// Message gives the message of a commit of the state branch: a title and, where
// the run is signed, the commit's checkpoint as it stands in its tree. So whoever
// walks the branch learns from the commits alone what each of them signs.
func Message(title string, checkpoint []byte) string {
	if checkpoint == nil {
		return title + "\n"
	}
	return title + "\n\n" + string(checkpoint)
}

// Signed gives the checkpoint that stands in the message of a commit, "" where
// there is none.
func Signed(message string) (checkpoint string) {
	_, checkpoint, _ = strings.Cut(message, "\n\n")
	return checkpoint
}

// Read reads the records of a run from the files of its folder, keyed by their
// names below it, and sums them up. Errors are *ledger.CorruptError and
// *contract.SealError: damage that a person must look at.
func Read(tag contract.Tag, files map[string][]byte) (*Run, ledger.Chain, error) {
	segments, results := map[string][]byte{}, map[string][]byte{}
	for name, data := range files {
		switch folder, _, _ := strings.Cut(name, "/"); {
		case folder == "journal":
			segments[name] = data
		case folder == "results":
			results[name] = data
		case name != "contract.md" && name != "checkpoint" && folder != "logs":
			return nil, ledger.Chain{}, &ledger.CorruptError{Segment: name, Why: "is no record of a run"}
		}
	}
	chain, err := ledger.ReadJournal(segments)
	if err != nil {
		return nil, chain, err
	}
	first, ok := chain.Events[0].Data.(*ledger.Sealed)
	if !ok {
		return nil, chain, &ledger.CorruptError{Segment: ledger.Segment(0), Line: 1, Why: "the first event must be sealed"}
	}
	sealed, err := contract.Open(files["contract.md"], contract.Digest(first.Contract))
	if err != nil {
		return nil, chain, err
	}
	if run := chain.Events[0].Run; run != string(tag) || sealed.Facts.Tag != tag {
		return nil, chain, &ledger.CorruptError{Segment: ledger.Segment(0), Line: 1, Why: "the records are of run " + run + ", not of " + string(tag)}
	}
	if _, err := ledger.ReadResults(results, chain.Events); err != nil {
		return nil, chain, err
	}
	run, err := Fold(sealed, chain.Events)
	if err != nil {
		return nil, chain, &ledger.CorruptError{Segment: "journal", Why: err.Error()}
	}
	return run, chain, nil
}
