package audit

import (
	"slices"
	"strings"
	"testing"
)

// TestNames tries trees that cannot be written as files everywhere: what the
// supervisor could not materialise must be refused before.
func TestNames(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, c := range []struct {
		name  string
		paths []string
		bad   bool
	}{
		{"plain", []string{"src/a", "src/a-b", "src/b/c"}, false},
		{"dash inside", []string{"src/a-rf"}, false},
		{"dash", []string{"src/-rf"}, true},
		{"dash of a folder", []string{"src/-x/a"}, true},
		{"longest name", []string{"src/" + long}, false},
		{"longer name", []string{"src/" + long + "n"}, true},
		{"longer path", []string{"src/" + strings.Repeat(long+"/", 16) + "a"}, true},
		{"twice", []string{"src/a", "src/a"}, true},
		{"order", []string{"src/b", "src/a"}, true},
		{"file and folder", []string{"src/a", "src/a/b"}, true},
		{"file and folder apart", []string{"src/a", "src/a-b", "src/a/b"}, true},
		{"empty part", []string{"src//a"}, true},
		{"upwards", []string{"src/../eval/a"}, true},
	} {
		store := memory{"x": []byte("x\n")}
		var entries []Entry
		for _, p := range c.paths {
			entries = append(entries, Entry{p, "100644", "x"})
		}
		r := Check(Input{Scope: prefixes{[]string{"src/"}, nil}, Blobs: store, Candidate: entries})
		if got := slices.Contains(r.Classes(), "path.name"); got != c.bad {
			t.Errorf("%s: refused %v, want %v: %v", c.name, got, c.bad, r.Findings)
		}
	}
}
