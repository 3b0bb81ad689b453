package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// TestJoined joins the segments of a run with more attempts than sort by name.
func TestJoined(t *testing.T) {
	const folder, attempts = ".research-loop/t/", 102
	var entries []repo.Entry
	add := func(name, id string) {
		entries = append(entries, repo.Entry{Path: folder + name, Mode: repo.ModeFile, ID: id})
	}
	add("contract.md", "contract")
	add("logs/000/2/a.log.gz", "log")
	for i := range attempts {
		add(ledger.Segment(i), fmt.Sprintf("journal %d", i))
		if i > 0 && i < attempts-1 {
			add(ledger.Results(i-1), fmt.Sprintf("results %d", i-1))
		}
	}
	slices.SortFunc(entries, func(a, b repo.Entry) int { return strings.Compare(a.Path, b.Path) })
	names, ids := joined(folder, entries)
	want := []string{"contract.md contract", "logs/000/2/a.log.gz log"}
	got := map[string][]string{}
	for i, name := range names {
		got[name] = append(got[name], ids[i])
	}
	for _, kind := range []string{"journal", "results"} {
		n := attempts
		if kind == "results" {
			n = attempts - 2
		}
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%s %d", kind, i))
		}
		if is := got[kind+".jsonl"]; !slices.Equal(is, all) {
			t.Errorf("%s.jsonl is made of %v, want %v", kind, is, all)
		}
		delete(got, kind+".jsonl")
	}
	for _, line := range want {
		name, id, _ := strings.Cut(line, " ")
		if !slices.Equal(got[name], []string{id}) {
			t.Errorf("%s is made of %v, want %s", name, got[name], id)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("there is more: %v", got)
	}
}

// TestUnwritable refuses names that lead out of the folder of the records.
func TestUnwritable(t *testing.T) {
	const folder = ".research-loop/t/"
	if err := unwritable(folder, repo.Entry{Path: folder + "logs/000/1/a.log.gz", Mode: repo.ModeFile}); err != nil {
		t.Error(err)
	}
	for _, e := range []repo.Entry{
		{Path: folder + "logs/000/1/../../../../../.git/config", Mode: repo.ModeFile},
		{Path: folder + "logs/000/1/../../../checkpoint", Mode: repo.ModeFile},
		{Path: folder + "logs/000/1/.git", Mode: repo.ModeFile},
		{Path: folder + "logs/000/1//a", Mode: repo.ModeFile},
		{Path: folder + "logs/000/1/a", Mode: repo.ModeSymlink},
		{Path: "solver/a", Mode: repo.ModeFile},
	} {
		if unwritable(folder, e) == nil {
			t.Errorf("%s %s would be written", e.Mode, e.Path)
		}
	}
}

// TestMirrorLink writes through no link, though it leads to a place in the clone.
func TestMirrorLink(t *testing.T) {
	top := t.TempDir()
	if err := os.MkdirAll(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git", filepath.Join(top, "logs")); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := writeMirror(root, filepath.Join("logs", "config"), []byte("x")); err == nil {
		t.Error("was written through a link")
	}
	if _, err := os.Lstat(filepath.Join(top, ".git", "config")); err == nil {
		t.Error("stands behind the link")
	}
}
