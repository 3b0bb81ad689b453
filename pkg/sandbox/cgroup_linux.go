//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	parentName = "research-loop" // holds our groups
	leafName   = "supervisor"    // where we move, if our own group is to hold groups
	groupName  = "rl-"           // rl-<pid>-<start of that process>-<random>
	settleTime = 5 * time.Second // for a killed group to empty; a test has less
)

// cgroups is the part of the cgroup tree that is ours. In version 2 one folder
// serves all controllers; in version 1, and on hybrid machines, each has its
// own hierarchy. The zero value is a machine without any.
type cgroups struct {
	version int
	parents map[string]string // by controller: the folder that holds our groups
	owner   string            // rl-<pid>-<start>-
	settle  time.Duration     // how long a killed group may take to empty
}

// group is the cgroup of one launch: a folder of that name in each parent.
type group struct {
	cgroups
	name string
	dir  *os.File // version 2: to be born in
}

func (c *cgroups) has(controller string) bool { return c.parents[controller] != "" }

// folders lists each parent once.
func (c *cgroups) folders() []string {
	var out []string
	for _, d := range c.parents {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out
}

// findCgroups looks for a place where we may make groups. None is no error.
func findCgroups() (*cgroups, error) {
	start, err := startTime(os.Getpid())
	if err != nil {
		return nil, err
	}
	c := &cgroups{settle: settleTime, parents: map[string]string{}, owner: fmt.Sprintf("%s%d-%s-", groupName, os.Getpid(), start)}
	one, two, err := hierarchies()
	if err != nil {
		return nil, err
	}
	if two != "" && c.findV2(two) {
		c.version = 2
		return c, nil
	}
	for _, controller := range []string{"memory", "pids", "cpu", "cpuacct"} {
		if one[controller] == "" {
			continue
		}
		dir := filepath.Join(one[controller], parentName)
		if err := os.MkdirAll(dir, 0o755); err == nil && unix.Access(dir, unix.W_OK) == nil {
			c.parents[controller] = dir
			c.version = 1
		}
	}
	return c, nil
}

// hierarchies reads where the cgroup file systems are mounted: version 1 by
// controller, and version 2.
func hierarchies() (one map[string]string, two string, err error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, "", err
	}
	one, two = parseMounts(string(data))
	return one, two, nil
}

func parseMounts(mountinfo string) (one map[string]string, two string) {
	one = map[string]string{}
	for _, line := range strings.Split(mountinfo, "\n") {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 {
			continue
		}
		switch r[0] {
		case "cgroup2":
			two = l[4]
		case "cgroup":
			for _, option := range strings.Split(r[2], ",") {
				one[option] = l[4]
			}
		}
	}
	return one, two
}

// findV2 tries the top of the tree, where root may make a folder, and then the
// group that we are in, where it has been delegated to us.
func (c *cgroups) findV2(top string) bool {
	bases := []string{}
	if os.Geteuid() == 0 {
		bases = append(bases, top)
	}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return false
	}
	for _, line := range strings.Split(string(data), "\n") {
		if own, ok := strings.CutPrefix(line, "0::"); ok {
			if filepath.Base(own) == leafName {
				own = filepath.Dir(own)
			}
			bases = append(bases, filepath.Join(top, own))
		}
	}
	for _, base := range bases {
		if parents := delegate(base); parents["memory"] != "" {
			c.parents = parents
			return true
		}
	}
	return false
}

// delegate makes base/research-loop and enables the controllers in it, one by
// one: a controller that is missing must not take the others with it.
func delegate(base string) map[string]string {
	parent := filepath.Join(base, parentName)
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil
	}
	parents := map[string]string{"cpuacct": parent} // cpu.stat is always there
	for _, controller := range []string{"memory", "pids", "cpu"} {
		err := write(base, "cgroup.subtree_control", "+"+controller)
		if errors.Is(err, unix.EBUSY) && moveAside(base) == nil {
			err = write(base, "cgroup.subtree_control", "+"+controller)
		}
		if err == nil && write(parent, "cgroup.subtree_control", "+"+controller) == nil {
			parents[controller] = parent
		}
	}
	return parents
}

