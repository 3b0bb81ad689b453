package audit

import (
	"fmt"
	"testing"
)

// BenchmarkRepository audits a one-file change of a repository of 57,000
// files: what the hook spends here is on top of git's own plumbing.
func BenchmarkRepository(b *testing.B) {
	in := generated(200, 20, 40)
	store := in.Blobs.(memory)
	id := store.add([]byte("package x\n\nfunc f(a int) int { return a + 1 }\n"))
	for i := range 57000 {
		path := fmt.Sprintf("src/d%02d/e%02d/f%03d.go", i%57, i/57%50, i)
		in.Baseline = append(in.Baseline, Entry{path, "100644", id})
		in.Candidate = append(in.Candidate, Entry{path, "100644", id})
	}
	in.Baseline, in.Candidate = sortedEntries(in.Baseline), sortedEntries(in.Candidate)
	for b.Loop() {
		Check(in)
	}
}
