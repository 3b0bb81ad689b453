package audit

import (
	"regexp/syntax"
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
		for _, sub := range re.Sub {
			if list := needs(sub); list != nil && (best == nil || shortest(list) > shortest(best)) {
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

// mayMatch says whether a text, given in lower case, holds a keyword of p.
func (p pattern) mayMatch(lower string) bool {
	if p.need != "" {
		return strings.Contains(lower, p.need)
	}
	list := patternKeywords()[p.re.String()]
	if list == nil {
		return true
	}
	for _, k := range list {
		if strings.Contains(lower, k) {
			return true
		}
	}
	return false
}
