package cli

import (
	"fmt"
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