// moveAside takes this process out of base, because a group of version 2 holds
// processes or groups, not both.
func moveAside(base string) error {
	leaf := filepath.Join(base, leafName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return write(leaf, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

// create makes the group of one launch, with its limits.
func (c *cgroups) create(l Limits) (*group, error) {
	if c.version == 0 {
		return nil, nil
	}
	g := &group{cgroups: *c, name: c.owner + rand.Text()}
	if whole(l.CPUs) {
		g.parents = maps.Clone(c.parents)
		delete(g.parents, "cpu") // one hierarchy less to make, enter and remove
	}
	for _, d := range g.folders() {
		if err := os.Mkdir(filepath.Join(d, g.name), 0o755); err != nil {
			g.remove()
			return nil, refusef("cgroup", err, "")
		}
	}
	if err := g.limit(l); err != nil {
		g.remove()
		return nil, refusef("cgroup", err, "")
	}
	if c.version == 2 {
		dir, err := os.Open(filepath.Join(g.folders()[0], g.name))
		if err != nil {
			g.remove()
			return nil, refusef("cgroup", err, "")
		}
		g.dir = dir
	}
	return g, nil
}

func (g *group) at(controller string) string { return filepath.Join(g.parents[controller], g.name) }

func (g *group) limit(l Limits) error {
	set := func(controller, v1, v2, value string) error {
		if !g.has(controller) {
			return nil
		}
		return write(g.at(controller), g.file(v1, v2), value)
	}
	if l.Memory > 0 {
		bytes := strconv.FormatInt(l.Memory, 10)
		if err := set("memory", "memory.limit_in_bytes", "memory.max", bytes); err != nil {
			return err
		}
		swap := map[int]string{1: bytes, 2: "0"}[g.version] // version 1 counts both together
		if err := set("memory", "memory.memsw.limit_in_bytes", "memory.swap.max", swap); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if g.version == 2 && g.has("memory") {
		if err := write(g.at("memory"), "memory.oom.group", "1"); err != nil {
			return err
		}
	}
	if l.Pids > 0 {
		if err := set("pids", "pids.max", "pids.max", strconv.Itoa(l.Pids+initTasks)); err != nil {
			return err
		}
	}
	if whole(l.CPUs) {
		return nil // given by affinity: no throttling in a measurement
	}
	const period = 100_000
	quota := strconv.Itoa(int(l.CPUs * period))
	if g.version == 2 {
		quota += " " + strconv.Itoa(period)
	}
	return set("cpu", "cpu.cfs_quota_us", "cpu.max", quota)
}

func whole(cpus float64) bool { return cpus == math.Trunc(cpus) }

func (g *group) file(v1, v2 string) string {
	if g.version == 2 {
		return v2
	}
	return v1
}

// add moves a process into a group of version 1; in version 2 it is born there.
func (g *group) add(pid int) error {
	if g == nil || g.version == 2 {
		return nil
	}
	for _, d := range g.folders() {
		if err := write(filepath.Join(d, g.name), "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// cpu is the CPU time of all processes that ever were in the group.
func (g *group) cpu() (time.Duration, bool) {
	if g == nil || !g.has("cpuacct") {
		return 0, false
	}
	if g.version == 2 {
		n, err := readKey(g.at("cpuacct"), "cpu.stat", "usage_usec")
		return time.Duration(n) * time.Microsecond, err == nil
	}
	n, err := readNumber(g.at("cpuacct"), "cpuacct.usage")
	return time.Duration(n), err == nil
}

// usage reads the rest of what the group counted.
func (g *group) usage(u *Usage) {
	if g == nil {
		return
	}
	if g.has("memory") {
		if n, err := readNumber(g.at("memory"), g.file("memory.max_usage_in_bytes", "memory.peak")); err == nil {
			u.PeakMemory = &n
		}
	}
	if g.has("pids") {
		if n, err := readNumber(g.at("pids"), "pids.peak"); err == nil {
			u.PidsPeak = &n
		}
	}
}

// killed counts the processes that the kernel ended for want of memory.
func (g *group) killed() (int64, error) {
	if g == nil || !g.has("memory") {
		return 0, nil
	}
	return readKey(g.at("memory"), g.file("memory.oom_control", "memory.events"), "oom_kill")
}

// remove deletes the group. A kernel takes a moment to forget the last process;
// a group that stays is a process that stays.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	if g.dir != nil {
		g.dir.Close()
	}
	for _, d := range g.folders() {
		if err := g.removeGroup(filepath.Join(d, g.name)); err != nil {
			return &IntegrityError{What: "cgroup " + g.name, Why: err.Error()}
		}
	}
	return nil
}

func (c *cgroups) removeGroup(dir string) error {
	for end := time.Now().Add(c.settle); ; time.Sleep(time.Millisecond) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
}

// sweep clears what a killed supervisor left: groups whose owner is gone. What
// still runs in one is killed, and its end is proven.
func (c *cgroups) sweep() error {
	for _, parent := range c.folders() {
		entries, err := os.ReadDir(parent)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), groupName) || ownerLives(e.Name()) {
				continue
			}
			if err := c.clearGroup(filepath.Join(parent, e.Name())); err != nil {
				return &IntegrityError{What: "cgroup " + e.Name() + " of a supervisor that is gone", Why: err.Error()}
			}
		}
	}
	return nil
}

// ownerLives asks whether the process that made a group is still there; its
// start time tells it from a later one with the same number.
func ownerLives(name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, groupName), "-")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return false
	}
	start, err := startTime(pid)
	return err == nil && start == parts[1]
}

func (c *cgroups) clearGroup(dir string) error {
	for end := time.Now().Add(c.settle); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return nil // another supervisor was faster
		}
		if err != nil {
			return err
		}
		pids := strings.Fields(string(data))
		if len(pids) == 0 {
			return c.removeGroup(dir)
		}
		for _, p := range pids {
			if pid, err := strconv.Atoi(p); err == nil && pid > 1 {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %s in %s do not end", strings.Join(pids, " "), dir)
		}
	}
}

// startTime is the boot-relative start of a process, in clock ticks.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	return parseStart(data)
}

// parseStart finds field 22 of a stat file. The name in field 2 may hold
// anything, but nothing after it holds a parenthesis.
func parseStart(stat []byte) (string, error) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("process state %q has %d fields", stat, len(fields))
	}
	return fields[19], nil
}

func write(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

func readNumber(dir, name string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}

func readKey(dir, name, key string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(data), "\n") {
		if k, v, ok := strings.Cut(line, " "); ok && k == key {
			return strconv.ParseInt(v, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/%s has no %s", dir, name, key)
}
