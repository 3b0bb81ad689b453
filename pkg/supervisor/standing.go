package supervisor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/research-loop/research-loop/pkg/audit"
	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
)

// Standing is what a candidate is audited against. Everything but the contract
// is a commit: the frozen files are read from Pinned, what stands at Baseline
// is no news, Tip is the recorded tip.
type Standing struct {
	Contract                         *contract.Contract
	Pinned, Baseline, Incumbent, Tip string
}

// Objects is what the audit's input is read from; *repo.Clone and *repo.Work
// are two.
type Objects interface {
	Tree(commit string) ([]repo.Entry, error)
	Blob(id string) ([]byte, error)
	File(commit, path string) ([]byte, error)
}

// maxTrees is how many commits the audit admits. It looks at the first ones
// and refuses the rest by their number, so the rest are not read with their trees.
const maxTrees = 20

// AuditInput gathers all that the audit reads of the candidate at tip. commits
// are those above the recorded tip, oldest first. The hook and the supervisor
// both audit what this gives, so that they say the same.
func AuditInput(o Objects, s Standing, tip string, commits []repo.Commit) (audit.Input, error) {
	in := audit.Input{Scope: s.Contract, Blobs: o, Recorded: s.Tip, Numbers: numbers(s.Contract), Gate: s.Contract.Gate != nil}
	for _, t := range []struct {
		commit string
		into   *[]audit.Entry
	}{{s.Baseline, &in.Baseline}, {s.Incumbent, &in.Incumbent}, {tip, &in.Candidate}} {
		var err error
		if *t.into, err = auditTree(o, t.commit); err != nil {
			return in, err
		}
	}
	pinned, err := o.Tree(s.Pinned)
	if err != nil {
		return in, err
	}
	in.Names = names(s.Contract, pinned)
	for i, c := range commits {
		a := audit.Commit{ID: c.ID, Message: c.Message, Parents: c.Parents}
		if i < maxTrees {
			var err error
			if a.Tree, err = auditTree(o, c.ID); err != nil {
				return in, err
			}
		}
		in.Commits = append(in.Commits, a)
	}
	if s.Contract.Specification != "" {
		text, err := o.File(s.Pinned, s.Contract.Specification)
		if err != nil {
			return in, fmt.Errorf("specification: %w", err)
		}
		in.Specification = string(text)
	}
	split, err := ReadSplit(o, s.Pinned, s.Contract.Splits.Development)
	if err != nil {
		return in, err
	}
	for _, c := range split.Cases {
		in.Cases = append(in.Cases, audit.Case{ID: c.ID, Input: string(c.Input), Answer: string(c.Answer)})
	}
	return in, nil
}

func auditTree(o Objects, commit string) ([]audit.Entry, error) {
	entries, err := o.Tree(commit)
	out := make([]audit.Entry, len(entries))
	for i, e := range entries {
		out[i] = audit.Entry(e)
	}
	return out, err
}

// names are what the files of harness and cases are called, if no other file
// is. The development cases have theirs as ids.
func names(c *contract.Contract, tree []repo.Entry) []string {
	apart, other := map[string]bool{}, map[string]bool{}
	folders := []string{c.Splits.Development + "/", ".research-loop/", ".github/"}
	for _, e := range tree {
		in := func(folder string) bool { return strings.HasPrefix(e.Path, folder) }
		if c.Frozen(e.Path) && !c.Readable(e.Path) && e.Path != c.Specification && !slices.ContainsFunc(folders, in) {
			apart[path.Base(e.Path)] = true
		} else {
			other[path.Base(e.Path)] = true
		}
	}
	maps.DeleteFunc(apart, func(name string, _ bool) bool { return other[name] })
	return slices.Sorted(maps.Keys(apart))
}

// numbers are the thresholds of a contract, as its author would write them.
func numbers(c *contract.Contract) []string {
	values := []float64{c.Acceptance.MinDelta}
	if c.Limits.Target != nil {
		values = append(values, c.Limits.Target.Value)
	}
	for _, k := range c.Constraints {
		for _, bound := range []*float64{k.AtMost, k.AtLeast} {
			if bound != nil {
				values = append(values, *bound)
			}
		}
	}
	var out []string
	for _, v := range values {
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return out
}

// ReadSplit reads the split in a folder of a commit.
func ReadSplit(o Objects, commit, folder string) (*contract.Split, error) {
	entries, err := o.Tree(commit)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Path, path.Clean(folder)+"/"); ok {
			if files[name], err = o.Blob(e.ID); err != nil {
				return nil, err
			}
		}
	}
	return contract.NewSplit(folder, files)
}
