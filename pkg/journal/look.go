package journal

import "slices"

// Graph is where Look reads commits.
type Graph interface {
	// Commit gives a commit; Holds is not looked at.
	Commit(id string) (Commit, error)
	// Descends says whether tip is ancestor or descends from it, by whatever parents.
	Descends(ancestor, tip string) (bool, error)
}

// maxPath bounds how many commits of the run branch are looked at. An author
// may push more; what is older is then not seen, and the audit refuses by number.
const maxPath = 1000

// Look fills in what w says of the run branch, whose tip is given. Most often
// the recorded tip lies on the tip's first-parent path, and no question of
// descent is asked, each of which may read the whole history.
func (r *Run) Look(w *World, g Graph, tip string) error {
	path, met, err := firstParents(g, tip, r.Tip)
	if err != nil {
		return err
	}
	w.Tip, w.Descends, w.Below, w.Above, w.After = nil, met, false, nil, nil
	held := len(path)
	if !met {
		if held, err = r.cut(w, g, tip, &path); err != nil {
			return err
		}
	}
	for i := range held {
		path[i].Holds = true
	}
	after, err := r.after(g, path[:held])
	if err != nil {
		return err
	}
	seen := Commit{}
	if len(path) > 0 {
		seen = path[0]
	} else if seen, err = g.Commit(tip); err != nil {
		return err
	}
	w.Tip = &seen
	w.Above, w.After = reversed(path), reversed(path[:after])
	return nil
}

// firstParents lists the commits from tip down the first parents, newest
// first, until `until`, which is left out; met says that it was.
func firstParents(g Graph, tip, until string) (path []Commit, met bool, err error) {
	for id := tip; len(path) < maxPath; {
		if id == until {
			return path, true, nil
		}
		c, err := g.Commit(id)
		if err != nil {
			return nil, false, err
		}
		path = append(path, c)
		if len(c.Parents) == 0 {
			break
		}
		id = c.Parents[0]
	}
	return path, false, nil
}

// cut cuts a path that does not lead to the recorded tip where it meets a
// commit below that, and says how many commits of it hold the recorded tip.
func (r *Run) cut(w *World, g Graph, tip string, path *[]Commit) (held int, err error) {
	all := *path
	if w.Descends, err = g.Descends(r.Tip, tip); err != nil {
		return 0, err
	}
	below, err := first(len(all), func(i int) (bool, error) { return g.Descends(all[i].ID, r.Tip) })
	if err != nil {
		return 0, err
	}
	w.Below = below == 0
	*path = all[:below]
	if !w.Descends {
		return 0, nil
	}
	return first(below, func(i int) (bool, error) {
		ok, err := g.Descends(r.Tip, all[i].ID)
		return !ok, err
	})
}

// after counts how many of the path's commits, newest first, come after the
// open attempt's candidate.
func (r *Run) after(g Graph, path []Commit) (int, error) {
	if r.Open == nil || r.Open.Candidate == "" {
		return 0, nil
	}
	candidate := r.Open.Candidate
	if i := slices.IndexFunc(path, func(c Commit) bool { return c.ID == candidate }); i >= 0 {
		return i, nil
	}
	return first(len(path), func(i int) (bool, error) {
		ok, err := g.Descends(candidate, path[i].ID)
		return !ok, err
	})
}

// first gives the least i for which is holds, n where there is none. Once it
// holds it holds for all that follow.
func first(n int, is func(i int) (bool, error)) (int, error) {
	low, high := 0, n
	for low < high {
		middle := (low + high) / 2
		ok, err := is(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

func reversed(path []Commit) []Commit {
	out := slices.Clone(path)
	slices.Reverse(out)
	return out
}
