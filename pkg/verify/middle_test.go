package verify_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/verify"
)

// below puts a commit of its own on the state branch, n commits below its tip,
// whose tree change makes of the one that stands there; all behind it stand on
// it as they are. It gives the commit.
func (w *world) below(n int, change func()) string {
	w.t.Helper()
	branch := journal.StateBranch(tag)
	tip := w.git(w.origin(), "rev-parse", branch)
	var behind []string
	for i := range n {
		behind = append([]string{w.git(w.origin(), "rev-parse", fmt.Sprintf("%s~%d", tip, i))}, behind...)
	}
	w.set(branch, w.back(n))
	change()
	foreign := w.git(w.origin(), "rev-parse", branch)
	at := foreign
	for _, id := range behind {
		args := []string{"commit-tree", id + "^{tree}", "-m", w.git(w.origin(), "show", "-s", "--format=%B", id), "-p", at}
		for _, p := range strings.Fields(w.git(w.origin(), "show", "-s", "--format=%P", id))[1:] {
			args = append(args, "-p", p)
		}
		at = w.git(w.origin(), args...)
	}
	w.set(branch, at)
	return foreign
}

const otherMessage = "is not the one that goes with its checkpoint"

// say gives the newest commit of the state branch another message.
func (w *world) say(message string) {
	state := journal.StateBranch(tag)
	w.set(state, w.git(w.origin(), "commit-tree", state+"^{tree}", "-m", message, "-p", w.back(1)))
}

