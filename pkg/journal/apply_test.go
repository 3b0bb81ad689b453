package journal_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// again gives a clerk with the same journal.
func (k *clerk) again() *clerk {
	c := &clerk{terms: k.terms, now: k.now, events: slices.Clone(k.events)}
	var err error
	if c.run, err = journal.Fold(k.terms, c.events); err != nil {
		panic(err)
	}
	return c
}

// event makes an event of a kind that is as right as the run lets it be.
func (k *clerk) event(kind ledger.Kind) ledger.Data {
	a := k.run.Open
	if a == nil { // of an attempt that is not there
		a = &journal.Attempt{Decided: &ledger.Decided{}}
	}
	switch kind {
	case ledger.KindSealed:
		return &ledger.Sealed{Baseline: id(0), Tree: "B"}
	case ledger.KindProbed:
		return &ledger.Probed{}
	case ledger.KindSetupRetried:
		return &ledger.SetupRetried{}
	case ledger.KindPrepared:
		return k.prepared("Lnew")
	case ledger.KindCommitted:
		return k.committed(id(9), "X")
	case ledger.KindStarted:
		return k.started()
	case ledger.KindRetried:
		return &ledger.Retried{Head: k.leased("Lnew", "gone"), Stage: a.Stage, Lost: a.Lost + 1}
	case ledger.KindEvaluated:
		return &ledger.Evaluated{Head: k.head(), Evaluation: ledger.Evaluation{Measurements: []ledger.Measurement{{Arm: ledger.Candidate}}}}
	case ledger.KindGateCharged:
		return k.charged("Lnew")
	case ledger.KindGateResult:
		return k.answered(ledger.Pass)
	case ledger.KindFinalCharged:
		return k.finalCharged("Lnew")
	case ledger.KindFinalResult:
		return k.finalResult(ledger.Pass)
	case ledger.KindDecided:
		return k.anyDecided(a)
	case ledger.KindRolledBack:
		return k.rolledBack(id(8))
	case ledger.KindFinalized:
		if k.run.Open == nil || k.run.Open.Decided == nil {
			return &ledger.Finalized{}
		}
		return k.finalized()
	case ledger.KindPublished:
		if len(k.run.Unpublished) > 0 {
			return k.published()
		}
		return &ledger.Published{Commit: id(0), Verdict: "keep"}
	case ledger.KindOpened:
		return &ledger.Opened{Commit: id(0)}
	case ledger.KindSuperseded:
		return &ledger.Superseded{Tip: id(7), Tree: k.run.Incumbent.Tree, Commits: []string{id(7)}}
	case ledger.KindClosing:
		return &ledger.Closing{Reason: "enough"}
	case ledger.KindHalted:
		return &ledger.Halted{Reason: "refused"}
	case ledger.KindAuthorised:
		return &ledger.Authorised{Reason: "looked"}
	}
	return &ledger.Closed{Reason: "enough"}
}

func (k *clerk) anyDecided(a *journal.Attempt) ledger.Data {
	if k.run.Open == nil {
		return &ledger.Decided{Head: k.head(), Status: ledger.Discard}
	}
	switch a.Phase {
	case journal.Running:
		return k.lost("Lnew")
	case journal.Evaluated:
		if k.terms.Gate != nil {
			return k.decided(ledger.Discard)
		}
		return k.decided(ledger.Keep)
	case journal.Gated:
		if a.Gate.Answer == ledger.Pass {
			return k.decided(ledger.Keep)
		}
	}
	if a.Committed.Audit.Verdict == "invalid" {
		return k.decided(ledger.Invalid)
	}
	return k.decided(ledger.Discard)
}

var kinds = []ledger.Kind{
	ledger.KindSealed, ledger.KindProbed, ledger.KindSetupRetried, ledger.KindPrepared, ledger.KindCommitted, ledger.KindStarted,
	ledger.KindRetried, ledger.KindEvaluated, ledger.KindGateCharged, ledger.KindGateResult, ledger.KindDecided, ledger.KindRolledBack, ledger.KindFinalized, ledger.KindPublished,
	ledger.KindOpened, ledger.KindSuperseded, ledger.KindClosing, ledger.KindFinalCharged, ledger.KindFinalResult, ledger.KindHalted, ledger.KindAuthorised, ledger.KindClosed,
}

