package supervisor_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// scanner refuses what holds the shape of a token, unpacked logs included, as
// GitHub's push protection does, and says what GitHub says.
const scanner = `#!/bin/sh
while read old new ref; do
	case "$ref:$new" in *:0000000000*) continue;; esac
	case "$old" in 0000000000*) old=4b825dc642cb6eb9a060e54bf8d69288fbee4904;; esac # the empty tree
	if git grep --quiet --text --extended-regexp "$SHAPE" "$new" -- ||
		git diff-tree -r --name-only --diff-filter=d "$old" "$new" -- '*.gz' | while read -r f; do git cat-file blob "$new:$f" | gzip -dc; done | grep --quiet --text --extended-regexp "$SHAPE"; then
		echo "error: GH013: Repository rule violations found for $ref." >&2
		echo "- GITHUB PUSH PROTECTION" >&2
		echo "    - Push cannot contain secrets" >&2
		echo refused >>"$GIT_DIR/refused"
		exit 1
	fi
done
`

// protect puts a scanner for a shape before the remote.
func (w *world) protect(shape string) {
	w.t.Helper()
	hooks := filepath.Join(w.origin(), "hooks")
	if err := os.Mkdir(hooks, 0o755); err != nil {
		w.t.Fatal(err)
	}
	hook := strings.ReplaceAll(scanner, "$SHAPE", shape)
	if err := os.WriteFile(filepath.Join(hooks, "pre-receive"), []byte(hook), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// refusals counts what the scanner refused.
func (w *world) refusals() int {
	data, _ := os.ReadFile(filepath.Join(w.origin(), "refused")) // absent: none
	return strings.Count(string(data), "\n")
}

// said pushes a candidate with a hypothesis of its own.
func (w *world) said(hypothesis string, files map[string]string) string {
	w.t.Helper()
	w.git(w.author, "fetch", "--quiet", "--prune", "origin")
	w.git(w.author, "checkout", "--quiet", "-B", journal.RunBranch(tag), "origin/"+journal.RunBranch(tag))
	w.commit("said", files)
	w.git(w.author, "commit", "--quiet", "--amend", "--message",
		"said\n\nHypothesis: "+hypothesis+"\nFailure-class: f\nMechanism: m\nPredicted-variant: p\nCounterexample: c\n")
	w.git(w.author, "push", "--quiet", "origin", "HEAD:"+journal.RunBranch(tag))
	return w.git(w.author, "rev-parse", "HEAD")
}

// verified derives the run again, from the remote.
func (w *world) verified() {
	w.t.Helper()
	work, err := repo.OpenWork(context.Background(), w.origin())
	if err != nil {
		w.t.Fatal(err)
	}
	defer work.Close()
	src, err := verify.Tracked(work, tag, "")
	if err != nil {
		w.t.Fatal(err)
	}
	report, err := verify.Run(src)
	if err != nil {
		w.t.Fatal(err)
	}
	if law, f, broken := report.First(); broken {
		w.t.Errorf("%s: %s %s", law, f.Place, f.Is)
	}
}

// records gives every version of every record, logs unpacked.
func (w *world) records() string {
	w.t.Helper()
	work, err := repo.OpenWork(context.Background(), w.origin())
	if err != nil {
		w.t.Fatal(err)
	}
	defer work.Close()
	var all strings.Builder
	seen := map[repo.Entry]bool{}
	for line := range strings.Lines(w.git(w.origin(), "rev-list", "--first-parent", "refs/heads/"+journal.StateBranch(tag))) {
		entries, err := work.Tree(strings.TrimSpace(line))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			if seen[e] {
				continue
			}
			seen[e] = true
			data, err := work.Blob(e.ID)
			if err != nil {
				w.t.Fatal(err)
			}
			if strings.HasSuffix(e.Path, ".gz") {
				data = unpacked(w.t, data)
			}
			all.Write(data)
		}
	}
	return all.String()
}

// token has no shape that this program knows; the remote knows it.
const token = "octo_0123456789abcdefghijABCDEFGHIJ012345"

// TestWithheld has a remote refuse a token that an author wrote into a message,
// or that a candidate printed: the run goes on, with a digest in its place.
func TestWithheld(t *testing.T) {
	t.Parallel()
	printing := map[string]string{"solver/run.sh": "t=octo_0123456789abcdefghij\necho \"${t}ABCDEFGHIJ012345\" >&2\nexit 3\n"}
	for name, c := range map[string]struct {
		hypothesis, want, status string
		files                    map[string]string
	}{
		"a message":             {"it works with " + token, ledger.Withheld("it works with " + token), "keep", candidates["keep"]},
		"a rejected message":    {"it works with " + token, ledger.Withheld("it works with " + token), "discard", candidates["discard"]},
		"an invalid message":    {"it works with " + token, ledger.Withheld("it works with " + token), "invalid", candidates["invalid"]},
		"what a candidate says": {"h", "h", "crash", printing},
	} {
		if short() && name != "a rejected message" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t)
			w.protect("octo_[0-9A-Za-z]{36}")
			id := w.said(c.hypothesis, c.files)
			run := w.judge()
			v, ok := run.Verdict(id)
			if !ok || v.Status != c.status {
				t.Fatalf("verdict %+v, want %s", v, c.status)
			}
			if got := run.Entries[len(run.Entries)-1].Hypothesis; got != c.want && got != ledger.Withheld(c.want) {
				t.Errorf("hypothesis %q, want %q", got, c.want)
			}
			if w.refusals() == 0 {
				t.Error("the remote refused nothing: nothing was tried")
			}
			if strings.Contains(w.records(), token) {
				t.Error("the token stands in the records")
			}
			w.verified()
			next := w.candidate("next", map[string]string{"solver/run.sh": "read w\necho \"$w$w\" # next\n"})
			if v, ok := w.judge().Verdict(next); !ok || v.Status == "" {
				t.Errorf("the next candidate is judged %+v", v)
			}
		})
	}
}