// TestMiddle puts a commit into the middle of the state branch which those behind
// it heal: the newest records are genuine, and yet it is named, and it alone.
func TestMiddle(t *testing.T) {
	t.Parallel()
	segment := ledger.Segment(0)
	const log = "logs/000/0/candidate-0-a.log.gz"
	edit := func(w *world, name, old, by string) {
		w.put(map[string][]byte{name: []byte(strings.Replace(string(w.state(name)), old, by, 1))}, w.back(1))
	}
	ci := os.Getenv("CI") == "true"
	for i, c := range []struct {
		name, says string
		do         func(w *world)
	}{
		{"a file too many", "does not belong", func(w *world) { w.put(map[string][]byte{"notes.md": []byte("x")}, w.back(1)) }},
		{"a commit too many", "is not the newest journal up to any line behind", func(w *world) { w.put(nil) }},
		{"a line changed", ledger.Segment(0), func(w *world) { edit(w, segment, "prepared", "Prepared") }},
		{"a line dropped", ledger.Segment(0), func(w *world) {
			lines := strings.SplitAfter(string(w.state(segment)), "\n")
			w.put(map[string][]byte{segment: []byte(strings.Join(append(lines[:2:2], lines[3:]...), ""))}, w.back(1))
		}},
		{"a line early", ledger.Segment(0), func(w *world) {
			w.put(map[string][]byte{segment: []byte(string(w.state(segment)) + "{}\n")}, w.back(1))
		}},
		{"results changed", ledger.Results(0), func(w *world) { edit(w, ledger.Results(0), "keep", "kept") }},
		{"results gone", "is gone", func(w *world) { w.put(map[string][]byte{ledger.Results(0): nil}, w.back(1)) }},
		{"the contract changed", "a run has one contract", func(w *world) { edit(w, "contract.md", "Answer", "answer") }},
		{"a log changed", "a log is written once", func(w *world) { w.put(map[string][]byte{log: []byte("x")}, w.back(1)) }},
		{"a log gone", "is gone", func(w *world) { w.put(map[string][]byte{log: nil}, w.back(1)) }},
		{"a log too many", "is recorded by none", func(w *world) { w.put(map[string][]byte{"logs/000/0/x.log.gz": []byte("x")}, w.back(1)) }},
		{"a log early", "is recorded by none", func(w *world) {
			w.put(map[string][]byte{"logs/000/3/candidate-0-a.log.gz": []byte("x")}, w.back(1))
		}},
		{"a segment early", ledger.Segment(10), func(w *world) { w.put(map[string][]byte{ledger.Segment(10): []byte("x")}, w.back(1)) }},
		{"no checkpoint", "checkpoint", func(w *world) { w.put(map[string][]byte{"checkpoint": nil}, w.back(1)) }},
		{"no file at all", "is gone", func(w *world) {
			empty := w.git(w.origin(), "hash-object", "-t", "tree", "-w", "/dev/null")
			w.set(journal.StateBranch(tag), w.git(w.origin(), "commit-tree", empty, "-m", "x", "-p", w.back(1)))
		}},
		{"an empty folder", "is not written as git writes", func(w *world) { w.add("40000 z\x00", emptyTree) }},
		{"too many folders", "cannot be looked into", func(w *world) { w.add("40000 z\x00", w.bomb()) }},
		{"a program", "has mode", func(w *world) { w.mode("100755") }},
		{"no checkpoint in the message", otherMessage, func(w *world) { w.say("x") }},
		{"another's message", otherMessage, func(w *world) { w.say(w.git(w.origin(), "show", "-s", "--format=%B", w.back(1))) }},
		{"another parent", "which none of its", func(w *world) { w.put(nil, w.back(1), w.git(w.origin(), "rev-parse", "main")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !ci && i%4 != 0 {
				t.Skip("one of four is tried: set CI=true")
			}
			t.Parallel()
			w := signed().copy(t)
			checkMiddle(t, w, w.below(4, func() { c.do(w) }), c.says)
			if ci && c.name != "no checkpoint" && c.says != otherMessage {
				w := unsigned().copy(t)
				checkMiddle(t, w, w.below(4, func() { c.do(w) }), c.says)
			}
		})
	}
}

// checkMiddle verifies that a foreign commit is named, and nothing else.
func checkMiddle(t *testing.T, w *world, foreign, says string) {
	t.Helper()
	if _, err := verify.Read(w.source()); err != nil {
		t.Fatalf("the newest records are not genuine: %v", err)
	}
	report, err := verify.Run(w.source())
	must(t, err)
	named := 0
	for _, l := range report.Laws {
		for _, f := range l.Findings {
			if !strings.Contains(f.Place, foreign[:12]) {
				t.Errorf("%s: %s %s: want nothing but about %s", l.Name, f.Place, f.Is, foreign)
			}
			if strings.Contains(f.Place+" "+f.Is, says) {
				named++
			}
		}
	}
	if law, f, _ := report.First(); named == 0 {
		t.Errorf("%s: %s %s: want %q", law, f.Place, f.Is, says)
	}
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// add gives the newest commit of the state branch one more entry in its root,
// behind all others.
func (w *world) add(entry, id string) {
	w.git(w.origin(), "hash-object", "-t", "tree", "-w", "/dev/null")
	raw := w.raw(journal.StateBranch(tag) + "^{tree}")
	w.set(journal.StateBranch(tag), w.git(w.origin(), "commit-tree", w.tree(raw+entry+bin(id)), "-m", "x", "-p", w.back(1)))
}

// bomb is a folder of ten million folders, in seven short trees.
func (w *world) bomb() string {
	id := emptyTree
	for range 7 {
		raw := ""
		for i := range 10 {
			raw += fmt.Sprintf("40000 %d\x00", i) + bin(id)
		}
		id = w.tree(raw)
	}
	return id
}

// TestTooMuch puts trees into the newest commit that hold far more than a run may:
// they are refused, and not listed.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	if os.Getenv("CI") != "true" {
		t.Skip("two million files: set CI=true")
	}
	var many strings.Builder
	for i := range 100_001 {
		fmt.Fprintf(&many, "100644 z%06d\x00%s", i, bin(emptyTree))
	}
	for _, c := range []struct {
		folder, says string
		of           func(w *world, many string) string
	}{
		{"results", "more than 2000000 files", func(w *world, many string) string {
			below := ""
			for i := range 20 {
				below += fmt.Sprintf("40000 %03d\x00%s", i, bin(many))
			}
			return w.tree(below)
		}},
		{"logs", "nor were more than 100000 others", func(w *world, many string) string {
			return w.tree("40000 000\x00" + bin(w.tree("40000 0\x00"+bin(many))))
		}},
	} {
		w := signed().copy(t)
		records := w.raw(journal.StateBranch(tag) + ":" + strings.TrimSuffix(journal.Folder(tag), "/"))
		was := w.git(w.origin(), "rev-parse", journal.StateBranch(tag)+":"+journal.Folder(tag)+c.folder)
		records = strings.Replace(records, bin(was), bin(c.of(w, w.tree(many.String()))), 1)
		root := w.tree("40000 .research-loop\x00" + bin(w.tree("40000 "+string(tag)+"\x00"+bin(w.tree(records)))))
		w.set(journal.StateBranch(tag), w.git(w.origin(), "commit-tree", root, "-m", "x", "-p", w.back(1)))
		report, err := verify.Run(w.source())
		must(t, err)
		if _, f, _ := report.First(); !strings.Contains(f.Is, c.says) {
			t.Errorf("%s: %s %s: want %q", c.folder, f.Place, f.Is, c.says)
		}
	}
}

