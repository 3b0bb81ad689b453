package contract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// overlap reports whether some path matches both patterns. It looks at the
// patterns alone, so it knows of files that do not exist yet. It never says no
// wrongly; two ranges in the same place count as meeting.
func overlap(p, q string) bool {
	for _, a := range expand(below(p)) {
		for _, b := range expand(below(q)) {
			if meet(strings.Split(a, "/"), strings.Split(b, "/"), isTree, partsMeet) {
				return true
			}
		}
	}
	return false
}

// meet reports whether two sequences of wildcards have a sequence in common.
// star tells which elements stand for any number of others; one whether two
// other elements have something in common.
func meet[T any](a, b []T, star func(T) bool, one func(x, y T) bool) bool {
	row := make([]bool, len(b)+1) // row[j]: a[i:] meets b[j:]
	for i := len(a); i >= 0; i-- {
		previous := slices.Clone(row) // of i+1
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && star(a[i]):
				row[j] = previous[j] || j < len(b) && row[j+1]
			case j < len(b) && star(b[j]):
				row[j] = row[j+1] || i < len(a) && previous[j]
			case i < len(a) && j < len(b):
				row[j] = previous[j+1] && one(a[i], b[j])
			default:
				row[j] = false
			}
		}
	}
	return row[0]
}

func isTree(part string) bool { return part == "**" }

func isStar(piece string) bool { return piece == "*" }

// partsMeet reports whether two parts of patterns match a common name.
func partsMeet(a, b string) bool {
	return meet(pieces(a), pieces(b), isStar, func(x, y string) bool {
		switch {
		case x == "?" || y == "?":
			return true
		case x[0] == '[' && y[0] == '[':
			return true
		case x[0] == '[':
			return doublestar.MatchUnvalidated(x, y)
		case y[0] == '[':
			return doublestar.MatchUnvalidated(y, x)
		}
		return x == y
	})
}

// pieces cuts a part into *, ?, ranges and single characters.
func pieces(part string) []string {
	var out []string
	for len(part) > 0 {
		_, n := utf8.DecodeRuneInString(part)
		if part[0] == '[' {
			n = classEnd(part)
		}
		out, part = append(out, part[:n]), part[n:]
	}
	return out
}

// classEnd returns the length of the range that begins part.
func classEnd(part string) int {
	if i := strings.IndexByte(part, ']'); i > 0 {
		return i + 1
	}
	return len(part)
}

// badClass reports whether part has a range that can match nothing, such as
// [z-a], or one that no other piece could be compared with, such as []a].
func badClass(part string) bool {
	for _, piece := range pieces(part) {
		if piece[0] == ']' {
			return true
		}
		if piece[0] != '[' {
			continue
		}
		inner := []rune(strings.TrimLeft(piece[1:len(piece)-1], "!^"))
		if len(inner) == 0 || inner[0] == '-' || inner[len(inner)-1] == '-' {
			return true
		}
		for i := 1; i+1 < len(inner); i++ {
			if inner[i] == '-' && inner[i-1] > inner[i+1] {
				return true
			}
		}
	}
	return false
}

// testName reports whether name is what tests and fixtures are usually
// called, as a folder or, where last, as a file.
func testName(name string, last bool) bool {
	switch strings.ToLower(name) {
	case "test", "tests", "testdata", "__tests__", "fixture", "fixtures", "__fixtures__", "__mocks__", "__snapshots__", "spec", "specs":
		return true
	}
	return last && slices.ContainsFunc([]string{"*_test.*", "test_*.*", "*.test.*", "*.spec.*", "*_spec.*", "conftest.py", "tests.*",
		"*Test.java", "*Tests.java", "*Test.kt", "*Test.php", "*Tests.cs"}, func(p string) bool { return doublestar.MatchUnvalidated(p, name) })
}

// namesTest reports whether the pattern p names tests or fixtures itself, as
// tests/** and **/*_test.go do. A pattern such as src/** does not, though a
// test may lie below: CheckPaths looks at the files that there are.
func namesTest(p string) bool {
	for _, one := range expand(p) {
		parts := strings.Split(strings.TrimSuffix(one, "/"), "/")
		for i, part := range parts {
			last := i == len(parts)-1 && !strings.HasSuffix(one, "/")
			if part != "**" && (testName(fill(part, ""), last) || testName(fill(part, "x"), last)) {
				return true
			}
		}
	}
	return false
}

// fill returns a name that part matches, with star for every *.
func fill(part, star string) string {
	var b strings.Builder
	for _, piece := range pieces(part) {
		switch {
		case piece == "*":
			b.WriteString(star)
		case piece == "?" || piece[0] == '[':
			b.WriteByte('x')
		default:
			b.WriteString(piece)
		}
	}
	return b.String()
}

// UsualTest reports whether path is what tests and fixtures are usually
// called: a file such as a_test.go, or anything in a folder such as testdata.
func UsualTest(path string) bool {
	parts := strings.Split(path, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool { return testName(part, false) }) ||
		testName(parts[len(parts)-1], true)
}
