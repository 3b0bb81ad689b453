package forge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

func TestFacts(t *testing.T) {
	w := newWorld(t, forgetest.Config{Organisation: true})
	ctx, admin := context.Background(), w.client(w.Admin("root"), "")
	do := func(method, path, body string) {
		t.Helper()
		r := forge.Request{Method: method, Path: path}
		if body != "" {
			r.Body = json.RawMessage(body)
		}
		if _, err := admin.Do(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := admin.Repository(ctx)
	if err != nil || r.Private || !r.Organisation || r.Default != "main" || !r.Rights["admin"] || !slices.Equal(r.Scopes, []string{"repo", "workflow"}) {
		t.Errorf("repository %+v, %v", r, err)
	}
	if e, err := admin.Environment(ctx, "research-loop"); e != nil || err != nil {
		t.Errorf("no environment: %+v, %v", e, err)
	}
	do("PUT", "environments/research-loop", `{"wait_timer":5,"reviewers":[{"type":"User","id":1}],"deployment_branch_policy":{"protected_branches":false,"custom_branch_policies":true}}`)
	do("POST", "environments/research-loop/deployment-branch-policies", `{"name":"main"}`)
	do("POST", "environments/research-loop/deployment-branch-policies", `{"name":"v*","type":"tag"}`)
	e, err := admin.Environment(ctx, "research-loop")
	if err != nil || !e.Selected || e.Protected || !slices.Equal(e.Patterns, []string{"main", "tag:v*"}) || len(e.Reviewers) != 1 || e.WaitMinutes != 5 || !e.AdminBypass {
		t.Errorf("environment %+v, %v", e, err)
	}
	w.Secret("research-loop", "RESEARCH_LOOP_JUDGE", "x")
	w.Secret("", "DEPLOY", "x")
	w.Secret("organisation", "SHARED", "x")
	if got, err := admin.EnvironmentSecrets(ctx, "research-loop"); err != nil || !slices.Equal(got, []string{"RESEARCH_LOOP_JUDGE"}) {
		t.Errorf("secrets of the environment %q, %v", got, err)
	}
	if got, err := admin.Secrets(ctx); err != nil || !slices.Equal(got, []string{"DEPLOY", "SHARED"}) {
		t.Errorf("secrets %q, %v", got, err)
	}
	do("POST", "keys", `{"title":"state","key":"ssh-ed25519 AAAA","read_only":false}`)
	if got, err := admin.DeployKeys(ctx); err != nil || len(got) != 1 || got[0].ReadOnly || got[0].Title != "state" {
		t.Errorf("keys %+v, %v", got, err)
	}
	do("PUT", "actions/permissions/workflow", `{"default_workflow_permissions":"write","can_approve_pull_request_reviews":true}`)
	if got, err := admin.Actions(ctx); err != nil || !got.Enabled || got.Default != "write" || !got.MayApprove || got.Allowed != "all" {
		t.Errorf("actions %+v, %v", got, err)
	}
	if got, err := admin.Branches(ctx, "ma"); err != nil || len(got) != 1 || got["main"] != w.Branch("main") {
		t.Errorf("branches %v, %v", got, err)
	}
	if got, err := admin.File(ctx, "main", "README"); err != nil || string(got) != "widget\n" {
		t.Errorf("file %q, %v", got, err)
	}
	if got, err := admin.File(ctx, "main", "no/such"); err != nil || got != nil {
		t.Errorf("no file: %q, %v", got, err)
	}
	if p, err := admin.Protection(ctx, "main"); p != nil || err != nil {
		t.Errorf("unprotected: %+v, %v", p, err)
	}
	w.Protect("release/1", nil)
	if p, err := admin.Protection(ctx, "release/1"); err != nil || p == nil || p.Approvals != 1 || !p.Admins || p.ForcePush {
		t.Errorf("protection %+v, %v", p, err)
	}
}

// TestFactsHidden: what only administrators may see is an error to others, never
// an empty answer.
func TestFactsHidden(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	w.User("ada", "write")
	ctx, c := context.Background(), w.client(w.Token(forgetest.Token{Kind: forgetest.Classic, Login: "ada", ClassicScopes: []string{"repo"}}), "")
	_, keys := c.DeployKeys(ctx)
	_, actions := c.Actions(ctx)
	_, job := w.client(w.JobToken("contents:read"), "").Secrets(ctx)
	for name, err := range map[string]error{"keys": keys, "actions": actions, "secrets of a job": job} {
		var e *forge.Error
		if !errors.As(err, &e) || !e.Missing() && !e.Denied() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRulesets reads rules newer than go-github, and who may pass.
func TestRulesets(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	ctx, admin := context.Background(), w.client(w.Admin("root"), "")
	const state = `{"name":"state","target":"branch","enforcement":"active","conditions":{"ref_name":{"include":["refs/heads/research-loop-state/**"],"exclude":[]}},` +
		`"rules":[{"type":"creation"},{"type":"update"},{"type":"deletion"},{"type":"non_fast_forward"}],"bypass_actors":[{"actor_id":null,"actor_type":"DeployKey","bypass_mode":"always"}]}`
	if _, err := admin.Do(ctx, forge.Request{Method: "POST", Path: "rulesets", Body: []byte(state)}); err != nil {
		t.Fatal(err)
	}
	w.Ruleset(map[string]any{"name": "newer", "enforcement": "active", "source_type": "Organization",
		"conditions": map[string]any{"ref_name": map[string]any{"include": []any{"~ALL"}, "exclude": []any{}}},
		"rules":      []any{map[string]any{"type": "file_path_restriction", "parameters": map[string]any{"restricted_file_paths": []any{".github/**"}}}}})
	got, err := admin.Rulesets(ctx)
	if err != nil || len(got) != 2 || got[0].Rules[1].Type != "update" || got[0].Bypass[0].Type != "DeployKey" || got[1].Rules[0].Type != "file_path_restriction" {
		t.Fatalf("rulesets %+v, %v", got, err)
	}
	seen, err := w.supervisor().Rulesets(ctx)
	if err != nil || seen[0].Bypass != nil {
		t.Errorf("a job sees who bypasses: %+v, %v", seen, err)
	}
	rules, err := w.supervisor().BranchRules(ctx, "research-loop-state/speedup")
	if err != nil || len(rules) != 5 {
		t.Errorf("rules %+v, %v", rules, err)
	}
	if _, err := admin.Do(ctx, forge.Request{Method: "POST", Path: "rulesets", Body: []byte(fmt.Sprintf(`{"name":"ours","enforcement":"active","bypass_actors":[{"actor_id":%d,"actor_type":"Integration","bypass_mode":"always"}]}`, 15368))}); err == nil {
		t.Error("the Actions app bypasses a ruleset")
	}

	deploy, job := w.Token(forgetest.Token{Kind: forgetest.DeployKey, Login: "state"}), w.JobToken("contents:write")
	w.commit("journal", "1")
	if out, err := w.push(job, "research-loop-state/speedup"); err == nil {
		t.Errorf("a job wrote the state branch: %s", out)
	}
	if out, err := w.push(deploy, "research-loop-state/speedup"); err != nil {
		t.Errorf("the deploy key could not: %s", out)
	}
}
