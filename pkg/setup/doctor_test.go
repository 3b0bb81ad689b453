package setup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
	"github.com/research-loop/research-loop/pkg/setup"
)

// ward is a repository to be examined.
type ward struct {
	*forgetest.Server
	t     *testing.T
	admin *forge.Client
}

const shipped = "name: research-loop\non: {repository_dispatch: {types: [research-loop]}}\n# >>> yours\n# <<< yours\njobs: {}\n"

func newWard(t *testing.T, c forgetest.Config) *ward {
	t.Helper()
	w := &ward{Server: forgetest.New(t, c), t: t}
	w.admin = w.client(w.Admin("root"))
	return w
}

// fixedWard is one on which doctor --fix did all that it can.
func fixedWard(t *testing.T) *ward {
	t.Helper()
	w := newWard(t, forgetest.Config{})
	w.Commit("main", map[string]string{loopFile: shipped})
	w.secrets(true)
	if _, err := setup.Fix(context.Background(), w.admin, wanted(), func(forge.Request) {}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *ward) client(token string) *forge.Client {
	w.t.Helper()
	c, err := forge.New(forge.Options{
		Place: forge.Place{API: w.API(), Web: w.URL, Owner: "octo-org", Name: "widget"}, Token: token, Now: time.Now,
		Sleep: func(context.Context, time.Duration) error { w.t.Error("slept"); return nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

const loopFile = ".github/workflows/research-loop.yml"

func wanted() setup.Wanted {
	return setup.Wanted{Keys: true, Workflows: map[string][]byte{loopFile: []byte(shipped)}}
}

func (w *ward) diagnose(want setup.Wanted) setup.Diagnosis {
	w.t.Helper()
	d, err := setup.Diagnose(context.Background(), w.admin, want)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func rowOf(t *testing.T, d setup.Diagnosis, name string) setup.Row {
	t.Helper()
	for _, r := range d.Rows {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no row %q in %+v", name, d.Rows)
	return setup.Row{}
}

// secrets stores what keygen would store.
func (w *ward) secrets(deployKey bool) {
	w.Secret("research-loop", "RESEARCH_LOOP_JUDGE", "x")
	w.Secret("research-loop-execute", "RESEARCH_LOOP_INPUTS", "x")
	w.Secret("research-loop-final", "RESEARCH_LOOP_INPUTS", "x")
	if deployKey {
		w.Secret("research-loop", "RESEARCH_LOOP_DEPLOY_KEY", "x")
		if _, err := w.admin.Do(context.Background(), forge.Request{Method: "POST", Path: "keys", Body: []byte(`{"title":"state","key":"ssh-ed25519 AAAA","read_only":false}`)}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestDoctorFixes takes a fresh repository to each level, and changes nothing when
// it is done again.
func TestDoctorFixes(t *testing.T) {
	for _, test := range []struct {
		name      string
		keys      bool
		secrets   bool
		deployKey bool
		before    string
		after     string
	}{
		{"no keys", false, false, false, setup.LevelOpen, setup.LevelOpen},
		{"no secrets", true, false, false, setup.LevelOpen, setup.LevelOpen},
		{"signed", true, true, false, setup.LevelOpen, setup.LevelSigned},
		{"protected", true, true, true, setup.LevelOpen, setup.LevelProtected},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWard(t, forgetest.Config{})
			w.Commit("main", map[string]string{loopFile: shipped})
			w.Actions(map[string]any{"enabled": true, "default_workflow_permissions": "write", "can_approve_pull_request_reviews": true})
			if test.secrets {
				w.secrets(test.deployKey)
			}
			want := wanted()
			want.Keys = test.keys
			if d := w.diagnose(want); d.Level != test.before {
				t.Errorf("before: level %s, want %s", d.Level, test.before)
			}
			var shown []string
			show := func(r forge.Request) { shown = append(shown, r.String()) }
			d, err := setup.Fix(context.Background(), w.admin, want, show)
			if err != nil || d.Level != test.after {
				t.Fatalf("level %s, want %s, %v\n%+v", d.Level, test.after, err, d.Rows)
			}
			for _, r := range d.Rows {
				if len(r.Requests) > 0 {
					t.Errorf("%s is not fixed: %s", r.Name, r.Detail)
				}
			}
			if test.secrets && len(d.Refusals()) != 0 {
				t.Errorf("start would refuse: %+v", d.Refusals())
			}
			if len(shown) == 0 {
				t.Error("nothing was shown")
			}
			first := len(shown)
			if again, err := setup.Fix(context.Background(), w.admin, want, show); err != nil || len(shown) != first || again.Level != d.Level {
				t.Errorf("the second time: %v, %q", err, shown[first:])
			}
		})
	}
}

// TestDoctorRows breaks one setting at a time of a protected repository.
func TestDoctorRows(t *testing.T) {
	custom := func(include string, rules ...string) map[string]any {
		var list []any
		for _, r := range rules {
			list = append(list, map[string]any{"type": r})
		}
		return map[string]any{"name": include, "enforcement": "active", "rules": list, "bypass_actors": []any{},
			"conditions": map[string]any{"ref_name": map[string]any{"include": []any{include}, "exclude": []any{}}}}
	}
	put := func(w *ward, path, body string) {
		if _, err := w.admin.Do(context.Background(), forge.Request{Method: "PUT", Path: path, Body: []byte(body)}); err != nil {
			w.t.Fatal(err)
		}
	}
	post := func(w *ward, path, body string) {
		if _, err := w.admin.Do(context.Background(), forge.Request{Method: "POST", Path: path, Body: []byte(body)}); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name  string
		spoil func(w *ward)
		row   string
		state setup.State
		says  string
		level string
	}{
		{"disabled", func(w *ward) { w.Actions(map[string]any{"enabled": false}) }, "actions", setup.Broken, "disabled", setup.LevelProtected},
		{"approvals", func(w *ward) { w.Actions(map[string]any{"can_approve_pull_request_reviews": true}) }, "approvals by workflows", setup.Warning, "code owners", setup.LevelProtected},
		{"idle workflow", func(w *ward) { w.Disable(loopFile, "disabled_inactivity") }, "workflow research-loop.yml", setup.Broken, "inactivity", setup.LevelProtected},
		{"drift", func(w *ward) { w.Commit("main", map[string]string{loopFile: shipped + "# more\n"}) }, "workflow research-loop.yml", setup.Warning, "differs", setup.LevelProtected},
		{"own toolchain", func(w *ward) {
			w.Commit("main", map[string]string{loopFile: strings.Replace(shipped, "# <<<", "- uses: x\r\n# <<<", 1)})
		}, "workflow research-loop.yml", setup.Fine, "", setup.LevelProtected},
		{"no workflow", func(w *ward) { w.Commit("main", map[string]string{loopFile: ""}) }, "workflow research-loop.yml", setup.Broken, "is not on branch main", setup.LevelProtected},
		{"every branch", func(w *ward) { put(w, "environments/research-loop", `{}`) }, "environment research-loop", setup.Broken, "every branch", setup.LevelOpen},
		{"protected branches", func(w *ward) {
			put(w, "environments/research-loop", `{"deployment_branch_policy":{"protected_branches":true,"custom_branch_policies":false}}`)
		}, "environment research-loop", setup.Broken, "where none is protected", setup.LevelOpen},
		{"one branch more", func(w *ward) {
			post(w, "environments/research-loop-execute/deployment-branch-policies", `{"name":"research-loop/*"}`)
		}, "environment research-loop-execute", setup.Broken, "research-loop/*", setup.LevelOpen},
		{"a tag", func(w *ward) {
			post(w, "environments/research-loop/deployment-branch-policies", `{"name":"v*","type":"tag"}`)
		}, "environment research-loop", setup.Broken, "tag:v*", setup.LevelOpen},
		{"attempts wait", func(w *ward) {
			put(w, "environments/research-loop", `{"reviewers":[{"type":"User","id":7}],"deployment_branch_policy":{"protected_branches":false,"custom_branch_policies":true}}`)
		}, "environment research-loop", setup.Broken, "would wait", setup.LevelOpen},
		{"the final waits", func(w *ward) {
			put(w, "environments/research-loop-final", `{"reviewers":[{"type":"User","id":7}],"deployment_branch_policy":{"protected_branches":false,"custom_branch_policies":true}}`)
		}, "environment research-loop-final", setup.Fine, "required reviewers: 1", setup.LevelProtected},
		{"repository secret", func(w *ward) { w.Secret("", "RESEARCH_LOOP_JUDGE", "x") }, "repository secrets", setup.Broken, "RESEARCH_LOOP_JUDGE", setup.LevelOpen},
		{"organisation secret", func(w *ward) { w.Secret("organisation", "RESEARCH_LOOP_INPUTS", "x") }, "repository secrets", setup.Broken, "RESEARCH_LOOP_INPUTS", setup.LevelOpen},
		{"foreign secret", func(w *ward) { w.Secret("", "NPM_TOKEN", "x") }, "repository secrets", setup.Fine, "", setup.LevelProtected},
		{"signatures", func(w *ward) { w.Ruleset(custom("~ALL", "required_signatures")) }, "run branches", setup.Broken, "required_signatures", setup.LevelProtected},
		{"reviews everywhere", func(w *ward) { w.Ruleset(custom("refs/heads/**", "pull_request")) }, "run branches", setup.Broken, "pull_request", setup.LevelProtected},
		{"second key", func(w *ward) { post(w, "keys", `{"title":"other","key":"ssh-ed25519 BBBB","read_only":false}`) }, "deploy key", setup.Broken, "2 deploy keys", setup.LevelSigned},
		{"reading key", func(w *ward) { post(w, "keys", `{"title":"other","key":"ssh-ed25519 BBBB","read_only":true}`) }, "deploy key", setup.Fine, "", setup.LevelProtected},
		{"branch in the way", func(w *ward) { w.Commit("research-loop", map[string]string{"README": "x"}) }, "branch names", setup.Broken, "called research-loop", setup.LevelProtected},
		{"run branches beside", func(w *ward) { w.Commit("research-loop/speedup", map[string]string{"README": "x"}) }, "branch names", setup.Fine, "", setup.LevelProtected},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := fixedWard(t)
			test.spoil(w)
			d := w.diagnose(wanted())
			r := rowOf(t, d, test.row)
			if r.State != test.state || !strings.Contains(r.Detail, test.says) || (r.Fix == "") != (r.State == setup.Fine) {
				t.Errorf("row %+v, want %s and %q", r, test.state, test.says)
			}
			if d.Level != test.level {
				t.Errorf("level %s, want %s: %q", d.Level, test.level, d.Why)
			}
			fixed, err := setup.Fix(context.Background(), w.admin, wanted(), func(forge.Request) {})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Requests) > 0 && rowOf(t, fixed, test.row).State != setup.Fine {
				t.Errorf("not fixed: %+v", rowOf(t, fixed, test.row))
			}
		})
	}
}

// TestDoctorKeepsReviewers: GitHub forgets what a change leaves out.
func TestDoctorKeepsReviewers(t *testing.T) {
	w := newWard(t, forgetest.Config{})
	w.Commit("main", map[string]string{"README": "x"})
	if _, err := w.admin.Do(context.Background(), forge.Request{Method: "PUT", Path: "environments/research-loop-final", Body: []byte(`{"wait_timer":9,"reviewers":[{"type":"User","id":7}]}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Fix(context.Background(), w.admin, wanted(), func(forge.Request) {}); err != nil {
		t.Fatal(err)
	}
	e, err := w.admin.Environment(context.Background(), "research-loop-final")
	if err != nil || !slices.Equal(e.Reviewers, []forge.Reviewer{{Type: "User", ID: 7}}) || e.WaitMinutes != 9 || !slices.Equal(e.Patterns, []string{"main"}) {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestDoctorInJob: level protected is an administrator's word and what the job sees
// itself; neither alone gives it.
func TestDoctorInJob(t *testing.T) {
	for _, test := range []struct {
		name          string
		key, attested bool
		drop          string // the ruleset that is taken away
		level, why    string
	}{
		{"both agree", true, true, "", setup.LevelProtected, "by attestation"},
		{"not attested", true, false, "", setup.LevelSigned, "nobody attested"},
		{"no deploy key", false, true, "", setup.LevelSigned, "no deploy key"},
		{"no rules", true, true, "state branches", setup.LevelSigned, "no rules close the state branch"},
		{"no review", true, true, "default branch", setup.LevelOpen, "without a reviewed pull request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := fixedWard(t)
			all, err := w.admin.Rulesets(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				if test.drop != "" && strings.Contains(r.Name, test.drop) {
					if _, err := w.admin.Do(context.Background(), forge.Request{Method: "DELETE", Path: fmt.Sprintf("rulesets/%d", r.ID)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := wanted()
			want.Job, want.DeployKey, want.Attested = true, test.key, test.attested
			d, err := setup.Diagnose(context.Background(), w.client(w.JobToken("contents:read", "actions:read")), want)
			if err != nil || d.Level != test.level || !strings.Contains(strings.Join(d.Why, "; "), test.why) {
				t.Errorf("level %s, want %s because %q: %q, %v", d.Level, test.level, test.why, d.Why, err)
			}
		})
	}
}

// TestDoctorSeesLittle: what a token may not see is unknown, never fine, and the
// level is none that nobody has seen.
func TestDoctorSeesLittle(t *testing.T) {
	w := fixedWard(t)
	d, err := setup.Diagnose(context.Background(), w.client(w.JobToken("contents:read", "actions:read")), wanted())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"actions", "approvals by workflows", "repository secrets", "deploy keys"} {
		if r := rowOf(t, d, name); r.State != setup.Unclear {
			t.Errorf("%+v", r)
		}
	}
	if d.Level != setup.LevelOpen {
		t.Errorf("level %s", d.Level)
	}
}

// TestDoctorAuthor looks at the rights of an author's token.
func TestDoctorAuthor(t *testing.T) {
	w := newWard(t, forgetest.Config{})
	w.Commit("main", map[string]string{"README": "x"})
	w.User("ada", "write")
	want := setup.Wanted{Author: true}
	for name, test := range map[string]struct {
		token string
		state setup.State
		says  string
	}{
		"fine-grained": {w.Token(forgetest.Token{Kind: forgetest.FineGrained, Login: "ada", Permissions: map[string]string{"contents": "write"}}), setup.Unclear, "workflows"},
		"classic":      {w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "ada", ClassicScopes: []string{"repo", "workflow"}}), setup.Broken, "actions, workflows"},
		"admin":        {w.Admin("boss"), setup.Broken, "administration"},
	} {
		d, err := setup.Diagnose(context.Background(), w.client(test.token), want)
		if err != nil {
			t.Fatal(err)
		}
		if r := rowOf(t, d, "author's rights"); r.State != test.state || !strings.Contains(r.Detail, test.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if d := w.diagnose(setup.Wanted{}); !slices.ContainsFunc(d.Why, func(s string) bool { return strings.HasPrefix(s, "author's rights unknown") }) {
		t.Errorf("why %q", d.Why)
	}
}

func TestDoctorException(t *testing.T) {
	w := newWard(t, forgetest.Config{Private: true})
	w.Commit("main", map[string]string{loopFile: shipped})
	w.Secret("", "RESEARCH_LOOP_JUDGE", "x")
	want := wanted()
	want.RepositorySecrets = true
	d, err := setup.Fix(context.Background(), w.admin, want, func(forge.Request) {})
	if err != nil || d.Level != setup.LevelSigned || len(d.Refusals()) != 0 || !strings.Contains(fmt.Sprint(d.Why), "repository-secrets") {
		t.Errorf("level %s, %q, %+v, %v", d.Level, d.Why, d.Refusals(), err)
	}
}

// TestToken sends a token only to the host that it is for.
func TestToken(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no gh
	for _, test := range []struct {
		web  string
		env  map[string]string
		want string
	}{
		{"https://github.com", map[string]string{"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, "a"},
		{"https://github.com", map[string]string{"GITHUB_TOKEN": "b"}, "b"},
		{"https://git.example.com", map[string]string{"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, ""},
		{"https://git.example.com", map[string]string{"GH_TOKEN": "a", "GH_ENTERPRISE_TOKEN": "c"}, "c"},
		{"https://git.example.com", map[string]string{"GITHUB_TOKEN": "b", "GITHUB_SERVER_URL": "https://git.example.com"}, "b"},
		{"https://github.com", nil, ""},
	} {
		place := forge.Place{Web: test.web, API: test.web + "/api/v3"}
		got, err := setup.Token(context.Background(), func(name string) string { return test.env[name] }, place)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s with %v: %q, %v", test.web, test.env, got, err)
		}
	}
}

// TestTokenOfGH asks gh, whose talk never stands in an error.
func TestTokenOfGH(t *testing.T) {
	dir := t.TempDir()
	gh := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	none := func(string) string { return "" }
	gh(`[ "$*" = "auth token --hostname github.com" ] && echo gho_x`)
	place := forge.Place{Web: "https://github.com", API: "https://api.github.com"}
	if got, err := setup.Token(context.Background(), none, place); got != "gho_x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	gh("echo gho_secret >&2; echo gho_secret; exit 1")
	if got, err := setup.Token(context.Background(), none, place); got != "" || err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%q, %v", got, err)
	}
}
