package supervisor_test

import (
	"testing"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for want, files := range candidates {
		if short() && want != "keep" && want != "timeout" {
			continue // pkg/verify's story has the others
		}
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t)
			incumbent := w.tree("refs/heads/research-loop/speedup")
			id := w.candidate(want, files)
			run := w.judge()
			v, ok := run.Verdict(id)
			if !ok || v.Status != want {
				t.Fatalf("verdict %+v, want %s", v, want)
			}
			if want == "keep" {
				incumbent = w.tree(id)
			}
			if got := w.tree("refs/heads/research-loop/speedup"); got != incumbent {
				t.Errorf("the run branch's tree is %s, want the incumbent's %s", got, incumbent)
			}
			w.git(w.origin(), "fsck", "--strict", "--no-dangling")
		})
	}
}
