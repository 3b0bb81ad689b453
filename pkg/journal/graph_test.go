package journal_test

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/research-loop/research-loop/pkg/journal"
)

// node is a commit of a small history: its identifier is its place.
type node struct {
	tree, author string
	parents      []int
	// of is the attempt whose rejection a restore carries out, -1 for others.
	of int
}

// graph is a history of commits; it only grows.
type graph []node

func id(i int) string { return fmt.Sprintf("c%d", i) }

func place(id string) int {
	i, err := strconv.Atoi(id[1:])
	if err != nil {
		panic("no commit: " + id)
	}
	return i
}

// Commit implements journal.Graph.
func (g graph) Commit(name string) (journal.Commit, error) {
	n := g[place(name)]
	c := journal.Commit{ID: name, Tree: n.tree, Author: n.author}
	for _, p := range n.parents {
		c.Parents = append(c.Parents, id(p))
	}
	return c, nil
}

// Descends implements journal.Graph.
func (g graph) Descends(ancestor, tip string) (bool, error) {
	return g.holds(place(tip), place(ancestor)), nil
}

// holds says whether a commit is another or descends from it. Parents come
// before their children.
func (g graph) holds(tip, ancestor int) bool {
	if tip == ancestor {
		return true
	}
	if tip < ancestor {
		return false
	}
	return slices.ContainsFunc(g[tip].parents, func(p int) bool { return g.holds(p, ancestor) })
}

// with gives the graph with one more commit, and its place.
func (g graph) with(n node) (graph, int) { return append(slices.Clip(g), n), len(g) }

// above lists what is reachable from tip and not from base, oldest first.
func (g graph) above(base, tip int) []string {
	out := []string{}
	for i := range g {
		if g.holds(tip, i) && !g.holds(base, i) {
			out = append(out, id(i))
		}
	}
	return out
}
