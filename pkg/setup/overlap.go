package setup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/supervisor"
	"github.com/research-loop/research-loop/pkg/vault"
)

// Overlap says how many cases of a split stand in one other place too, and
// where there. It quotes no case.
type Overlap struct {
	With string `json:"with"`
	// Exact counts those of Alike that stand there byte for byte.
	Exact int `json:"exact"`
	Alike int `json:"alike"`
	// Places are at most 1000, each a file and a line; More counts the rest.
	Places []string `json:"places"`
	More   int      `json:"more"`

	found *vault.Overlap
}

// OverlapError refuses a split that shares cases with something else.
type OverlapError struct {
	Split         string
	Cases, Shared int // of the split, and those of them that are shared
	Overlaps      []Overlap
	Looked        Looked
}

func (e *OverlapError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d cases of %s stand somewhere else too", e.Shared, e.Cases, e.Split)
	for _, o := range e.Overlaps {
		fmt.Fprintf(&b, "\n  %s", o)
	}
	return b.String()
}

// String is the overlap on one line, with its first places.
func (o Overlap) String() string {
	return fmt.Sprintf("%d in %s, %d of them byte for byte: %s", o.Alike, o.With, o.Exact, o.where())
}

// where names a few of the places.
func (o Overlap) where() string {
	const most = 5
	places := o.Places[:min(most, len(o.Places))]
	text := strings.Join(places, ", ")
	if more := len(o.Places) - len(places) + o.More; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// newOverlap takes what was found; place says how a found place is named.
func newOverlap(with string, found *vault.Overlap, place func(vault.Place) string) Overlap {
	o := Overlap{With: with, Exact: found.Exact, Alike: found.Alike, More: found.More, Places: []string{}, found: found}
	for _, p := range found.Places {
		o.Places = append(o.Places, place(p))
	}
	return o
}

// between compares a split with another, whose files lie below folder.
func between(cases, other []vault.Case, folder string) Overlap {
	return newOverlap(folder, vault.Between(cases, other), func(p vault.Place) string {
		return escaped(folder + "/inputs/" + p.File)
	})
}

// escaped shows a path with everything escaped that is no plain character.
func escaped(path string) string { return strings.Trim(fmt.Sprintf("%+q", path), `"`) }

// Repository is where no case of a gate may stand: a commit, and all before it.
type Repository struct {
	Work     *repo.Work
	Commit   string
	Contract *contract.Contract
}

// Looked says how much of a repository was searched.
type Looked struct {
	Commit  string `json:"commit"`
	Commits int    `json:"commits"`
	Files   int    `json:"files"` // contents, each once
	Bytes   int64  `json:"bytes"`
	// TooLarge counts files that were left out for their size.
	TooLarge int `json:"too_large"`
	// Stopped says that the search ended early, at one of its bounds.
	Stopped bool `json:"stopped"`
}

// String is what was searched, on one line.
func (l Looked) String() string {
	text := fmt.Sprintf("%d files (%d bytes) and the messages of %d commits, %.12s and before it", l.Files, l.Bytes, l.Commits, l.Commit)
	if l.TooLarge > 0 {
		text += fmt.Sprintf("; not at %d files of more than %d MiB", l.TooLarge, maxSearched>>20)
	}
	if l.Stopped {
		text += "; not at the rest, which is too large"
	}
	return text
}

// Bounds of a search.
const (
	maxSearched   = 16 << 20 // bytes of one file
	maxCommits    = 100_000
	maxSearchSize = 1 << 30 // bytes of all files
)

// visibleSplit is a split that everybody sees.
type visibleSplit struct {
	name, folder string
	cases        []vault.Case
}

// visible reads the splits that everybody sees, development first.
func (r Repository) visible() ([]visibleSplit, error) {
	splits := []visibleSplit{{name: "development", folder: r.Contract.Splits.Development}}
	if folder := r.Contract.Counterexamples; folder != "" {
		splits = append(splits, visibleSplit{name: "counterexamples", folder: folder})
	}
	for i, s := range splits {
		split, err := supervisor.ReadSplit(r.Work, r.Commit, s.folder)
		if err != nil {
			return nil, refuse(s.name, err.Error(), folderForm+", and commit it")
		}
		splits[i].cases = toVault(split)
	}
	return splits, nil
}

// search compares cases with the visible splits, the tree of the commit and
// its history.
func (r Repository) search(cases []vault.Case) ([]Overlap, Looked, error) {
	splits, err := r.visible()
	if err != nil {
		return nil, Looked{}, err
	}
	var out []Overlap
	known := map[string]bool{} // files that a split holds
	for _, s := range splits {
		o := between(cases, s.cases, s.folder)
		o.With = s.name
		out = append(out, o)
		if err := r.below(s.folder, known); err != nil {
			return nil, Looked{}, err
		}
	}
	tree, history, looked, err := r.scan(cases, known)
	return append(out, newOverlap("the tree", &tree.Overlap, plainPlace), newOverlap("the history", &history.Overlap, plainPlace)), looked, err
}

// Search refuses a sealed split of which the repository holds a case in the
// open, with an *OverlapError that quotes none.
func (r Repository) Search(split string, cases []vault.Case) error {
	found, looked, err := r.search(cases)
	if err != nil {
		return err
	}
	e := &OverlapError{Split: split, Cases: len(cases), Looked: looked}
	left := cases
	for _, f := range found {
		if f.Alike > 0 {
			e.Overlaps = append(e.Overlaps, f)
			left = f.found.Drop(left)
		}
	}
	if e.Shared = len(cases) - len(left); e.Shared > 0 {
		return e
	}
	return nil
}

// plainPlace is the file and the line of a place.
func plainPlace(p vault.Place) string { return escaped(p.File) + fmt.Sprintf(":%d", p.Line) }

// below notes the ids of the files in a folder of the commit.
func (r Repository) below(folder string, into map[string]bool) error {
	entries, err := r.Work.Tree(r.Commit)
	for _, e := range entries {
		if strings.HasPrefix(e.Path, folder+"/") {
			into[e.ID] = true
		}
	}
	return err
}

// scan looks for cases in every file but the known ones, and in the messages
// of commits.
func (r Repository) scan(cases []vault.Case, known map[string]bool) (tree, history *vault.Finder, l Looked, err error) {
	tree, history = vault.NewFinder(cases), vault.NewFinder(cases)
	l.Commit = r.Commit
	var failed error
	err = r.Work.History(r.Commit, func(c repo.Commit, files []repo.Entry) bool {
		if l.Stopped = l.Commits == maxCommits; l.Stopped {
			return false
		}
		l.Commits++
		finder, prefix := history, c.ID[:12]+":"
		history.Search(prefix+"(message)", []byte(c.Message))
		if c.ID == r.Commit {
			finder, prefix = tree, ""
		}
		for _, e := range files {
			if known[e.ID] {
				continue
			}
			failed = l.search(r.Work, e, finder, prefix)
			if l.Stopped = l.Bytes > maxSearchSize; l.Stopped || failed != nil {
				return false
			}
		}
		return true
	})
	return tree, history, l, errors.Join(failed, err)
}

// search looks into one file.
func (l *Looked) search(w *repo.Work, e repo.Entry, finder *vault.Finder, prefix string) error {
	data, err := w.Blob(e.ID)
	var size *repo.SizeError
	if errors.As(err, &size) || len(data) > maxSearched {
		l.TooLarge++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", escaped(prefix+e.Path), err)
	}
	l.Files++
	l.Bytes += int64(len(data))
	finder.Search(prefix+e.Path, data)
	return nil
}
