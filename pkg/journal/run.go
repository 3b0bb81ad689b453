// Package journal says where a run stands and what is to be done next.
//
// It is a fold: a [Run] is the sum of its events, and [Run.Apply] adds one
// more or says why it cannot follow. [Run.Next] looks at a Run and at the
// [World], which is all that one sees outside the records, and gives the one
// [Step] that is due. The supervisor is the loop around the two: Next, do it,
// append what happened, Apply. There is no other memory, so that the first
// time and the time after an interruption take the same path.
//
// The phases of an attempt are
//
//	prepared → committed → started → evaluated → decided → (rolled_back) → finalized → published
//
// with `retried` in place of started where a pass was lost. An attempt whose
// audit says no goes from committed to decided at once. One that the gate must
// answer goes on from evaluated:
//
//	evaluated → gate_charged, started → gate_result → decided
//
// and the final test of a run that closes stands by itself:
//
//	closing → final_charged → final_result → closed
//
// A claim is a lease: from the event that carries it to `evaluated` or
// `decided`, whoever else looks at the run waits, unless the holder is known
// to be gone; then the next event carries a new claim.
package journal

import (
	"fmt"
	"hash"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/gate"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// Standing is a kept commit and what was measured of it.
type Standing struct {
	Iteration    int
	Commit, Tree string
	Measurement  *ledger.Measurement
	Tools        map[string]string
}

// Lease is a claim in force.
type Lease struct {
	ID       string
	Holder   ledger.Holder
	Deadline time.Time
}

// Phase is how far an attempt has come.
type Phase int

// The phases, in their order. The zero value is no phase.
const (
	Prepared Phase = iota + 1
	Committed
	Running
	Evaluated
	Charged
	Gated
	Decided
	RolledBack
)

// RoleFinal is the role of the final test, which is open like an attempt and
// is none.
const RoleFinal ledger.Role = "final"

// Attempt is the open attempt, or the final test.
type Attempt struct {
	Iteration int
	Role      ledger.Role
	Phase     Phase
	// Stage is that of the running or latest pass.
	Stage     ledger.Stage
	StartedAt time.Time
	Candidate string
	Committed ledger.Committed
	Lease     *Lease
	// Lost counts the passes that were given up.
	Lost       int
	Evaluation *ledger.Evaluation
	Gate       *ledger.GateResult
	Decided    *ledger.Decided
	RolledBack *ledger.RolledBack
}

// Verdict is what a commit of the run branch was judged to be.
type Verdict struct {
	// Status is a ledger status, or "superseded".
	Status    string
	Reason    string
	Iteration int
	// Commit is the tip that was judged; a commit below it shares its verdict.
	Commit string
	// Restore is the commit that brought the incumbent's tree back, "" without one.
	Restore string
	// Overfit says that the gate was asked and not passed.
	Overfit bool
}

// Judged is one line of a run's history: an entry, or a tip that was no candidate.
type Judged struct {
	Time       time.Time
	Entry      *ledger.Entry
	Superseded *ledger.Superseded
}

// Superseded is the status of a tip that is no candidate.
const Superseded = "superseded"

// Run is the sum of a run's events.
type Run struct {
	Contract *contract.Sealed
	Tag      string
	Sealed   *ledger.Sealed
	SealedAt time.Time
	Probed   *ledger.Probed
	Opened   *ledger.Opened
	OpenedAt time.Time
	Closing  *ledger.Closing
	Closed   *ledger.Closed
	Halted   *ledger.Halted
	// Incumbent is the best kept commit so far; without a commit until the
	// baseline is kept.
	Incumbent Standing
	// Tip is the recorded tip of the run branch.
	Tip     string
	Open    *Attempt
	Entries []ledger.Entry
	// Iteration is that of the latest attempt, -1 before the baseline's.
	Iteration int
	// Retries counts lost passes over the whole run, SetupRetries how often the
	// baseline's machine lacked something.
	Retries, SetupRetries int
	// FinalCharged and Final are the final test, nil until it comes to it.
	FinalCharged *ledger.FinalCharged
	Final        *ledger.FinalResult
	// Unpublished are judged commits whose verdict has not been published.
	Unpublished []string
	// History lists what was judged, in its order.
	History []Judged
	// LastEvent is the time of the latest event.
	LastEvent time.Time

	verdicts   map[string]Verdict
	audits     map[string]*ledger.Audit // of judged tips
	below      map[string]string        // a commit below a judged tip → the tip
	rejected   map[string]int           // tree → iteration whose verdict is replayed
	incumbents map[string]int           // tree of a kept commit → iteration
	asked      gate.Use                 // of this run alone
	paused     int                      // protected overlaps after which a person has been asked
	results    hash.Hash                // over the lines of all entries; nil without one
	written    []byte                   // the line of the entry that is being finalized, nil where it is not known
}

// Fold sums up a journal. An error names the event that cannot follow.
func Fold(c *contract.Sealed, events []ledger.Event) (*Run, error) {
	r := &Run{
		Contract: c, Iteration: -1,
		verdicts: map[string]Verdict{}, audits: map[string]*ledger.Audit{}, below: map[string]string{},
		rejected: map[string]int{}, incumbents: map[string]int{},
	}
	for _, e := range events {
		if err := r.Apply(e); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Verdict gives what was said of a commit, itself or as part of a judged tip.
func (r *Run) Verdict(commit string) (Verdict, bool) {
	v, ok := r.verdicts[commit]
	if !ok {
		v, ok = r.verdicts[r.below[commit]]
	}
	return v, ok
}

// Audit gives what the audit said of a commit, itself or as part of a judged
// tip; nil where it was not audited.
func (r *Run) Audit(commit string) *ledger.Audit {
	if tip, ok := r.below[commit]; ok {
		commit = tip
	}
	return r.audits[commit]
}

// Candidates gives the entries of candidates, the baseline's left out.
func (r *Run) Candidates() []ledger.Entry {
	if len(r.Entries) == 0 {
		return nil
	}
	return r.Entries[1:]
}

// Apply adds one event. An error says why it cannot follow; r is then unusable.
func (r *Run) Apply(e ledger.Event) error { return r.ApplyRead(e, nil) }

// ApplyRead is Apply for an event that was read: entry is how the entry that it
// may finalize is written, nil where that is not known.
func (r *Run) ApplyRead(e ledger.Event, entry []byte) error {
	r.written = entry
	if err := r.apply(e); err != nil {
		return fmt.Errorf("journal event %d (%s, iteration %d): %w", e.Seq, e.Data.Kind(), e.Iteration, err)
	}
	r.LastEvent = e.Time
	return nil
}

func (r *Run) apply(e ledger.Event) error {
	if _, first := e.Data.(*ledger.Sealed); first != (r.Sealed == nil) {
		return fmt.Errorf("sealed must be the first event and only that")
	}
	if err := r.mayStand(e.Data.Kind()); err != nil {
		return err
	}
	if _, ok := follows[e.Data.Kind()]; ok {
		return r.attempt(e)
	}
	if want := max(r.Iteration, 0); e.Iteration != want {
		return fmt.Errorf("want iteration %d", want)
	}
	switch d := e.Data.(type) {
	case *ledger.Sealed:
		r.Tag, r.Sealed, r.SealedAt = e.Run, d, e.Time
		r.Tip = d.Baseline
		r.incumbents[d.Tree] = 0
	case *ledger.Probed:
		r.Probed = d
	case *ledger.SetupRetried:
		if r.Open == nil || r.Open.Role != ledger.RoleBaseline || r.Open.Phase != Running {
			return fmt.Errorf("the baseline is not running")
		}
		r.SetupRetries++
	case *ledger.Opened:
		return r.open(e.Time, d)
	case *ledger.Superseded:
		return r.supersede(e.Time, d)
	case *ledger.Published:
		return r.publish(d)
	case *ledger.Closing:
		r.Closing = d
	case *ledger.FinalCharged:
		return r.chargeFinal(e, d)
	case *ledger.Halted:
		r.Halted = d
		if d.Paused {
			r.paused = r.asked.Overlaps
		}
	case *ledger.Authorised:
		r.Halted = nil
	case *ledger.Closed:
		r.Closed = d
	default:
		return fmt.Errorf("unknown event")
	}
	return nil
}

// mayStand checks an event's kind against the state of the run as a whole.
func (r *Run) mayStand(kind ledger.Kind) error {
	if kind == ledger.KindPublished {
		return nil // a verdict is published whatever came between
	}
	authorised := kind == ledger.KindAuthorised
	switch {
	case r.Closed != nil:
		return fmt.Errorf("the run is closed")
	case r.Halted != nil && !authorised:
		return fmt.Errorf("the run is halted: %s", r.Halted.Reason)
	case r.Halted == nil && authorised:
		return fmt.Errorf("the run is not halted")
	case r.Closing != nil && kind == ledger.KindClosing:
		return fmt.Errorf("the run is closing already")
	case kind != ledger.KindClosed:
		return nil
	case r.Closing == nil && !r.failed():
		return fmt.Errorf("the run is not closing")
	case r.finalDue():
		return fmt.Errorf("the final test is due")
	case r.Open != nil && r.Opened != nil:
		return fmt.Errorf("attempt %d is open", r.Open.Iteration)
	}
	return nil
}

// failed says that the baseline was not kept.
func (r *Run) failed() bool { return len(r.Entries) > 0 && r.Incumbent.Commit == "" }

// open checks what may come before opened.
func (r *Run) open(at time.Time, d *ledger.Opened) error {
	if r.Opened != nil || r.Incumbent.Commit == "" || d.Commit != r.Sealed.Baseline {
		return fmt.Errorf("a run opens once, at its baseline, after that is kept")
	}
	r.Opened, r.OpenedAt = d, at
	return nil
}

// supersede moves the recorded tip over commits that are no candidate.
func (r *Run) supersede(at time.Time, d *ledger.Superseded) error {
	switch {
	case r.Opened == nil:
		return fmt.Errorf("the run is not open")
	case r.Open != nil:
		return fmt.Errorf("attempt %d is open", r.Open.Iteration)
	case d.Restore == "" && d.Tree != r.Incumbent.Tree:
		return fmt.Errorf("the tip's tree is not the incumbent's, and no commit restored it")
	case d.Of != nil && (*d.Of < 0 || *d.Of >= len(r.Entries)):
		return fmt.Errorf("iteration %d is not known", *d.Of)
	}
	r.History = append(r.History, Judged{Time: at, Superseded: d})
	r.note(Verdict{Status: Superseded, Reason: d.Reason, Commit: d.Tip, Restore: d.Restore, Iteration: -1}, d.Commits)
	if d.Of != nil {
		entry := r.Entries[*d.Of]
		r.audits[d.Tip] = r.audits[entry.Commit]
		r.note(Verdict{
			Status: string(entry.Status), Reason: d.Reason + ": " + entry.Reason,
			Commit: d.Tip, Restore: d.Restore, Iteration: *d.Of, Overfit: overfit(entry),
		}, d.Commits)
	}
	r.Tip = d.Tip
	if d.Restore != "" {
		r.Tip = d.Restore
	}
	r.Unpublished = append(r.Unpublished, d.Tip)
	return nil
}

// note records a verdict for its tip and for the commits below it that have none.
func (r *Run) note(v Verdict, commits []string) {
	if old, ok := r.verdicts[v.Commit]; !ok || old.Status == Superseded {
		r.verdicts[v.Commit] = v
	}
	for _, c := range commits {
		if _, ok := r.verdicts[c]; !ok && c != v.Commit {
			r.below[c] = v.Commit
		}
	}
}

func (r *Run) publish(d *ledger.Published) error {
	for i, c := range r.Unpublished {
		if c == d.Commit {
			if v, _ := r.Verdict(c); v.Status != d.Verdict {
				return fmt.Errorf("verdict %q of %s, recorded is %q", d.Verdict, c, v.Status)
			}
			r.Unpublished = append(r.Unpublished[:i:i], r.Unpublished[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("%s has no verdict to publish", d.Commit)
}
