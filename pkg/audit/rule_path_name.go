package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var ruleName = rule{
	class: "path.name",
	about: "A name with control or hidden characters, with dots or blanks where a file system drops them, or that some file system takes for .git, is another file in every place where it is read.",
	fix:   "rename the file: letters, digits, dots, hyphens and underscores",
	tree: func(t *tree) []Finding {
		found := t.each(func(c change) (string, bool) {
			why := hostileName(c.path)
			return why, why != "" && !c.isGone()
		})
		for _, path := range t.doubles {
			found = append(found, Finding{Severity: Invalid, Path: path, Message: "the path stands twice in the tree"})
		}
		return found
	},
}

// hostileName says what is wrong with a path, or "".
func hostileName(path string) string {
	if !utf8.ValidString(path) {
		return "the name is not UTF-8"
	}
	for _, r := range path {
		if hidden(r) || tagRune(r) || !unicode.IsGraphic(r) {
			return "the name holds control or hidden characters"
		}
	}
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return "the path is not relative and clean"
		case strings.HasSuffix(part, " ") || strings.HasSuffix(part, "."):
			return "a part of the name ends in a blank or a dot, which some file systems drop"
		case strings.ContainsAny(part, "\\:"):
			return "the name holds a character that some file systems give a meaning"
		case looksLikeGit(part):
			return "a part of the name can be taken for .git"
		}
	}
	return ""
}

// looksLikeGit finds .git and its short name, in any case.
func looksLikeGit(part string) bool {
	p := strings.TrimRight(fold(part), ". ")
	return p == ".git" || len(p) == 5 && strings.HasPrefix(p, "git~") && isDigit(p[4])
}