// TestLongCommits has commits in the middle that say far more than any may: they
// are refused, and what they say is not kept.
func TestLongCommits(t *testing.T) {
	t.Parallel()
	person := "author A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\n"
	commit := func(w *world, parents int, message string) {
		raw := "tree " + w.git(w.origin(), "rev-parse", journal.StateBranch(tag)+"^{tree}") + "\nparent " + w.back(1) + "\n"
		raw += strings.Repeat("parent "+w.git(w.origin(), "rev-parse", "main")+"\n", parents) + person + message
		cmd := exec.Command("git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally")
		cmd.Dir, cmd.Stdin = w.origin(), strings.NewReader(raw)
		out, err := cmd.Output()
		must(t, err)
		w.set(journal.StateBranch(tag), strings.TrimSpace(string(out)))
	}
	w := signed().copy(t)
	checkMiddle(t, w, w.below(4, func() {
		commit(w, 1000, w.git(w.origin(), "show", "-s", "--format=%B", w.back(0))+"\n")
	}), "has 1001 parents, want at most 1000")
	w = signed().copy(t)
	checkMiddle(t, w, w.below(4, func() {
		long := string(w.state("checkpoint")) + strings.Repeat("x", 8<<10) + "\n"
		w.put(map[string][]byte{"checkpoint": []byte(long)}, w.back(1))
		commit(w, 0, journal.Message("x", []byte(long)))
	}), "was not written")
}

// TestSlash has a file stand in the newest commit under a name that is a path:
// what git would never write is no record.
func TestSlash(t *testing.T) {
	t.Parallel()
	w := signed().copy(t)
	records := w.git(w.origin(), "rev-parse", journal.StateBranch(tag)+":"+strings.TrimSuffix(journal.Folder(tag), "/"))
	root := w.tree("40000 " + strings.TrimSuffix(journal.Folder(tag), "/") + "\x00" + bin(records))
	w.set(journal.StateBranch(tag), w.git(w.origin(), "commit-tree", root, "-m", "x", "-p", w.back(1)))
	var b *verify.BreachError
	if _, err := verify.Read(w.source()); !errors.As(err, &b) || !strings.Contains(b.Why, "does not belong") {
		t.Errorf("%v, want that it does not belong there", err)
	}
}

// TestManyFindings has a commit with many files too many: some are named, and all
// are counted.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	w := signed().copy(t)
	raw := ""
	for i := range 3000 {
		raw += fmt.Sprintf("100644 z%04d\x00%s", i, bin(emptyTree))
	}
	w.below(4, func() { w.add("40000 z\x00", w.tree(raw)) })
	report, err := verify.Run(w.source())
	must(t, err)
	for _, l := range report.Laws {
		if n := len(l.Findings); l.Name == "branch" && (n != 1001 || l.Findings[n-1].Is != "2001 more are wrong") { // the message is wrong too
			t.Errorf("%d findings, the last one %v", n, l.Findings[n-1])
		}
	}
}

// mode gives every file in the folder of the newest records another mode.
func (w *world) mode(mode string) {
	state := journal.StateBranch(tag)
	records := w.tree(strings.ReplaceAll(w.raw(state+":"+strings.TrimSuffix(journal.Folder(tag), "/")), "100644", mode))
	root := w.tree("40000 .research-loop\x00" + bin(w.tree("40000 "+string(tag)+"\x00"+bin(records))))
	w.set(state, w.git(w.origin(), "commit-tree", root, "-m", "x", "-p", w.back(1)))
}

