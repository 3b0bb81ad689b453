package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDemo shows the demo as a person sees it who has just cloned this
// repository: every verdict in its order, and nothing left behind.
func TestDemo(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("the demo judges seven candidates, twice: set CI=true")
	}
	if testing.Short() {
		t.Skip("the demo judges seven candidates")
	}
	want := []string{"keep", "discard", "crash", "timeout", "refused by the hook", "invalid", "refused by the hook", "invalid", "keep"}
	for _, mode := range []struct {
		name, mark string
		args       []string
	}{
		{"confined", "", []string{"demo"}},
		{"unconfined", " (unconfined)", []string{"demo", "--unconfined"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			if mode.mark == "" {
				needSandbox(t)
			}
			p := newPerson(t, t.TempDir())
			temp := filepath.Join(p.dir, "tmp")
			must(t, os.Mkdir(temp, 0o755))
			p.env = append(p.env, "TMPDIR="+temp)
			out := p.run("research-loop", mode.args...)
			var got []string
			for line := range strings.Lines(out) {
				if verdict, ok := strings.CutPrefix(line, "=> "); ok {
					verdict, _, _ = strings.Cut(strings.TrimSpace(verdict), ":")
					if verdict != "refused by the hook" {
						if !strings.HasSuffix(verdict, mode.mark) {
							t.Errorf("verdict %q bears no mark", verdict)
						}
						verdict = strings.TrimSuffix(verdict, mode.mark)
					}
					got = append(got, verdict)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the verdicts are %q, want %q:\n%s", got, want, out)
			}
			left, err := os.ReadDir(temp)
			must(t, err)
			if len(left) > 0 {
				t.Errorf("the demo left %v", left)
			}
		})
	}
}
