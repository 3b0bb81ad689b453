//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sandbox launches commands behind walls. It may be used by many goroutines.
type Sandbox struct {
	mode      Mode
	protected protected
	cgroups   *cgroups
	cpus      []int
	slots     *slots
	program   *os.File // of the init
	loopback  bool     // a network namespace has one
}

// New finds out what the machine can do, clears what a killed supervisor left
// behind, and proves with one empty launch that the walls can be built. The
// error is a *SetupError where no sandbox can be had, and an *IntegrityError
// where something left behind cannot be cleared.
func New(o Options) (*Sandbox, error) {
	if err := kernelNew(); err != nil {
		return nil, err
	}
	p, err := newProtected(o.Protected)
	if err != nil {
		return nil, err
	}
	cpus, err := allowedCPUs()
	if err != nil {
		return nil, refusef("processors", err, "")
	}
	groups, err := findCgroups()
	if err != nil {
		return nil, refusef("cgroups", err, "")
	}
	if err := groups.sweep(); err != nil {
		return nil, err
	}
	if err := sweepTemp(os.TempDir()); err != nil {
		return nil, &IntegrityError{What: "temporary folder of a supervisor that is gone", Why: err.Error()}
	}
	modes, err := wanted(o.Mode)
	if err != nil {
		return nil, err
	}
	program, err := newProgram()
	if err != nil {
		return nil, refusef("program of the init", err, "")
	}
	var why []string
	for _, mode := range modes {
		s := &Sandbox{mode: mode, protected: p, cgroups: groups, cpus: cpus, slots: &slots{own: os.Geteuid() == 0}, program: program, loopback: hasIPv4()}
		err := s.try()
		if err == nil {
			return s, nil
		}
		s.slots.close()
		var integrity *IntegrityError
		if errors.As(err, &integrity) {
			return nil, err
		}
		why = append(why, fmt.Sprintf("%s mode: %v", mode, err))
	}
	program.Close()
	return nil, refuse("sandbox", strings.Join(why, "; "), hint())
}

func wanted(m Mode) ([]Mode, error) {
	switch {
	case m == Root && os.Geteuid() != 0:
		return nil, refuse("sandbox", "root mode needs root", "run with sudo, or choose user mode")
	case m == Root || m == User:
		return []Mode{m}, nil
	case m != "":
		return nil, refuse("sandbox", fmt.Sprintf("there is no mode %q", m), "choose root or user")
	case os.Geteuid() == 0:
		return []Mode{Root, User}, nil
	}
	return []Mode{User}, nil
}

// try builds everything once and starts nothing.
func (s *Sandbox) try() error {
	p := &plan{Privileged: s.mode == Root, Loopback: s.loopback, Temporary: 1 << 20, Inodes: 64, Files: 64, FileSize: 1 << 20}
	_, err := s.run(context.Background(), Spec{Limits: Limits{Wall: setupTime, Output: 1 << 16}}, p, nil)
	return err
}

// kernelNew refuses kernels without mount_setattr, openat2 and pidfd.
func kernelNew() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return refusef("kernel", err, "")
	}
	release := string(u.Release[:bytes.IndexByte(u.Release[:], 0)])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return refuse("kernel", fmt.Sprintf("its release %q has no number", release), "")
	}
	if major < 5 || major == 5 && minor < 12 {
		return refuse("kernel "+release, "mount_setattr came with 5.12", "use Linux 5.12 or newer")
	}
	return nil
}

// hint looks for the switch that most likely stands in the way.
func hint() string {
	for _, x := range []struct{ file, bad, cure string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "run as root, or sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "run as root, or sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0", "run as root, or sudo sysctl -w user.max_user_namespaces=10000"},
		{"/proc/sys/vm/memfd_noexec", "2", "sudo sysctl -w vm.memfd_noexec=1: the sandbox starts a program that lies in memory"},
	} {
		if data, err := os.ReadFile(x.file); err == nil && strings.TrimSpace(string(data)) == x.bad {
			return x.cure
		}
	}
	return "run as root on the machine itself; a container needs CAP_SYS_ADMIN"
}

// Mode says which walls stand.
func (s *Sandbox) Mode() Mode { return s.mode }

// Limits lists the limits that are really enforced here.
func (s *Sandbox) Limits() []string {
	out := []string{"wall", "output", "temporary", "inodes", "open files", "pids", "cpus"}
	if s.cgroups.has("memory") {
		out = append(out, "memory")
	}
	if s.cgroups.has("cpuacct") {
		out = append(out, "cpu")
	}
	if s.cgroups.has("cpu") {
		out = append(out, "fractions of cpus")
	}
	return out
}

// Metrics lists what is really measured here: wall, and where a cgroup counts
// them cpu and memory.
func (s *Sandbox) Metrics() []string {
	out := []string{"wall"}
	if s.cgroups.has("cpuacct") {
		out = append(out, "cpu")
	}
	if s.cgroups.has("memory") {
		out = append(out, "memory")
	}
	return out
}

// Close gives the user ids back. Launches must have ended.
func (s *Sandbox) Close() error {
	s.slots.close()
	return s.program.Close()
}

// setupTime is how long an init may take to build the walls, and how long a
// killed one may take to be gone.
const setupTime = 20 * time.Second
