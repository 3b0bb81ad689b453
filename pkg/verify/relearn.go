package verify

import (
	"errors"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// relearn looks for logs that the newest commit does not have as they were
// recorded: where the commit that brought one has it right, what the commits from
// it on must hold is found out anew, so that not they but the newest is called
// wrong.
func (c *checker) relearn() error {
	c.right = map[string]string{}
	wrong := slices.Concat(c.logs.wrong, c.logs.missing)
	slices.SortStableFunc(wrong, func(a, b recorded) int { return a.event - b.event })
	if err := c.brought(wrong); err != nil || len(c.right) == 0 {
		return err
	}
	g, l, walked := c.newGrowth(), newLogs(c.src, c.newest, c.right, true), make(chan error, 1)
	walked <- nil
	go g.follow(l, walked)
	var err error
	for line, broken := range ledger.Stream(g.segments) {
		if err = broken; err == nil { // it was read before
			g.add(line)
		}
	}
	return errors.Join(err, g.end(), l.end())
}

// brought looks for logs, in the order of their lines, in the commits that should
// have brought them. Where nothing is signed, these are some of the commits whose
// trees are not as they must be.
func (c *checker) brought(wrong []recorded) error {
	hashes := make(map[string]string, len(wrong))
	for _, log := range wrong {
		hashes[log.name] = log.hash
	}
	looked, before := 0, ""
	for i := range c.points {
		p := &c.points[i]
		brings := c.sealed.Keys == nil && p.lines == 0 && looked < maxForeign
		for n, _ := ledger.Length(p.note); len(wrong) > 0 && wrong[0].event < n; wrong = wrong[1:] {
			brings = true
		}
		if brings {
			looked++
			if err := c.brings(before, p.commit, hashes); err != nil {
				return err
			}
		}
		before = p.commit
	}
	return nil
}

// brings notes which logs a commit brings as they were recorded.
func (c *checker) brings(before, commit string, hashes map[string]string) error {
	changes, err := c.src.Objects.Diff(before, commit)
	if errors.Is(err, repo.ErrTooMany) { // it or the one before is named for that
		return nil
	}
	if err != nil {
		return err
	}
	for _, change := range changes {
		name := strings.TrimPrefix(change.Path, journal.Folder(c.src.Tag)+"logs/")
		if hashes[name] == "" || change.To.ID == "" {
			continue
		}
		data, err := c.src.Objects.Blob(change.To.ID)
		if err != nil {
			return err
		}
		if ledger.Hash(data) == hashes[name] {
			c.right[name] = change.To.ID
		}
	}
	return nil
}
