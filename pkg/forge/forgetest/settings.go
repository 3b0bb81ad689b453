package forgetest

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// environment is what guards the secrets of a job.
type environment struct {
	id        int64
	name      string
	policy    map[string]any // deployment_branch_policy, nil for none
	patterns  []*pattern
	reviewers []any
	wait      int
	admins    bool
	secrets   map[string]string
}

type pattern struct {
	id         int64
	name, kind string
}

type key struct {
	id          int64
	title, text string
	readOnly    bool
}

// Environment makes an environment without rules, as a job that names an unknown
// one does, unless it is there.
func (s *Server) Environment(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.environment(name)
}

func (s *Server) environment(name string) *environment {
	e := s.state.environments[name]
	if e == nil {
		e = &environment{id: s.next(), name: name, secrets: map[string]string{}, admins: true}
		s.state.environments[name] = e
	}
	return e
}

// Secret stores a secret of an environment, of the repository where that is "",
// or of the organisation where it is "organisation".
func (s *Server) Secret(environment, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch environment {
	case "":
		s.state.secrets = append(s.state.secrets, name)
	case "organisation":
		s.state.above = append(s.state.above, name)
	default:
		s.environment(environment).secrets[name] = value
	}
}

// SecretsFor gives a job that runs for ref the secrets of an environment, or an
// error where the environment's rule does not admit the ref.
func (s *Server) SecretsFor(environment, ref string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.environment(environment)
	if e.policy == nil {
		return maps.Clone(e.secrets), nil
	}
	branch := strings.TrimPrefix(ref, "refs/heads/")
	if selected, _ := e.policy["custom_branch_policies"].(bool); selected {
		for _, p := range e.patterns {
			if p.kind == "branch" && strings.HasPrefix(ref, "refs/heads/") && glob(p.name).MatchString(branch) {
				return maps.Clone(e.secrets), nil
			}
		}
	} else if len(s.state.protections) == 0 || s.state.protections[branch] != nil {
		return maps.Clone(e.secrets), nil // without any protected branch all branches count as such
	}
	return nil, fmt.Errorf("branch %q is not allowed to deploy to %s due to environment protection rules", branch, environment)
}

// Protect protects a branch in the older way; the fields are those of the API's
// answer, laid over a protection that requires one approval.
func (s *Server) Protect(branch string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := func(b bool) map[string]any { return map[string]any{"enabled": b} }
	base := map[string]any{
		"url":                           s.API() + "/repos/" + s.Repository() + "/branches/" + branch + "/protection",
		"required_pull_request_reviews": map[string]any{"required_approving_review_count": 1, "dismiss_stale_reviews": false, "require_code_owner_reviews": false, "require_last_push_approval": false},
		"enforce_admins":                map[string]any{"enabled": true, "url": s.API()},
		"allow_force_pushes":            on(false), "allow_deletions": on(false),
	}
	s.state.protections[branch] = with(base, fields)
}

func enforced(protection map[string]any) bool {
	on, _ := object(protection, "enforce_admins")["enabled"].(bool)
	return on
}

func settingHandlers() map[string]handler {
	env := repo + "/environments/{environment_name}"
	policies := env + "/deployment-branch-policies"
	return map[string]handler{
		"GET " + repo + "/environments":                 {"actions:read", (*call).listEnvironments},
		"GET " + env:                                    {"actions:read", (*call).readEnvironment},
		"PUT " + env:                                    {"administration:write", (*call).putEnvironment},
		"GET " + env + "/secrets":                       {"environments:read|secrets:read", (*call).environmentSecrets},
		"GET " + policies:                               {"actions:read", (*call).listPolicies},
		"POST " + policies:                              {"administration:write", (*call).makePolicy},
		"DELETE " + policies + "/{branch_policy_id}":    {"administration:write", (*call).dropPolicy},
		"GET " + repo + "/actions/permissions":          {"administration:read", (*call).readActions},
		"PUT " + repo + "/actions/permissions":          {"administration:write", (*call).putActions},
		"GET " + repo + "/actions/permissions/workflow": {"administration:read", (*call).readActionsDefault},
		"PUT " + repo + "/actions/permissions/workflow": {"administration:write", (*call).putActions},
		"GET " + repo + "/actions/secrets":              {"secrets:read", (*call).listSecrets},
		"GET " + repo + "/actions/organization-secrets": {"secrets:read", (*call).listAbove},
		"GET " + repo + "/keys":                         {"administration:read", (*call).listKeys},
		"POST " + repo + "/keys":                        {"administration:write", (*call).makeKey},
		"GET " + repo + "/keys/{key_id}":                {"administration:read", (*call).readKey},
		"DELETE " + repo + "/keys/{key_id}":             {"administration:write", (*call).dropKey},
		"GET " + repo + "/branches/{branch}/protection": {"administration:read", (*call).readProtection},
		"GET " + repo + "/git/matching-refs/{ref}":      {"contents:read", (*call).matchingRefs},
		"GET " + repo + "/contents/{path}":              {"contents:read", (*call).contents},
	}
}

