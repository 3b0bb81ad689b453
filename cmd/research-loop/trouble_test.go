package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/cli"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

// sleeps is a candidate's command that no other test has.
const sleeps = "sleep 27.1828"

// interrupt runs execute until its candidate is at work, and cancels it then as
// GitHub does: SIGINT, and SIGTERM after 7.5 seconds. It gives the time until the
// step ended. Nothing of the candidate may be left.
func (p *pass) interrupt() time.Duration {
	p.h.t.Helper()
	cmd, finish := p.start("execute", "execute", map[string]string{}, "--out", p.dir, "--bundle", p.out["bundle"], "--bundle-sha256", p.out["bundle-sha256"])
	must(p.h.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(processes(sleeps)) == 0 {
		select {
		case err := <-ended:
			p.h.t.Fatalf("execute ended before its candidate began: %+v", finish(err))
		case <-tick.C:
		}
	}
	begin := time.Now()
	must(p.h.t, cmd.Process.Signal(syscall.SIGINT))
	term := time.AfterFunc(7500*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	err := <-ended
	term.Stop()
	if got := finish(err); got.code != 130 {
		p.h.t.Errorf("a cancelled execute: exit %d\n%s", got.code, got.stderr)
	}
	if left := processes(sleeps); len(left) > 0 {
		p.h.t.Errorf("the candidate is still alive: %v", left)
	}
	return time.Since(begin)
}

// stopped cancels decide while it waits for a limit to end, between two pushes. It
// wakes the next run in the time that GitHub leaves it.
func (p *pass) stopped() {
	p.h.t.Helper()
	p.h.Fail(forgetest.Fault{Method: "PATCH", Path: "^check-runs", Status: 403, Body: "secondary rate limit", Header: map[string]string{"Retry-After": "600"}})
	cmd, finish := p.start("decide", "decide", map[string]string{}, p.brought()...)
	must(p.h.t, cmd.Start())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for give := time.Now().Add(time.Minute); p.h.Pending() > 0 && time.Now().Before(give); <-tick.C {
	}
	must(p.h.t, cmd.Process.Signal(syscall.SIGINT))
	begin := time.Now()
	if got := finish(cmd.Wait()); got.code != 130 || len(p.h.queued()) != 1 {
		p.h.t.Errorf("a cancelled decide: exit %d, %d runs wait\n%s", got.code, len(p.h.queued()), got.stderr)
	}
	if took := time.Since(begin); took > 7*time.Second {
		p.h.t.Errorf("it took %s", took)
	}
}

// overdue has the author look some time later, and wants so many runs woken by it.
func (h *hub) overdue(later time.Duration, woken int) {
	h.t.Helper()
	var out, talk bytes.Buffer
	code := cli.Main(context.Background(), cli.Env{
		Args: []string{"status", "t", "--remote", h.Remote()}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk, Dir: h.t.TempDir(),
		Now: func() time.Time { return time.Now().Add(later) },
		Getenv: func(name string) string {
			return map[string]string{"GH_ENTERPRISE_TOKEN": h.token, "RESEARCH_LOOP_HOME": h.dir + "/looking"}[name]
		},
	})
	if got := len(h.queued()); code != 0 || got != woken {
		h.t.Errorf("%s later: exit %d, %d runs woken, want %d\n%s%s", later, code, got, woken, out.String(), talk.String())
	}
}

// idle is a candidate that gains nothing, another one each time.
func (h *hub) idle(tag string) string {
	h.t.Helper()
	h.serial++
	commit := h.candidate(tag, fmt.Sprintf("idle %d", h.serial), map[string]string{
		"solver/words.awk": fmt.Sprintf("# Prints what was read, the %dth way.\n{ print }\n", h.serial),
	})
	h.pushed(tag)
	return commit
}

// events counts the events of a kind in a run's journal.
func (h *hub) events(tag, kind string) int {
	h.t.Helper()
	got := h.ada.try("git", "--git-dir", h.Dir(), "grep", "--no-color", "-h", `"event":"`+kind+`"`, "research-loop-state/"+tag, "--", "*.jsonl")
	return strings.Count(got.stdout, "\n")
}

// admitted takes the run that a push started as far as the pass that it hands on.
func (h *hub) admitted() *pass {
	h.t.Helper()
	p := h.take()
	if p == nil {
		h.t.Fatal("nothing is queued")
	}
	if got := p.admit(); got.code != 0 || !p.pending() {
		h.t.Fatalf("admit: exit %d, outputs %v\n%s", got.code, p.out, got.stderr)
	}
	return p
}

// trouble is what befalls the run that judges a candidate.
type trouble struct {
	name string
	lost int // passes
	do   func(t *testing.T, p *pass)
}

func (h *hub) troubles() []trouble {
	return []trouble{
		{"cancelled", 1, func(t *testing.T, p *pass) {
			t.Logf("execute ended %.1fs after SIGINT", p.interrupt().Seconds())
			p.decided(0) // GitHub runs it all the same: always()
			h.Finish(p.run.ID, "cancelled")
		}},
		{"decide cancelled", 1, func(t *testing.T, p *pass) {
			p.execute()
			h.Finish(p.run.ID, "cancelled")
			h.Schedule()
		}},
		{"runner lost", 1, func(t *testing.T, p *pass) {
			h.overdue(10*time.Minute, 0) // it is at work
			h.Finish(p.run.ID, "failure")
			h.overdue(time.Minute, 0)
			h.overdue(10*time.Minute, 1)
		}},
		{"artifact expired", 1, func(t *testing.T, p *pass) {
			p.execute()
			must(t, os.Remove(p.got["outcome"]))
			p.decided(0)
			p.end()
		}},
		{"artifact swapped", 1, func(t *testing.T, p *pass) {
			p.execute()
			must(t, os.WriteFile(p.got["outcome"], []byte("another"), 0o600))
			p.decided(0)
			p.end()
		}},
		{"limited in the middle of decide", 0, func(t *testing.T, p *pass) {
			p.execute()
			h.Fail(forgetest.Fault{Method: "PATCH", Path: "^check-runs", Status: 403, Body: "API rate limit exceeded", Times: 1, Header: map[string]string{
				"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(time.Now().Add(time.Hour).Unix()),
			}})
			p.decided(1) // and wakes the run that ends it
			p.end()
		}},
		{"502 on the check, not on the push", 0, func(t *testing.T, p *pass) {
			p.execute()
			h.Fail(forgetest.Fault{Method: "PATCH", Path: "^check-runs", Status: 502, Times: 4})
			p.decided(1)
			p.end()
		}},
		{"decide told to stop", 0, func(t *testing.T, p *pass) {
			p.execute()
			p.stopped()
			h.Finish(p.run.ID, "cancelled")
		}},
		{"answers lost", 0, func(t *testing.T, p *pass) {
			p.execute()
			h.Fail(forgetest.Fault{Method: "PATCH", Path: "^check-runs", Status: 502, After: true})
			h.Fail(forgetest.Fault{Method: "POST", Path: "^check-runs", Status: 0, After: true})
			h.Fail(forgetest.Fault{Method: "PUSH", Status: 502, After: true})
			p.decided(0)
			p.end()
		}},
		{"run again", 0, func(t *testing.T, p *pass) {
			p.execute()
			h.Rerun(p.run.ID)
			again := h.pass(p.run)
			again.run.Attempt, again.out = 2, p.out
			if got := again.execute(); got.code != 2 || !strings.Contains(got.stderr, "claimed by attempt 1") {
				t.Errorf("execute again: exit %d\n%s", got.code, got.stderr)
			}
			p.decided(0)
			before := h.Branch("research-loop-state/t")
			p.decided(0)
			if h.Branch("research-loop-state/t") != before {
				t.Error("decide again wrote records")
			}
			p.end()
		}},
	}
}

// TestTrouble breaks runs of the workflow as runners and GitHub do; the next
// wake-up ends each right, and nothing is counted or shown twice.
func TestTrouble(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("it takes ten attempts through the jobs: set CI=true")
	}
	t.Parallel()
	h := newHub(t, false)
	base := h.begin("t")
	for _, c := range h.troubles() {
		if !t.Run(c.name, func(t *testing.T) { h.overcome(t, c, base) }) {
			t.FailNow()
		}
	}
	t.Run("close cancelled", func(t *testing.T) { h.t = t; h.closeCancelled(base) })
	t.Run("decide fails again and again", func(t *testing.T) { h.t = t; h.hopeless() })
	h.t = t
	h.verify("t")
	h.verify("u")
	h.sealed()
}

// overcome pushes a candidate, lets the trouble happen, and wants the verdict.
func (h *hub) overcome(t *testing.T, c trouble, base string) {
	h.t = t
	before, retried := h.events("t", "finalized"), h.events("t", "retried")
	commit, end := "", "discard"
	if c.name == "cancelled" {
		commit, end = h.candidate("t", c.name, map[string]string{"solver/solve.sh": sleeps + "\n"}), "timeout"
		h.pushed("t")
	} else {
		commit = h.idle("t")
	}
	c.do(t, h.admitted())
	h.settle()
	h.judged("t", commit, end, base)
	if got := h.events("t", "finalized") - before; got != 1 {
		t.Errorf("%d entries", got)
	}
	if got := h.events("t", "retried") - retried; got != c.lost {
		t.Errorf("%d passes retried, want %d", got, c.lost)
	}
	if n := h.Pending(); n != 0 {
		t.Errorf("%d faults were not met", n)
	}
}

// decided runs decide, which must end with a code.
func (p *pass) decided(code int) {
	p.h.t.Helper()
	if got := p.decide(); got.code != code {
		p.h.t.Fatalf("decide: exit %d, want %d\n%s", got.code, code, got.stderr)
	}
}

// hopeless lets every decide of a candidate fail for a reason that might pass: once
// its bundle is lost, then it can read no records. Each failure wakes one run, and
// law (4) ends it.
func (h *hub) hopeless() {
	h.t.Helper()
	base := h.begin("u")
	commit := h.idle("u")
	for n := range 3 {
		p := h.admitted()
		p.execute()
		if n == 0 {
			must(h.t, os.Remove(p.out["bundle"]))
		} else {
			h.Fail(forgetest.Fault{Method: "FETCH", Status: 502, Times: 20})
		}
		p.decided(1)
		h.Mend()
		p.end()
		if got := h.queued(); len(got) != 1 {
			h.t.Fatalf("%d runs wait after failure %d", len(got), n+1)
		}
	}
	last := h.take()
	if got := last.admit(); got.code != 0 || last.out["pass"] != "none" {
		h.t.Errorf("admit: exit %d, %v\n%s", got.code, last.out, got.stderr)
	}
	last.end()
	h.judged("u", commit, "crash", base)
	if got := len(h.queued()); got != 0 {
		h.t.Errorf("%d runs wait", got)
	}
}

// closeCancelled closes while an attempt is judged. What closes goes on in the
// run that judges, whatever became of the run that was asked to close.
func (h *hub) closeCancelled(base string) {
	h.t.Helper()
	commit := h.idle("t")
	p := h.admitted()
	h.dispatch("mia", "maintain", map[string]string{"operation": "close", "tag": "t", "reason": "enough"})
	shut := h.take()
	if got := shut.admit(); got.code != 0 || shut.out["pass"] != "none" {
		h.t.Fatalf("close: exit %d, %v\n%s", got.code, shut.out, got.stderr)
	}
	h.Finish(shut.run.ID, "cancelled")
	p.execute()
	p.decided(0)
	p.end()
	h.settle()
	h.judged("t", commit, "discard", base)
	if h.events("t", "closed") != 1 {
		h.t.Errorf("the run is not closed:\n%s", h.said.String())
	}
}
