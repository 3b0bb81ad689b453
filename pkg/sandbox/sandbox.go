// Package sandbox runs one process tree: confined, limited, measured, proven
// dead. It holds up every other promise of research-loop, so it is written to
// be read in one sitting.
//
// # Three processes
//
// The supervisor calls Run. It starts the init, with a constant name and an
// empty environment, as process 1 of new mount, pid, network, ipc and host name
// namespaces (and a user namespace in user mode). The init is no Go program: it
// is a few dozen instructions in a file in memory, which make the system calls
// of a list in turn. The supervisor writes that list (list_linux.go has its form,
// confine_linux.go and tree_linux.go its content): build the file tree, give up what is not
// needed, install the system call filter, start the candidate, wait. Two starts
// of a Go program were most of what a launch cost, its threads counted against
// the candidate's, and its memory was this binary's. The init stays process 1:
// the candidate can neither trace nor signal it.
//
//	supervisor ──list──▶ init (process 1) ──fork, exec──▶ candidate
//	     ◀─scratch descriptors, exec stamp, exit stamp─┘
//
// # What the candidate sees
//
// /usr and its links, read-only; a synthetic /etc; a fresh /proc with its
// machine-wide parts masked; null, zero, full, random and urandom in /dev; /tmp
// (also as /dev/shm and /var/tmp), a tmpfs with a cap; the binds of the Spec,
// always read-only; its scratches. No /sys, no /run, no terminal, no network
// but its own loopback. Standard streams are pipes that the supervisor copies:
// a file handed over could be reopened with more rights through /proc/self/fd.
//
// # Limits and measures
//
// Wall time is stamped by the init, from exec to exit, on the monotonic clock.
// Memory, processes and CPU time are counted by a cgroup (v1 or v2), because
// what wait4 reports can be falsified by the candidate. Where the machine has
// no cgroup for us a limit that needs one is refused by name, unless the Spec
// says BestEffort.
//
// # The end
//
// The kernel lets process 1 be reaped only after every process of its namespace
// is gone; the cgroup must then be empty and removable. Both are checked after
// every launch, and an *IntegrityError says that they could not be proven: the
// run must stop. Files leave a scratch only after that, through a directory
// descriptor: regular files with one link, opened beneath it without following
// anything, within the caps.
//
// # Drivers
//
// A launch with Calls may ask for further launches; see [Call]. The supervisor
// makes and owns them, so none is a child of the one that asked.
//
// # What candidates are made of
//
// Everything below /usr is there, and no more of the machine. The rest comes in
// read-only, by Binds and Toolchains, and must be readable for everybody:
//
//   - A toolchain of its own folder, such as /usr/local/go (there already) or
//     /opt/hostedtoolcache/Python/3.12.1/x64, is a Toolchain: it stands at its own
//     path and its bin comes first on PATH. Name the one version, not the whole
//     of /opt/hostedtoolcache.
//   - A Python virtual environment holds absolute paths and links to the
//     interpreter that made it. Make it outside of home folders, say in
//     /opt/venv, and name it as a Toolchain beside that interpreter's, if that is
//     not the one in /usr. Installing inside needs wheels that are bound too:
//     pip install --no-index --find-links.
//   - A warm module cache of Go is a Toolchain as well (GOMODCACHE names it,
//     GOPROXY=off, GOFLAGS=-mod=mod); the build cache is a Scratch with a Lower,
//     because a build writes to it.
//   - node_modules, jars, models and other read-only data are a Bind or a
//     Toolchain, or they lie in the tree.
//
// A Toolchain stands at its own path, so it cannot lie in /tmp, /var, /run or
// another place that the sandbox makes itself; and nothing comes from /root.
//
// # Two modes
//
// Root mode has real namespaces and one user id for each concurrent launch
// (61001 and up; lock files keep processes on one host apart). User mode adds a
// user namespace. Both run the same code.
package sandbox

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Mode says how the walls are made.
type Mode string

// The two modes; the empty Mode means root mode where possible, else user mode.
const (
	Root Mode = "root"
	User Mode = "user"
)

// Options are what New needs to know about the host.
type Options struct {
	// Mode is the mode wanted; empty chooses.
	Mode Mode
	// Protected lists host paths that no bind, lower layer or toolchain may
	// equal, contain or lie in, after symbolic links are followed.
	Protected []string
}

// Bind shows a host file or folder at Target, always read-only.
type Bind struct{ Source, Target string }

// Scratch is a writable folder in memory, capped in bytes and in files.
type Scratch struct {
	Target string
	// Lower is a host folder whose content the scratch starts with; it is never
	// written. Empty: the scratch starts empty.
	Lower string
	// Bytes and Inodes cap what is written; Inodes 0 means 16384.
	Bytes  int64
	Inodes int
	NoExec bool
	// Collect is an empty host folder that receives the regular files of the
	// scratch when every process is dead. Empty: they are thrown away.
	Collect string
	// Partial says that what cannot be collected is named in Refused and no
	// more: the outcome does not become Unreadable by it.
	Partial bool
}