func (c *call) env() *environment { return c.state.environments[c.parts["environment_name"]] }

func (c *call) showEnvironment(e *environment) map[string]any {
	example := c.spec.example("GET "+repo+"/environments/{environment_name}", 200)
	rules := []any{}
	if e.wait > 0 {
		rules = append(rules, map[string]any{"id": 1, "node_id": "a", "type": "wait_timer", "wait_timer": e.wait})
	}
	if len(e.reviewers) > 0 {
		var who []any
		for _, r := range e.reviewers {
			who = append(who, map[string]any{"type": "User", "reviewer": with(c.sender("reviewer"), map[string]any{"id": object(map[string]any{"r": r}, "r")["id"]})})
		}
		rules = append(rules, map[string]any{"id": 2, "node_id": "b", "type": "required_reviewers", "prevent_self_review": false, "reviewers": who})
	}
	var policy any
	if e.policy != nil {
		policy = e.policy
		rules = append(rules, map[string]any{"id": 3, "node_id": "c", "type": "branch_policy"})
	}
	return with(example, map[string]any{"id": e.id, "name": e.name, "deployment_branch_policy": policy, "protection_rules": rules, "can_admins_bypass": e.admins})
}

func (c *call) listEnvironments() (int, any, *problem) {
	out := []any{}
	for _, name := range sortedKeys(c.state.environments) {
		out = append(out, c.showEnvironment(c.state.environments[name]))
	}
	return http.StatusOK, map[string]any{"total_count": len(out), "environments": out}, nil
}

func (c *call) readEnvironment() (int, any, *problem) {
	if e := c.env(); e != nil {
		return http.StatusOK, c.showEnvironment(e), nil
	}
	return missing()
}

// putEnvironment sets an environment. What is left out falls back to nothing.
func (c *call) putEnvironment() (int, any, *problem) {
	policy, _ := c.body["deployment_branch_policy"].(map[string]any)
	if policy != nil && policy["protected_branches"] == policy["custom_branch_policies"] {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "protected_branches and custom_branch_policies cannot have the same value")
	}
	e := c.environment(c.parts["environment_name"])
	e.policy = policy
	if policy == nil || policy["custom_branch_policies"] != true {
		e.patterns = nil
	}
	e.reviewers, _ = c.body["reviewers"].([]any)
	wait, _ := c.body["wait_timer"].(float64)
	e.wait = int(wait)
	if admins, ok := c.body["can_admins_bypass"].(bool); ok {
		e.admins = admins
	}
	return http.StatusOK, c.showEnvironment(e), nil
}

func showSecrets(c *call, names []string) (int, any, *problem) {
	out := []any{}
	for _, name := range page(c, names) {
		out = append(out, map[string]any{"name": name, "created_at": c.stamp(), "updated_at": c.stamp()})
	}
	return http.StatusOK, map[string]any{"total_count": len(names), "secrets": out}, nil
}

func (c *call) environmentSecrets() (int, any, *problem) {
	if e := c.env(); e != nil {
		return showSecrets(c, sortedKeys(e.secrets))
	}
	return missing()
}

func (c *call) listSecrets() (int, any, *problem) { return showSecrets(c, c.state.secrets) }
func (c *call) listAbove() (int, any, *problem)   { return showSecrets(c, c.state.above) }

func showPolicy(p *pattern) map[string]any {
	return map[string]any{"id": p.id, "node_id": "p", "name": p.name, "type": p.kind}
}

func (c *call) listPolicies() (int, any, *problem) {
	e := c.env()
	if e == nil {
		return missing()
	}
	out := []any{}
	for _, p := range page(c, e.patterns) {
		out = append(out, showPolicy(p))
	}
	return http.StatusOK, map[string]any{"total_count": len(e.patterns), "branch_policies": out}, nil
}

func (c *call) makePolicy() (int, any, *problem) {
	e := c.env()
	if e == nil || e.policy == nil || e.policy["custom_branch_policies"] != true {
		return missing()
	}
	name, kind := c.text("name"), or(c.text("type"), "branch")
	if slices.ContainsFunc(e.patterns, func(p *pattern) bool { return p.name == name && p.kind == kind }) {
		return 0, nil, refuse(http.StatusSeeOther, "The policy exists already.")
	}
	p := &pattern{c.next(), name, kind}
	e.patterns = append(e.patterns, p)
	return http.StatusOK, showPolicy(p), nil
}