// stages brings a run to every state that Apply tells apart, and says which
// events may follow there.
var stages = []struct {
	name    string
	reach   func(k *clerk)
	allowed string
}{
	{"sealed", func(k *clerk) {}, "probed prepared closing halted"},
	{"probed", func(k *clerk) { k.must(&ledger.Probed{}) }, "probed prepared closing halted"},
	{"baseline prepared", func(k *clerk) { k.must(k.prepared("L")) }, "probed committed closing halted"},
	{"baseline committed", func(k *clerk) { k.claim("L", id(0), "B") }, "probed started closing halted"},
	{"baseline running", func(k *clerk) { k.claim("L", id(0), "B"); k.must(k.started()) }, "probed setup_retried retried evaluated decided closing halted"},
	{"baseline running, closing", func(k *clerk) {
		k.claim("L", id(0), "B")
		k.must(k.started(), &ledger.Closing{})
	}, "probed setup_retried retried evaluated decided halted closed"},
	{"baseline kept", func(k *clerk) { k.claim("L", id(0), "B"); k.must(k.started()); k.judge(ledger.Keep, "") }, "probed opened closing halted"},
	{"baseline failed", func(k *clerk) { k.claim("L", id(0), "B"); k.must(k.started()); k.judge(ledger.Crash, "") }, "probed closing halted closed"},
	{"open", func(k *clerk) { k.open() }, "probed prepared superseded closing halted"},
	{"prepared", func(k *clerk) { k.open(); k.must(k.prepared("L")) }, "probed committed closing halted"},
	{"committed", func(k *clerk) { k.open(); k.claim("L", id(1), "X") }, "probed started closing halted"},
	{"committed, audit invalid", func(k *clerk) { k.open(); k.must(k.prepared("L")); k.must(k.invalid(id(1), "A")) }, "probed decided closing halted"},
	{"committed, unjustified", func(k *clerk) {
		k.open()
		k.must(k.prepared("L"))
		c := k.committed(id(1), "X")
		c.Missing = []string{"Mechanism"}
		k.must(c)
	}, "probed decided closing halted"},
	{"running", func(k *clerk) { k.open(); k.claim("L", id(1), "X"); k.must(k.started()) }, "probed retried evaluated decided closing halted"},
	{"evaluated", func(k *clerk) { k.open(); k.claim("L", id(1), "X"); k.must(k.started()); k.must(k.evaluated()) }, "probed decided closing halted"},
	{"kept", func(k *clerk) {
		k.open()
		k.claim("L", id(1), "G")
		k.must(k.started())
		k.must(k.evaluated())
		k.must(k.decided(ledger.Keep))
	}, "probed finalized closing halted"},
	{"rejected", func(k *clerk) { k.rejected(id(1)) }, "probed rolled_back finalized closing halted"},
	{"rolled back", func(k *clerk) { k.rejected(id(1)); k.must(k.rolledBack(id(2))) }, "probed finalized closing halted"},
	{"rolled back, closing", func(k *clerk) { k.rejected(id(1)); k.must(k.rolledBack(id(2))); k.must(&ledger.Closing{}) }, "probed finalized halted"},
	{"finalized", func(k *clerk) { k.rejected(id(1)); k.must(k.rolledBack(id(2))); k.must(k.finalized()) }, "probed prepared published superseded closing halted"},
	{"closing", func(k *clerk) { k.open(); k.must(&ledger.Closing{}) }, "probed superseded halted closed"},
	{"halted", func(k *clerk) { k.open(); k.must(&ledger.Halted{Reason: "refused"}) }, "authorised"},
	{"halted in an attempt", func(k *clerk) { k.rejected(id(1)); k.must(&ledger.Halted{}) }, "authorised"},
	{"halted, unpublished", func(k *clerk) { k.rejected(id(1)); k.must(k.finalized()); k.must(&ledger.Halted{}) }, "published authorised"},
	{"authorised", func(k *clerk) { k.open(); k.must(&ledger.Halted{}, &ledger.Authorised{}) }, "probed prepared superseded closing halted"},
	{"closed", func(k *clerk) { k.open(); k.must(&ledger.Closing{}, &ledger.Closed{}) }, ""},
	{"closed, unpublished", func(k *clerk) {
		k.attemptUnpublished(id(1))
		k.must(&ledger.Closing{}, &ledger.Closed{})
	}, "published"},
}

