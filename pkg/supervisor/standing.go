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
	Blob(id string) ([]byte, error)
	Tree(commit string) ([]repo.Entry, error)
	// Differing lists trees but for the folders that they all have alike.
	Differing(commits []string, keep func(folder string) bool) (lists [][]repo.Entry, folders []string, err error)
}

// maxTrees is how many commits the audit admits. It looks at the first ones
// and refuses the rest by their number, so the rest are not read with their trees.
const maxTrees = 20

// AuditInput gathers all that the audit reads of the candidate at tip. commits
// are those above the recorded tip, oldest first. The hook and the supervisor
// both audit what this gives, so that they say the same. Folders that no tree
// changes are read when a rule asks for them and not before.
func AuditInput(o Objects, s Standing, tip string, commits []repo.Commit) (audit.Input, error) {
	c := s.Contract
	in := audit.Input{Scope: c, Blobs: o, Recorded: s.Tip, Numbers: numbers(c), Gate: c.Gate != nil}
	ids := []string{s.Pinned, s.Baseline, s.Incumbent, tip}
	for _, commit := range commits[:min(len(commits), maxTrees)] {
		ids = append(ids, commit.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	lists, folders, err := o.Differing(ids, frozenFolders(c))
	if err != nil {
		return in, err
	}
	trees := map[string][]audit.Entry{}
	for i, id := range ids {
		trees[id] = auditEntries(lists[i])
	}
	in.Baseline, in.Incumbent, in.Candidate, in.Folders = trees[s.Baseline], trees[s.Incumbent], trees[tip], folders
	if len(folders) > 0 {
		in.Rest = func() ([]audit.Entry, error) { return rest(o, s.Baseline, folders) }
	}
	for _, commit := range commits {
		in.Commits = append(in.Commits, audit.Commit{ID: commit.ID, Message: commit.Message, Parents: commit.Parents, Tree: trees[commit.ID]})
	}
	pinned := lists[slices.Index(ids, s.Pinned)]
	in.Names = names(c, pinned)
	if err := addTask(&in, o, c, pinned); err != nil {
		return in, err
	}
	return in, nil
}

// addTask reads the specification and the development cases.
func addTask(in *audit.Input, o Objects, c *contract.Contract, pinned []repo.Entry) error {
	if c.Specification != "" {
		i := slices.IndexFunc(pinned, func(e repo.Entry) bool { return e.Path == c.Specification })
		if i < 0 {
			return fmt.Errorf("specification: the pinned commit has no file %q", c.Specification)
		}
		text, err := o.Blob(pinned[i].ID)
		if err != nil {
			return fmt.Errorf("specification: %w", err)
		}
		in.Specification = string(text)
	}
	split, err := splitOf(o, pinned, c.Splits.Development)
	if err != nil {
		return err
	}
	for _, k := range split.Cases {
		in.Cases = append(in.Cases, audit.Case{ID: k.ID, Input: string(k.Input), Answer: string(k.Answer)})
	}
	return nil
}

// frozenFolders says which folders may hold frozen files, at any depth.
func frozenFolders(c *contract.Contract) func(folder string) bool {
	paths := []string{".research-loop/", ".github/", c.Splits.Development + "/", c.Splits.Validation, c.Splits.Final, c.Counterexamples, c.Specification}
	for _, pattern := range c.Harness.Paths {
		if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
			pattern = pattern[:i]
		}
		paths = append(paths, pattern)
		if pattern == "" {
			return func(string) bool { return true }
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	return func(folder string) bool {
		return slices.ContainsFunc(paths, func(p string) bool {
			return strings.HasPrefix(p, folder+"/") || strings.HasPrefix(folder+"/", p)
		})
	}
}

// rest lists what stands in the folders that were left out.
func rest(o Objects, commit string, folders []string) ([]audit.Entry, error) {
	all, err := o.Tree(commit)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, folder := range folders {
		out[folder] = true
	}
	var list []audit.Entry
	for _, e := range all {
		for i := range e.Path {
			if e.Path[i] == '/' && out[e.Path[:i]] {
				list = append(list, audit.Entry(e))
				break
			}
		}
	}
	return list, nil
}

func auditEntries(list []repo.Entry) []audit.Entry {
	out := make([]audit.Entry, len(list))
	for i, e := range list {
		out[i] = audit.Entry(e)
	}
	return out
}

// names are what the files of harness and cases are called. The development
// cases have theirs as ids.
func names(c *contract.Contract, tree []repo.Entry) []string {
	apart := map[string]bool{}
	folders := []string{c.Splits.Development + "/", ".research-loop/", ".github/"}
	for _, e := range tree {
		in := func(folder string) bool { return strings.HasPrefix(e.Path, folder) }
		if c.Frozen(e.Path) && !c.Readable(e.Path) && e.Path != c.Specification && !slices.ContainsFunc(folders, in) {
			apart[path.Base(e.Path)] = true
		}
	}
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
	dir := path.Clean(folder) + "/"
	lists, _, err := o.Differing([]string{commit}, func(f string) bool {
		return strings.HasPrefix(dir, f+"/") || strings.HasPrefix(f+"/", dir)
	})
	if err != nil {
		return nil, err
	}
	return splitOf(o, lists[0], folder)
}

// splitOf reads the split in a folder of a tree.
func splitOf(o Objects, tree []repo.Entry, folder string) (*contract.Split, error) {
	files := map[string][]byte{}
	for _, e := range tree {
		if name, ok := strings.CutPrefix(e.Path, path.Clean(folder)+"/"); ok {
			var err error
			if files[name], err = o.Blob(e.ID); err != nil {
				return nil, err
			}
		}
	}
	return contract.NewSplit(folder, files)
}
