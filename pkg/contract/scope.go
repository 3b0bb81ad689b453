package contract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Writable reports whether the author may change path. Like all matchers it
// takes the raw bytes of a slash path from a tree, and says no to a path that
// no tree may hold: absolute, with an empty, "." or ".." part, with NUL, or
// inside .git.
func (c *Contract) Writable(path string) bool { return matches(c.Scope.Writable, path) }

// Readable reports whether candidate code sees path beside its writable files.
func (c *Contract) Readable(path string) bool { return matches(c.Scope.Readable, path) }

// Frozen reports whether path belongs to what is sealed: the harness, the
// folders of cases, the specification, .research-loop/ and .github/.
func (c *Contract) Frozen(path string) bool {
	if matches(c.Harness.Paths, path) {
		return true
	}
	return clean(path) && (slices.ContainsFunc(c.cases(), func(folder string) bool { return inside(folder, path) }) || c.Bundle(path) ||
		c.Specification != "" && path == c.Specification ||
		inside(".research-loop", path) || inside(".github", path))
}

// Generated reports whether path is a generated path or lies below one.
func (c *Contract) Generated(path string) bool {
	return clean(path) && slices.ContainsFunc(c.Scope.Generated, func(g Generated) bool { return inside(g.Path, path) })
}

// Bundle reports whether path is one half of a sealed split.
func (c *Contract) Bundle(path string) bool {
	return slices.ContainsFunc(c.SealedSplits(), func(s SealedSplit) bool { return path == s.Inputs() || path == s.Answers() })
}

// cases returns the folders of cases.
func (c *Contract) cases() []string {
	var out []string
	for _, folder := range []string{c.Splits.Development, c.Counterexamples} {
		if folder != "" {
			out = append(out, folder)
		}
	}
	return out
}

// inside reports whether path is folder or lies below it.
func inside(folder, path string) bool {
	folder = strings.TrimSuffix(folder, "/")
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == '/')
}

func matches(patterns []string, path string) bool {
	return clean(path) && slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

// match reports whether the pattern p, which badPattern has passed, matches
// the clean path.
func match(p, path string) bool { return doublestar.MatchUnvalidated(below(p), path) }

// below makes "a/" and "a/**" mean the files below a, and never a itself.
func below(p string) string {
	switch {
	case p == "**" || strings.HasSuffix(p, "/**"):
		return p + "/*"
	case strings.HasSuffix(p, "/"):
		return p + "**/*"
	}
	return p
}

func clean(path string) bool {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// badPath says what is wrong with s as a path inside the repository, or "".
func badPath(s string) string {
	switch {
	case s == "":
		return "the path is empty"
	case len(s) > maxPath:
		return "the path is too long"
	case strings.HasPrefix(s, "/"):
		return "the path " + shown(s) + " is absolute, want one relative to the repository's top"
	case strings.Contains(s, `\`):
		return "the path " + shown(s) + " holds a backslash, folders are separated by /"
	case strings.ContainsFunc(s, hidden):
		return "the path " + shown(s) + " holds a hidden character"
	}
	for part := range strings.SplitSeq(s, "/") {
		switch {
		case part == "..":
			return "the path " + shown(s) + " leaves its folder with .."
		case part == "" || part == ".":
			return "the path " + shown(s) + " has an empty part or a single dot"
		case strings.EqualFold(part, ".git"):
			return "the path " + shown(s) + " lies inside .git"
		}
	}
	return ""
}

// mostAlternatives bounds what the braces of one pattern stand for.
const mostAlternatives = 64

// badPattern says what is wrong with p as a pattern, or "". A pattern is a
// path in which a part may be ** (any number of folders) or hold * (any text),
// ? (one character), [a-z], [!a-z] and {one,other}; a slash at its end means
// everything below.
func badPattern(p string) string {
	if problem := badPath(strings.TrimSuffix(p, "/")); problem != "" {
		return strings.Replace(problem, "the path", "the pattern", 1)
	}
	if problem := badBraces(p); problem != "" {
		return "the pattern " + shown(p) + " " + problem
	}
	alternatives := expand(p)
	if len(alternatives) > mostAlternatives {
		return "the pattern " + shown(p) + " stands for too many patterns, write them out"
	}
	for _, one := range alternatives {
		if problem := badPath(strings.TrimSuffix(one, "/")); problem != "" {
			return strings.Replace(problem, "the path", "the pattern", 1)
		}
		for part := range strings.SplitSeq(one, "/") {
			switch {
			case part != "**" && strings.Contains(part, "**"):
				return "the pattern " + shown(p) + " has ** beside other text, it must stand alone between slashes"
			case !utf8.ValidString(part) || !doublestar.ValidatePattern(part) || badClass(part):
				return "the pattern " + shown(p) + " is not closed or has an empty or turned range"
			}
		}
	}
	return ""
}

// badBraces says what is wrong with the braces of p. They are kept simple, so
// that two patterns can be compared: not nested, and inside one part.
func badBraces(p string) string {
	open := false
	for i := range len(p) {
		switch {
		case p[i] == '{' && open:
			return "has braces inside braces"
		case p[i] == '{':
			open = true
		case p[i] == '}' && !open:
			return "closes a brace that is not open"
		case p[i] == '}':
			open = false
		case open && strings.IndexByte("/*[]", p[i]) >= 0:
			return "has / * or [ inside braces"
		}
	}
	if open {
		return "does not close its brace"
	}
	if len(p) > 0 && strings.Count(p, "{") > 6 {
		return "has more than six braces"
	}
	return ""
}

// expand returns the patterns that p stands for, without braces, and stops
// when they are too many.
func expand(p string) []string {
	done := []string{""}
	for p != "" {
		head, rest, found := strings.Cut(p, "{")
		choices := []string{""}
		if found {
			var inner string
			inner, p, _ = strings.Cut(rest, "}")
			choices = strings.Split(inner, ",")
		} else {
			p = ""
		}
		var next []string
		for _, start := range done {
			for _, choice := range choices {
				next = append(next, start+head+choice)
			}
		}
		if done = next; len(done) > mostAlternatives {
			return done
		}
	}
	return done
}
