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
		if path, why := disorder(t.entries); why != "" {
			found = append(found, Finding{Severity: Invalid, Path: path, Message: why})
		}
		return found
	},
}

// disorder finds the path at which a flattened tree is none that git writes.
func disorder(entries []Entry) (path, why string) {
	folders := map[string]bool{}
	for i, e := range entries {
		if i > 0 && e.Path < entries[i-1].Path {
			return e.Path, "the tree is out of order"
		}
		for dir := parent(e.Path); dir != "" && !folders[dir]; dir = parent(dir) {
			folders[dir] = true
		}
	}
	for _, e := range entries {
		if folders[e.Path] {
			return e.Path, "the path is a file and a folder"
		}
	}
	return "", ""
}

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// Longer ones cannot be written everywhere.
const maxName, maxPath = 255, 4000

// hostileName says what is wrong with a path, or "".
func hostileName(path string) string {
	if len(path) > maxPath {
		return "the path is longer than 4000 bytes"
	}
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
		case len(part) > maxName:
			return "a part of the name is longer than 255 bytes"
		case strings.HasPrefix(part, "-"):
			return "a part of the name begins with a dash, which commands take for an option"
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