// invalid finds a candidate whose tree the audit refuses.
func (k *clerk) invalid(commit, tree string) *ledger.Committed {
	c := k.committed(commit, tree)
	c.Audit = ledger.Audit{Verdict: "invalid", Tree: true}
	return c
}

// rejected opens a run and rejects its first candidate.
func (k *clerk) rejected(commit string) {
	k.open()
	k.claim("L", commit, "X")
	k.must(k.started())
	k.must(k.evaluated())
	k.must(k.decided(ledger.Discard))
}

func (k *clerk) attemptUnpublished(commit string) {
	k.rejected(commit)
	k.must(k.rolledBack(id(8)))
	k.must(k.finalized())
}

// gatedStages are the same of a run with a gate of five queries and a final
// test. The first query is the baseline's.
var gatedStages = []struct {
	name    string
	reach   func(k *clerk)
	allowed string
}{
	{"evaluated", func(k *clerk) { k.asking() }, "probed gate_charged decided closing halted"},
	{"charged", func(k *clerk) { k.asking(); k.must(k.charged("G")) }, "probed started closing halted"},
	{"asking", func(k *clerk) { k.asking(); k.must(k.charged("G")); k.must(k.started()) }, "probed retried gate_result decided closing halted"},
	{"passed", func(k *clerk) { k.asking(); k.ask("G", ledger.Pass) }, "probed decided closing halted"},
	{"failed", func(k *clerk) { k.asking(); k.ask("G", ledger.Fail) }, "probed decided closing halted"},
	{"baseline asking", func(k *clerk) {
		k.claim("L", id(0), "B")
		k.must(k.started())
		k.must(k.evaluated())
		k.must(k.charged("G"))
		k.must(k.started())
	}, "probed setup_retried retried gate_result decided closing halted"},
	{"closing, nothing kept", func(k *clerk) { k.open(); k.must(&ledger.Closing{}) }, "probed superseded halted closed"},
	{"closing, final due", func(k *clerk) { k.keptOne(); k.must(&ledger.Closing{}) }, "probed superseded final_charged halted"},
	{"final", func(k *clerk) { k.keptOne(); k.must(&ledger.Closing{}); k.must(k.finalCharged("F")) }, "probed retried final_result halted"},
	{"final done", func(k *clerk) {
		k.keptOne()
		k.must(&ledger.Closing{})
		k.must(k.finalCharged("F"))
		k.must(k.finalResult(ledger.Fail))
	}, "probed superseded halted closed"},
	{"committed, interrupted", func(k *clerk) { k.open(); k.claim("L", id(1), "X"); k.must(&ledger.Closing{Interrupt: true}) }, "probed started halted"},
}

// asking brings a candidate to where the gate is to be asked.
func (k *clerk) asking() {
	k.open()
	k.claim("L", id(1), "X")
	k.must(k.started())
	k.must(k.evaluated())
}

func (k *clerk) keptOne() {
	k.open()
	k.attempt(id(1), "G", ledger.Keep, "")
}

func TestFollows(t *testing.T) {
	all := slices.Clone(stages)
	gated := len(all)
	all = append(all, gatedStages...)
	for i, stage := range all {
		k := newClerk(terms())
		if i >= gated {
			k = newClerk(gatedTerms(5))
		}
		stage.reach(k)
		var got []string
		for _, kind := range kinds {
			c := k.again()
			before := len(c.events)
			if err := c.add(c.event(kind)); err == nil {
				got = append(got, string(kind))
			} else if want := fmt.Sprintf("journal event %d (%s, iteration ", before, kind); !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: error %q does not name the event", stage.name, err)
			}
		}
		if strings.Join(got, " ") != stage.allowed {
			t.Errorf("%s: allowed are %q, want %q", stage.name, strings.Join(got, " "), stage.allowed)
		}
	}
	for _, kind := range kinds[1:] {
		data := newClerk(terms()).event(kind)
		if _, err := journal.Fold(terms(), []ledger.Event{{Data: data}}); err == nil || !strings.Contains(err.Error(), "sealed must be the first") {
			t.Errorf("%s is the first event: %v", kind, err)
		}
	}
}

