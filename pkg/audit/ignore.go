package audit

import (
	"path"
	"strings"
)

// ignoreRules are the .gitignore files of the baseline.
type ignoreRules struct{ list []ignoreLine }

// ignoreLine is one line of a .gitignore.
type ignoreLine struct {
	dir      string // folder of the file, with a slash, "" at the top
	segments []string
	rooted   bool // bound to dir
	folder   bool // only folders
	not      bool
}

// ignoreRules reads the baseline's ignore files, outermost first.
func (a *audit) ignoreRules() *ignoreRules {
	rules := &ignoreRules{}
	for _, e := range sortedEntries(a.in.Baseline) {
		if base(e.Path) != ".gitignore" || e.Mode != "100644" && e.Mode != "100755" {
			continue
		}
		for _, line := range splitLines(a.blob(e.ID).text) {
			if l, ok := parseIgnore(line); ok {
				l.dir = folder(e.Path)
				rules.list = append(rules.list, l)
			}
		}
	}
	return rules
}

// parseIgnore reads one line; ok is false for blanks and comments.
func parseIgnore(line string) (l ignoreLine, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return l, false
	}
	if line[0] == '!' {
		l.not, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		l.folder, line = true, strings.TrimSuffix(line, "/")
	}
	l.rooted = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	l.segments = strings.Split(line, "/")
	return l, line != ""
}

// match says whether git would ignore a file: it, or a folder above it, is
// matched last by a line that does not negate.
func (r *ignoreRules) match(file string) bool {
	for i := range len(file) {
		if file[i] == '/' && r.last(file[:i], true) {
			return true
		}
	}
	return r.last(file, false)
}

func (r *ignoreRules) last(name string, folder bool) bool {
	ignored := false
	for _, l := range r.list {
		if (folder || !l.folder) && l.match(name) {
			ignored = !l.not
		}
	}
	return ignored
}

func (l ignoreLine) match(name string) bool {
	rest, ok := strings.CutPrefix(name, l.dir)
	if !ok || rest == "" {
		return false
	}
	if !l.rooted {
		return glob(l.segments[0], base(rest))
	}
	return globPath(l.segments, strings.Split(rest, "/"))
}

// globPath matches segments, where ** stands for any number of them.
func globPath(pattern, name []string) bool {
	// Matches of pattern[:i] end at the positions in reach.
	reach := make([]bool, len(name)+1)
	reach[0] = true
	for i, p := range pattern {
		next := make([]bool, len(name)+1)
		for k := range reach {
			switch {
			case !reach[k]:
			case p == "**" && i == len(pattern)-1:
				return k < len(name)
			case p == "**":
				for j := k; j <= len(name); j++ {
					next[j] = true
				}
			case k < len(name) && glob(p, name[k]):
				next[k+1] = true
			}
		}
		reach = next
	}
	return reach[len(name)]
}

func glob(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return ok && err == nil
}
