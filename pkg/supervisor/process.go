package supervisor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// ThisProcess describes the running process as the holder of a lease. The host
// is named with its boot and its process namespace, so that a number cannot be
// taken for that of another machine, boot or container.
func ThisProcess() ledger.Holder {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return ledger.Holder{Host: name + place(), PID: os.Getpid(), Start: startTime(os.Getpid())}
}

// place tells apart boots and process namespaces, where the system does.
func place() string {
	out := ""
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		out += "/" + string(boot[:min(8, len(boot))])
	}
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		out += "/" + strings.Trim(strings.TrimPrefix(ns, "pid:"), "[]")
	}
	return out
}

// Alive says whether a process of this host lives. Where the system cannot
// tell, it is taken to live: its lease then ends by its deadline.
func Alive(h ledger.Holder) bool {
	if h.Start == "" {
		return true
	}
	return startTime(h.PID) == h.Start
}

// startTime is field 22 of /proc/<pid>/stat, "" where it cannot be read.
func startTime(pid int) string {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	// The second field is the command in parentheses and may hold anything.
	rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const start = 22 - 3
	if len(rest) <= start || rest[0] == "Z" {
		return ""
	}
	return rest[start]
}

// Peek reads the records and the run branch and says what is due, without
// doing it.
func (s *Supervisor) Peek(ctx context.Context) (journal.Step, error) {
	if err := s.reload(ctx); err != nil {
		return journal.Step{}, err
	}
	if err := s.observe(ctx); err != nil {
		return journal.Step{}, err
	}
	return s.Run.Next(s.world), nil
}
