package journal_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// The search walks through every state that two supervisors, an author and a
// maintainer can bring a run to, within a budget of what may go wrong. The
// supervisors are the loop of pkg/supervisor in small: they read journal and
// branch at once, ask the real Fold, Look, Next and Apply, hold events back in
// memory, and let go of them in one compare-and-swap before a launch, a push to
// the run branch, and their end. Between any two of these points the others may
// do anything, and the supervisor may die.

// budget bounds what may go wrong.
type budget struct {
	crashes, ticks, closes, refusals, interrupts int
	// pushes is how often the author acts; moves says how he may.
	pushes int
	moves  string
}

// The author's moves: push a good, a bad or an audit-invalid commit, one that
// gains and fails the gate, one that gains and holds sealed cases, push the
// incumbent's tree, push a bad commit on the baseline by force, set the branch
// back by force, delete it, push a merge.
const (
	good, bad, invalid, revert, force, reset, remove, merge = 'G', 'X', 'A', 'r', 'f', 'b', 'd', 'm'
	overfit, overlap                                        = 'O', 'P'
)

// state is one state of the world. Its slices are never written to.
type state struct {
	events []ledger.Event
	log    string // stands for events
	graph  graph
	shape  string // stands for graph
	tip    int    // of the run branch, -1 without one
	sups   [2]process
	owner  int // the process that holds the lease in force, -1 for one that died
	tick   int
	budget budget
	// honest is a good commit that was pushed upon a restore or the recorded
	// tip, and that nobody touched since, -1 for none. Where the branch was
	// rewritten before, one supervisor may be about to record a restore that
	// the rewriting dropped while another made the one that is seen; the commit
	// counts only if nobody was at work.
	honest    int
	rewritten bool
}

// Where a process is.
const (
	resting   = iota // has read nothing
	holding          // knows what to append and what to do then
	acting           // has appended, and is about to do it
	executing        // candidate code runs
)

// process is a supervisor and its memory.
type process struct {
	at   int
	base int // journal length that it knows to be durable
	tip  int // of the run branch as it was read
	plan *plan
	// outcome is the lease under which it executed, "" without an outcome.
	outcome string
}

// rest is a process that keeps nothing but its outcome.
func rest(outcome string) process { return process{tip: -1, outcome: outcome} }

// plan is what a process found to be due.
type plan struct {
	held []ledger.Event
	code string // stands for held
	step journal.Step
	run  *journal.Run // held included
	// claims says that what is held makes a lease.
	claims bool
}

func sum(parts ...any) string {
	h := sha256.Sum256([]byte(fmt.Sprintln(parts...)))
	return string(h[:12])
}

// key is the same for two states that differ in names alone.
func (s *state) key(run *journal.Run) string {
	var codes [2]string
	for i, p := range s.sups {
		code := ""
		if p.plan != nil {
			code = p.plan.code + string(p.plan.step.Do) + p.plan.step.Commit
		}
		if run != nil && (run.Open == nil || run.Open.Lease == nil || run.Open.Lease.ID != p.outcome) {
			p.outcome = "" // worth nothing any more
		}
		codes[i] = fmt.Sprint(p.outcome, p.at, p.base, p.tip, code, s.owner == i)
	}
	slices.Sort(codes[:])
	return sum(s.log, s.shape, s.tip, s.owner < 0, s.tick, s.budget, s.honest, s.rewritten, codes)
}

// code stands for an event in keys and traces.
func code(e ledger.Event) string {
	switch d := e.Data.(type) {
	case *ledger.Prepared:
		return "prepared " + d.Lease
	case *ledger.Committed:
		return fmt.Sprint("committed ", d.Commits, d.Tree, d.Audit.Verdict)
	case *ledger.Started:
		return "started " + d.Lease
	case *ledger.Evaluated:
		return "evaluated " + d.Candidate
	case *ledger.GateCharged:
		return "gate_charged " + d.Lease
	case *ledger.GateResult:
		return "gate_result " + string(d.Answer)
	case *ledger.FinalCharged:
		return "final_charged " + d.Lease
	case *ledger.FinalResult:
		return "final_result " + string(d.Answer)
	case *ledger.Closing:
		return fmt.Sprint("closing ", d.Interrupt)
	case *ledger.Retried:
		return "retried " + d.Lease
	case *ledger.Decided:
		return "decided " + string(d.Status) + " " + d.Lease
	case *ledger.RolledBack:
		return "rolled_back " + d.Commit + " swept " + fmt.Sprint(d.Swept)
	case *ledger.Superseded:
		return fmt.Sprint("superseded ", d.Commits, d.Tree, " by ", d.Restore)
	case *ledger.Published:
		return "published " + d.Commit + " " + d.Verdict
	}
	return string(e.Data.Kind())
}

