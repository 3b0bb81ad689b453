//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// plan is all that the init's list of calls is made from; the init has no other
// input: no arguments, no environment, no configuration.
type plan struct {
	UID        int  // of the candidate, as seen inside
	SetUser    bool // the init runs as another user and must change to UID
	Network    bool // the namespace of the machine
	Loopback   bool // there is one to bring up in a namespace of its own
	Privileged bool // the init is root of the host: an overlay may use trusted attributes
	Mounts     []mount
	Temporary  int64
	Inodes     int64
	Argv       []string // empty: build everything, start nothing
	Dir        string
	Env        []string
	Pids       uint64 // RLIMIT_NPROC; 0 none
	Files      uint64
	FileSize   uint64
	CPUSeconds uint64
	Data       uint64 // RLIMIT_DATA, for want of a memory cgroup; 0 none
	CPUs       []int  // pinned to these, and kept there by the filter
}

// mount is one bind or scratch. Parents stand before what lies in them.
type mount struct {
	Source  string // of a bind, or the lower layer of a scratch
	Target  string
	File    bool // a bind of a plain file
	Scratch bool
	Bytes   int64
	Inodes  int64
	NoExec  bool
	Collect bool
	Give    []string // paths in the lower layer, "." for itself, that are not the candidate's yet
}

// initTasks is what the init takes of the process limit where both are counted
// together.
const initTasks = 1

// plan checks a Spec against the machine and turns it into a plan; budgets are
// the bytes that may be collected from each scratch of the Spec.
func (s *Sandbox) plan(spec Spec) (*plan, []int64, error) {
	if err := spec.check(); err != nil {
		return nil, nil, err
	}
	env := spec.environment()
	if err := spec.sources(s.protected); err != nil {
		return nil, nil, err
	}
	l := spec.Limits
	if !spec.BestEffort {
		if err := s.enforceable(l); err != nil {
			return nil, nil, err
		}
	}
	p := &plan{
		Argv: spec.Argv, Dir: spec.Dir, Env: env,
		Network: spec.Network, Loopback: s.loopback,
		Privileged: s.mode == Root,
		Temporary:  l.Temporary, Inodes: int64(or(l.Inodes, defaultInodes)),
		Files: uint64(or(l.OpenFiles, defaultOpenFiles)),
	}
	budgets, err := p.addMounts(s, spec)
	if err != nil {
		return nil, nil, err
	}
	p.limit(l, s)
	return p, budgets, nil
}

// add puts mounts that are the sandbox's own in their places.
func (p *plan) add(mounts ...mount) {
	p.Mounts = append(p.Mounts, mounts...)
	slices.SortFunc(p.Mounts, func(a, b mount) int { return strings.Compare(a.Target, b.Target) })
}

func (p *plan) addMounts(s *Sandbox, spec Spec) ([]int64, error) {
	for _, b := range spec.Binds {
		info, err := os.Stat(b.Source)
		if err != nil {
			return nil, refusef("bind "+b.Target, err, "")
		}
		if err := s.visible(b, info); err != nil {
			return nil, err
		}
		p.Mounts = append(p.Mounts, mount{Source: b.Source, Target: b.Target, File: !info.IsDir()})
	}
	var budgets []int64
	for _, c := range spec.Scratch {
		m := mount{Source: c.Lower, Target: c.Target, Scratch: true, Bytes: c.Bytes, Inodes: int64(or(c.Inodes, defaultInodes)), NoExec: c.NoExec, Collect: c.Collect != ""}
		bytes := int64(0)
		if c.Lower != "" {
			entries, n, err := measure(c.Lower, mostEntries)
			if err != nil {
				return nil, refusef("lower layer of "+c.Target, err, "")
			}
			m.Inodes, bytes = m.Inodes+int64(len(entries)), n
			if s.slots.own {
				m.Give = entries
			}
		}
		p.Mounts = append(p.Mounts, m)
		budgets = append(budgets, c.Bytes+bytes)
		p.FileSize = max(p.FileSize, uint64(c.Bytes+bytes))
	}
	p.add()
	return budgets, nil
}

// visible refuses a bind that the candidate's own user id could not even enter.
func (s *Sandbox) visible(b Bind, info os.FileInfo) error {
	if !s.slots.own {
		return nil // the candidate has the supervisor's id
	}
	need := os.FileMode(0o004)
	if info.IsDir() {
		need = 0o005
	}
	if info.Mode()&need != need {
		return refuse("bind "+b.Target, fmt.Sprintf("mode %v of %s keeps the sandboxed user out", info.Mode(), b.Source), "chmod o+rX "+b.Source)
	}
	return nil
}

func (p *plan) limit(l Limits, s *Sandbox) {
	// A little more than the largest cap: a full scratch says "no space left",
	// which a program can handle, and does not end it with a signal.
	p.FileSize = max(p.FileSize, uint64(l.Temporary)) + 1<<16
	if l.CPU > 0 {
		p.CPUSeconds = uint64(math.Ceil(l.CPU.Seconds()))
	}
	if l.Pids > 0 {
		p.Pids = uint64(l.Pids)
		if !s.slots.own { // counted with the init, which has the same id
			p.Pids += initTasks
		}
	}
	if !s.cgroups.has("memory") {
		p.Data = uint64(l.Memory)
	}
}

// enforceable refuses by name each limit that this machine cannot hold.
func (s *Sandbox) enforceable(l Limits) error {
	const cure = "run as root or in a delegated cgroup, or accept the exception best-effort-limits"
	if l.Memory > 0 && !s.cgroups.has("memory") {
		return refuse("limit memory", "no cgroup with the memory controller can be had here", cure)
	}
	if l.CPU > 0 && !s.cgroups.has("cpuacct") {
		return refuse("limit cpu", "no cgroup that counts CPU time can be had here", cure)
	}
	if n := int(math.Ceil(l.CPUs)); n > len(s.cpus) {
		return refuse("limit cpus", fmt.Sprintf("%d asked for, %d at hand", n, len(s.cpus)), "ask for less")
	}
	if !whole(l.CPUs) && !s.cgroups.has("cpu") {
		return refuse("limit cpus", fmt.Sprintf("%v is a fraction, and no cgroup with the cpu controller can be had here", l.CPUs), cure)
	}
	return nil
}

// pin chooses the processors of a slot, the same for every launch in it.
func (s *Sandbox) pin(cpus float64, slot int) []int {
	n := min(int(math.Ceil(cpus)), len(s.cpus))
	var out []int
	for i := range n {
		out = append(out, s.cpus[(slot*n+i)%len(s.cpus)])
	}
	slices.Sort(out)
	return out
}

// allowedCPUs lists the processors that the supervisor may use.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var out []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			out = append(out, i)
		}
	}
	return out, nil
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// monotonic is the clock of both stamps.
func monotonic() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
