package supervisor_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

// TestQueryTellsOneBit compares what anybody can see of queries that end in
// opposite ways: one passes, one fails, one crashes, one sleeps and one floods
// on sealed cases alone.
func TestQueryTellsOneBit(t *testing.T) {
	if short() {
		t.Skip("five queries take their time: set CI=true")
	}
	t.Parallel()
	base := newGatedWorld(t, 8)
	base.open()
	seen := map[string]*visible{}
	for _, name := range []string{"general", "overfit", "crashes", "sleeps", "floods"} {
		w := base.copy(t)
		w.candidate(name, gatedCandidates[name])
		seen[name] = w.visible(w.judge())
	}
	want := seen["general"]
	for name, v := range seen {
		if v.shape != want.shape {
			t.Errorf("%s is told from a pass:\n%s\nwant\n%s", name, v.shape, want.shape)
		}
		if d := (v.took - want.took).Abs(); d > 2*time.Second {
			t.Errorf("%s takes %s, a pass %s", name, v.took, want.took)
		}
		if passed := v.answer == ledger.Pass; passed != (name == "general") {
			t.Errorf("%s is answered with %s", name, v.answer)
		}
	}
}

// visible is what can be seen of the latest query of a run.
type visible struct {
	shape  string // kinds, sizes and names, without what is random or the answer
	took   time.Duration
	answer ledger.Answer
}

func (w *world) visible(run *journal.Run) *visible {
	w.t.Helper()
	v := &visible{}
	var out strings.Builder
	state := "refs/heads/" + journal.StateBranch(tag)
	lines := bytes.SplitAfter([]byte(w.git(w.origin(), "show", state+":"+journal.Folder(tag)+ledger.Segment(run.Iteration))+"\n"), []byte("\n"))
	var charged time.Time
	for _, line := range lines[:len(lines)-1] {
		e, err := ledger.ParseEvent(line)
		if err != nil {
			w.t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case *ledger.GateCharged:
			out.Reset()
			charged = e.Time
		case *ledger.GateResult:
			v.took, v.answer = e.Time.Sub(charged), d.Answer
			fmt.Fprintf(&out, "sealed in %d\n", len(d.Sealed))
		}
		if !charged.IsZero() && v.took == 0 {
			fmt.Fprintf(&out, "%s of %d\n", e.Data.Kind(), e.Iteration)
		}
	}
	entry := run.Entries[len(run.Entries)-1]
	fmt.Fprintf(&out, "%d repetitions, failure %v, audit %s\n", len(entry.Repetitions), entry.Failure, entry.LeakageAudit.Verdict)
	for file := range strings.Lines(w.git(w.origin(), "ls-tree", "-r", "--name-only", state)) {
		if strings.Contains(file, "/logs/") {
			out.WriteString(file)
		}
	}
	v.shape = out.String()
	return v
}

// TestOutcomeSize: what travels of a pass on sealed cases has one size.
func TestOutcomeSize(t *testing.T) {
	t.Parallel()
	w := newGatedWorld(t, 2)
	s := w.supervisor(nil)
	if err := s.Clone.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := supervisor.NewPlan(t.Context(), s.Clone, "main", tag, "local", "test", w.opening())
	if err != nil {
		t.Fatal(err)
	}
	b, err := plan.Rehearsal(s.Clone)
	if err != nil {
		t.Fatal(err)
	}
	b.Lease, b.Stage = "lease", ledger.Validation
	sizes := map[int]bool{}
	flood := map[string][]byte{}
	for i := range 50 {
		flood[fmt.Sprintf("case%03d", i)] = bytes.Repeat([]byte{byte(i * 37)}, 1300)
	}
	for _, outputs := range []map[string][]byte{nil, {"case000": []byte("tok")}, flood} {
		out := b.Outcome()
		out.Outputs = map[ledger.Arm]map[string][]byte{ledger.Candidate: outputs}
		data, err := supervisor.SealOutcome(b, out)
		if err != nil {
			t.Fatal(err)
		}
		sizes[len(data)] = true
		again, err := supervisor.OpenOutcome(b, data, &w.keys.Judge.Identity)
		if err != nil || len(again.Outputs[ledger.Candidate]) != len(outputs) {
			t.Errorf("opened %d outputs of %d: %v", len(again.Outputs[ledger.Candidate]), len(outputs), err)
		}
		other := *b
		other.Lease = "another"
		if _, err := supervisor.OpenOutcome(&other, data, &w.keys.Judge.Identity); err == nil {
			t.Error("the outcome of another claim is taken")
		}
		if _, err := supervisor.OpenOutcome(b, data[:len(data)-1], &w.keys.Judge.Identity); err == nil {
			t.Error("a truncated outcome is taken")
		}
	}
	if len(sizes) != 1 {
		t.Errorf("outcomes have the sizes %v", sizes)
	}
}

// TestBundle: a bundle comes back as it was, and no other bytes are one.
func TestBundle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.supervisor(nil)
	if err := s.Clone.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := supervisor.NewPlan(t.Context(), s.Clone, "main", tag, "local", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := plan.Rehearsal(s.Clone)
	if err != nil {
		t.Fatal(err)
	}
	b.Lease = "lease"
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := supervisor.ParseBundle(data)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest != b.Digest || len(again.Blobs) != len(b.Blobs) || again.Arms[0].Files[0] != b.Arms[0].Files[0] {
		t.Errorf("came back as %+v", again.Arms)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "no gzip": []byte("{}"), "truncated": data[:len(data)/2], "doubled": append(bytes.Clone(data), data...),
	} {
		if _, err := supervisor.ParseBundle(bad); err == nil {
			t.Errorf("%s: taken as a bundle", name)
		}
	}
	b.Contract = append(b.Contract, ' ')
	if data, err = b.Encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := supervisor.ParseBundle(data); err == nil {
		t.Error("a contract that is not the one that was sealed is taken")
	}
}