// search is one search.
type search struct {
	terms  *contract.Sealed
	seen   map[string]int32
	parent []int32
	action []string
	queue  []*state
	runs   map[string]*journal.Run
	plans  map[string]*plan
	found  map[string]string // violation → trace
	events map[string]bool   // codes of the events that were reached
	now    int32
}

func (x *search) fold(s *state) *journal.Run {
	if r, ok := x.runs[s.log]; ok {
		return r
	}
	r, err := journal.Fold(x.terms, s.events)
	if err != nil {
		x.violation("unreadable journal: "+err.Error(), "")
	}
	x.runs[s.log] = r
	return r
}

func (x *search) violation(what, last string) {
	if _, ok := x.found[what]; ok {
		return
	}
	var trace []string
	for i := x.now; i > 0; i = x.parent[i] {
		trace = append(trace, x.action[i])
	}
	slices.Reverse(trace)
	if last != "" {
		trace = append(trace, last)
	}
	x.found[what] = strings.Join(trace, "\n    ")
}

// to adds a state that an action leads to.
func (x *search) to(s state, action string) {
	if len(s.events) > 100 || len(s.graph) > 40 {
		x.violation("a run without end", action)
		return
	}
	key := s.key(x.fold(&s))
	if _, ok := x.seen[key]; ok {
		return
	}
	x.seen[key] = int32(len(x.parent))
	x.parent, x.action = append(x.parent, x.now), append(x.action, action)
	x.queue = append(x.queue, &s)
}

func (x *search) run(first state) {
	x.seen, x.found = map[string]int32{}, map[string]string{}
	x.runs, x.plans, x.events = map[string]*journal.Run{}, map[string]*plan{}, map[string]bool{}
	x.to(first, "")
	for i := 0; i < len(x.queue); i++ {
		s := x.queue[i]
		x.queue[i] = nil
		x.now = int32(i)
		x.check(s)
		if x.runs[s.log] == nil {
			continue
		}
		x.others(s)
		for who := range s.sups {
			x.supervise(s, who)
		}
	}
}

// appended gives a state with more events in its journal.
func appended(s state, events []ledger.Event) state {
	s.events = append(slices.Clip(s.events), events...)
	for _, e := range events {
		s.log = sum(s.log, code(e))
	}
	return s
}

// pushed gives a state with one more commit as the run branch's tip.
func pushed(s state, n node) state {
	s.graph, s.tip = s.graph.with(n)
	s.shape = sum(s.shape, n.tree, n.author, n.parents, n.of)
	return s
}

func clock(tick int) time.Time { return start.Add(time.Duration(tick) * time.Hour) }

// ask finds out what a process does next that has read the journal as it is,
// and saw the run branch at tip.
func (x *search) ask(s *state, who, tip int) *plan {
	p := s.sups[who]
	d := &desk{graph: s.graph, tip: tip, own: s.owner == who, gone: s.owner < 0}
	if lease := x.fold(s).Open; lease != nil && lease.Lease != nil {
		d.outcome = lease.Lease.ID == p.outcome
	}
	key := sum(s.log, s.shape, tip, d.own, d.gone, d.outcome, s.tick)
	if found, ok := x.plans[key]; ok {
		return found
	}
	d.clerk = &clerk{terms: x.terms, now: clock(s.tick), events: slices.Clone(s.events)}
	d.run, _ = journal.Fold(x.terms, d.events)
	out := &plan{}
	var err error
	if out.step, err = d.plan(); err != nil {
		x.violation(fmt.Sprintf("what Next asked for may not stand: %v", err), "")
	}
	out.held, out.run, out.claims = d.events[len(s.events):], d.run, d.claims
	for _, e := range out.held {
		out.code = sum(out.code, code(e))
	}
	x.plans[key] = out
	return out
}