func (c *call) dropPolicy() (int, any, *problem) {
	id, _ := strconv.ParseInt(c.parts["branch_policy_id"], 10, 64)
	e := c.env()
	if e == nil || !slices.ContainsFunc(e.patterns, func(p *pattern) bool { return p.id == id }) {
		return missing()
	}
	e.patterns = slices.DeleteFunc(e.patterns, func(p *pattern) bool { return p.id == id })
	return http.StatusNoContent, nil, nil
}

func (c *call) readActions() (int, any, *problem) {
	out := map[string]any{}
	for _, field := range []string{"enabled", "allowed_actions", "sha_pinning_required"} {
		out[field] = c.state.actions[field]
	}
	return http.StatusOK, out, nil
}

func (c *call) readActionsDefault() (int, any, *problem) {
	out := map[string]any{}
	for _, field := range []string{"default_workflow_permissions", "can_approve_pull_request_reviews"} {
		out[field] = c.state.actions[field]
	}
	return http.StatusOK, out, nil
}

func (c *call) putActions() (int, any, *problem) {
	maps.Copy(c.state.actions, c.body)
	return http.StatusNoContent, nil, nil
}

// Actions sets fields of the settings of Actions, by the API's names.
func (s *Server) Actions(fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.state.actions, fields)
}

func (c *call) listKeys() (int, any, *problem) {
	out := []any{}
	for _, k := range page(c, c.state.keys) {
		out = append(out, c.showKey(k))
	}
	return http.StatusOK, out, nil
}

func (c *call) showKey(k *key) map[string]any {
	example := c.spec.example("GET "+repo+"/keys/{key_id}", 200)
	return with(example, map[string]any{"id": k.id, "title": k.title, "key": k.text, "read_only": k.readOnly})
}

func (c *call) makeKey() (int, any, *problem) {
	text := c.text("key")
	if slices.ContainsFunc(c.state.keys, func(k *key) bool { return k.text == text }) || !strings.HasPrefix(text, "ssh-") {
		p := refuse(http.StatusUnprocessableEntity, "Validation Failed")
		p.faults = []string{"key is already in use, or is none"}
		return 0, nil, p
	}
	readOnly, _ := c.body["read_only"].(bool)
	k := &key{c.next(), c.text("title"), text, readOnly}
	c.state.keys = append(c.state.keys, k)
	return http.StatusCreated, c.showKey(k), nil
}

func (c *call) readKey() (int, any, *problem) {
	id, _ := strconv.ParseInt(c.parts["key_id"], 10, 64)
	for _, k := range c.state.keys {
		if k.id == id {
			return http.StatusOK, c.showKey(k), nil
		}
	}
	return missing()
}

func (c *call) dropKey() (int, any, *problem) {
	id, _ := strconv.ParseInt(c.parts["key_id"], 10, 64)
	c.state.keys = slices.DeleteFunc(c.state.keys, func(k *key) bool { return k.id == id })
	return http.StatusNoContent, nil, nil
}

func (c *call) readProtection() (int, any, *problem) {
	if p := c.state.protections[c.parts["branch"]]; p != nil {
		return http.StatusOK, p, nil
	}
	return 0, nil, refuse(http.StatusNotFound, "Branch not protected")
}

func (c *call) matchingRefs() (int, any, *problem) {
	heads := c.heads()
	var found []string
	for _, name := range sortedKeys(heads) {
		if strings.HasPrefix("heads/"+name, c.parts["ref"]) {
			found = append(found, name)
		}
	}
	out := []any{}
	for _, name := range page(c, found) {
		example := c.example(200)
		out = append(out, with(example, map[string]any{"ref": "refs/heads/" + name, "object": with(object(example, "object"), map[string]any{"sha": heads[name]})}))
	}
	return http.StatusOK, out, nil
}

func (c *call) contents() (int, any, *problem) {
	commit := c.commitOf(or(c.r.URL.Query().Get("ref"), c.c.Default))
	data, there := c.files(commit, c.parts["path"])[c.parts["path"]]
	if !there {
		return missing()
	}
	id := fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(data), data))))
	where := c.API() + "/repos/" + c.Server.Repository() + "/contents/" + c.parts["path"]
	return http.StatusOK, map[string]any{
		"type": "file", "encoding": "base64", "size": len(data), "name": path.Base(c.parts["path"]), "path": c.parts["path"], "sha": id,
		"content": base64.StdEncoding.EncodeToString([]byte(data)), "url": where, "git_url": where, "html_url": where, "download_url": where,
		"_links": map[string]any{"git": where, "html": where, "self": where},
	}, nil
}
