package contract

import (
	"fmt"
	"slices"
	"strings"
)

// CheckPaths holds the contract against the files of the baseline tree and
// returns what does not fit: patterns that match nothing, tests below a
// writable pattern, folders of cases without cases, a scorer that is not
// frozen. paths are the raw paths of all files. The faults know only their
// Path; Locate finds their places in the draft.
func (c *Contract) CheckPaths(paths []string) []Fault {
	t := &treeChecker{c: c, paths: paths}
	t.writable()
	t.patterns("$.harness.paths", c.Harness.Paths)
	t.patterns("$.scope.readable", c.Scope.Readable)
	t.cases("$.splits.development", c.Splits.Development)
	t.cases("$.counterexamples", c.Counterexamples)
	if c.Specification != "" && !slices.Contains(paths, c.Specification) {
		t.bad("$.specification", "the baseline has no file "+shown(c.Specification), "")
	}
	t.generated()
	t.frozenCommand("$.evaluation.score", "scorer", t.c.Evaluation.Score)
	t.frozenCommand("$.evaluation.driver.run", "driver", t.c.driver())
	return t.faults
}

type treeChecker struct {
	c      *Contract
	paths  []string
	faults []Fault
}

func (t *treeChecker) bad(path, message, fix string) {
	t.faults = append(t.faults, Fault{Path: path, Message: message, Fix: fix})
}

// which returns the paths for which keep holds.
func (t *treeChecker) which(keep func(string) bool) []string {
	var out []string
	for _, p := range t.paths {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// some names a few of paths for a message.
func some(paths []string) string { return listing(each(paths, shown)) }

// listing names a few of a list.
func listing(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func (t *treeChecker) writable() {
	any := false
	for i, p := range t.c.Scope.Writable {
		field := fmt.Sprintf("$.scope.writable[%d]", i)
		hits := t.which(func(path string) bool { return clean(path) && match(p, path) })
		any = any || len(hits) > 0
		if tests := slices.DeleteFunc(slices.Clone(hits), func(path string) bool { return !UsualTest(path) }); len(tests) > 0 {
			t.bad(field, "the author could change tests or fixtures: "+shown(p)+" covers "+some(tests), "name the files of the code, or move tests and code apart")
		}
		if frozen := slices.DeleteFunc(slices.Clone(hits), func(path string) bool { return !t.c.Frozen(path) && !t.c.Readable(path) }); len(frozen) > 0 {
			t.bad(field, "the author could change what is frozen or readable: "+shown(p)+" covers "+some(frozen), "narrow the pattern")
		}
		t.isFolder(field, p)
	}
	if !any {
		t.bad("$.scope.writable", "no file of the baseline is writable", "check the patterns against git ls-files")
	}
}

// isFolder catches a folder that was written as if it were a file.
func (t *treeChecker) isFolder(field, p string) bool {
	folder := !strings.ContainsAny(p, "*?[{") && !strings.HasSuffix(p, "/") &&
		slices.ContainsFunc(t.paths, func(path string) bool { return strings.HasPrefix(path, p+"/") })
	if folder {
		t.bad(field, shown(p)+" is a folder, and the pattern matches a file of that name only", "write "+p+"/**")
	}
	return folder
}

func (t *treeChecker) patterns(field string, patterns []string) {
	for i, p := range patterns {
		at := fmt.Sprintf("%s[%d]", field, i)
		if !t.isFolder(at, p) && !slices.ContainsFunc(t.paths, func(path string) bool { return clean(path) && match(p, path) }) {
			t.bad(at, "no file of the baseline matches "+shown(p), "check it against git ls-files")
		}
	}
}

func (t *treeChecker) cases(field, folder string) {
	if folder == "" {
		return
	}
	for _, half := range []string{inputs, answers} {
		if !slices.ContainsFunc(t.paths, func(path string) bool { return strings.HasPrefix(path, folder+"/"+half) }) {
			t.bad(field, "the baseline has no file below "+shown(folder+"/"+half), "a folder of cases holds inputs/ and answers/ with files of the same names")
		}
	}
}

func (t *treeChecker) generated() {
	for i, g := range t.c.Scope.Generated {
		if hits := t.which(func(path string) bool { return inside(g.Path, path) }); len(hits) > 0 {
			t.bad(fmt.Sprintf("$.scope.generated[%d].path", i), "launches would write over files of the baseline: "+some(hits), "choose a path that holds no file")
		}
		if g.Policy == GeneratedSnapshot && !slices.ContainsFunc(t.paths, func(path string) bool { return strings.HasPrefix(path, g.From+"/") && t.c.Frozen(path) }) {
			t.bad(fmt.Sprintf("$.scope.generated[%d].from", i), "the baseline has no frozen file below "+shown(g.From), "")
		}
	}
}

// frozenCommand looks for files that a command of the harness names.
func (t *treeChecker) frozenCommand(at, who, command string) {
	for _, word := range words(command) {
		there := slices.ContainsFunc(t.paths, func(path string) bool { return inside(word, path) })
		switch frozen := t.c.Frozen(word); {
		case slices.Contains(t.paths, word) && !frozen:
			t.bad(at, "the "+who+"'s file "+shown(word)+" is not frozen", "let harness.paths cover it")
		case frozen && !there:
			t.bad(at, "the baseline has no file "+shown(word), "check it against git ls-files")
		}
	}
}
