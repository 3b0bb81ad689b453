package journal_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// show is a step in one line.
func show(s journal.Step) string {
	out := strings.TrimSpace(fmt.Sprint(s.Do, " ", s.Commit))
	for _, part := range []struct{ name, value string }{{"because", s.Reason}, {"restore", s.Restore}, {"by", s.By}} {
		if part.value != "" {
			out += fmt.Sprintf("; %s %s", part.name, part.value)
		}
	}
	if s.Of != nil {
		out += fmt.Sprintf("; of %d", *s.Of)
	}
	if len(s.Swept) > 0 {
		out += fmt.Sprintf("; swept %v", s.Swept)
	}
	if s.TakeOver {
		out += "; takes over"
	}
	return out
}

// Steps that do not depend on the run branch.
func TestNextOfAttempt(t *testing.T) {
	running := func(k *clerk) { k.open(); k.claim("L", id(1), "X"); k.must(k.started()) }
	lostTwice := func(k *clerk) { running(k); k.must(k.retried("M")); k.must(k.retried("L")) }
	own := journal.World{Now: start, Lease: "L"}
	outcome := journal.World{Now: start, Lease: "L", Outcome: true}
	gone := journal.World{Now: start, Gone: "process 1 is gone"}
	late := journal.World{Now: start.Add(2 * time.Minute)}
	lateOwn := journal.World{Now: start.Add(2 * time.Minute), Lease: "L"}
	lateOutcome := journal.World{Now: start.Add(2 * time.Minute), Lease: "L", Outcome: true}
	foreignOutcome := journal.World{Now: start, Outcome: true}
	tests := []struct {
		name  string
		reach func(*clerk)
		world journal.World
		want  string
	}{
		{"sealed", func(k *clerk) {}, own, "claim c0"},
		{"sealed, closing", func(k *clerk) { k.must(&ledger.Closing{Reason: "enough"}) }, own, "close; because enough"},
		{"baseline running, setup failed", func(k *clerk) {
			k.claim("L", id(0), "B")
			k.must(k.started(), &ledger.SetupRetried{}, &ledger.Closing{Reason: "setup failed: no go"})
		}, own, "close; because setup failed: no go"},
		{"baseline prepared", func(k *clerk) { k.must(k.prepared("L")) }, own, "claim c0"},
		{"baseline prepared by one who is gone", func(k *clerk) { k.must(k.prepared("M")) }, gone, "claim c0; takes over"},
		{"baseline failed", func(k *clerk) { k.claim("L", id(0), "B"); k.must(k.started()); k.judge(ledger.Crash, "") }, own, "close; because baseline failed: because"},
		{"baseline kept", func(k *clerk) { k.claim("L", id(0), "B"); k.must(k.started()); k.judge(ledger.Keep, "") }, own, "open c0"},
		{"baseline kept, closing", func(k *clerk) {
			k.claim("L", id(0), "B")
			k.must(k.started())
			k.judge(ledger.Keep, "")
			k.must(&ledger.Closing{Reason: "enough"})
		}, own, "close; because enough"},
		{"closed", func(k *clerk) { k.open(); k.must(&ledger.Closing{}, &ledger.Closed{Reason: "enough"}) }, own, "done; because enough"},
		{"closed, unpublished", func(k *clerk) { k.attemptUnpublished(id(1)); k.must(&ledger.Closing{}, &ledger.Closed{}) }, own, "publish c1"},
		{"halted", func(k *clerk) { k.open(); k.must(&ledger.Halted{Reason: "refused"}) }, own, "stopped; because refused"},
		{"halted, unpublished", func(k *clerk) { k.rejected(id(1)); k.must(k.finalized(), &ledger.Halted{}) }, own, "publish c1"},
		{"committed", func(k *clerk) { k.open(); k.claim("L", id(1), "X") }, own, "start"},
		{"committed, closing", func(k *clerk) { k.open(); k.claim("L", id(1), "X"); k.must(&ledger.Closing{}) }, own, "start"},
		{"committed by another", func(k *clerk) { k.open(); k.claim("M", id(1), "X") }, own, "wait; because process 1 on host holds the lease until 2026-01-02T03:05:05Z"},
		{"committed by one who is gone", func(k *clerk) { k.open(); k.claim("M", id(1), "X") }, gone, "start; because process 1 is gone; takes over"},
		{"committed, audit invalid", func(k *clerk) { k.open(); k.must(k.prepared("L")); k.must(k.invalid(id(1), "A")) }, own, "decide"},
		{"the same, its holder is gone", func(k *clerk) { k.open(); k.must(k.prepared("M")); k.must(k.invalid(id(1), "A")) }, gone, "decide; takes over"},
		{"committed, unjustified", func(k *clerk) {
			k.open()
			k.must(k.prepared("L"))
			c := k.committed(id(1), "X")
			c.Missing = []string{"Mechanism"}
			k.must(c)
		}, own, "decide"},
		{"running", running, own, "execute"},
		{"running, outcome in hand", running, outcome, "record"},
		{"running elsewhere", running, journal.World{Now: start, Lease: "K"}, "wait; because process 1 on host holds the lease until 2026-01-02T03:05:05Z"},
		{"running elsewhere, an old outcome in hand", running, foreignOutcome, "wait; because process 1 on host holds the lease until 2026-01-02T03:05:05Z"},
		{"its holder is gone", running, gone, "retry; because process 1 is gone; takes over"},
		{"its holder is gone, an old outcome in hand", running, journal.World{Now: start, Gone: "gone", Outcome: true}, "retry; because gone; takes over"},
		{"its lease is over", running, late, "retry; because the lease ended at 2026-01-02T03:05:05Z; takes over"},
		{"the own lease is over", running, lateOwn, "retry; because the lease ended at 2026-01-02T03:05:05Z; takes over"},
		{"the own lease is over, outcome in hand", running, lateOutcome, "record"},
		{"the last second of the lease", running, journal.World{Now: start.Add(time.Minute)}, "wait; because process 1 on host holds the lease until 2026-01-02T03:05:05Z"},
		{"lost twice", lostTwice, gone, "decide; because pass lost 3 times, at last because process 1 is gone; takes over"},
		{"lost twice, but alive", lostTwice, own, "execute"},
		{"evaluated", func(k *clerk) { running(k); k.must(k.evaluated()) }, journal.World{Now: start}, "decide"},
		{"kept", func(k *clerk) { running(k); k.must(k.evaluated()); k.must(k.decided(ledger.Keep)) }, own, "finalize"},
		{"rolled back", func(k *clerk) { k.rejected(id(1)); k.must(k.rolledBack(id(2))) }, own, "finalize"},
		{"finalized", func(k *clerk) { k.attemptUnpublished(id(1)) }, own, "publish c1"},
	}
	for _, tt := range tests {
		k := newClerk(terms())
		tt.reach(k)
		if got := show(k.run.Next(tt.world)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// on makes a history: each word is a tree, or tree<parent+parent; the parent
// is the commit before it where none is named. S in front marks a restore
// commit of the supervisor.
func on(words ...string) graph {
	var g graph
	for i, word := range words {
		word, parents, named := strings.Cut(word, "<")
		tree, restore := strings.CutPrefix(word, "S")
		n := node{tree: tree, author: "author", of: -1}
		if restore {
			n.author = "S"
		}
		switch {
		case named:
			for p := range strings.SplitSeq(parents, "+") {
				n.parents = append(n.parents, place("c"+p))
			}
		case i > 0:
			n.parents = []int{i - 1}
		}
		g = append(g, n)
	}
	return g
}

// The rules of the run branch: what is a candidate, what is swept, what heals.
// The commits are c0, the baseline, then c1, c2, …; the last one is the tip.
func TestNextOfBranch(t *testing.T) {
	open := func(k *clerk) { k.open() }
	rejected := func(k *clerk) { k.open().attempt(id(1), "X", ledger.Discard, id(2)) } // tip c2
	kept := func(k *clerk) { k.open().attempt(id(1), "G", ledger.Keep, "") }           // tip c1
	closing := func(k *clerk) { k.open(); k.must(&ledger.Closing{Reason: "enough"}) }
	closingAfter := func(k *clerk) { rejected(k); k.must(&ledger.Closing{Reason: "enough"}) }
	const early = "because the run closed before this commit was judged"
	const again, incumbents = "because the tree of attempt 1 again", "because the incumbent's tree is no candidate"
	tests := []struct {
		name  string
		reach func(*clerk)
		graph graph
		want  string
	}{
		{"nothing new", open, on("B"), "idle"},
		{"a candidate", open, on("B", "X"), "claim c1"},
		{"two commits", open, on("B", "X", "Y"), "claim c2"},
		{"a candidate upon a restore", rejected, on("B", "X", "SB", "Y"), "claim c3"},
		{"a candidate upon a kept one", kept, on("B", "G", "Y"), "claim c2"},
		{"the incumbent's tree", open, on("B", "B"), "supersede c1; " + incumbents},
		{"an own revert before it was judged", open, on("B", "X", "B"), "supersede c2; " + incumbents},
		{"a candidate upon an own revert", open, on("B", "X", "B", "Y"), "supersede c2; " + incumbents},
		{"two empty commits", open, on("B", "B", "B"), "supersede c2; " + incumbents},
		{"a rejected tree", rejected, on("B", "X", "SB", "X"), "sweep c3; " + again + "; of 1"},
		{"a rejected tree below a new one", rejected, on("B", "X", "SB", "X", "Y"), "claim c4"},
		{"a rejected tree, swept but not recorded", rejected, on("B", "X", "SB", "X", "SB"), "supersede c3; " + again + "; restore c4; of 1"},
		{"a rejected tree, restored by the author", rejected, on("B", "X", "SB", "X", "B"), "supersede c3; " + again + "; restore c4; of 1"},
		{"the same, and a candidate upon it", rejected, on("B", "X", "SB", "X", "SB", "Y"), "supersede c3; " + again + "; restore c4; of 1"},
		{"an earlier incumbent's tree", kept, on("B", "G", "B"), "sweep c2; because the tree of attempt 0, which was kept, is no candidate"},
		{"the same, swept but not recorded", kept, on("B", "G", "B", "SG"), "supersede c2; because the tree of attempt 0, which was kept, is no candidate; restore c3"},
		{"a commit that does not stand on the tip", rejected, on("B", "X", "SB", "Y<0"), "claim c3"},
		{"a rejected tree that does not", rejected, on("B", "X", "SB", "X<0"), "sweep c3; " + again + "; of 1"},
		{"the same, swept but not recorded", rejected, on("B", "X", "SB", "X<0", "SB<3+2"), "supersede c3; " + again + "; restore c4; of 1"},
		{"the same, and a candidate upon it", rejected, on("B", "X", "SB", "X<0", "SB<3+2", "Y"), "supersede c3; " + again + "; restore c4; of 1"},
		{"the incumbent's tree that does not", rejected, on("B", "X", "SB", "B<0"), "sweep c3; because the tree of attempt 0, which was kept, is no candidate"},
		{"a kept commit that was dropped", kept, on("B", "G", "Y<0"), "claim c2"},
		{"a merge of a side that has the incumbent's tree", rejected, on("B", "X", "SB", "B<0", "Y<3+2"), "claim c4"},
		{"an unrelated root", rejected, append(on("B", "X", "SB"), node{tree: "Y", of: -1}), "claim c3"},
		{"closing, nothing new", closing, on("B"), "close; because enough"},
		{"closing, a candidate", closing, on("B", "X"), "sweep c1; " + early},
		{"closing, swept", closing, on("B", "X", "SB"), "supersede c1; " + early + "; restore c2"},
		{"closing, swept and pushed upon", closing, on("B", "X", "SB", "Y"), "sweep c3; " + early},
		{"closing, swept twice", closing, on("B", "X", "SB", "Y", "SB"), "supersede c3; " + early + "; restore c4"},
		{"closing, the incumbent's tree", closing, on("B", "B"), "supersede c1; " + early},
		{"closing, a rewritten branch", closingAfter, on("B", "X", "SB", "B<0"), "sweep c3; " + early},
		{"closing, a rewritten branch, swept", closingAfter, on("B", "X", "SB", "Y<0", "SB<3+2"), "supersede c3; " + early + "; restore c4"},
	}
	for _, tt := range tests {
		k := newClerk(terms())
		tt.reach(k)
		if got := show(k.next(t, tt.graph, len(tt.graph)-1)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// The branch set back to an older commit, or deleted.
func TestNextOfLostBranch(t *testing.T) {
	g := on("B", "X", "X2", "SB", "Y")
	tests := []struct {
		tip  int
		want string
	}{
		{-1, "recreate c4"},
		{4, "idle"},
		{3, "sweep c3; because the tree of attempt 0, which was kept, is no candidate"},
		{2, "sweep c2; because the branch was set back to before the recorded tip"},
		{1, "sweep c1; because judged as attempt 1; of 1"},
		{0, "sweep c0; because the tree of attempt 0, which was kept, is no candidate"},
	}
	for _, tt := range tests {
		k := newClerk(terms()).open()
		k.attempt(id(1), "X", ledger.Discard, id(3), id(2))
		k.attempt(id(4), "Y", ledger.Keep, "")
		if got := show(k.next(t, g, tt.tip)); got != tt.want {
			t.Errorf("tip %d: %s, want %s", tt.tip, got, tt.want)
		}
	}
	// Its sweep holds the recorded tip, and is found.
	k := newClerk(terms()).open()
	k.attempt(id(1), "X", ledger.Discard, id(3), id(2))
	g = on("B", "X", "X2", "SB", "SB<2+3", "Y")
	for tip, want := range map[int]string{
		4: "supersede c4; because the incumbent's tree is no candidate",
		5: "supersede c4; because the incumbent's tree is no candidate",
	} {
		if got := show(k.next(t, g, tip)); got != want {
			t.Errorf("tip %d: %s, want %s", tip, got, want)
		}
	}
}

// The rules of a restore: c1 is rejected and the branch is as the graph says.
func TestNextOfRestore(t *testing.T) {
	first := func(k *clerk) { k.rejected(id(1)) } // upon c0
	second := func(k *clerk) {                    // c3 upon the restore c2
		k.open().attempt(id(1), "X", ledger.Discard, id(2))
		k.claim("L", id(3), "Y")
		k.must(k.started())
		k.must(k.evaluated())
		k.must(k.decided(ledger.Discard))
	}
	forced := func(k *clerk) { // c2 upon c0, where c1 was kept
		k.open().attempt(id(1), "G", ledger.Keep, "")
		k.must(k.prepared("L"))
		k.must(k.invalid(id(2), "Y"))
		k.must(k.decided(ledger.Invalid))
	}
	tests := []struct {
		name  string
		reach func(*clerk)
		graph graph
		tip   int
		want  string
	}{
		{"not yet", first, on("B", "X"), 1, "restore"},
		{"pushed", first, on("B", "X", "SB"), 2, "note c2; by S"},
		{"by the author", first, on("B", "X", "B"), 2, "note c2; by author"},
		{"pushed, and a candidate upon it", first, on("B", "X", "SB", "Y"), 3, "note c2; by S"},
		{"a later commit", first, on("B", "X", "Y"), 2, "restore"},
		{"a later commit, swept", first, on("B", "X", "Y", "Z", "SB"), 4, "note c4; by S; swept [c2 c3]"},
		{"the first of two", first, on("B", "X", "Y", "B", "SB"), 4, "note c3; by author; swept [c2]"},
		{"deleted", first, on("B", "X"), -1, "recreate c0"},
		{"deleted and made again", first, on("B", "X"), 0, "note c0; by author"},
		{"deleted after the restore", second, on("B", "X", "SB", "Y", "SB"), -1, "recreate c2"},
		{"set back to the recorded tip", second, on("B", "X", "SB", "Y"), 2, "note c2; by S"},
		{"set back further", second, on("B", "X", "SB", "Y"), 0, "restore"},
		{"set back to the judged tip below", second, on("B", "X", "SB", "Y"), 1, "restore"},
		{"replaced by another commit", first, on("B", "X", "Z<0"), 2, "restore"},
		{"replaced, swept", first, on("B", "X", "Z<0", "SB<2+1"), 3, "note c3; by S; swept [c2]"},
		{"replaced, swept, and a candidate upon it", first, on("B", "X", "Z<0", "SB<2+1", "Y"), 4, "note c3; by S; swept [c2]"},
		{"replaced and reverted by the author", first, on("B", "X", "Z<0", "B"), 3, "note c3; by author; swept [c2]"},
		{"a merge with a side that has the tree", second, on("B", "X", "SB", "Y", "B<0", "Z<4+3"), 5, "restore"},
		{"a merge that has the tree", second, on("B", "X", "SB", "Y", "Z<0", "B<4+3"), 5, "note c5; by author; swept [c4]"},
		{"forced: not yet", forced, on("B", "G", "Y<0"), 2, "restore"},
		{"forced: reverted by the author", forced, on("B", "G", "Y<0", "G"), 3, "restore"},
		{"forced: pushed", forced, on("B", "G", "Y<0", "SG<2+1"), 3, "note c3; by S"},
		{"forced: reverted by the author, swept", forced, on("B", "G", "Y<0", "G", "SG<3+1"), 4, "note c4; by S; swept [c3]"},
		{"forced: pushed, and a candidate upon it", forced, on("B", "G", "Y<0", "SG<2+1", "Z"), 4, "note c3; by S"},
		{"forced: the kept commit put back", forced, on("B", "G", "Y<0"), 1, "note c1; by author"},
		{"forced: deleted", forced, on("B", "G", "Y<0"), -1, "recreate c1"},
	}
	for _, tt := range tests {
		k := newClerk(terms())
		tt.reach(k)
		if got := show(k.next(t, tt.graph, tt.tip)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestNextOfClaimCutOff(t *testing.T) {
	k := newClerk(terms()).open()
	k.must(k.prepared("L"))
	g := on("B", "X")
	if got := show(k.next(t, g, 1)); got != "claim c1" {
		t.Error(got)
	}
	if got := show(k.next(t, g, -1)); got != "recreate c0" {
		t.Error(got)
	}
}

func TestStopConditions(t *testing.T) {
	tests := []struct {
		name   string
		limits contract.Limits
		lower  bool
		after  time.Duration
		want   string
	}{
		{"none", contract.Limits{OpenEnded: true}, false, 1000 * time.Hour, "claim c4"},
		{"attempts left", contract.Limits{Attempts: 3}, false, 0, "claim c4"},
		{"attempts", contract.Limits{Attempts: 2}, false, 0, "stop; because limit reached: 2 attempts"},
		{"attempts exceeded", contract.Limits{Attempts: 1}, false, 0, "stop; because limit reached: 1 attempts"},
		{"wall left", contract.Limits{Wall: time.Hour}, false, time.Hour - time.Second, "claim c4"},
		{"wall", contract.Limits{Wall: time.Hour}, false, time.Hour, "stop; because limit reached: 1h0m0s since the run opened"},
		{"target missed", contract.Limits{Target: &contract.Target{Value: 0.751}}, false, 0, "claim c4"},
		{"target reached", contract.Limits{Target: &contract.Target{Value: 0.75}}, false, 0, "stop; because target reached: accuracy 0.75"},
		{"lower target missed", contract.Limits{Target: &contract.Target{Value: 0.749}}, true, 0, "claim c4"},
		{"lower target reached", contract.Limits{Target: &contract.Target{Value: 0.75}}, true, 0, "stop; because target reached: accuracy 0.75"},
	}
	g := on("B", "X", "SB", "G", "Y")
	for _, tt := range tests {
		c := terms()
		c.Limits = tt.limits
		if tt.lower {
			c.Metric.Direction = contract.Lower
		}
		k := newClerk(c).open()
		k.attempt(id(1), "X", ledger.Discard, id(2))
		k.attempt(id(3), "G", ledger.Keep, "")
		k.now = k.now.Add(tt.after)
		if got := show(k.next(t, g, 4)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		// An open attempt goes on, whatever the limits.
		k.claim("L", id(4), "Y")
		if got := show(k.next(t, g, 4)); got != "start" {
			t.Errorf("%s: an open attempt: %s", tt.name, got)
		}
	}
}

// counted counts the questions of descent.
type counted struct {
	graph
	asked *int
	fail  bool
}

func (c counted) Descends(ancestor, tip string) (bool, error) {
	*c.asked++
	if c.fail {
		return false, errors.New("object is missing")
	}
	return c.graph.Descends(ancestor, tip)
}

func TestLook(t *testing.T) {
	k := newClerk(terms()).open()
	asked := 0
	names := func(cs []journal.Commit) (out []string) {
		for _, c := range cs {
			out = append(out, c.ID)
		}
		return out
	}
	var w journal.World
	if err := k.run.Look(&w, counted{graph: on("B", "X", "Y"), asked: &asked}, id(2)); err != nil || asked != 0 {
		t.Errorf("%v; %d questions where the recorded tip is on the path", err, asked)
	}
	if !w.Descends || w.Below || w.Tip.ID != id(2) || !reflect.DeepEqual(names(w.Above), []string{id(1), id(2)}) || !w.Above[0].Holds || len(w.After) > 0 {
		t.Errorf("%+v", w)
	}
	// Nothing of an earlier look stays.
	if err := k.run.Look(&w, on("B", "X"), id(0)); err != nil || len(w.Above) != 0 || !w.Descends || w.Tip.ID != id(0) || w.Tip.Tree != "B" {
		t.Errorf("%+v, %v", w, err)
	}
	// A path longer than anybody looks at.
	words := []string{"B"}
	for i := range 1500 {
		words = append(words, fmt.Sprint("X", i))
	}
	long := on(words...)
	if err := k.run.Look(&w, long, id(1500)); err != nil || !w.Descends || len(w.Above) != 1000 || w.Above[999].ID != id(1500) {
		t.Errorf("%d of 1500, descends %v, %v", len(w.Above), w.Descends, err)
	}
	if s := k.run.Next(w); s.Do != journal.Claim || s.Commit != id(1500) {
		t.Errorf("%+v", s)
	}
	// A rewritten branch takes few questions, and an error of one is given.
	k.attempt(id(1), "X", ledger.Discard, id(2))
	words = []string{"B", "X", "SB", "Y<0"}
	for i := range 900 {
		words = append(words, fmt.Sprint("Y", i))
	}
	asked = 0
	far := counted{graph: on(words...), asked: &asked}
	if err := k.run.Look(&w, far, id(len(words)-1)); err != nil || w.Descends || len(w.Above) != 901 || asked > 25 {
		t.Errorf("%d commits, %d questions, %v", len(w.Above), asked, err)
	}
	far.fail = true
	if err := k.run.Look(&w, far, id(len(words)-1)); err == nil || w.Tip != nil {
		t.Errorf("%v, %+v", err, w)
	}
}
