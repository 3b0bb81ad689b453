//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProbe(t *testing.T) {
	inModes(t, func(t *testing.T, s *Sandbox) {
		rows, err := s.Probe(context.Background())
		must(t, err)
		if len(rows) < len(attacks)+8 {
			t.Errorf("only %d rows", len(rows))
		}
		for _, r := range rows {
			if !r.Held {
				t.Errorf("%s did not hold: %s (%s)", r.Name, r.Detail, r.Cure)
			}
		}
	})
}

// outside runs the attacker without a sandbox, as an ordinary user, with every
// bait within reach.
func outside(t *testing.T, attr syscall.SysProcAttr) map[string]string {
	t.Helper()
	dir := sharedDir(t)
	self := copySelf(t, dir)
	p := &probe{dir: dir}
	b, done, err := p.lay()
	must(t, err)
	defer done()
	victim := ordinaryCommand("/bin/sleep", "60")
	must(t, victim.Start())
	defer func() { victim.Process.Kill(); victim.Wait() }()
	must(t, os.Chmod(filepath.Join(dir, "socket"), 0o777))
	b.Supervisor, b.Tree = victim.Process.Pid, filepath.Join(dir, "tree")
	if os.Geteuid() == 0 {
		must(t, os.Chown(b.Tree, ordinary, ordinary))
	}
	data, err := json.Marshal(b)
	must(t, err)
	input := filepath.Join(dir, "input")
	must(t, os.WriteFile(input, data, 0o666))
	must(t, os.Chmod(input, 0o666))
	stdin, err := os.Open(input)
	must(t, err)
	secret, err := os.Open(b.Files[0])
	must(t, err)
	c := ordinaryCommand(self)
	c.Args = []string{probeName, "all"}
	if attr.Credential = c.SysProcAttr.Credential; attr.Cloneflags != 0 {
		attr.Credential = nil // the id comes by the map
	}
	attr.Pdeathsig = syscall.SIGKILL
	c.Dir, c.Stdin, c.ExtraFiles, c.SysProcAttr = dir, stdin, []*os.File{secret}, &attr
	c.Env = []string{"CANARY=" + b.Secret}
	var out, errors bytes.Buffer
	c.Stdout, c.Stderr = &out, &errors
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errors.Bytes())
	}
	got := map[string]string{}
	must(t, json.Unmarshal(out.Bytes(), &got))
	return got
}

// TestAttacksSucceedOutside shows that the probe cannot pass because its
// attacks are no attacks.
func TestAttacksSucceedOutside(t *testing.T) {
	got := outside(t, syscall.SysProcAttr{})
	for _, name := range []string{
		"environment", "host files", "descriptors", "tcp port", "abstract socket", "socket file", "standard streams",
		"read-only trees", "own namespaces", "tracing", "signals", "privileges", "kernel settings", "devices", "terminal",
		"keyrings", "temporary space",
	} {
		if got[name] == "" {
			t.Errorf("%s: the attack got nothing without a sandbox", name)
		}
	}
	t.Run("bare user namespace", func(t *testing.T) {
		id := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		if os.Geteuid() == 0 {
			id[0].HostID, group[0].HostID = ordinary, ordinary
		}
		// Mounts made there never reach the host: the namespace belongs to
		// another user namespace, so the kernel makes them slaves.
		got := outside(t, syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWUTS, UidMappings: id, GidMappings: group})
		for _, name := range []string{"mounts", "nested namespaces", "privileges"} {
			if got[name] == "" {
				t.Errorf("%s: the attack got nothing in a bare namespace", name)
			}
		}
	})
}

// TestSoleAttacksOutside does the same for the attacks with a launch of their
// own, in a bare pid namespace that ends them.
func TestSoleAttacksOutside(t *testing.T) {
	self := copySelf(t, sharedDir(t))
	bare := func(name string) (string, error) {
		c := ordinaryCommand(self)
		c.Args = []string{probeName, name}
		id := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID, UidMappings: id, GidMappings: group}
		out, err := c.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := bare("fork"); err != nil || out != "64" {
		t.Errorf("fork: %q, %v", out, err)
	}
	if out, err := bare("memory"); err != nil || out != "held" {
		t.Errorf("memory: %q, %v", out, err)
	}
	if out, err := bare("x32"); err != nil && !strings.Contains(err.Error(), "77") {
		t.Errorf("x32: %q, %v: deadly even without the filter", out, err)
	}
	c := ordinaryCommand(self)
	token := fmt.Sprintf("TOKEN=%d", os.Getpid())
	c.Args, c.Env = []string{probeName, "daemon"}, []string{token}
	must(t, c.Run())
	if !killByToken(t, token) {
		t.Error("daemon: nothing survived without a sandbox")
	}
}

// killByToken ends the processes with this word in their environment.
func killByToken(t *testing.T, token string) bool {
	found := false
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), token) {
			var pid int
			fmt.Sscanf(f, "/proc/%d/", &pid)
			must(t, syscall.Kill(pid, syscall.SIGKILL))
			found = true
		}
	}
	return found
}
