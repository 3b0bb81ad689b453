// Package pkg_test holds the law of the house: imports run against the data.
package pkg_test

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/research-loop/research-loop/"

// rows is the table of the house. A package imports earlier rows only, never
// its own row. DO NOT CHANGE THIS DATA TO FIX BUILDS: move the code instead.
var rows = [][]string{
	{"contract", "ledger", "paired", "repo", "sandbox", "vault", "forge"},
	{"audit", "evaluate", "gate"},
	{"decide"},
	{"journal"},
	{"verify"},
	{"report"},
	{"supervisor"},
	{"hook"},
	{"setup"},
	{"demo"},
	{"cli"},
}

// pure packages know no clock, file, network or git, and none of impure.
var (
	pure   = []string{"ledger", "paired", "audit", "gate", "decide", "journal"}
	impure = []string{"repo", "sandbox", "vault", "forge", "evaluate"}
	// effects are the standard packages that a pure package may not import.
	effects = []string{"os", "os/exec", "net", "net/http", "syscall", "path/filepath", "io/ioutil"}
)

// owners names the only packages that may import a foreign thing. A key that
// ends in a slash stands for everything below it.
var owners = map[string][]string{
	"gopkg.in/yaml.v3":                        {"contract"},
	"github.com/bmatcuk/doublestar/":          {"contract"},
	"golang.org/x/mod/":                       {"ledger"},
	"github.com/go-git/":                      {"repo"},
	"filippo.io/age":                          {"vault"},
	"github.com/google/go-github/":            {"forge"},
	"github.com/sethvargo/go-githubactions":   {"forge"},
	"github.com/spf13/cobra":                  {"cli"},
	"golang.org/x/term":                       {"cli"},
	"golang.org/x/text/":                      {"contract", "audit", "vault"},
	"os/exec":                                 {"sandbox", "repo", "setup"},
	"golang.org/x/sys/unix":                   {"sandbox", "repo"},
	"github.com/research-loop/research-loop/": nil, // ruled by rows
}

func TestImports(t *testing.T) {
	level := map[string]int{}
	for i, row := range rows {
		for _, name := range row {
			level[name] = i
		}
	}
	for _, name := range directories(t) {
		mine, ok := level[name]
		if !ok {
			t.Errorf("pkg/%s stands in no row", name)
			continue
		}
		for _, imp := range imports(t, name) {
			checkRow(t, level, name, mine, imp)
			checkOwner(t, name, imp)
			checkPure(t, name, imp)
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, name := range directories(t) {
		p, err := build.Default.ImportDir(name, build.ImportComment)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(p.Doc, "Package "+p.Name+" ") {
			t.Errorf("pkg/%s: the package comment must begin with %q", name, "Package "+p.Name)
		}
	}
}

// TestOnlyTestsImportTestPackages keeps packages that are made for tests, whose
// names end in "test", out of the program. That is why the laws of imports do not
// bind what they import themselves.
func TestOnlyTestsImportTestPackages(t *testing.T) {
	for _, name := range append(directories(t), "../cmd", "../hooks", "../workflows") {
		for _, imp := range imports(t, name) {
			if strings.HasPrefix(imp, module) && forTests(imp) {
				t.Errorf("%s imports %s: only tests may", name, imp)
			}
		}
	}
}

// forTests tells a package that is made for tests, by its path.
func forTests(path string) bool {
	return strings.HasSuffix(path, "test")
}

// TestTopLevel keeps the top of the repository to what DESIGN allows.
func TestTopLevel(t *testing.T) {
	allowed := []string{"action.yml", "cmd", "pkg", "workflows", "hooks", "go.mod", "go.sum", "README.md", "LICENSE"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

func checkRow(t *testing.T, level map[string]int, name string, mine int, imp string) {
	t.Helper()
	rest, ok := strings.CutPrefix(imp, module+"pkg/")
	if !ok {
		return
	}
	top, _, _ := strings.Cut(rest, "/")
	if theirs, known := level[top]; top != name && (!known || theirs >= mine) {
		t.Errorf("%s may not import %s", name, top)
	}
}

func checkOwner(t *testing.T, name, imp string) {
	t.Helper()
	for thing, who := range owners {
		if who == nil {
			continue
		}
		match := imp == thing || strings.HasSuffix(thing, "/") && strings.HasPrefix(imp, thing)
		if match && !slices.Contains(who, name) {
			t.Errorf("%s may not import %s: it belongs to %s", name, imp, strings.Join(who, ", "))
		}
	}
}

func checkPure(t *testing.T, name, imp string) {
	t.Helper()
	if !slices.Contains(pure, name) {
		return
	}
	if slices.Contains(effects, imp) {
		t.Errorf("%s is pure and may not import %s", name, imp)
	}
	if rest, ok := strings.CutPrefix(imp, module+"pkg/"); ok && slices.Contains(impure, rest) {
		t.Errorf("%s is pure and may not import %s", name, rest)
	}
}

// directories lists the packages below pkg, read in-process: a listing by a
// child process would let the test cache serve a pass after the law is broken.
func directories(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// imports lists what the non-test files below pkg/name import, on every
// platform that a build constraint names. Packages for tests do not count.
func imports(t *testing.T, name string) []string {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // workflows/ comes with the first of them
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" || forTests(path) {
			return filepath.SkipDir
		}
		ctx := build.Default
		ctx.UseAllFiles = true
		p, err := ctx.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		for _, imp := range p.Imports {
			seen[imp] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for imp := range seen {
		out = append(out, imp)
	}
	slices.Sort(out)
	return out
}
