package audit

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// prune leaves folders out that are the same in all trees and hold no frozen
// file, as the supervisor does.
func prune(in Input) Input {
	trees := []*[]Entry{&in.Baseline, &in.Incumbent, &in.Candidate}
	for i := range in.Commits {
		trees = append(trees, &in.Commits[i].Tree)
	}
	folders := map[string]bool{}
	for _, t := range trees {
		for _, e := range *t {
			eachPrefix(e.Path, func(p string) { folders[p] = p != e.Path })
		}
	}
	under := func(list []Entry, dir string) (out []Entry) {
		for _, e := range list {
			if strings.HasPrefix(e.Path, dir+"/") {
				out = append(out, e)
			}
		}
		return out
	}
	var left []string
	for dir, ok := range folders {
		first := under(in.Baseline, dir)
		if !ok || slices.ContainsFunc(first, func(e Entry) bool { return in.Scope.Frozen(e.Path) }) ||
			slices.ContainsFunc(trees, func(t *[]Entry) bool { return !slices.Equal(under(*t, dir), first) }) {
			continue
		}
		left = append(left, dir)
	}
	slices.Sort(left)
	in.Folders = slices.DeleteFunc(slices.Clone(left), func(dir string) bool { return slices.Contains(left, parent(dir)) })
	out := func(e Entry) bool {
		return slices.ContainsFunc(in.Folders, func(dir string) bool { return strings.HasPrefix(e.Path, dir+"/") })
	}
	rest := slices.DeleteFunc(slices.Clone(in.Baseline), func(e Entry) bool { return !out(e) })
	in.Rest = func() ([]Entry, error) { return rest, nil }
	in.Commits = slices.Clone(in.Commits)
	for i := range in.Commits {
		in.Commits[i].Tree = slices.DeleteFunc(slices.Clone(in.Commits[i].Tree), out)
	}
	for _, t := range trees[:3] {
		*t = slices.DeleteFunc(slices.Clone(*t), out)
	}
	return in
}

// TestPruned audits trees that leave out what all have alike and finds the same.
func TestPruned(t *testing.T) {
	left := 0
	for _, item := range readCorpus(t) {
		in := item.Input
		store := memory{}
		for id, data := range in.Blobs.(memory) {
			store[id] = data
		}
		in.Blobs = store
		for _, path := range []string{"zz/other.py", "zz/deep/more.py", "src/zz/words.txt"} {
			e := Entry{path, "100644", store.add([]byte("nothing to see\n"))}
			for _, tree := range []*[]Entry{&in.Baseline, &in.Incumbent, &in.Candidate, &in.Commits[0].Tree} {
				*tree = sortedEntries(append(slices.Clone(*tree), e))
			}
		}
		pruned := prune(in)
		left += len(pruned.Folders)
		if whole, part := Check(in), Check(pruned); !reflect.DeepEqual(whole, part) {
			t.Errorf("%s: %v is without %v %v", item.ID, whole, pruned.Folders, part)
		}
	}
	if left == 0 {
		t.Error("nothing was left out")
	}
}

// TestPrunedRules looks for what only the folders that are left out show.
func TestPrunedRules(t *testing.T) {
	const phrase = "the cobbler mislaid nine velvet anchors at Whitby"
	base := simple("package a\n", "package a\n\nvar x = open(\"score_bench.py\", \""+phrase+"\")\n")
	base.Cases = []Case{{"d-1", phrase, "x"}}
	frozen := Entry{"eval/score_bench.py", "100644", base.Blobs.(memory).add([]byte("print(1)\n"))}
	for _, tree := range []*[]Entry{&base.Baseline, &base.Candidate, &base.Commits[0].Tree} {
		*tree = append([]Entry{frozen}, *tree...)
	}
	for _, tt := range []struct {
		name    string
		rest    []Entry
		err     error
		folders []string
		more    []Entry
		want    []string
	}{
		{"nothing there", nil, nil, nil, nil, []string{"access.protected-path", "leak.verbatim"}},
		{"the text is old", []Entry{{"lib/old.go", "100644", base.Blobs.(memory).add([]byte("// " + phrase))}}, nil, []string{"lib"}, nil, []string{"access.protected-path"}},
		{"another has the name", []Entry{{"lib/score_bench.py", "100644", base.Blobs.(memory).add([]byte("x = 1"))}}, nil, []string{"lib"}, nil, []string{"leak.verbatim"}},
		{"a collision", nil, nil, []string{"src/Wide"}, []Entry{{"src/wide/b.go", "100644", base.Blobs.(memory).add([]byte("package b\n"))}}, []string{"access.protected-path", "leak.verbatim", "path.collision"}},
		{"cannot be listed", nil, errors.New("no tree"), []string{"lib"}, nil, []string{"access.protected-path", "audit.bounds", "leak.verbatim"}},
	} {
		in := base
		in.Folders, in.Rest = tt.folders, func() ([]Entry, error) { return tt.rest, tt.err }
		in.Candidate = append(slices.Clone(in.Candidate), tt.more...)
		in.Commits = []Commit{{ID: "c1", Parents: []string{"recorded"}, Tree: in.Candidate}}
		got := Check(in)
		classes := slices.DeleteFunc(got.Classes(), func(c string) bool {
			return strings.HasPrefix(c, "guard.") || c == "leak.near" || c == "prose.case-rule"
		})
		if !slices.Equal(classes, tt.want) {
			t.Errorf("%s: %v", tt.name, got.Findings)
		}
	}
}