// desk is a supervisor between two durable points.
type desk struct {
	*clerk
	graph graph
	tip   int
	// own and gone speak of the lease in force, outcome of the pass under it.
	own, gone, outcome bool
	claims             bool
}

// plan does what is due in memory until something durable is.
func (d *desk) plan() (journal.Step, error) {
	for range 50 {
		w := journal.World{Now: d.now, Outcome: d.outcome}
		if a := d.run.Open; a != nil && a.Lease != nil {
			switch {
			case d.own:
				w.Lease = a.Lease.ID
			case d.gone:
				w.Gone = "its process is gone"
			}
		}
		if d.tip >= 0 {
			if err := d.run.Look(&w, d.graph, id(d.tip)); err != nil {
				return journal.Step{}, err
			}
		}
		step := d.run.Next(w)
		data, err := d.do(step)
		if err != nil || data == nil {
			return step, err
		}
		for _, e := range data {
			if err := d.add(e()); err != nil {
				return step, err
			}
		}
	}
	return journal.Step{}, fmt.Errorf("nothing durable comes of 50 steps")
}

// token names a new lease.
func (d *desk) token() string {
	d.own, d.gone, d.outcome, d.claims = true, false, false, true
	return fmt.Sprintf("@%d", len(d.events))
}

// do gives the events of a step, nil where it needs more than memory.
func (d *desk) do(step journal.Step) ([]func() ledger.Data, error) {
	one := func(f func() ledger.Data) []func() ledger.Data { return []func() ledger.Data{f} }
	switch step.Do {
	case journal.Publish:
		return one(func() ledger.Data { return d.published() }), nil
	case journal.Claim:
		return []func() ledger.Data{
			func() ledger.Data { return d.prepared(d.token()) },
			func() ledger.Data { return d.inspect(step.Commit) },
		}, nil
	case journal.Start:
		return one(func() ledger.Data {
			e := d.started()
			if step.TakeOver {
				e.Head = d.leased(d.token(), step.Reason)
			}
			return e
		}), nil
	case journal.Retry:
		return one(func() ledger.Data { return d.retried(d.token()) }), nil
	case journal.Charge:
		return []func() ledger.Data{
			func() ledger.Data { return d.charged(d.token()) },
			func() ledger.Data { return d.started() },
		}, nil
	case journal.Final:
		return one(func() ledger.Data { return d.finalCharged(d.token()) }), nil
	case journal.GiveUp:
		return one(func() ledger.Data {
			return &ledger.FinalResult{Head: d.leased(d.token(), "gone"), Answer: ledger.Interrupted, P: 1}
		}), nil
	case journal.Pause:
		return one(func() ledger.Data { return &ledger.Halted{Reason: step.Reason, Paused: true} }), nil
	case journal.Record:
		return one(d.found), nil
	case journal.Decide:
		return one(func() ledger.Data { return d.decide(step) }), nil
	case journal.Note:
		return one(func() ledger.Data { return d.rolledBack(step.Commit, step.Swept...) }), nil
	case journal.Finalize:
		return one(func() ledger.Data { return d.finalized() }), nil
	case journal.Open:
		return one(func() ledger.Data { return &ledger.Opened{Commit: step.Commit} }), nil
	case journal.Supersede:
		return one(func() ledger.Data { return d.supersede(step) }), nil
	case journal.Close:
		return one(func() ledger.Data { return &ledger.Closed{Reason: step.Reason, Best: d.incumbent()} }), nil
	case journal.Execute, journal.Restore, journal.Sweep, journal.Recreate, journal.Idle, journal.Done, journal.Wait, journal.Stopped:
		return nil, nil
	}
	return nil, fmt.Errorf("step %q is not known", step.Do)
}