// What is wrong inside an event that may follow.
func TestApplyRefuses(t *testing.T) {
	running := func(k *clerk) { k.open(); k.claim("L", id(1), "X"); k.must(k.started()) }
	evaluated := func(k *clerk) { running(k); k.must(k.evaluated()) }
	open := func(k *clerk) { k.open() }
	rejected := func(k *clerk) { k.rejected(id(1)) }
	tests := []struct {
		name  string
		reach func(*clerk)
		event func(*clerk) ledger.Data
		want  string
	}{
		{"prepared without a claim", open, func(k *clerk) ledger.Data { p := k.prepared("L"); p.Claim = nil; return p }, "opens with a claim"},
		{"prepared without a lease", open, func(k *clerk) ledger.Data { p := k.prepared("L"); p.Lease = ""; return p }, "opens with a claim"},
		{"prepared over a lease", open, func(k *clerk) ledger.Data { p := k.prepared("L"); p.Claim.TookOver = "K"; return p }, `takes over lease "K", in force is ""`},
		{"prepared against another incumbent", open, func(k *clerk) ledger.Data { p := k.prepared("L"); p.Incumbent = id(5); return p }, `incumbent is "c5", want "c0"`},
		{"prepared with a candidate", open, func(k *clerk) ledger.Data { p := k.prepared("L"); p.Candidate = id(5); return p }, `candidate is "c5"`},
		{"another candidate", running, func(k *clerk) ledger.Data { e := k.evaluated(); e.Candidate = id(5); return e }, `candidate is "c5", want "c1"`},
		{"another lease", running, func(k *clerk) ledger.Data { e := k.evaluated(); e.Lease = "K"; return e }, `written under lease "K", in force is "L"`},
		{"no lease", running, func(k *clerk) ledger.Data { e := k.evaluated(); e.Lease = ""; return e }, `written under lease "", in force is "L"`},
		{"evaluated with a claim", running, func(k *clerk) ledger.Data { e := k.evaluated(); e.Head = k.leased("K", "gone"); return e }, "not that of the lease"},
		{"retried without a claim", running, func(k *clerk) ledger.Data { e := k.retried("K"); e.Head = k.head(); return e }, "claimed again by another lease"},
		{"retried over another lease", running, func(k *clerk) ledger.Data { e := k.retried("K"); e.Claim.TookOver = "J"; return e }, `takes over lease "J", in force is "L"`},
		{"retried under the same lease", running, func(k *clerk) ledger.Data { e := k.retried("L"); return e }, `lease "L" takes over`},
		{"retried with another count", running, func(k *clerk) ledger.Data { e := k.retried("K"); e.Lost = 2; return e }, "lost is 2, the attempt lost 1"},
		{"decided in a pass without a claim", running, func(k *clerk) ledger.Data { d := k.lost("K"); d.Head = k.head(); return d }, "ended by whoever takes it over"},
		{"kept in a pass", running, func(k *clerk) ledger.Data { d := k.decided(ledger.Keep); d.Head = k.leased("K", "gone"); return d }, "keep without a measurement"},
		{"discarded in a pass", running, func(k *clerk) ledger.Data { d := k.lost("K"); d.Status = ledger.Discard; return d }, `status "discard" where ["crash"]`},
		{"no status", evaluated, func(k *clerk) ledger.Data { return k.decided("") }, `status "" where`},
		{"superseded as status", evaluated, func(k *clerk) ledger.Data { return k.decided("superseded") }, `status "superseded" where`},
		{"kept without a value", running, func(k *clerk) ledger.Data {
			e := k.evaluated()
			e.Measurements[0].Failure = &ledger.Failure{Status: ledger.Crash}
			k.must(e)
			return k.decided(ledger.Keep)
		}, "keep without a measurement"},
		{"kept without the first repetition", running, func(k *clerk) ledger.Data {
			e := k.evaluated()
			e.Measurements[0].Repetition = 1
			k.must(e)
			return k.decided(ledger.Keep)
		}, "keep without a measurement"},
		{"decided under the ended lease", evaluated, func(k *clerk) ledger.Data { d := k.decided(ledger.Discard); d.Lease = "L"; return d }, `in force is ""`},
		{"discard without rollback", evaluated, func(k *clerk) ledger.Data {
			d := k.decided(ledger.Discard)
			d.Rollback = ledger.Rollback{}
			return d
		}, "does not follow from discard"},
		{"rollback to another tree", evaluated, func(k *clerk) ledger.Data { d := k.decided(ledger.Discard); d.Rollback.Tree = "Y"; return d }, "does not follow from discard"},
		{"keep with rollback", evaluated, func(k *clerk) ledger.Data {
			d := k.decided(ledger.Keep)
			d.Rollback = ledger.Rollback{Required: true, Tree: "B"}
			return d
		}, "does not follow from keep"},
		{"keep of the incumbent", evaluated, func(k *clerk) ledger.Data {
			d := k.decided(ledger.Keep)
			d.IntendedIncumbent = id(0)
			return d
		}, "intended incumbent"},
		{"discard that moves the incumbent", evaluated, func(k *clerk) ledger.Data {
			d := k.decided(ledger.Discard)
			d.IntendedIncumbent = id(1)
			return d
		}, "intended incumbent"},
		{"rolled back under a lease", rejected, func(k *clerk) ledger.Data { e := k.rolledBack(id(2)); e.Lease = "L"; return e }, `in force is ""`},
		{"another iteration's entry", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.Iteration = 0; return e }, "not the one that was decided"},
		{"another status", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.Status = ledger.Keep; return e }, "not the one that was decided"},
		{"another reason", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.Reason = "x"; return e }, "not the one that was decided"},
		{"another commit", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.Commit = id(5); return e }, "not the one that was decided"},
		{"another role", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.Role = ledger.RoleBaseline; return e }, "not the one that was decided"},
		{"another incumbent", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.Incumbent = id(5); return e }, "not the one that was decided"},
		{"a restore that nobody recorded", rejected, func(k *clerk) ledger.Data { e := k.finalized(); e.Entry.RollbackCommit = ptr(id(5)); return e }, "not the one that was decided"},
		{"a restore left out", rejected, func(k *clerk) ledger.Data {
			k.must(k.rolledBack(id(2)))
			e := k.finalized()
			e.Entry.RollbackCommit = nil
			return e
		}, "not the one that was decided"},
		{"published without a verdict", open, func(k *clerk) ledger.Data { return &ledger.Published{Commit: id(4)} }, "has no verdict to publish"},
		{"published twice", open, func(k *clerk) ledger.Data { return &ledger.Published{Commit: id(0), Verdict: "keep"} }, "has no verdict to publish"},
		{"another verdict", rejected, func(k *clerk) ledger.Data {
			k.must(k.finalized())
			return &ledger.Published{Commit: id(1), Verdict: "keep"}
		}, `recorded is "discard"`},
		{"opened elsewhere", func(k *clerk) { k.claim("L", id(0), "B"); k.must(k.started()); k.judge(ledger.Keep, "") }, func(k *clerk) ledger.Data { return &ledger.Opened{Commit: id(1)} }, "at its baseline"},
		{"superseded and not restored", open, func(k *clerk) ledger.Data { return &ledger.Superseded{Tip: id(1), Tree: "X"} }, "no commit restored it"},
		{"superseded like an unknown attempt", open, func(k *clerk) ledger.Data { return &ledger.Superseded{Tip: id(1), Tree: "B", Of: ptr(1)} }, "iteration 1 is not known"},
		{"superseded like a negative attempt", open, func(k *clerk) ledger.Data { return &ledger.Superseded{Tip: id(1), Tree: "B", Of: ptr(-1)} }, "iteration -1 is not known"},
	}
	for _, tt := range tests {
		k := newClerk(terms())
		tt.reach(k)
		if err := k.add(tt.event(k)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestIterations(t *testing.T) {
	k := newClerk(terms()).open()
	for _, tt := range []struct {
		data      ledger.Data
		iteration int
		ok        bool
	}{
		{k.prepared("L"), 0, false}, {k.prepared("L"), 2, false}, {k.prepared("L"), 1, true},
		{&ledger.Closing{}, 1, false}, {&ledger.Closing{}, -1, false}, {&ledger.Closing{}, 0, true},
	} {
		err := k.again().run.Apply(ledger.Event{Run: "speedup", Iteration: tt.iteration, Data: tt.data})
		if (err == nil) != tt.ok {
			t.Errorf("%s of iteration %d: %v", tt.data.Kind(), tt.iteration, err)
		}
	}
}

// A claim is a lease: law 7.
func TestLease(t *testing.T) {
	k := newClerk(terms()).open()
	k.must(k.prepared("A"))
	if l := k.run.Open.Lease; l == nil || l.ID != "A" || l.Holder.Host != "host" || !l.Deadline.After(k.now) {
		t.Fatalf("%+v", l)
	}
	k.must(k.committed(id(1), "X"))
	// Started may take over, as may whatever comes first.
	s := k.started()
	s.Head = k.leased("B", "gone")
	k.must(s)
	k.must(k.retried("C"))
	k.must(k.retried("D"))
	if k.run.Open.Lost != 2 || k.run.Retries != 2 || k.run.Open.Lease.ID != "D" {
		t.Errorf("%+v", k.run.Open)
	}
	if err := k.again().add(k.retried("E")); err == nil || !strings.Contains(err.Error(), "lost 3 times") {
		t.Errorf("a third retry: %v", err)
	}
	if err := k.again().add(k.evaluated()); err != nil {
		t.Error(err)
	}
	k.must(k.lost("E"))
	if k.run.Open.Lease != nil {
		t.Errorf("a lease after decided: %+v", k.run.Open.Lease)
	}
	k.must(k.rolledBack(id(2)))
	k.must(k.finalized())
	k.must(k.published())
	if v, _ := k.run.Verdict(id(1)); v.Status != "crash" {
		t.Errorf("%+v", v)
	}
	// Five times a run: three more.
	for i := 3; i <= 5; i++ {
		k.claim("A", id(2*i), fmt.Sprint("X", i))
		k.must(k.started())
		k.must(k.retried("B"))
		k.judge(ledger.Discard, id(2*i+1))
	}
	k.claim("A", id(20), "X20")
	k.must(k.started())
	if err := k.again().add(k.retried("B")); err == nil || !strings.Contains(err.Error(), "6 times in the run") {
		t.Errorf("a sixth retry in a run: %v", err)
	}
	if step := k.run.Next(journal.World{Gone: "gone"}); step.Do != journal.Decide || step.Reason == "" {
		t.Errorf("%+v", step)
	}
}

func TestVerdict(t *testing.T) {
	k := newClerk(terms()).open()
	k.claim("L", id(3), "X", id(1), id(2))
	k.must(k.started())
	k.judge(ledger.Discard, id(6), id(4), id(5))
	k.must(&ledger.Superseded{Tip: id(8), Tree: "X", Commits: []string{id(7), id(8)}, Reason: "the tree of attempt 1 again", Of: ptr(1), Restore: id(9)})
	k.must(k.published())
	k.must(&ledger.Superseded{Tip: id(11), Tree: "B", Commits: []string{id(10), id(11)}, Reason: "the incumbent's tree"})
	k.must(k.published())
	k.attempt(id(12), "G", ledger.Keep, "")
	swept := "arrived before attempt 1 was rejected, and was swept by its restore"
	tests := map[int]journal.Verdict{
		0:  {Status: "keep", Reason: "because", Commit: id(0)},
		1:  {Status: "discard", Reason: "because", Iteration: 1, Commit: id(3), Restore: id(6)},
		2:  {Status: "discard", Reason: "because", Iteration: 1, Commit: id(3), Restore: id(6)},
		3:  {Status: "discard", Reason: "because", Iteration: 1, Commit: id(3), Restore: id(6)},
		4:  {Status: "superseded", Reason: swept, Iteration: -1, Commit: id(5), Restore: id(6)},
		5:  {Status: "superseded", Reason: swept, Iteration: -1, Commit: id(5), Restore: id(6)},
		7:  {Status: "discard", Reason: "the tree of attempt 1 again: because", Iteration: 1, Commit: id(8), Restore: id(9)},
		8:  {Status: "discard", Reason: "the tree of attempt 1 again: because", Iteration: 1, Commit: id(8), Restore: id(9)},
		10: {Status: "superseded", Reason: "the incumbent's tree", Iteration: -1, Commit: id(11)},
		11: {Status: "superseded", Reason: "the incumbent's tree", Iteration: -1, Commit: id(11)},
		12: {Status: "keep", Reason: "because", Iteration: 2, Commit: id(12)},
	}
	for i := range 14 {
		got, ok := k.run.Verdict(id(i))
		if want, known := tests[i]; ok != known || got != want {
			t.Errorf("%s: %+v, %v; want %+v", id(i), got, ok, want)
		}
	}
	var history []string
	for _, h := range k.run.History {
		if h.Entry != nil {
			history = append(history, h.Entry.Commit)
		} else {
			history = append(history, h.Superseded.Tip)
		}
	}
	if want := []string{id(0), id(3), id(5), id(8), id(11), id(12)}; !reflect.DeepEqual(history, want) {
		t.Errorf("history %v, want %v", history, want)
	}
	if r := k.run; r.Tip != id(12) || r.Incumbent.Commit != id(12) || r.Incumbent.Tree != "G" || r.Incumbent.Iteration != 2 || len(r.Candidates()) != 2 || r.Incumbent.Measurement == nil {
		t.Errorf("%+v", r)
	}
}

// A commit's own verdict comes before that of a tip above it, whichever was first.
func TestOwnVerdictFirst(t *testing.T) {
	k := newClerk(terms()).open()
	k.claim("L", id(2), "X", id(1))
	k.must(k.started())
	k.judge(ledger.Discard, id(3))
	k.must(k.prepared("M"))
	c := k.invalid(id(1), "Y")
	k.must(c)
	k.must(k.decided(ledger.Invalid))
	k.must(k.rolledBack(id(4)))
	k.must(k.finalized())
	if v, ok := k.run.Verdict(id(1)); !ok || v.Status != "invalid" || v.Iteration != 2 {
		t.Errorf("%+v, %v", v, ok)
	}
}

// Without a restore the recorded tip stays, whatever the verdict.
func TestHalt(t *testing.T) {
	k := newClerk(terms())
	k.rejected(id(1))
	k.must(k.finalized())
	k.must(&ledger.Halted{Reason: "the restore was refused"})
	k.must(k.published())
	if k.run.Tip != id(0) || k.run.Entries[1].RollbackCommit != nil {
		t.Errorf("%+v", k.run)
	}
	if s := k.run.Next(journal.World{}); s.Do != journal.Stopped || s.Reason != "the restore was refused" {
		t.Errorf("%+v", s)
	}
	k.must(&ledger.Authorised{Reason: "rule removed"})
	g := graph{{tree: "B"}, {tree: "X", parents: []int{0}}}
	if s := k.next(t, g, 1); s.Do != journal.Sweep || s.Commit != id(1) || s.Of == nil || *s.Of != 1 {
		t.Errorf("%+v", s)
	}
}

// next asks Next with the run branch at tip, -1 for none.
func (k *clerk) next(t *testing.T, g graph, tip int) journal.Step {
	t.Helper()
	return k.run.Next(k.world(t, g, tip))
}

func (k *clerk) world(t *testing.T, g graph, tip int) journal.World {
	t.Helper()
	w := journal.World{Now: k.now}
	if a := k.run.Open; a != nil && a.Lease != nil {
		w.Lease = a.Lease.ID
	}
	if tip >= 0 {
		if err := k.run.Look(&w, g, id(tip)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}
