package audit

import (
	"slices"
	"strings"
)

var ruleProtectedPath = rule{
	class: "access.protected-path",
	about: "The change names a path of the evaluation: who reads cases or the scorer at run time does not solve the task.",
	fix:   "work on the inputs that are given; take the path out",
	file: func(f *file) []Finding {
		if f.added == 0 {
			return nil
		}
		p := f.a.frozenPaths()
		if len(p.files)+len(p.names) == 0 {
			return nil
		}
		f.read()
		var found []Finding
		for _, s := range f.texts {
			if s.kind == commentKind {
				continue
			}
			for _, piece := range s.news() {
				severity, ok := p.named(piece.text, f, s.kind, piece.line)
				if ok && p.partial {
					// Whether others have the name is asked where it matters.
					p = f.a.frozenOf(f.a.whole())
					f.a.frozen = p
					severity, ok = p.named(piece.text, f, s.kind, piece.line)
				}
				if ok && !strings.Contains(f.before, piece.text) {
					found = append(found, f.at(piece.line, severity, "a path of the evaluation is named"))
				}
			}
		}
		return found
	},
}

// frozenNames are the frozen paths of the baseline and what they are called.
type frozenNames struct {
	files   map[string]bool // whole paths that have a folder
	folders map[string]bool // whole paths of folders that hold only frozen files
	names   map[string]bool // file names that no other file has
	partial bool            // some of the others were not looked at
}

// frozenPaths collects the frozen paths, once.
func (a *audit) frozenPaths() *frozenNames {
	if a.frozen == nil {
		a.frozen = a.frozenOf(a.in.Baseline)
		a.frozen.partial = a.in.Rest != nil
	}
	return a.frozen
}

func (a *audit) frozenOf(entries []Entry) *frozenNames {
	p := &frozenNames{files: map[string]bool{}, folders: map[string]bool{}, names: map[string]bool{}}
	for _, e := range entries {
		if !a.in.Scope.Frozen(e.Path) {
			continue
		}
		if strings.Contains(e.Path, "/") {
			p.files[e.Path] = true
		}
		if name := base(e.Path); telling(name) {
			p.names[name] = true
		}
		eachPrefix(e.Path, func(dir string) { p.folders[dir] = dir != e.Path && len(dir) >= 3 })
	}
	if len(p.folders)+len(p.names) == 0 {
		return p
	}
	for _, e := range entries {
		if !a.in.Scope.Frozen(e.Path) {
			delete(p.names, base(e.Path))
			eachPrefix(e.Path, func(dir string) { delete(p.folders, dir) })
		}
	}
	return p
}

// telling says that a file name points at one file and not at a kind of file.
func telling(name string) bool {
	stem, ext, ok := strings.Cut(name, ".")
	return ok && len(stem) >= 4 && ext != "" && !generic(name)
}

// generic says that files of many projects are called so.
func generic(name string) bool {
	name = strings.ToLower(name)
	stem, _, _ := strings.Cut(name, ".")
	return manifests[name] || slices.Contains([]string{"readme", "license", "index", "main", "lib", "mod", "__init__", "package", "config",
		"makefile", "setup", "test", "tests", "utils", "data", "run"}, stem)
}

// fileCue is code that deals with files.
var fileCue = expr(`(?i)open|read|join|path|file|load|dir|glob|walk|include|require|import|stat|exists|parent|ancestors|fs\b|curl|cat\b`)

// named weighs a text that may name a frozen path. In prose the whole path of
// a file must stand there, because prose may speak of the tests.
func (p *frozenNames) named(text string, f *file, k kind, line int) (Severity, bool) {
	if whole := strings.Trim(text, "/."); k != proseKind && (p.folders[whole] || p.names[base(whole)]) && fileCue.MatchString(f.lines[line-1]) {
		return Invalid, true
	}
	if !strings.ContainsAny(text, `/\`) {
		return "", false
	}
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(text, `\`, "/"), func(r rune) bool {
		return r != '/' && r != '.' && (r >= 0x80 || !pathByte(byte(r)))
	}) {
		if strings.HasPrefix(word, "//") {
			continue // the rest of a URL
		}
		file, folder := p.parts(strings.Split(word, "/"))
		switch {
		case file && k == proseKind:
			return Review, true
		case (file || folder) && k != proseKind:
			return Invalid, true
		}
	}
	return "", false
}

// maxParts is how many components of a path are looked at.
const maxParts = 12

// parts looks for a frozen file, and for a frozen folder with something below
// it, among the components of a path.
func (p *frozenNames) parts(list []string) (file, folder bool) {
	list = list[:min(len(list), maxParts)]
	for i := range list {
		for j := i + 1; j <= len(list); j++ {
			path := strings.Join(list[i:j], "/")
			file = file || p.files[path]
			folder = folder || j < len(list) && p.folders[path]
		}
	}
	return file, folder
}

func pathByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '-' }
