package verify_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/verify"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	dir, err := os.MkdirTemp("", "research-loop-verify-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	defer os.RemoveAll(dir)
	m.Run()
}

// TestHonest verifies runs that nobody touched.
func TestHonest(t *testing.T) {
	runs := map[string]func() *world{"signed": signed}
	if os.Getenv("CI") == "true" {
		runs["unsigned"] = unsigned
	}
	for name, made := range runs {
		w := made().copy(t)
		report, err := verify.Run(w.source())
		must(t, err)
		for _, l := range report.Laws {
			t.Logf("%s: %-11s %-10s %s", name, l.State, l.Name, l.Text)
			open := l.Name == "anchors" || l.Name == "signatures" && name == "unsigned"
			if l.State != verify.Holds && !(open && l.State == verify.NotChecked) {
				t.Errorf("%s: %s is %s: %v", name, l.Name, l.State, l.Findings)
			}
		}
		if _, err := verify.Read(w.source()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sample gives all attacks under CI=true, else the first against each law:
// a copy of a run and what reads it are some forty processes.
func sample(all []attack) []attack {
	if os.Getenv("CI") == "true" {
		return all
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(a attack) bool {
		before := seen[a.law]
		seen[a.law] = true
		return before
	})
}

// attack is one way to tamper with a run.
type attack struct {
	name string
	do   func(*world)
	// law is one that verify must find broken, says a part of what it must say.
	law, says string
	// reader says that every reader and the supervisor must stop too: they look
	// at the newest records alone.
	reader bool
}

// TestSigned tampers with a signed run, which whoever reads it knows by an
// anchor: the checkpoint that he saw last.
func TestSigned(t *testing.T) {
	t.Parallel()
	for _, a := range sample(signedAttacks()) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			w := signed().copy(t)
			anchor := verify.Anchor{Where: "the mirror", Note: w.state("checkpoint")}
			a.do(w)
			a.check(t, w, anchor)
		})
	}
}

// TestNotes knows a signed run by the verdict note that a check carries, which is
// as good an anchor as a checkpoint is: one that is older binds less.
func TestNotes(t *testing.T) {
	t.Parallel()
	for _, a := range sample(signedAttacks()) {
		if a.law != "anchors" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			w := signed().copy(t)
			notes := w.notes()
			newest := verify.Anchor{Where: "a check", Note: notes[len(notes)-1]}
			src := w.source()
			src.Anchors = []verify.Anchor{{Where: "another", Note: notes[0]}, newest, {Where: "a forged one", Note: []byte("no note\n")}}
			r, err := verify.Read(src)
			if err != nil || !slices.Equal(r.Ignored, []string{"a forged one"}) {
				t.Fatalf("a genuine run: %v, ignored %q", err, r.Ignored)
			}
			a.do(w)
			a.check(t, w, newest)
		})
	}
}

// notes gives the verdict notes of a run in their order.
func (w *world) notes() [][]byte {
	w.t.Helper()
	r, err := verify.Read(w.source())
	must(w.t, err)
	var out [][]byte
	for _, e := range r.Chain.Events {
		if p, ok := e.Data.(*ledger.Published); ok {
			out = append(out, []byte(p.Note))
		}
	}
	return out
}

// TestUnsigned tampers with an unsigned run: what does not follow from what
// stands beside it is found all the same.
func TestUnsigned(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("makes a second run: set CI=true")
	}
	t.Parallel()
	for _, a := range unsignedAttacks() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			w := unsigned().copy(t)
			a.do(w)
			a.check(t, w)
		})
	}
}

func (a attack) check(t *testing.T, w *world, anchors ...verify.Anchor) {
	t.Helper()
	src := w.source()
	src.Anchors = anchors
	report, err := verify.Run(src)
	must(t, err)
	if !a.found(report) {
		law, f, _ := report.First()
		t.Errorf("verify finds %q: %s %s; want %q and %q", law, f.Place, f.Is, a.law, a.says)
	}
	if !a.reader {
		return
	}
	if _, err := verify.Read(src); err == nil {
		t.Error("a reader believes it")
	}
	if _, err := w.supervisor().Reconcile(context.Background()); err == nil {
		t.Error("a supervisor goes on from it")
	}
}

