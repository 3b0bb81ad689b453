package sandbox

import (
	"cmp"
	"slices"
)

// cause says why the supervisor killed a launch; the first one counts.
type cause string

const (
	none      cause = ""
	cancelled cause = "cancelled"
	stuck     cause = "the walls were not built in time"
	overWall  cause = "wall"
	overCPU   cause = "cpu"
	overWrite cause = "output"
	broken    cause = "broken"
)

// signalCPU is SIGXCPU, which a process gets that is over its own CPU time.
const signalCPU = 24

// judge names the outcome of a command that was started, from what is known of
// its end. Limits come before the command's own status: a status can be chosen.
func (r *Result) judge(l Limits, why cause, starved bool) {
	switch {
	case why == overWrite || r.StdoutBytes+r.StderrBytes > l.Output:
		r.Outcome = OutputLimit
	case starved:
		r.Outcome = OutOfMemory
	case why == overWall || r.Wall > l.Wall:
		r.Outcome = TimedOut
	case why == overCPU || r.Signal == signalCPU || l.CPU > 0 && r.Usage.CPU != nil && *r.Usage.CPU > l.CPU:
		r.Outcome = CPULimit
	case r.Signal != 0:
		r.Outcome = Signalled
	default:
		r.Outcome = Exited
	}
}

// settle puts what was refused in order, after collection.
func (r *Result) settle() {
	slices.SortStableFunc(r.Refused, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
}

// take adds what was refused in a scratch.
func (r *Result) take(c Scratch, refused []Refusal) {
	for _, x := range refused {
		x.Target = c.Target
		r.Refused = append(r.Refused, x)
	}
	if r.Outcome == Exited && len(refused) > 0 && !c.Partial {
		r.Outcome = Unreadable
	}
}