// inspect is the audit in small: shape first, as pkg/audit has it, then trees.
func (d *desk) inspect(commit string) *ledger.Committed {
	tip, recorded := place(commit), place(d.run.Tip)
	if d.run.Open.Role == ledger.RoleBaseline {
		return d.committed(commit, d.graph[tip].tree)
	}
	c := d.committed(commit, d.graph[tip].tree)
	c.Commits = d.graph.above(recorded, tip)
	parent := d.run.Tip
	c.Audit.Tree = true
	for _, name := range c.Commits {
		n := d.graph[place(name)]
		if len(n.parents) != 1 || id(n.parents[0]) != parent {
			c.Audit.Verdict, c.Audit.Tree = "invalid", false
		}
		if strings.HasPrefix(n.tree, string(invalid)) {
			c.Audit.Verdict = "invalid"
		}
		parent = name
	}
	return c
}

// found is what a pass finds: good trees gain, the later the more, and so do
// those that the gate refuses.
func (d *desk) found() ledger.Data {
	a := d.run.Open
	switch a.Stage {
	case ledger.Validation:
		return d.answered(map[byte]ledger.Answer{overfit: ledger.Fail, overlap: ledger.Overlap, good: ledger.Pass, 'B': ledger.Pass}[a.Committed.Tree[0]])
	case ledger.Final:
		return d.finalResult(ledger.Pass)
	}
	e := d.evaluated()
	value := 0.5
	switch a.Committed.Tree[0] {
	case bad:
		value = 0
	case good, overfit, overlap:
		value = float64(len(d.events))
	}
	e.Measurements[0].Metrics["accuracy"] = value
	e.Measurements = append(e.Measurements, e.Measurements[0])
	e.Measurements[1].Repetition = 1
	return e
}

// decide keeps good trees and the baseline.
func (d *desk) decide(step journal.Step) *ledger.Decided {
	a := d.run.Open
	var out *ledger.Decided
	switch {
	case step.Reason != "" && step.TakeOver:
		return d.lost(d.token())
	case step.Reason != "":
		out = d.decided(ledger.Crash)
		out.Replay = false
		return out
	case a.Committed.Audit.Verdict == "invalid":
		out = d.decided(ledger.Invalid)
		out.Replay = a.Committed.Audit.Tree
	case a.Role == ledger.RoleBaseline, strings.HasPrefix(a.Committed.Tree, string(good)):
		out = d.decided(ledger.Keep)
	case strings.HasPrefix(a.Committed.Tree, string(overlap)):
		out = d.decided(ledger.Invalid)
	default:
		out = d.decided(ledger.Discard)
	}
	if step.TakeOver {
		out.Head = d.leased(d.token(), "gone")
	}
	return out
}

func (d *desk) supersede(step journal.Step) *ledger.Superseded {
	n := place(step.Commit)
	return &ledger.Superseded{
		Tip: step.Commit, Tree: d.graph[n].tree, Commits: d.graph.above(place(d.run.Tip), n),
		Reason: step.Reason, Of: step.Of, Restore: step.Restore,
	}
}

// supervise lets one supervisor take one step.
func (x *search) supervise(s *state, who int) {
	p := s.sups[who]
	name := fmt.Sprintf("S%d ", who)
	to := func(p process, action string) {
		next := *s
		next.sups[who] = p
		x.to(next, name+action)
	}
	if s.budget.crashes > 0 && (p.at != resting || s.owner == who) {
		next := *s
		next.budget.crashes--
		next.sups[who] = rest("")
		if s.owner == who {
			next.owner = -1
		}
		x.to(next, name+"dies")
	}
	switch p.at {
	case resting:
		x.think(s, who, s.tip, name+"reads")
	case holding:
		if p.base != len(s.events) {
			to(rest(p.outcome), "loses the race")
			return
		}
		next := appended(*s, p.plan.held)
		if p.plan.claims {
			next.owner = who
		}
		p.at, p.base = acting, len(next.events)
		next.sups[who] = p
		x.to(next, name+"appends")
	case acting:
		x.act(s, who, p, name)
	case executing:
		lease := p.plan.run.Open.Lease
		if p.base != len(s.events) {
			to(rest(lease.ID), "has executed and loses the race")
		} else {
			done := *s
			done.sups[who] = rest(lease.ID)
			x.think(&done, who, p.tip, name+"has executed")
		}
		if x.late(s, p) {
			to(rest(""), "is stopped at its deadline")
		}
	}
}

