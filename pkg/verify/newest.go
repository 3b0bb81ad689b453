package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// newest lists what stands in the newest commit of the state branch. What the
// folders of logs hold is not read: there may be very many.
type newest struct {
	files map[string]string // by name below the run's folder, logs left out → blob
	logs  []logFolder       // in the order of the attempts
}

// logFolder is the folder of an attempt's logs.
type logFolder struct {
	iteration int
	tree      string
}

// maxListed is how many entries the folders of the newest records may have: they
// are three an attempt, and trees that name each other are cheap to push.
const maxListed = 2_000_000

// list reads the folders of the newest commit. What belongs to no run is refused.
func (src Source) list() (*newest, error) {
	tip, err := src.Objects.Commit(src.State)
	if err != nil {
		return nil, err
	}
	out, listed := &newest{files: map[string]string{}}, 0
	for paths, trees := []string{""}, []string{tip.Tree}; len(trees) > 0; {
		var below, next []string
		err := src.Objects.Folders(trees, func(i int, entries []repo.Entry) error {
			if listed += len(entries); listed > maxListed {
				return breach("branch", cmp.Or(paths[i], "the tree"), "is too much: more than %d files and folders", maxListed)
			}
			seen := make(map[string]bool, len(entries))
			for _, e := range entries {
				if seen[e.Path] {
					return breach("branch", paths[i]+e.Path, "stands in the tree twice")
				}
				seen[e.Path] = true
				if strings.Contains(e.Path, "/") { // it would stand for a folder's file
					return src.foreign(e)
				}
				e.Path = paths[i] + e.Path
				further, err := src.enter(out, e)
				if err != nil {
					return err
				}
				if further {
					below, next = append(below, e.Path+"/"), append(next, e.ID)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		paths, trees = below, next
	}
	slices.SortFunc(out.logs, func(a, b logFolder) int { return a.iteration - b.iteration })
	return out, nil
}

// enter lists one entry of the newest commit's tree; further says that it is a
// folder which must be looked into.
func (src Source) enter(out *newest, e repo.Entry) (further bool, err error) {
	const folder = "40000"
	if e.Mode != folder {
		name, err := src.name(e)
		if err == nil && strings.HasPrefix(name, "logs/") {
			err = src.foreign(e)
		}
		out.files[name] = e.ID
		return false, err
	}
	if strings.HasPrefix(journal.Folder(src.Tag), e.Path+"/") {
		return true, nil
	}
	name, ok := strings.CutPrefix(e.Path, journal.Folder(src.Tag))
	if !ok {
		return false, src.foreign(e)
	}
	kind, rest, _ := strings.Cut(name, "/")
	if n, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '/')+1:]); err == nil && kind == "logs" && rest == ledger.Folder(n) {
		out.logs = append(out.logs, logFolder{n, e.ID})
		return false, nil
	}
	if slices.Contains([]string{"journal", "results", "logs"}, kind) && !strings.Contains(rest, "/") {
		return true, nil
	}
	return false, src.foreign(e)
}

// foreign is the error of what does not belong into the records.
func (src Source) foreign(e repo.Entry) error {
	return breach("branch", fmt.Sprintf("%+q", e.Path), "does not belong on %s", journal.StateBranch(src.Tag))
}

// name gives a file's name below the run's folder.
func (src Source) name(e repo.Entry) (string, error) {
	name, ok := strings.CutPrefix(e.Path, journal.Folder(src.Tag))
	kind, rest, nested := strings.Cut(name, "/")
	switch {
	case !ok:
	case e.Mode != repo.ModeFile:
		return "", breach("branch", e.Path, "has mode %s, want %s", e.Mode, repo.ModeFile)
	case !nested && (name == contractName || name == checkpointName),
		nested && (kind == "journal" || kind == "results") && strings.Count(rest, "/") == 1,
		nested && kind == "logs":
		return name, nil
	}
	return "", src.foreign(e)
}

// segments lists the blobs of the journal in its order. An error is a
// *ledger.CorruptError.
func (n *newest) segments() ([]string, error) {
	var names []string
	for name := range n.files {
		if strings.HasPrefix(name, "journal/") {
			names = append(names, name)
		}
	}
	if err := ledger.Segments(names); err != nil {
		return nil, err
	}
	ids := make([]string, len(names))
	for i := range ids {
		ids[i] = n.files[ledger.Segment(i)]
	}
	return ids, nil
}
