package audit

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// minKeyword is the shortest literal that is worth looking for.
const minKeyword = 3

// keywords gives, in lower case, literals one of which every match of an
// expression holds; nil if there is no such list. Looking for them first makes
// a pattern that does not match cost next to nothing.
func keywords(expr string) []string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return needs(re.Simplify())
}

// needs walks an expression for literals that its matches hold.
func needs(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if s := strings.ToLower(string(re.Rune)); len(s) >= minKeyword && isASCII(s) {
			return []string{s}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needs(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needs(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for i, sub := range re.Sub {
			list := needs(sub)
			if i > 0 {
				list = unfactored(re.Sub[i-1], sub, list)
			}
			if list != nil && (best == nil || shortest(list) > shortest(best)) {
				best = list
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list := needs(sub)
			if list == nil {
				return nil
			}
			all = append(all, list...)
		}
		return all
	}
	return nil
}

// unfactored puts back the literal that the parser took out of alternatives:
// e(?:xec|val) needs exec or eval.
func unfactored(before, sub *syntax.Regexp, list []string) []string {
	if sub.Op == syntax.OpCapture {
		sub = sub.Sub[0]
	}
	if before.Op != syntax.OpLiteral || sub.Op != syntax.OpAlternate {
		return list
	}
	var whole []string
	for _, alternative := range sub.Sub {
		if alternative.Op != syntax.OpLiteral {
			return list
		}
		s := strings.ToLower(string(before.Rune) + string(alternative.Rune))
		if len(s) < minKeyword || !isASCII(s) {
			return list
		}
		whole = append(whole, s)
	}
	return whole
}

func shortest(list []string) int {
	n := len(list[0])
	for _, s := range list {
		n = min(n, len(s))
	}
	return n
}

// patternKeywords holds the keywords of all patterns, worked out once.
var patternKeywords = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for _, r := range rules {
		for _, p := range r.patterns {
			m[p.re.String()] = keywords(p.re.String())
		}
	}
	return m
})

// maxMatches is how many matches of one pattern are looked at in one file.
const maxMatches = 64

// find gives the matches of a pattern in a text, whose lower case is given.
// Only the neighbourhoods of keywords are searched.
func (p pattern) find(text, lower string) [][]int {
	list := patternKeywords()[p.re.String()]
	if p.need != "" {
		list = []string{p.need}
	}
	if list == nil || len(lower) != len(text) {
		return p.re.FindAllStringIndex(text, maxMatches)
	}
	var found [][]int
	for _, area := range areas(lower, list) {
		for _, at := range p.re.FindAllStringIndex(text[area[0]:area[1]], maxMatches-len(found)) {
			found = append(found, []int{at[0] + area[0], at[1] + area[0]})
		}
		if len(found) == maxMatches {
			break
		}
	}
	return found
}

// An area is the lines around a keyword: a pattern may begin some lines before
// it and end some lines behind.
const (
	linesBefore = 3
	linesBehind = 10
)

// areas gives the disjoint stretches of whole lines around keywords, in order.
func areas(lower string, keywords []string) [][2]int {
	var hits []int
	for _, k := range keywords {
		for from := 0; ; {
			i := strings.Index(lower[from:], k)
			if i < 0 {
				break
			}
			hits = append(hits, from+i)
			from += i + len(k)
		}
	}
	slices.Sort(hits)
	var list [][2]int
	done := 0 // the end of the last line that was looked at
	for _, hit := range hits {
		if hit < done {
			continue
		}
		if done = len(lower); strings.IndexByte(lower[hit:], '\n') >= 0 {
			done = hit + strings.IndexByte(lower[hit:], '\n')
		}
		if n := len(list); n > 0 && hit < list[n-1][1] {
			if end := behind(lower, hit); end > list[n-1][1] {
				list[n-1][1] = end
			}
			continue
		}
		start := hit
		for range linesBefore + 1 {
			if start = strings.LastIndexByte(lower[:max(start, 0)], '\n'); start < 0 {
				break
			}
		}
		list = append(list, [2]int{start + 1, behind(lower, hit)})
		if n := len(list); n > 1 && list[n-1][0] < list[n-2][1] {
			list[n-2][1] = list[n-1][1]
			list = list[:n-1]
		}
	}
	return list
}

// behind is the end of the tenth line after a position.
func behind(text string, at int) int {
	for range linesBehind + 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}