// late says whether the lease under which a process is to execute is over.
func (x *search) late(s *state, p process) bool {
	return clock(s.tick).After(p.plan.run.Open.Lease.Deadline)
}

// think lets a process hold back what is due, as far as it saw the run branch;
// after a launch that may be long ago. Where nothing is to be appended it
// is about to act at once.
func (x *search) think(s *state, who, tip int, action string) {
	plan := x.ask(s, who, tip)
	next := *s
	p := process{at: holding, base: len(s.events), tip: tip, plan: plan, outcome: s.sups[who].outcome}
	for _, e := range plan.held {
		action += ", " + code(e)
	}
	action += "; then " + string(plan.step.Do) + " " + plan.step.Commit
	if len(plan.held) == 0 {
		p.at = acting
		if idle(plan.step.Do) {
			p = rest(p.outcome)
		}
	}
	next.sups[who] = p
	x.to(next, action)
}

func idle(do journal.Do) bool {
	return do == journal.Idle || do == journal.Done || do == journal.Wait || do == journal.Stopped
}

// act lets a process do what it appended for.
func (x *search) act(s *state, who int, p process, name string) {
	next := *s
	step := p.plan.step
	next.sups[who] = rest(p.outcome)
	switch step.Do {
	case journal.Execute:
		if x.late(s, p) {
			x.to(next, name+"is too late to execute")
			return
		}
		p.at = executing
		next.sups[who] = p
		x.executes(s, who, p, name)
		x.to(next, name+"executes")
		return
	case journal.Recreate:
		if s.tip < 0 {
			next.tip = place(step.Commit)
		}
	case journal.Restore, journal.Sweep:
		x.pushRestore(s, who, p, name)
		return
	case journal.Idle, journal.Done, journal.Wait, journal.Stopped:
	default:
		x.violation(fmt.Sprintf("%s is no effect", step.Do), "")
	}
	x.to(next, fmt.Sprintf("%s%s %s", name, step.Do, step.Commit))
}

// pushRestore pushes a commit with the incumbent's tree, by compare-and-swap.
func (x *search) pushRestore(s *state, who int, p process, name string) {
	run, step := p.plan.run, p.plan.step
	next := *s
	next.sups[who] = rest(p.outcome)
	if s.tip != p.tip {
		x.to(next, name+"is too late to "+string(step.Do))
		return
	}
	n := node{tree: run.Incumbent.Tree, author: "S", parents: []int{p.tip}, of: -1}
	keep := []string{run.Tip}
	if step.Do == journal.Restore {
		n.tree, n.of = run.Open.Decided.Rollback.Tree, run.Open.Iteration
		keep = []string{run.Open.Candidate, run.Tip}
	}
	for _, k := range keep {
		if !slices.ContainsFunc(n.parents, func(held int) bool { return s.graph.holds(held, place(k)) }) {
			n.parents = append(n.parents, place(k))
		}
	}
	action := fmt.Sprintf("%s%s %s: c%d on %v", name, step.Do, step.Commit, len(s.graph), n.parents)
	for at := s.tip; n.of >= 0 && len(s.graph[at].parents) > 0; at = s.graph[at].parents[0] {
		if s.graph[at].of == n.of {
			x.violation("two restores of one rejection", action)
		}
	}
	if s.honest >= 0 && s.graph.holds(p.tip, s.honest) && x.fold(s).Closing == nil {
		if v, ok := run.Verdict(id(s.honest)); !ok || v.Status == journal.Superseded {
			x.violation("an honest candidate is swept", action)
		}
	}
	x.to(pushed(next, n), action)
	if s.budget.refusals > 0 {
		x.refused(s, who, p, name+"is refused to "+string(step.Do))
	}
}

