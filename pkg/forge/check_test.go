package forge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

func TestPublish(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head := w.Branch("main")
	c, ctx := w.supervisor(), context.Background()
	k := check(head)
	first, err := c.Publish(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	k.Conclusion, k.Title, k.Summary, k.Text = "failure", "discard: no gain", "accuracy 0.4 → 0.4", "note"
	k.Completed, k.Annotations = k.Started.Add(time.Minute), findings(120)
	for range 2 {
		again, err := c.Publish(ctx, k)
		if err != nil || again != first {
			t.Fatalf("published again: id %d, want %d, %v", again, first, err)
		}
	}
	got := w.Checks(head)
	if len(got) != 1 || got[0].Status != "completed" || got[0].Conclusion != "failure" || got[0].Text != "note" {
		t.Fatalf("checks: %+v", got)
	}
	if n := len(got[0].Annotations); n != 120 {
		t.Errorf("%d annotations, want 120, each once", n)
	}
	for i, a := range got[0].Annotations {
		if int(a["start_line"].(float64)) != i+1 {
			t.Fatalf("annotation %d stands at line %v", i, a["start_line"])
		}
	}
	running := check(head)
	if _, err := c.Publish(ctx, running); err != nil || w.Checks(head)[0].Status != "completed" {
		t.Errorf("a completed check went back to running: %v, %+v", err, w.Checks(head)[0])
	}
}

// TestPublishAtOnce makes a check that never was in progress, as that of a restore.
func TestPublishAtOnce(t *testing.T) {
	for _, n := range []int{0, 1, 50, 51, 100, 101} {
		w := newWorld(t, forgetest.Config{})
		head := w.Branch("main")
		k := check(head)
		k.Conclusion, k.Annotations = "action_required", findings(n)
		if _, err := w.supervisor().Publish(context.Background(), k); err != nil {
			t.Fatal(err)
		}
		if got := w.Checks(head); len(got) != 1 || len(got[0].Annotations) != n || got[0].Conclusion != "action_required" {
			t.Errorf("%d annotations: %+v", n, got)
		}
	}
}

// TestPublishLosesAnswers loses every answer once, before and after the request
// took effect: one check with each annotation once remains.
func TestPublishLosesAnswers(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	c, head := w.supervisor(), w.Branch("main")
	for i := range 2 * 2 * 6 {
		after, status, skip := i&1 == 1, 502*(i>>1&1), i>>2
		w.Fail(forgetest.Fault{Status: status, After: after, Skip: skip, Body: "Bad Gateway"})
		k := check(head)
		k.ExternalID = fmt.Sprintf("speedup/%d/%s", i, head)
		if _, err := c.Publish(context.Background(), k); err != nil {
			t.Fatal(err)
		}
		k.Conclusion, k.Annotations = "success", findings(110)
		if _, err := c.Publish(context.Background(), k); err != nil {
			t.Fatalf("after=%v status=%d skip=%d: %v", after, status, skip, err)
		}
		got := w.Checks(head)
		if last := got[len(got)-1]; len(got) != i+1 || last.ExternalID != k.ExternalID || len(last.Annotations) != 110 || last.Conclusion != "success" {
			t.Errorf("after=%v status=%d skip=%d: %d checks, %d annotations", after, status, skip, len(got), len(last.Annotations))
		}
		if n := w.Pending(); n != 0 {
			t.Fatalf("skip=%d: the fault was not met", skip)
		}
	}
}

// TestPublishBesideForged has the author mint checks of our name and key, from the
// workflow's app and from another one. The first is ours to put right, the second
// is passed over; both cost nothing.
func TestPublishBesideForged(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head := w.Branch("main")
	forged := check(head)
	forged.Conclusion, forged.Title, forged.Text = "success", "keep", "no note, or one of another commit"
	app := w.client(w.Token(forgetest.Token{Kind: forgetest.App, Login: "research-agent[bot]", Permissions: map[string]string{"checks": "write"}}), "research-agent[bot]")
	if _, err := app.Publish(context.Background(), forged); err != nil {
		t.Fatal(err)
	}
	k := check(head)
	k.Conclusion, k.Title, k.Text = "failure", "discard", "the note"
	for range 2 {
		if _, err := w.supervisor().Publish(context.Background(), k); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.supervisor().Checks(context.Background(), head, k.Name)
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, g := range got {
		if g.App == "github-actions" {
			ours++
			if g.Conclusion != "failure" || g.Text != "the note" {
				t.Errorf("ours says %+v", g)
			}
		}
	}
	if ours != 1 || len(got) != 2 {
		t.Errorf("%d of ours among %d, want 1 among 2: a reader must see both, and believe the note", ours, len(got))
	}
}

// TestPublishTakesOverForgedByWorkflow: a branch workflow with checks: write has the
// same app as we do, and may even use our key.
func TestPublishTakesOverForgedByWorkflow(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head := w.Branch("main")
	forged := check(head)
	forged.Conclusion, forged.Title = "success", "keep"
	if _, err := w.client(w.JobToken("checks:write"), forge.WorkflowLogin).Publish(context.Background(), forged); err != nil {
		t.Fatal(err)
	}
	k := check(head)
	k.Conclusion, k.Title = "failure", "discard"
	if _, err := w.supervisor().Publish(context.Background(), k); err != nil {
		t.Fatal(err)
	}
	if got := w.Checks(head); len(got) != 1 || got[0].Conclusion != "failure" || got[0].Title != "discard" {
		t.Errorf("checks: %+v", got)
	}
	other := check(head)
	other.ExternalID, other.Conclusion = "speedup/2/"+head, "success"
	if _, err := w.supervisor().Publish(context.Background(), other); err != nil || len(w.Checks(head)) != 2 {
		t.Errorf("another key is another check: %v, %d", err, len(w.Checks(head)))
	}
}

func TestPublishRefuses(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head := w.Branch("main")
	for name, change := range map[string]func(*forge.Check){
		"neutral":     func(k *forge.Check) { k.Conclusion = "neutral" },
		"skipped":     func(k *forge.Check) { k.Conclusion = "skipped" },
		"stale":       func(k *forge.Check) { k.Conclusion = "stale" },
		"short id":    func(k *forge.Check) { k.Head = head[:12] },
		"branch":      func(k *forge.Check) { k.Head = "main" },
		"no name":     func(k *forge.Check) { k.Name = "" },
		"no key":      func(k *forge.Check) { k.ExternalID = "" },
		"long key":    func(k *forge.Check) { k.ExternalID = strings.Repeat("x", 256) },
		"no title":    func(k *forge.Check) { k.Title = "" },
		"no summary":  func(k *forge.Check) { k.Summary = "" },
		"unknown sha": func(k *forge.Check) { k.Head = strings.Repeat("a", 40) },
	} {
		k := check(head)
		change(&k)
		if _, err := w.supervisor().Publish(context.Background(), k); err == nil {
			t.Errorf("%s: published", name)
		}
	}
	if n := len(w.Checks(head)); n != 0 {
		t.Errorf("%d checks were made", n)
	}
}

// TestPublishHostileText posts what a candidate may have written.
func TestPublishHostileText(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head := w.Branch("main")
	k := check(head)
	k.Conclusion = "failure"
	k.Title = "a\r\nb\x1b[31m\u202e" + strings.Repeat("ü", 300)
	k.Summary = strings.Repeat("ü", 70000) + "\xff"
	k.Text = forge.Fence("```\n@octocat closes #1 <!-- \x00 --> ::set-output name=a::b\n````")
	k.Annotations = []forge.Annotation{{Path: "a\nb", Line: -3, Level: "warning", Title: strings.Repeat("t", 999), Message: strings.Repeat("m", 99999)}}
	if _, err := w.supervisor().Publish(context.Background(), k); err != nil {
		t.Fatal(err)
	}
	got := w.Checks(head)[0]
	if len(got.Summary) > 65535 || !strings.HasSuffix(strings.TrimSpace(got.Summary), "bytes are shown, the state branch holds the rest.") {
		t.Errorf("the summary has %d bytes and ends %q", len(got.Summary), got.Summary[len(got.Summary)-80:])
	}
	if strings.ContainsAny(got.Title, "\r\n\x1b") || len(got.Title) > 255 || strings.ContainsRune(got.Title, '\u202e') {
		t.Errorf("title %q", got.Title)
	}
	if !strings.HasPrefix(got.Text, "`````text\n") || strings.ContainsRune(got.Text, 0) {
		t.Errorf("text %q", got.Text)
	}
}