// TestLogsGone has the newest commit of a run drop its logs: it is named, and none
// of those that brought them.
func TestLogsGone(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	dir := w.dir + "/widget.git"
	must(t, os.Symlink("widget.git", w.origin()))
	const attempts = 12
	write(t, dir, func(sink io.Writer) *clerk {
		k := newClerk(t, sink)
		for range attempts {
			k.attempt(2)
		}
		return k
	})
	gone := map[string][]byte{}
	for _, path := range strings.Fields(w.git(dir, "ls-tree", "-r", "--name-only", journal.StateBranch(tag), journal.Folder(tag)+"logs/")) {
		gone[strings.TrimPrefix(path, journal.Folder(tag))] = nil
	}
	for _, name := range []string{"logs/000/3/candidate-1.log.gz", ""} {
		lost, missing := map[string][]byte{name: nil}, 1
		if name == "" {
			lost, missing = gone, 2*attempts
		}
		before := w.git(dir, "rev-parse", journal.StateBranch(tag))
		w.put(lost, w.back(1))
		checkGone(t, dir, missing)
		w.set(journal.StateBranch(tag), before)
	}
}

// checkGone verifies a run whose newest commit lacks so many logs.
func checkGone(t *testing.T, dir string, missing int) {
	t.Helper()
	src := packed(t, dir)
	report, err := verify.Run(src)
	must(t, err)
	for _, l := range report.Laws {
		switch l.Name {
		case "logs":
			if len(l.Findings) != missing {
				t.Errorf("%d logs are missing, want %d: %v", len(l.Findings), missing, l.Findings)
			}
		default:
			for _, f := range l.Findings {
				if l.Name != "branch" || !strings.Contains(f.Place, src.State[:12]) {
					t.Errorf("%s: %s %s: want nothing but about %s", l.Name, f.Place, f.Is, src.State)
				}
			}
		}
	}
	if law, _, _ := report.First(); law != "branch" {
		t.Errorf("the law of %q is broken first, want branch", law)
	}
}

// TestTooLong has a record of the newest commit be longer than any is read: it is
// named, by verify and by whoever reads it.
func TestTooLong(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("it writes 300 MB: set CI=true")
	}
	t.Parallel()
	w := signed().copy(t)
	const bytes = 300_000_000
	zeros := filepath.Join(w.dir, "zeros")
	must(t, os.WriteFile(zeros, nil, 0o644))
	must(t, os.Truncate(zeros, bytes))
	id := w.git(w.origin(), "-c", "core.compression=1", "hash-object", "-w", "--no-filters", zeros)
	state := journal.StateBranch(tag)
	honest := w.git(w.origin(), "rev-parse", state)
	for name, law := range map[string]string{"contract.md": "branch", "checkpoint": "branch", ledger.Segment(0): "branch", "logs/000/0/candidate-0-a.log.gz": "logs"} {
		folder, file := path.Split(journal.Folder(tag) + name)
		w.swap(folder, file, id)
		report, err := verify.Run(w.source())
		must(t, err)
		found := ""
		for _, l := range report.Laws {
			for _, f := range l.Findings {
				if l.Name == law && strings.HasSuffix(f.Place, name) {
					found += f.Is
				}
			}
		}
		if !strings.Contains(found, fmt.Sprint(bytes)+" bytes") {
			t.Errorf("%s: %q in %+v", name, found, report.Laws)
		}
		var breach *verify.BreachError
		if _, err := verify.Read(w.source()); law == "branch" && (!errors.As(err, &breach) || breach.Place != name) {
			t.Errorf("%s is read: %v", name, err)
		}
		w.set(state, honest)
	}
}

// swap puts another blob into the place of a file of the newest records.
func (w *world) swap(folder, file, id string) {
	w.t.Helper()
	state := journal.StateBranch(tag)
	tree := func(dir string) string { return state + ":" + strings.TrimSuffix(dir, "/") }
	is := bin(w.git(w.origin(), "rev-parse", tree(folder)+"/"+file))
	raw := strings.Replace(w.raw(tree(folder)), is, bin(id), 1)
	for folder != "" {
		above, name := path.Split(strings.TrimSuffix(folder, "/"))
		was := bin(w.git(w.origin(), "rev-parse", tree(folder)))
		raw = strings.Replace(w.raw(state+":"+strings.TrimSuffix(above, "/")), name+"\x00"+was, name+"\x00"+bin(w.tree(raw)), 1)
		folder = above
	}
	w.set(state, w.git(w.origin(), "commit-tree", w.tree(raw), "-m", "x", "-p", w.back(1)))
}