// refused halts the run because a restore could not be pushed.
func (x *search) refused(s *state, who int, p process, action string) {
	next := *s
	next.budget.refusals--
	next.sups[who] = rest(p.outcome)
	if p.base != len(s.events) {
		x.to(next, action+" and loses the race")
		return
	}
	k := &clerk{terms: x.terms, now: clock(s.tick), events: slices.Clone(s.events)}
	k.run, _ = journal.Fold(x.terms, k.events)
	if k.run.Open != nil {
		if err := k.add(k.finalized()); err != nil {
			x.violation("halt: "+err.Error(), action)
		}
	}
	if err := k.add(&ledger.Halted{Reason: "refused"}); err != nil {
		x.violation("halt: "+err.Error(), action)
	}
	x.to(appended(next, k.events[len(s.events):]), action)
}

// executes checks what may not run beside what.
func (x *search) executes(s *state, who int, p process, name string) {
	run := p.plan.run
	if run.Open.Role == ledger.RoleCandidate && (run.Open.Candidate == run.Tip || !s.graph.holds(place(run.Open.Candidate), place(run.Tip))) {
		x.violation("a commit that does not stand on the recorded tip is launched", name+"executes "+run.Open.Candidate)
	}
	for _, e := range run.Entries {
		if run.Open.Role == journal.RoleFinal {
			break
		}
		same := s.graph[place(e.Commit)].tree == s.graph[place(run.Open.Candidate)].tree
		if same && (e.Status == ledger.Keep || e.Status == ledger.Discard) {
			x.violation("a tree that was judged is launched again", name+"executes "+run.Open.Candidate)
		}
	}
	other := s.sups[1-who]
	if other.at == executing && !x.late(s, other) && other.plan.run.Open.Iteration == run.Open.Iteration {
		x.violation("two execute at once", name+"executes")
	}
}

// others lets author, maintainer and time act.
func (x *search) others(s *state) {
	run := x.fold(s)
	if s.budget.pushes > 0 && run.Opened != nil {
		for _, move := range s.budget.moves {
			x.push(s, run, move)
		}
	}
	intend := func(what ledger.Data, next state) {
		k := &clerk{terms: x.terms, now: clock(s.tick), events: slices.Clone(s.events)}
		k.run, _ = journal.Fold(x.terms, k.events)
		if err := k.add(what); err != nil {
			x.violation(fmt.Sprintf("%s: %v", what.Kind(), err), "")
		}
		x.to(appended(next, k.events[len(s.events):]), string(what.Kind()))
	}
	if s.budget.closes > 0 && run.Closing == nil && run.Halted == nil && run.Closed == nil {
		next := *s
		next.budget.closes--
		next.honest = -1
		intend(&ledger.Closing{Reason: "enough"}, next)
		if s.budget.interrupts > 0 {
			intend(&ledger.Closing{Reason: "enough", Interrupt: true}, next)
		}
	}
	if run.Halted != nil {
		intend(&ledger.Authorised{Reason: "looked"}, *s)
	}
	if a := run.Open; s.budget.ticks > 0 && a != nil && a.Lease != nil {
		next := *s
		next.budget.ticks--
		next.tick++
		x.to(next, "time passes")
	}
}

// push lets the author make one move.
func (x *search) push(s *state, run *journal.Run, move rune) {
	next := *s
	next.budget.pushes--
	next.honest = -1
	next.rewritten = s.rewritten || strings.ContainsRune(string([]rune{force, reset, remove, merge}), move)
	on := func(tree string, parents ...int) {
		action := fmt.Sprintf("author pushes c%d (%s) on %v", len(s.graph), tree, parents)
		x.to(pushed(next, node{tree: tree, author: "author", parents: parents, of: -1}), action)
	}
	switch {
	case move == remove && s.tip >= 0:
		next.tip = -1
		x.to(next, "author deletes the branch")
	case move == reset:
		for i := range s.graph {
			if i != s.tip {
				next.tip = i
				x.to(next, fmt.Sprintf("author sets the branch to c%d", i))
			}
		}
	case move == force && s.tip != 0:
		on(string(bad)+"f", 0)
	case s.tip < 0:
	case move == good:
		calm := !s.rewritten || s.sups[0].at == resting && s.sups[1].at == resting
		byRule := s.graph[s.tip].author == "S" && s.graph.holds(s.tip, place(run.Tip)) || !s.rewritten && s.tip == place(run.Tip)
		if run.Closing == nil && calm && byRule {
			next.honest = len(s.graph)
		}
		on(fmt.Sprintf("%c%d", good, len(s.graph)), s.tip)
	case move == overfit, move == overlap:
		on(fmt.Sprintf("%c%d", move, len(s.graph)), s.tip)
	case move == bad, move == invalid:
		on(string(move), s.tip)
	case move == revert:
		on(run.Incumbent.Tree, s.tip)
	case move == merge && s.tip > 0:
		on(s.graph[0].tree, 0, s.tip)
	}
}

