package verify_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// TestLong fetches a run of 10,000 attempts whole and shallow. What a shallow
// clone does not hold is never said to hold.
func TestLong(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("writes 10,000 attempts: set CI=true")
	}
	const attempts = 10_000
	dir := t.TempDir() + "/widget.git"
	write(t, dir, func(sink io.Writer) *clerk {
		k := newClerk(t, sink)
		for range attempts + 1 {
			k.attempt(1)
		}
		return k
	})
	report, err := verify.Run(packed(t, dir))
	must(t, err)
	if text := law(report, "branch").Text; report.Cut || !strings.HasPrefix(text, fmt.Sprintf("%d commits", 3*attempts+4)) {
		t.Errorf("the whole run: cut %v, %s", report.Cut, text)
	}
	checkpoint := gitIn(t, dir, "cat-file", "blob", journal.StateBranch(tag)+":"+journal.Folder(tag)+"checkpoint")
	seen := verify.Anchor{Where: "the mirror", Note: []byte(checkpoint)}
	for _, depth := range []int{1, 500} {
		report, err := verify.Run(shallow(t, dir, depth, seen))
		must(t, err)
		if first, f, broken := report.First(); broken {
			t.Errorf("depth %d: %s: %s %s", depth, first, f.Place, f.Is)
		}
		for _, name := range []string{"branch", "tip", "candidates", "restores"} {
			if l := law(report, name); !report.Cut || l.State != verify.NotChecked || !strings.Contains(l.Text, "shallow") {
				t.Errorf("depth %d: %s %s: %s", depth, name, l.State, l.Text)
			}
		}
		for _, name := range []string{"chain", "results", "signatures", "anchors", "order", "leases", "limits", "decisions", "logs"} {
			if l := law(report, name); l.State != verify.Holds {
				t.Errorf("depth %d: %s %s: %s", depth, name, l.State, l.Text)
			}
		}
	}
	// An older state on top: only who sees its parent, or saw it before, can know.
	state := journal.StateBranch(tag)
	older := gitIn(t, dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit-tree", state+"~1^{tree}", "-m", strings.TrimSpace(gitIn(t, dir, "show", "-s", "--format=%B", state+"~1")), "-p", state)
	gitIn(t, dir, "update-ref", "refs/heads/"+state, strings.TrimSpace(older))
	for _, c := range []struct {
		depth  int
		seen   verify.Anchor
		broken string
	}{{1, verify.Anchor{}, ""}, {1, seen, "anchors"}, {2, verify.Anchor{}, "branch"}} {
		report, err := verify.Run(shallow(t, dir, c.depth, c.seen))
		must(t, err)
		if first, f, _ := report.First(); first != c.broken || !report.Cut {
			t.Errorf("depth %d of an older state: %q %s %s, cut %v; want %q", c.depth, first, f.Place, f.Is, report.Cut, c.broken)
		}
	}
}

// TestAppendIsFlat has a supervisor append one event to runs of several lengths,
// and counts what it writes: as many objects, and no more bytes but the names in
// the two folders above a segment, of a hundred attempts and of the hundreds.
func TestAppendIsFlat(t *testing.T) {
	t.Parallel()
	lengths := []int{10, 100}
	if os.Getenv("CI") == "true" {
		lengths = []int{100, 1000, 10_000}
	}
	objects, bytes := 0, 0
	for _, n := range lengths {
		w := &world{t: t, dir: t.TempDir(), signer: key(t, "example.com/widget", 1)}
		dir := w.dir + "/widget.git"
		write(t, dir, func(sink io.Writer) *clerk {
			k := newClerk(t, sink)
			for range n + 1 {
				k.attempt(1)
			}
			return k
		})
		manyBefore, bytesBefore := stored(t, dir)
		s := w.supervisorOf(dir)
		must(t, s.RequestClose(context.Background(), "enough", "ada", false))
		many, size := stored(t, dir)
		many, size = many-manyBefore, size-bytesBefore
		t.Logf("%d attempts: %d objects of %d bytes", n, many, size)
		if objects == 0 {
			objects, bytes = many, size
		}
		const name = len("100644 10000.jsonl\x00") + 20
		if most := bytes + (100+n/100)*name; many != objects || size > most {
			t.Errorf("after %d attempts an event costs %d objects of %d bytes, want %d of at most %d", n, many, size, objects, most)
		}
	}
}

// stored counts the objects of a repository and their bytes.
func stored(t *testing.T, dir string) (objects, bytes int) {
	t.Helper()
	for line := range strings.Lines(gitIn(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectsize)")) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		must(t, err)
		objects, bytes = objects+1, bytes+n
	}
	return objects, bytes
}

func law(r *verify.Report, name string) verify.Law {
	for _, l := range r.Laws {
		if l.Name == name {
			return l
		}
	}
	return verify.Law{}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// shallow clones so many commits of every branch.
func shallow(t *testing.T, origin string, depth int, seen verify.Anchor) verify.Source {
	t.Helper()
	dir := t.TempDir() + "/clone"
	gitIn(t, ".", "clone", "--quiet", fmt.Sprintf("--depth=%d", depth), "--no-single-branch", "--no-checkout", "file://"+origin, dir)
	work, err := repo.OpenWork(context.Background(), dir)
	must(t, err)
	t.Cleanup(func() { work.Close() })
	src, err := verify.Tracked(work, tag, "origin")
	must(t, err)
	src.Anchors = []verify.Anchor{seen}
	return src
}