// found says whether a report breaks the law and says so.
func (a attack) found(r *verify.Report) bool {
	for _, l := range r.Laws {
		for _, f := range l.Findings {
			if l.Name == a.law && strings.Contains(f.Place+" "+f.Is, a.says) {
				return true
			}
		}
	}
	return false
}

// back is the commit n steps below the state branch.
func (w *world) back(n int) string {
	return w.git(w.origin(), "rev-parse", fmt.Sprintf("%s~%d", journal.StateBranch(tag), n))
}

func signedAttacks() []attack {
	last := func(w *world) (name string, text []byte) {
		name = w.last()
		return name, w.state(name)
	}
	judge := func() *ledger.Signer { return signed().signer }
	sign := func(w *world, change func(*ledger.Checkpoint)) []byte {
		c, err := judge().Verifier().Checkpoint(w.state("checkpoint"))
		if err != nil {
			w.t.Fatal(err)
		}
		change(&c)
		note, err := judge().Checkpoint(c)
		if err != nil {
			w.t.Fatal(err)
		}
		return note
	}
	same := func(events []ledger.Event) []ledger.Event { return events }
	return []attack{{
		name: "an older signed state", law: "anchors", says: "ROLLBACK", reader: true,
		do: func(w *world) { w.set(journal.StateBranch(tag), w.back(2)) },
	}, {
		name: "two divergent states", law: "anchors", says: "FORK", reader: true,
		do: func(w *world) {
			// A second supervisor, which has not seen the newer state, goes on
			// from the older one as far and farther.
			w.set(journal.StateBranch(tag), w.back(3))
			must(w.t, os.RemoveAll(w.dir+"/run"))
			w.judge()
			w.candidate("crash")
			w.candidate("nothing")
			must(w.t, os.RemoveAll(w.dir+"/run"))
			must(w.t, os.CopyFS(w.dir+"/run", os.DirFS(signed().dir+"/run")))
		},
	}, {
		name: "a rewritten run branch", law: "tip", says: "was rewritten",
		do: func(w *world) {
			w.git(w.author(), "checkout", "--quiet", "--orphan", "elsewhere")
			w.commit("elsewhere", candidates["keep"])
			w.git(w.author(), "push", "--quiet", "--force", "origin", "HEAD:"+journal.RunBranch(tag))
		},
	}, {
		name: "a run branch set back", law: "tip", says: "was rewritten",
		do: func(w *world) { w.set(journal.RunBranch(tag), w.git(w.origin(), "rev-parse", "main")) },
	}, {
		name: "a deleted run branch", law: "tip", says: "is gone",
		do: func(w *world) { w.git(w.origin(), "update-ref", "-d", "refs/heads/"+journal.RunBranch(tag)) },
	}, {
		name: "the checkpoint of another run", law: "branch", says: "journal", reader: true,
		do: func(w *world) {
			w.put(map[string][]byte{"checkpoint": sign(w, func(c *ledger.Checkpoint) { c.Origin += "-2" })})
		},
	}, {
		name: "the checkpoint of another run in its place", law: "signatures", says: "is of research-loop/local/origin/speedup-2", reader: true,
		do: func(w *world) {
			w.put(map[string][]byte{"checkpoint": sign(w, func(c *ledger.Checkpoint) { c.Origin += "-2" })}, w.back(1))
		},
	}, {
		name: "the checkpoint of another contract", law: "signatures", says: "is of contract " + ledger.ZeroHash, reader: true,
		do: func(w *world) {
			w.put(map[string][]byte{"checkpoint": sign(w, func(c *ledger.Checkpoint) { c.Contract = ledger.ZeroHash })}, w.back(1))
		},
	}, {
		name: "a budget that was set back", law: "signatures", says: "says gate 0/20", reader: true,
		do: func(w *world) {
			w.put(map[string][]byte{"checkpoint": sign(w, func(c *ledger.Checkpoint) { c.Budget = 20 })}, w.back(1))
		},
	}, {
		name: "an older checkpoint", law: "signatures", says: "covers 42 journal lines, there are 44", reader: true,
		do: func(w *world) {
			old := w.git(w.origin(), "show", journal.StateBranch(tag)+"~1:"+journal.Folder(tag)+"checkpoint")
			w.put(map[string][]byte{"checkpoint": []byte(old + "\n")}, w.back(1))
		},
	}, {
		name: "the beginning cut off", law: "branch", says: "is the first, and holds 44 journal lines, want 1",
		do: func(w *world) { w.put(nil, "") },
	}, {
		name: "no checkpoint", law: "branch", says: "is gone", reader: true,
		do: func(w *world) { w.put(map[string][]byte{"checkpoint": nil}) },
	}, {
		name: "a line cut off", law: "branch", says: "journal at", reader: true,
		do: func(w *world) {
			name, data := last(w)
			text := strings.TrimSuffix(string(data), "\n")
			w.put(map[string][]byte{name: []byte(text[:strings.LastIndex(text, "\n")+1])})
		},
	}, {
		name: "a line cut through", law: "chain", says: "the line has no end", reader: true,
		do: func(w *world) {
			name, data := last(w)
			w.put(map[string][]byte{name: data[:len(data)-7]})
		},
	}, {
		name: "a line twice", law: "chain", says: "seq", reader: true,
		do: func(w *world) {
			name, data := last(w)
			lines := strings.SplitAfter(string(data), "\n")
			w.put(map[string][]byte{name: []byte(string(data) + lines[len(lines)-2])})
		},
	}, {
		name: "two lines swapped", law: "chain", says: ledger.Segment(0) + ":5 seq 5, want 4", reader: true,
		do: func(w *world) {
			lines := strings.SplitAfter(string(w.state(ledger.Segment(0))), "\n")
			lines[4], lines[5] = lines[5], lines[4]
			w.put(map[string][]byte{ledger.Segment(0): []byte(strings.Join(lines, ""))})
		},
	}, {
		name: "the results of another journal", law: "results", says: ledger.Results(0) + ":1", reader: true,
		do: func(w *world) {
			w.put(map[string][]byte{ledger.Results(0): []byte(strings.Replace(string(w.state(ledger.Results(0))), "keep", "kept", 1))})
		},
	}, {
		name: "no results", law: "branch", says: "is gone", reader: true,
		do: func(w *world) { w.put(map[string][]byte{ledger.Results(0): nil}) },
	}, {
		name: "a file too many", law: "branch", says: "does not belong", reader: true,
		do: func(w *world) { w.put(map[string][]byte{"notes.md": []byte("x")}) },
	}, {
		name: "a log changed", law: "branch", says: "a log is written once",
		do: func(w *world) { w.put(map[string][]byte{"logs/000/0/candidate-0-a.log.gz": []byte("x")}) },
	}, {
		name: "a log added", law: "logs", says: "was recorded by no pass",
		do: func(w *world) { w.put(map[string][]byte{"logs/000/0/more.log.gz": []byte("x")}, w.back(1)) },
	}, {
		name: "a merge on the state branch", law: "branch", says: "which none of its",
		do: func(w *world) {
			w.put(nil, w.back(1), w.git(w.origin(), "rev-parse", "main"))
		},
	}, {
		name: "the contract changed", law: "seal", says: "has the digest", reader: true,
		do: func(w *world) {
			w.put(map[string][]byte{"contract.md": []byte(strings.Replace(string(w.state("contract.md")), "More", "more", 1) + "\n")})
		},
	}, {
		name: "everything signed by another key", law: "signatures", says: "not signed by", reader: true,
		do: func(w *world) { w.rewrite(key(w.t, "example.com/widget", 2), nil, same) },
	}, {
		name: "another key in the contract", law: "seal", says: "the default branch at", reader: true,
		do: func(w *world) { w.replace(keys(key(w.t, "example.com/widget", 2)), key(w.t, "example.com/widget", 2)) },
	}, {
		name: "no key in the contract", law: "seal", says: "has the verifier \"\"", reader: true,
		do: func(w *world) { w.replace("", nil) },
	}, {
		name: "a contract that is not on the default branch", law: "seal", says: "is not below the default branch", reader: true,
		do: func(w *world) {
			attacker := key(w.t, "example.com/widget", 2)
			w.git(w.author(), "fetch", "--quiet", "origin")
			w.git(w.author(), "checkout", "--quiet", "-B", "own", "origin/main")
			pinned := w.commit("own keys", map[string]string{contract.DraftPath: keys(attacker) + draft})
			w.git(w.author(), "push", "--quiet", "origin", "HEAD:own")
			w.replaceAt(keys(attacker), attacker, pinned)
		},
	}, {
		name: "a verdict note of another commit", law: "signatures", says: "the verdict note says", reader: false,
		do: func(w *world) {
			w.rewrite(judge(), nil, func(events []ledger.Event) []ledger.Event {
				var notes []*ledger.Published
				for _, e := range events {
					if p, ok := e.Data.(*ledger.Published); ok {
						notes = append(notes, p)
					}
				}
				notes[2].Note = notes[1].Note
				return events
			})
		},
	}, {
		name: "a verdict note of another run", law: "signatures", says: "-2\\nverdict", reader: false,
		do: func(w *world) {
			w.rewrite(judge(), nil, func(events []ledger.Event) []ledger.Event {
				last := events[len(events)-1].Data.(*ledger.Published)
				note, err := judge().Verifier().Verdict([]byte(last.Note))
				must(w.t, err)
				note.Origin += "-2"
				signed, err := judge().Verdict(note)
				must(w.t, err)
				last.Note = string(signed)
				return events
			})
		},
	}, {
		name: "a verdict note that nobody signed", law: "signatures", says: "verdict note: malformed note", reader: false,
		do: func(w *world) {
			w.rewrite(judge(), nil, func(events []ledger.Event) []ledger.Event {
				events[len(events)-1].Data.(*ledger.Published).Note = ""
				return events
			})
		},
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replace seals the run anew, with other keys in the draft and the same pinned
// commit, and signs everything with signer.
func (w *world) replace(keys string, signer *ledger.Signer) { w.replaceAt(keys, signer, "") }

func (w *world) replaceAt(keys string, signer *ledger.Signer, pinned string) {
	w.t.Helper()
	old, err := contract.Open(w.state("contract.md"), "")
	must(w.t, err)
	c, err := contract.Parse("contract.yml", []byte(keys+draft))
	must(w.t, err)
	facts := old.Facts
	if pinned != "" {
		facts.Pinned = pinned
	}
	text := contract.Seal([]byte(keys+draft), c, facts)
	w.rewrite(signer, text, func(events []ledger.Event) []ledger.Event {
		first := events[0].Data.(*ledger.Sealed)
		first.Contract, first.Pinned = string(contract.Sum(text)), facts.Pinned
		for _, e := range events {
			if f, ok := e.Data.(*ledger.Finalized); ok {
				f.Entry.Contract = first.Contract
			}
			if p, ok := e.Data.(*ledger.Published); ok && signer == nil {
				p.Note = ""
			}
		}
		return events
	})
}

func unsignedAttacks() []attack {
	edit := func(change func(e ledger.Data) bool) func(*world) {
		return func(w *world) {
			w.rewrite(nil, nil, func(events []ledger.Event) []ledger.Event {
				for _, e := range events {
					if change(e.Data) {
						return events
					}
				}
				w.t.Fatal("nothing was changed")
				return nil
			})
		}
	}
	return []attack{{
		name: "a better value", law: "decisions", says: "metrics is",
		do: edit(func(d ledger.Data) bool {
			e, ok := d.(*ledger.Evaluated)
			if ok {
				e.Measurements[0].Metrics["accuracy"] = 2
				e.Measurements[1].Metrics["accuracy"] = 2
			}
			return ok
		}),
	}, {
		name: "a rejected candidate kept", law: "order", says: "does not follow from keep", reader: true,
		do: edit(func(d ledger.Data) bool {
			x, ok := d.(*ledger.Decided)
			ok = ok && x.Status == ledger.Discard
			if ok {
				x.Status = ledger.Keep
			}
			return ok
		}),
	}, {
		name: "another reason", law: "order", says: "not the one that was decided", reader: true,
		do: edit(func(d ledger.Data) bool {
			x, ok := d.(*ledger.Decided)
			ok = ok && x.Status == ledger.Discard
			if ok {
				x.Reason = "bad luck"
			}
			return ok
		}),
	}, {
		name: "an entry that says more", law: "decisions", says: `primary_value is 7, want 0`,
		do: edit(func(d ledger.Data) bool {
			f, ok := d.(*ledger.Finalized)
			if ok {
				seven := 7.0
				f.Entry.PrimaryValue = &seven
			}
			return ok
		}),
	}, {
		name: "an audit that passed", law: "order", says: `status "invalid"`,
		do: edit(func(d ledger.Data) bool {
			x, ok := d.(*ledger.Committed)
			ok = ok && x.Audit.Verdict == "invalid"
			if ok {
				x.Audit.Verdict = "pass"
			}
			return ok
		}), reader: true,
	}, {
		name: "another hypothesis", law: "candidates", says: "hypothesis",
		do: edit(func(d ledger.Data) bool {
			x, ok := d.(*ledger.Committed)
			ok = ok && x.Trailers.Hypothesis != ""
			if ok {
				x.Trailers.Hypothesis = "genius"
			}
			return ok
		}),
	}, {
		name: "a lease for ever", law: "leases", says: "the contract allows",
		do: edit(func(d ledger.Data) bool {
			x, ok := d.(*ledger.Prepared)
			if ok {
				x.Claim.Deadline = x.Claim.Deadline.AddDate(1, 0, 0)
			}
			return ok
		}),
	}, {
		name: "a restore commit of another tree", law: "restores", says: "has tree",
		do: func(w *world) {
			wrong := w.git(w.origin(), "commit-tree", w.git(w.origin(), "rev-parse", journal.RunBranch(tag)+"^{tree}"), "-p", journal.RunBranch(tag), "-m", "x")
			w.set(journal.RunBranch(tag), wrong)
			w.restoredBy(wrong)
		},
	}, {
		name: "a restore commit that is a tree", law: "restores", says: "is a tree, not a commit",
		do: func(w *world) { w.restoredBy(w.git(w.origin(), "rev-parse", "main^{tree}")) },
	}, {
		// No git serves such a branch: only a folder can hold it.
		name: "a record that is a tree", law: "branch", says: "is a tree, not a blob",
		do: func(w *world) {
			state := journal.StateBranch(tag)
			tree := w.git(w.origin(), "rev-parse", state+"^{tree}")
			records := w.tree("100644 contract.md\x00" + bin(tree))
			folder := w.tree("40000 " + string(tag) + "\x00" + bin(records))
			root := w.tree("40000 .research-loop\x00" + bin(folder))
			w.set(state, w.git(w.origin(), "commit-tree", root, "-p", state, "-m", "x"))
		},
	}, {
		name: "another best commit", law: "decisions", says: "names",
		do: func(w *world) {
			s := w.supervisor()
			must(w.t, s.RequestClose(context.Background(), "enough", "ada", false))
			_, err := s.Reconcile(context.Background())
			must(w.t, err)
			w.rewrite(nil, nil, func(events []ledger.Event) []ledger.Event {
				events[len(events)-1].Data.(*ledger.Closed).Best = events[0].Data.(*ledger.Sealed).Baseline
				return events
			})
		},
	}}
}

// restoredBy has the first restore be another object.
func (w *world) restoredBy(wrong string) {
	w.rewrite(nil, nil, func(events []ledger.Event) []ledger.Event {
		was := ""
		for _, e := range events {
			switch d := e.Data.(type) {
			case *ledger.RolledBack:
				if d.Commit != wrong && was == "" {
					was, d.Commit = d.Commit, wrong
				}
			case *ledger.Committed:
				if d.RecordedTip == was && was != "" {
					d.RecordedTip = wrong
				}
			case *ledger.Finalized:
				if d.Entry.RollbackCommit != nil && *d.Entry.RollbackCommit == was {
					d.Entry.RollbackCommit = &wrong
				}
			}
		}
		return events
	})
}

// tree writes a tree as it is given.
func (w *world) tree(raw string) string {
	w.t.Helper()
	cmd := exec.Command("git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	cmd.Dir, cmd.Stdin = w.origin(), strings.NewReader(raw)
	out, err := cmd.Output()
	must(w.t, err)
	return strings.TrimSpace(string(out))
}

// raw gives a tree as it stands.
func (w *world) raw(name string) string {
	w.t.Helper()
	cmd := exec.Command("git", "cat-file", "tree", name)
	cmd.Dir = w.origin()
	out, err := cmd.Output()
	must(w.t, err)
	return string(out)
}

// TestShallow verifies what a clone holds whose history was cut off: it says
// what it could not check, finds nothing wrong, and still finds what is.
func TestShallow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clone     []string // how the clone is made
		unchecked string   // laws
	}{
		"the newest commit of every branch": {[]string{"--depth=1", "--no-single-branch"}, "branch anchors tip candidates restores"},
		"the state branch alone":            {nil, "branch anchors"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := signed().copy(t)
			src := w.shallow(c.clone)
			report, err := verify.Run(src)
			must(t, err)
			var unchecked []string
			for _, l := range report.Laws {
				t.Logf("%-11s %-10s %s %v", l.State, l.Name, l.Text, l.Findings)
				if l.State == verify.NotChecked {
					unchecked = append(unchecked, l.Name)
				}
			}
			if got := strings.Join(unchecked, " "); got != c.unchecked || !report.Cut {
				t.Errorf("not checked: %q, cut %v; want %q", got, report.Cut, c.unchecked)
			}
			if law, f, broken := report.First(); broken {
				t.Errorf("%s: %s %s", law, f.Place, f.Is)
			}
			if _, err := verify.Read(src); err != nil {
				t.Errorf("a reader needs no history: %v", err)
			}
			name := w.last()
			text := strings.TrimSuffix(string(w.state(name)), "\n")
			w.put(map[string][]byte{name: []byte(text[:strings.LastIndex(text, "\n")+1])})
			report, err = verify.Run(w.shallow(c.clone))
			must(t, err)
			if law, _, _ := report.First(); law != "signatures" && law != "results" {
				t.Errorf("a line cut off: verify finds %q", law)
			}
		})
	}
}

// shallow clones the world's remote with git's own options, or with nil fetches
// no more than the newest commit of the state branch into a whole clone of the
// others.
func (w *world) shallow(options []string) verify.Source {
	w.t.Helper()
	w.count++
	dir := fmt.Sprintf("%s/shallow-%d", w.dir, w.count)
	state := "refs/heads/" + journal.StateBranch(tag) + ":refs/remotes/origin/" + journal.StateBranch(tag)
	if options != nil {
		w.git(w.dir, append(append([]string{"clone", "--quiet"}, options...), "file://"+w.origin(), dir)...)
	} else {
		// The run branch cannot be reached but from the state branch's commits,
		// so it is fetched by itself.
		w.git(w.dir, "clone", "--quiet", "--single-branch", "--branch=main", "file://"+w.origin(), dir)
		w.git(dir, "fetch", "--quiet", "origin", "refs/heads/"+journal.RunBranch(tag)+":refs/remotes/origin/"+journal.RunBranch(tag))
		w.git(dir, "fetch", "--quiet", "--depth=1", "origin", state)
	}
	work, err := repo.OpenWork(context.Background(), dir)
	must(w.t, err)
	w.t.Cleanup(func() { work.Close() })
	src, err := verify.Tracked(work, tag, "origin")
	must(w.t, err)
	if src.Origin, err = ledger.Origin(w.origin(), string(tag)); err != nil {
		w.t.Fatal(err)
	}
	return src
}
