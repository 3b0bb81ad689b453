package vault

import (
	"cmp"
	"fmt"
	"slices"
)

// Place is where a case was found: a file and its line, from 1.
type Place struct {
	File string
	Line int
}

// String is file:line.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Overlap says how many cases of a split stand somewhere else too. It knows
// which, for Drop, and does not tell.
type Overlap struct {
	// Exact counts those of Alike that stand there byte for byte. Cases of the
	// split that are alike among themselves count once.
	Exact, Alike int
	// Places are sorted and without doubles, at most 1000; More counts finds at
	// places that were left out.
	Places []Place
	More   int

	found map[string]bool // folded input -> byte for byte
}

// maxPlaces keeps a common input from filling the memory.
const maxPlaces = 1000

// add notes that the case with this folded input stands at a place.
func (o *Overlap) add(folded string, exact bool, at Place) {
	if o.found == nil {
		o.found = map[string]bool{}
	}
	was, known := o.found[folded]
	if !known {
		o.Alike++
	}
	if exact && !was {
		o.Exact++
	}
	o.found[folded] = was || exact
	i, double := slices.BinarySearchFunc(o.Places, at, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	if double {
		return
	}
	if o.Places = slices.Insert(o.Places, i, at); len(o.Places) > maxPlaces {
		o.Places = o.Places[:maxPlaces]
		o.More++
	}
}

// Drop gives the cases without those that were found, however often each
// stands in the split.
func (o *Overlap) Drop(cases []Case) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool {
		_, found := o.found[Fold(c.Input)]
		return found
	})
}

// Between compares two splits by their inputs. Exact and Alike count what
// stands in both, so they are the same in either order; Drop takes it out of
// either. The places are those of b: its cases' names.
func Between(a, b []Case) *Overlap {
	exact, alike := map[string]bool{}, map[string]bool{}
	for _, c := range a {
		exact[string(c.Input)] = true
		alike[Fold(c.Input)] = true
	}
	var o Overlap
	for _, c := range b {
		if folded := Fold(c.Input); alike[folded] {
			o.add(folded, exact[string(c.Input)], Place{c.ID, 1})
		}
	}
	return &o
}
