package forge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

// withPull makes a run branch one commit ahead of main and a pull request for it.
func withPull(t *testing.T, w *world) forge.Pull {
	t.Helper()
	w.fork("research-loop/speedup", true)
	w.User("ada", "write")
	author := w.client(w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "ada", ClassicScopes: []string{"repo"}}), "")
	p, err := author.DraftPull(context.Background(), "main", "research-loop/speedup", "speedup", "the run")
	if err != nil || p.Number == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	return p
}

func TestComment(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	p := withPull(t, w)
	ctx, c := context.Background(), w.supervisor()
	const mark = "research-loop:speedup"
	// The author may write our marker, before and after we do: that comment is theirs.
	w.User("eve", "write")
	eve := w.client(w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "eve", ClassicScopes: []string{"repo"}}), "")
	if _, err := eve.Comment(ctx, p.Number, mark, "keep! (not by the supervisor)"); err != nil {
		t.Fatal(err)
	}
	w.Fail(forgetest.Fault{Method: "POST", Path: "comments", Status: 502, After: true})
	for _, body := range []string{"attempt 1: running", "attempt 1: discard", "attempt 1: discard", strings.Repeat("ä", 100000)} {
		if _, err := c.Comment(ctx, p.Number, mark, body); err != nil {
			t.Fatal(err)
		}
	}
	got := w.Comments(p.Number)
	if len(got) != 2 || got[0].Login != "eve" || got[0].Updates != 0 || got[1].Login != forge.WorkflowLogin || got[1].Updates != 2 {
		t.Fatalf("comments: %d, %.200v", len(got), got)
	}
	if !strings.HasPrefix(got[1].Body, "<!-- research-loop:speedup -->\n") || len(got[1].Body) > 60000 || !strings.Contains(got[1].Body, "cut here") {
		t.Errorf("%d bytes: %.100s", len(got[1].Body), got[1].Body)
	}
	for _, bad := range []string{"", "a --> b", "A", strings.Repeat("a", 201)} {
		if _, err := c.Comment(ctx, p.Number, bad, "x"); err == nil {
			t.Errorf("marker %q was taken", bad)
		}
	}
	var e *forge.Error
	if _, err := c.Comment(ctx, 999999, mark, "x"); !errors.As(err, &e) || !e.Missing() {
		t.Errorf("no such pull request: %v", err)
	}
}