// check looks at one state.
func (x *search) check(s *state) {
	run := x.fold(s)
	if run == nil {
		return
	}
	type once struct {
		kind      ledger.Kind
		iteration int
	}
	seen := map[once]bool{}
	for i, e := range s.events {
		x.events[code(e)] = true
		switch kind := e.Data.Kind(); kind {
		case ledger.KindDecided, ledger.KindGateCharged, ledger.KindGateResult, ledger.KindFinalCharged, ledger.KindFinalResult:
			if seen[once{kind, e.Iteration}] {
				x.violation("two of "+string(kind)+" in one iteration", "")
			}
			seen[once{kind, e.Iteration}] = true
			if kind == ledger.KindGateCharged && (i+1 == len(s.events) || s.events[i+1].Data.Kind() != ledger.KindStarted) {
				x.violation("a query is charged apart from its pass", "")
			}
		}
	}
	if run.Closed != nil && run.Opened != nil && x.terms.Splits.Final != "" && run.Incumbent.Iteration > 0 && run.Final == nil {
		x.violation("a run closed without its final test", "")
	}
	for _, e := range run.Entries {
		if e.Status == ledger.Keep && !s.graph.holds(place(run.Tip), place(e.Commit)) {
			x.violation("a kept commit is lost: "+e.Commit+" below "+run.Tip, "")
		}
	}
	if run.Incumbent.Commit != "" && s.graph[place(run.Tip)].tree != run.Incumbent.Tree {
		x.violation("the recorded tip has not the incumbent's tree", "")
	}
	if s.honest >= 0 {
		if v, ok := run.Verdict(id(s.honest)); ok && v.Status != string(ledger.Keep) && v.Status != string(ledger.Crash) {
			x.violation("an honest candidate is "+v.Status, "")
		}
	}
	if s.sups[0].at == resting && s.sups[1].at == resting {
		x.checkRest(s, run)
	}
}

// checkRest looks at a state in which nobody is at work: somebody must be able
// to go on, or nothing may be due.
func (x *search) checkRest(s *state, run *journal.Run) {
	for who := range s.sups {
		if p := x.ask(s, who, s.tip); len(p.held) > 0 || !idle(p.step.Do) {
			return
		}
	}
	switch {
	case run.Halted != nil:
	case run.Open != nil && run.Closed == nil:
		x.violation("an attempt is open and nobody can go on", "")
	case len(run.Unpublished) > 0:
		x.violation("a verdict is never published", "")
	case run.Closing != nil && run.Closed == nil:
		x.violation("a closing run never closes", "")
	case run.Closed == nil && s.tip != place(run.Tip):
		x.violation("a tip is never judged", "")
	default:
		x.checkVerdicts(s, run)
	}
}

// checkVerdicts looks for commits of the author on the branch for which wait
// would never return.
func (x *search) checkVerdicts(s *state, run *journal.Run) {
	for at := place(run.Tip); ; at = s.graph[at].parents[0] {
		if _, ok := run.Verdict(id(at)); !ok && s.graph[at].author == "author" && !x.restores(run, at) {
			x.violation("a commit below the recorded tip has no verdict", "")
		}
		if len(s.graph[at].parents) == 0 {
			return
		}
	}
}

// restores says whether an author's commit was recorded as a restore.
func (x *search) restores(run *journal.Run, at int) bool {
	return slices.ContainsFunc(run.History, func(h journal.Judged) bool {
		return h.Entry != nil && h.Entry.RollbackCommit != nil && *h.Entry.RollbackCommit == id(at) ||
			h.Superseded != nil && h.Superseded.Restore == id(at)
	})
}

