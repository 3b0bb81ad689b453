package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/vault"
	"github.com/research-loop/research-loop/pkg/verify"
)

// Opening is how a plan comes to know the sealed cases.
type Opening struct {
	// Judge gives the keys of a contract, an error where it must not go on
	// without.
	Judge func(*contract.Contract) (*vault.Judge, error)
	// Search looks for the cases of a sealed split in the tree of a commit, in
	// all before it and in the splits that everybody sees. Finding any is an error.
	Search func(c *contract.Contract, commit, split string, cases []vault.Case) error
}

// sealedSplits opens what the contract has sealed, checks all that only the
// cases can show, and adds it to the facts.
func (p *Plan) sealedSplits(ctx context.Context, clone *repo.Clone, o Opening) error {
	splits := p.Contract.SealedSplits()
	if len(splits) == 0 {
		return nil
	}
	judge, err := o.Judge(p.Contract)
	if err != nil {
		return err
	}
	facts := gate.Facts{PerCase: true, Outcomes: 2, Allowed: p.Contract.Exception(contract.ReusedGate)}
	var opened []*contract.Split
	for _, s := range splits {
		split, fact, err := p.open(clone, judge, s)
		if err != nil {
			return err
		}
		if err := p.reused(ctx, clone, &fact, &facts); err != nil {
			return err
		}
		if err := o.Search(p.Contract, p.Facts.Pinned, s.Name, vaultCases(split)); err != nil {
			return err
		}
		opened, p.Facts.Splits = append(opened, split), append(p.Facts.Splits, fact)
		if s.Name == string(ledger.Validation) {
			facts.Cases, facts.Inputs, facts.Answers = fact.Cases, string(fact.Inputs), string(fact.Answers)
		} else {
			facts.FinalCases = fact.Cases
		}
	}
	if len(opened) == 2 {
		o := vault.Between(vaultCases(opened[0]), vaultCases(opened[1]))
		facts.Shared = []gate.Shared{{Split: "final", With: "validation", Exact: o.Exact, Alike: o.Alike}}
	}
	return p.weigh(facts)
}

// weigh asks the law of the gate.
func (p *Plan) weigh(facts gate.Facts) error {
	plan := gate.PlanOf(p.Contract)
	refusals := gate.CheckFinal(plan, facts)
	if p.Contract.Gate != nil {
		refusals = gate.Check(plan, facts)
	}
	if len(refusals) == 0 {
		return nil
	}
	var reasons, cures []string
	for _, r := range refusals {
		reasons, cures = append(reasons, r.Reason), append(cures, r.Fix)
	}
	return &RefusedError{What: contract.DraftPath, Why: strings.Join(reasons, "; "), Fix: strings.Join(cures, "; ")}
}

// open reads both halves of a sealed split at the pinned commit.
func (p *Plan) open(clone *repo.Clone, judge *vault.Judge, s contract.SealedSplit) (*contract.Split, contract.SplitFact, error) {
	fact := contract.SplitFact{Name: s.Name}
	var halves [2][]byte
	for i, file := range []string{s.Inputs(), s.Answers()} {
		var err error
		if halves[i], err = clone.File(p.Facts.Pinned, file); errors.Is(err, fs.ErrNotExist) {
			return nil, fact, &RefusedError{What: file, Why: "is not on the default branch", Fix: "research-loop gate seal DIR --split " + s.Name + ", then commit and push both files"}
		} else if err != nil {
			return nil, fact, err
		}
	}
	fact.Inputs, fact.Answers = contract.Digest(vault.Digest(halves[0])), contract.Digest(vault.Digest(halves[1]))
	split, err := openSplit(judge.Identity, fact, halves[0], halves[1])
	var fault *vault.Error
	if errors.As(err, &fault) {
		return nil, fact, &RefusedError{What: s.Path, Why: fault.Error(), Fix: "seal the split again with the keys of the contract: research-loop gate seal DIR --split " + s.Name}
	} else if err != nil {
		return nil, fact, err
	}
	fact.Cases = len(split.Cases)
	var inputs []vault.File
	for _, c := range split.Cases {
		inputs = append(inputs, vault.File{ID: c.ID, Data: c.Input})
	}
	marks, err := judge.Marks(inputs)
	fact.Marks = slices.Compact(marks) // two cases of a split may have one input
	return split, fact, err
}

func vaultCases(s *contract.Split) []vault.Case {
	var out []vault.Case
	for _, c := range s.Cases {
		out = append(out, vault.Case(c))
	}
	return out
}

// reused looks through the runs of the repository for cases that they asked.
// A run that is still open may ask all that its budget holds.
func (p *Plan) reused(ctx context.Context, clone *repo.Clone, fact *contract.SplitFact, facts *gate.Facts) error {
	for branch, head := range clone.Branches() {
		name, ok := strings.CutPrefix(branch, journal.StateBranch(""))
		if !ok || name == string(p.Facts.Tag) {
			continue
		}
		shared, run, err := sharedWith(ctx, clone, contract.Tag(name), head, fact)
		if err != nil {
			return &RefusedError{
				What: "run " + name, Why: fmt.Sprintf("its records cannot be read, so what it asked of these cases cannot be counted: %v", err),
				Fix: "research-loop verify " + name + " says what is wrong with them",
			}
		}
		switch {
		case shared == 0:
		case fact.Name == string(ledger.Final):
			if run.FinalCharged != nil {
				facts.FinalCharged += shared
			}
		default:
			facts.Reused = max(facts.Reused, shared)
			if run.Closed != nil || run.Contract.Gate == nil {
				fact.Asked += run.Use().Charged
			} else {
				fact.Asked += run.Contract.Gate.Queries
			}
		}
	}
	if fact.Name == string(ledger.Validation) {
		facts.Asked = fact.Asked
	}
	return nil
}

// sharedWith counts the cases that another run has sealed too, in whichever
// split, and reads that run where there are any.
func sharedWith(ctx context.Context, clone *repo.Clone, tag contract.Tag, head string, fact *contract.SplitFact) (int, *journal.Run, error) {
	text, err := clone.File(head, journal.Folder(tag)+"contract.md")
	if err != nil {
		return 0, nil, err
	}
	sealed, err := contract.Open(text, "")
	if err != nil {
		return 0, nil, err
	}
	shared := 0
	for _, s := range sealed.Facts.Splits {
		if s.Name == fact.Name {
			shared += vault.Reused(fact.Marks, s.Marks)
		}
	}
	if shared == 0 {
		return 0, nil, nil
	}
	src, err := (&Supervisor{Clone: clone, Tag: tag}).Source(ctx)
	if err != nil {
		return 0, nil, err
	}
	records, err := verify.Read(src)
	if err != nil {
		return 0, nil, err
	}
	return shared, records.Run, nil
}