func TestDraftPull(t *testing.T) {
	for name, test := range map[string]struct {
		config  forgetest.Config
		setting bool
		ahead   bool
		number  bool
		why     string
	}{
		"allowed":       {setting: true, ahead: true, number: true},
		"not permitted": {ahead: true, why: "not permitted to create or approve"},
		"nothing yet":   {setting: true, why: "No commits between main and research-loop/speedup"},
		"no drafts":     {config: forgetest.Config{NoDrafts: true}, setting: true, ahead: true, number: true},
		"restricted":    {config: forgetest.Config{NoPulls: true}, setting: true, ahead: true, why: "restricted"},
	} {
		w := newWorld(t, test.config)
		w.Actions(map[string]any{"can_approve_pull_request_reviews": test.setting})
		w.fork("research-loop/speedup", test.ahead)
		w.Fail(forgetest.Fault{Method: "POST", Path: "^pulls", Status: 502, After: true})
		for range 2 {
			p, err := w.supervisor().DraftPull(context.Background(), "main", "research-loop/speedup", "speedup", "the run")
			if err != nil || (p.Number != 0) != test.number || !strings.Contains(p.Why, test.why) {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			if want := w.URL + "/octo-org/widget/compare/main...research-loop/speedup?expand=1"; !test.number && p.URL != want {
				t.Errorf("%s: %s, want %s", name, p.URL, want)
			}
		}
		if n := len(w.Pulls()); n > 1 {
			t.Errorf("%s: %d pull requests", name, n)
		}
	}
}

// TestClosedPull goes on with a pull request that somebody has closed.
func TestClosedPull(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	p := withPull(t, w)
	admin := w.client(w.Admin("root"), "")
	if _, err := admin.Do(context.Background(), forge.Request{Method: "PATCH", Path: fmt.Sprintf("pulls/%d", p.Number), Body: []byte(`{"state":"closed"}`)}); err != nil {
		t.Fatal(err)
	}
	again, err := w.supervisor().DraftPull(context.Background(), "main", "research-loop/speedup", "speedup", "x")
	if err != nil || again.Number != p.Number {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestPermission(t *testing.T) {
	w := newWorld(t, forgetest.Config{Private: true})
	for _, role := range []string{"admin", "maintain", "write", "triage", "read"} {
		w.User("user-"+role, role)
		if got, err := w.supervisor().Permission(context.Background(), "user-"+role); err != nil || got != role {
			t.Errorf("%s: %q, %v", role, got, err)
		}
	}
	if got, err := w.supervisor().Permission(context.Background(), "stranger"); err != nil || got != "none" {
		t.Errorf("stranger: %q, %v", got, err)
	}
	for _, bad := range []string{"", "a/b", "../x", "a b", "octo?x=1"} {
		if _, err := w.supervisor().Permission(context.Background(), bad); err == nil {
			t.Errorf("login %q was asked for", bad)
		}
	}
}

// TestRights asks what an author's token may do.
func TestRights(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	w.User("ada", "write")
	w.User("root", "admin")
	fine := func(login string, permissions ...string) string {
		token := forgetest.Token{Kind: forgetest.FineGrained, Login: login, Permissions: map[string]string{"contents": "write"}}
		for _, p := range permissions {
			token.Permissions[p] = "write"
		}
		return w.Token(token)
	}
	for name, test := range map[string]struct {
		token string
		want  forge.Rights
	}{
		"classic admin":  {w.Admin("root"), forge.Rights{Login: "root", Admin: forge.Yes, Actions: forge.Yes, Workflows: forge.Yes}},
		"classic writer": {w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "ada", ClassicScopes: []string{"repo"}}), forge.Rights{Login: "ada", Admin: forge.No, Actions: forge.Yes, Workflows: forge.No}},
		"contents only":  {fine("ada"), forge.Rights{Login: "ada", Admin: forge.No, Actions: forge.No, Workflows: forge.Unknown}},
		"actions":        {fine("ada", "actions"), forge.Rights{Login: "ada", Admin: forge.No, Actions: forge.Yes, Workflows: forge.Unknown}},
		"administration": {fine("root", "administration"), forge.Rights{Login: "root", Admin: forge.Yes, Actions: forge.No, Workflows: forge.Unknown}},
		"app":            {w.Token(forgetest.Token{Kind: forgetest.App, Login: "agent[bot]", Permissions: map[string]string{"contents": "write"}}), forge.Rights{Admin: forge.No, Actions: forge.No, Workflows: forge.Unknown}},
	} {
		if got, err := w.client(test.token, "").Rights(context.Background()); err != nil || got != test.want {
			t.Errorf("%s: %+v, want %+v, %v", name, got, test.want, err)
		}
	}
}

// TestHostileNames: branch names and messages that an author chose stay data, in
// addresses, in look-ups and in what is shown.
func TestHostileNames(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	w.Actions(map[string]any{"can_approve_pull_request_reviews": true})
	ctx, c := context.Background(), w.supervisor()
	for _, branch := range []string{
		"research-loop/$(id)", "research-loop/a'b;id", "research-loop/a#b", "research-loop/a%2fb", "research-loop/é", "research-loop/a&base=x", "research-loop/x+y",
	} {
		w.fork(branch, true)
		p, err := c.DraftPull(ctx, "main", branch, "run\n::error::x \x1b[31m", "body")
		if err != nil || p.Number == 0 {
			t.Errorf("%s: %+v, %v", branch, p, err)
		}
		if again, err := c.DraftPull(ctx, "main", branch, "run", "body"); err != nil || again.Number != p.Number {
			t.Errorf("%s again: %+v, %v", branch, again, err)
		}
		if got, err := c.Branches(ctx, branch); err != nil || got[branch] != w.Branch(branch) {
			t.Errorf("branches %v, %v", got, err)
		}
		if _, err := c.BranchRules(ctx, branch); err != nil {
			t.Errorf("rules of %s: %v", branch, err)
		}
		if u := w.place().Compare("main", branch); strings.ContainsAny(u, " #\n") || strings.Count(u, "?") != 1 {
			t.Errorf("compare %s", u)
		}
	}
	for _, p := range w.Pulls() {
		if strings.ContainsAny(p.Title, "\n\x1b") {
			t.Errorf("title %q", p.Title)
		}
	}
}

// TestForgedStatus: anybody who may write can set any commit status; none of them
// is read as a check.
func TestForgedStatus(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head := w.Branch("main")
	w.User("eve", "write")
	eve := w.client(w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "eve", ClassicScopes: []string{"repo"}}), "")
	forged := []byte(`{"state":"success","context":"research-loop (speedup)","description":"keep"}`)
	if _, err := eve.Do(context.Background(), forge.Request{Method: "POST", Path: "statuses/" + head, Body: forged}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.supervisor().Checks(context.Background(), head, ""); err != nil || len(got) != 0 || len(w.Statuses()) != 1 {
		t.Errorf("checks %+v, %v", got, err)
	}
	if _, err := eve.Publish(context.Background(), check(head)); err == nil {
		t.Error("a person's token made a check run")
	}
}

// TestManyForgedChecks buries ours under forged ones of the same name.
func TestManyForgedChecks(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	head, c := w.Branch("main"), w.supervisor()
	k := check(head)
	first, err := c.Publish(context.Background(), k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 130 {
		forged := check(head)
		forged.ExternalID = fmt.Sprintf("forged/%d", i)
		w.Forge(forgetest.Check{Name: forged.Name, Head: head, ExternalID: forged.ExternalID, Status: "completed", Conclusion: "success", Title: "keep", Summary: "x", App: "github-actions", AppID: 15368})
	}
	k.Conclusion = "failure"
	if id, err := c.Publish(context.Background(), k); err != nil || id != first {
		t.Errorf("id %d, want %d, %v", id, first, err)
	}
	if got, err := c.Checks(context.Background(), head, k.Name); err != nil || len(got) != 131 {
		t.Errorf("%d checks, %v", len(got), err)
	}
}