// TestWithheldIntent closes a run for a reason that the remote does not take.
func TestWithheldIntent(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("takes many pushes: set CI=true")
	}
	t.Parallel()
	w := openWorld(t)
	w.protect("octo_[0-9A-Za-z]{36}")
	s := w.supervisor(nil)
	if err := s.RequestClose(context.Background(), "leaked "+token, "ada", false); err != nil {
		t.Fatal(err)
	}
	if run := w.judge(); run.Closed == nil || run.Closed.Reason != ledger.Withheld("leaked "+token) {
		t.Errorf("closed %+v", run.Closed)
	}
	w.verified()
}

// TestRefusedStays has a remote refuse whatever it is given: it is tried once
// more, and then it is an error.
func TestRefusedStays(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	w.protect(".")
	err := w.supervisor(nil).RequestClose(context.Background(), "enough", "ada", false)
	var remote *repo.RemoteError
	if !errors.As(err, &remote) || !remote.Secret || w.refusals() != 2 {
		t.Errorf("%v, after %d refusals", err, w.refusals())
	}
}

// TestKnownSecretsAreNotRecorded has an author write a token of known shape: it
// is redacted before anything is pushed, and the run can be verified.
func TestKnownSecretsAreNotRecorded(t *testing.T) {
	t.Parallel()
	known := "ghp_" + strings.Repeat("a1", 18)
	w := openWorld(t)
	w.protect("ghp_[0-9A-Za-z]{36}")
	w.said("it works with "+known, candidates["keep"])
	run := w.judge()
	if got := run.Entries[1].Hypothesis; got != "it works with [redacted]" {
		t.Errorf("hypothesis %q", got)
	}
	if w.refusals() != 0 || strings.Contains(w.records(), known) {
		t.Errorf("%d refusals", w.refusals())
	}
	w.verified()
}

func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