// Limits bound one launch. Wall, Output and Temporary must be more than zero;
// zero leaves the others at their default or, for CPU, Memory, Pids and CPUs,
// unlimited.
type Limits struct {
	Wall time.Duration // exec to exit
	CPU  time.Duration // of all processes together
	// Memory is what all processes hold together, in bytes, files in scratches
	// and in /tmp included, because those live in memory too.
	Memory    int64
	Pids      int   // processes and threads
	Output    int64 // standard output and error together, in bytes
	Temporary int64 // /tmp, /dev/shm and /var/tmp together, in bytes
	Inodes    int   // files in /tmp; 0 means 16384
	OpenFiles int   // a process; 0 means 1024
	CPUs      float64
}

// Spec is one launch.
type Spec struct {
	// Argv is the command. A name without slash is looked up in PATH.
	Argv []string
	// Dir is the working folder inside; empty means "/".
	Dir string
	// Env adds to PATH, HOME, TMPDIR and LANG or overrides them (NAME=value).
	Env     []string
	Binds   []Bind
	Scratch []Scratch
	// Toolchains are host folders shown read-only at their own path; their bin
	// folder comes first on PATH.
	Toolchains []string
	// Stdin is copied to the candidate; nil is an empty input. A read that is
	// under way when the candidate ends is not waited for.
	Stdin io.Reader
	// Stdout and Stderr, where set, receive the bytes in place of the Result.
	Stdout, Stderr io.Writer
	Limits         Limits
	// Network leaves the launch in the machine's own network, and shows it how
	// names and certificates are looked up. It is for frozen code only: there is
	// no wall towards what listens on the machine.
	Network bool
	// Calls, where set, makes this the launch of a driver; see [Call].
	Calls func(context.Context, Call) (Result, error)
	// BestEffort accepts limits that this machine cannot enforce.
	BestEffort bool
}

// Outcome says how a launch ended.
type Outcome string

// The outcomes. Exited and Signalled speak of the command itself; Unreadable is
// an Exited whose scratch held something that is not a plain file.
const (
	Exited      Outcome = "exited"
	Signalled   Outcome = "signalled"
	TimedOut    Outcome = "timeout"
	OutOfMemory Outcome = "out-of-memory"
	OutputLimit Outcome = "output-limit"
	CPULimit    Outcome = "cpu-limit"
	Unreadable  Outcome = "unreadable-output"
	Cancelled   Outcome = "cancelled" // together with ctx's error
)

// Refusal is something in a scratch that was not collected.
type Refusal struct {
	Target string // of the scratch
	Path   string // in it, quoted where it could forge a line
	Why    string
}

// String names the thing and the reason.
func (r Refusal) String() string {
	if r.Path == "" {
		return r.Target + ": " + r.Why
	}
	return r.Target + "/" + r.Path + ": " + r.Why
}

// Usage is what the launch used; nil where the machine cannot tell.
type Usage struct {
	CPU        *time.Duration // of all processes, the init's set-up taken off
	PeakMemory *int64         // bytes, with the few KiB of the init
	PidsPeak   *int64         // with the init
}

// Result is how a launch went. A candidate's failure is a Result, no error.
type Result struct {
	Outcome      Outcome
	Exit, Signal int
	Wall         time.Duration // exec to exit of the command
	Total        time.Duration // all of Run
	Usage        Usage
	// Stdout and Stderr are kept up to Limits.Output together; the counts are
	// of what arrived.
	Stdout, Stderr           []byte
	StdoutBytes, StderrBytes int64
	// Refused lists what was not collected, in the order of targets and paths.
	Refused []Refusal
}

// Code is the exit code that a shell user expects: the command's own, 128 and
// the number of the signal, 122 for the output limit, 123 for memory, 124 for
// time.
func (r Result) Code() int {
	switch r.Outcome {
	case OutputLimit:
		return 122
	case OutOfMemory:
		return 123
	case TimedOut, CPULimit:
		return 124
	case Signalled, Cancelled:
		return 128 + r.Signal
	}
	return r.Exit
}

// notSetUp is the exit code that stands for an error in place of a Result.
const notSetUp = 125

// SetupError says that a launch could not be made, or no sandbox at all. It is
// about the machine or the Spec, never about what a candidate did.
type SetupError struct {
	What string // the thing and its place
	Why  string
	Fix  string // a cure, where one is known
	err  error
}

// Error is one line: what, why and the cure.
func (e *SetupError) Error() string {
	if e.Fix == "" {
		return e.What + ": " + e.Why
	}
	return e.What + ": " + e.Why + " (" + e.Fix + ")"
}

// Unwrap gives the cause: ErrCommand, a system error, or nil.
func (e *SetupError) Unwrap() error { return e.err }

// ErrCommand is in the chain of the SetupError of a launch whose walls stood,
// but whose command is missing, a folder, or not a program. A command that the
// candidate was to build is the candidate's failure.
var ErrCommand = fmt.Errorf("the command cannot be started")

// IntegrityError says that a boundary or a cleanup could not be proven. The run
// must stop and a person must look.
type IntegrityError struct{ What, Why string }

// Error is one line: the verdict, what and why.
func (e *IntegrityError) Error() string {
	return "evaluation integrity cannot be guaranteed: " + e.What + ": " + e.Why
}

func refuse(what, why, fix string) error {
	return &SetupError{What: what, Why: why, Fix: fix}
}

func refusef(what string, err error, fix string) error {
	return &SetupError{What: what, Why: err.Error(), Fix: fix, err: err}
}