// opened is a run that has just opened, sealed one before its baseline.
func opened(b budget) state { return first(newClerk(terms()).open(), 0, b) }
func sealed(b budget) state { return first(newClerk(terms()), -1, b) }

func first(k *clerk, tip int, b budget) state {
	s := state{graph: graph{{tree: "B", author: "maintainer", of: -1}}, tip: tip, budget: b, honest: -1, owner: -1}
	s.sups[0], s.sups[1] = rest(""), rest("")
	return appended(s, k.events)
}

func TestSearch(t *testing.T) {
	// gated gives the same runs with a gate and a final test.
	gated := func(s state, b budget) state {
		k := newClerk(gatedTerms(5))
		if s.tip >= 0 {
			k.open()
		}
		return first(k, s.tip, b)
	}
	tests := []struct {
		name  string
		first state
		ci    bool
		// reaches are codes of events that must come up.
		reaches []string
	}{
		{"gate, setup", gated(sealed(budget{}), budget{crashes: 1, ticks: 1, closes: 1}), false, nil},
		{"gate, a query", gated(opened(budget{}), budget{crashes: 1, ticks: 1, pushes: 1, moves: "GOP"}), false, []string{"gate_result pass", "gate_result fail", "gate_result protected-overlap"}},
		{"gate, close", gated(opened(budget{}), budget{crashes: 1, closes: 1, interrupts: 1, pushes: 1, moves: "GO"}), false, []string{"final_result pass", "closing true"}},
		{"gate, two pushes", gated(opened(budget{}), budget{crashes: 1, pushes: 2, moves: "GOP"}), true, []string{"halted"}},
		{"gate, two crashes and a close", gated(opened(budget{}), budget{crashes: 2, closes: 1, interrupts: 1, pushes: 1, moves: "GOX"}), true, nil},
		{"gate, time and a close", gated(opened(budget{}), budget{crashes: 1, ticks: 2, closes: 1, pushes: 1, moves: "G"}), true, []string{"final_result pass"}},
		{"setup", sealed(budget{crashes: 1, ticks: 1, closes: 1, pushes: 1, moves: "Xd"}), false, nil},
		{"pushes", opened(budget{crashes: 1, closes: 1, pushes: 2, moves: "GXr"}), false, nil},
		{"rewrites", opened(budget{crashes: 1, pushes: 2, moves: "GXArfbdm"}), false, nil},
		{"time", opened(budget{crashes: 1, ticks: 2, closes: 1, pushes: 1, moves: "GX"}), false, nil},
		{"refusals", opened(budget{crashes: 1, refusals: 1, pushes: 1, moves: "GXAf"}), false, nil},
		{"setup, two crashes", sealed(budget{crashes: 2, ticks: 1, closes: 1, pushes: 1, moves: "GXd"}), true, nil},
		{"pushes, two crashes", opened(budget{crashes: 2, pushes: 2, moves: "GXr"}), true, nil},
		{"pushes, three in a row", opened(budget{crashes: 1, pushes: 3, moves: "GXr"}), true, nil},
		{"rewrites, three in a row", opened(budget{pushes: 3, moves: "GXrfbdm"}), true, nil},
		{"rewrites, a crash and a close", opened(budget{crashes: 1, closes: 1, pushes: 2, moves: "GXrfbd"}), true, nil},
		{"deletions, two crashes", opened(budget{crashes: 2, pushes: 3, moves: "Xd"}), true, nil},
		{"refusals, twice", opened(budget{crashes: 1, refusals: 2, pushes: 2, moves: "Xf"}), true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.ci && os.Getenv("CI") != "true" {
				t.Skip("takes minutes: set CI=true")
			}
			x := &search{terms: terms()}
			if strings.HasPrefix(tt.name, "gate") {
				x.terms = gatedTerms(5)
			}
			x.run(tt.first)
			for _, code := range tt.reaches {
				if !x.events[code] {
					t.Errorf("the search never came to %s", code)
				}
			}
			t.Logf("%d states", len(x.parent))
			for what, trace := range x.found {
				t.Errorf("%s:\n    %s", what, trace)
			}
		})
	}
}
