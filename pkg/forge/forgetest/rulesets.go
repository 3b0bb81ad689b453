package forgetest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ruleset is a ruleset as it came in.
type ruleset struct {
	id   int64
	body map[string]any
}

// rule is one rule that binds a branch.
type rule struct {
	kind string
	of   *ruleset
	body map[string]any
}

// Ruleset makes a ruleset of the repository, or of what stands above it, without
// asking for a token: the fields are those of the API.
func (s *Server) Ruleset(fields map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &ruleset{s.next(), object(map[string]any{"r": fields}, "r")}
	s.state.rulesets = append(s.state.rulesets, r)
	return r.id
}

func ruleHandlers() map[string]handler {
	return map[string]handler{
		"GET " + repo + "/rulesets":                 {"metadata:read", (*call).listRulesets},
		"POST " + repo + "/rulesets":                {"administration:write", (*call).makeRuleset},
		"GET " + repo + "/rulesets/{ruleset_id}":    {"metadata:read", (*call).readRuleset},
		"PUT " + repo + "/rulesets/{ruleset_id}":    {"administration:write", (*call).putRuleset},
		"DELETE " + repo + "/rulesets/{ruleset_id}": {"administration:write", (*call).dropRuleset},
		"GET " + repo + "/rules/branches/{branch}":  {"metadata:read", (*call).branchRules},
	}
}

func (c *call) ruleset() *ruleset {
	id, _ := strconv.ParseInt(c.parts["ruleset_id"], 10, 64)
	for _, r := range c.state.rulesets {
		if r.id == id {
			return r
		}
	}
	return nil
}

// showRuleset is a ruleset as GitHub shows it: in a list without its rules, and
// who bypasses it to administrators only.
func (c *call) showRuleset(r *ruleset, whole bool) map[string]any {
	out := with(c.spec.example("GET "+repo+"/rulesets/{ruleset_id}", 200), map[string]any{
		"bypass_actors": []any{}, "conditions": map[string]any{"ref_name": map[string]any{"include": []any{}, "exclude": []any{}}}, "rules": []any{},
	})
	maps.Copy(out, r.body)
	source := or(text(r.body, "source_type"), "Repository")
	out = with(out, map[string]any{"id": r.id, "source_type": source, "source": c.Server.Repository(), "target": or(text(r.body, "target"), "branch")})
	if !whole {
		out = with(out, map[string]any{"rules": gone, "conditions": gone, "bypass_actors": gone})
	}
	if !c.may(c.who, "administration:read") {
		delete(out, "bypass_actors")
	}
	return out
}

func text(body map[string]any, field string) string {
	s, _ := body[field].(string)
	return s
}

func (c *call) listRulesets() (int, any, *problem) {
	out := []any{}
	for _, r := range page(c, c.state.rulesets) {
		out = append(out, c.showRuleset(r, false))
	}
	return http.StatusOK, out, nil
}

func (c *call) rulesetRules(self *ruleset) *problem {
	actors, _ := c.body["bypass_actors"].([]any)
	if p := bypassRules(actors); p != nil {
		return p
	}
	for _, r := range c.state.rulesets {
		if r != self && text(r.body, "name") == c.text("name") {
			p := refuse(http.StatusUnprocessableEntity, "Validation Failed")
			p.faults = []string{"Name must be unique"}
			return p
		}
	}
	return nil
}

func (c *call) makeRuleset() (int, any, *problem) {
	if p := c.rulesetRules(nil); p != nil {
		return 0, nil, p
	}
	r := &ruleset{c.next(), c.body}
	c.state.rulesets = append(c.state.rulesets, r)
	return http.StatusCreated, c.showRuleset(r, true), nil
}

func (c *call) readRuleset() (int, any, *problem) {
	if r := c.ruleset(); r != nil {
		return http.StatusOK, c.showRuleset(r, true), nil
	}
	return missing()
}

func (c *call) putRuleset() (int, any, *problem) {
	r := c.ruleset()
	if r == nil {
		return missing()
	}
	if p := c.rulesetRules(r); p != nil {
		return 0, nil, p
	}
	maps.Copy(r.body, c.body)
	return http.StatusOK, c.showRuleset(r, true), nil
}

func (c *call) dropRuleset() (int, any, *problem) {
	r := c.ruleset()
	if r == nil {
		return missing()
	}
	c.state.rulesets = slices.DeleteFunc(c.state.rulesets, func(o *ruleset) bool { return o == r })
	return http.StatusNoContent, nil, nil
}

// branchRules lists what binds a branch, whoever asks.
func (c *call) branchRules() (int, any, *problem) {
	out := []any{}
	for _, r := range page(c, c.rulesOf(c.parts["branch"])) {
		shown := maps.Clone(r.body)
		out = append(out, with(shown, map[string]any{
			"ruleset_id": r.of.id, "ruleset_source": c.Server.Repository(), "ruleset_source_type": or(text(r.of.body, "source_type"), "Repository"),
		}))
	}
	return http.StatusOK, out, nil
}

// rulesOf gives the active rules of a branch.
func (s *Server) rulesOf(branch string) []rule {
	var out []rule
	for _, r := range s.state.rulesets {
		if text(r.body, "enforcement") != "active" || or(text(r.body, "target"), "branch") != "branch" || !s.covers(r, branch) {
			continue
		}
		rules, _ := r.body["rules"].([]any)
		for _, it := range rules {
			body := it.(map[string]any)
			out = append(out, rule{text(body, "type"), r, body})
		}
	}
	return out
}

// covers says whether a ruleset's conditions name a branch.
func (s *Server) covers(r *ruleset, branch string) bool {
	names := object(object(r.body, "conditions"), "ref_name")
	hit := func(field string) bool {
		patterns, _ := names[field].([]any)
		return slices.ContainsFunc(patterns, func(p any) bool {
			switch p {
			case "~ALL":
				return true
			case "~DEFAULT_BRANCH":
				return branch == s.c.Default
			}
			return glob(strings.TrimPrefix(fmt.Sprint(p), "refs/heads/")).MatchString(branch)
		})
	}
	return hit("include") && !hit("exclude")
}

// binding gives the rules of a branch that whoever holds the token does not bypass.
func (s *Server) binding(branch string, who Token) []rule {
	return slices.DeleteFunc(s.rulesOf(branch), func(r rule) bool {
		actors, _ := r.of.body["bypass_actors"].([]any)
		return slices.ContainsFunc(actors, func(a any) bool { return s.bypasses(a.(map[string]any), who) })
	})
}

func (s *Server) bypasses(actor map[string]any, who Token) bool {
	id, _ := actor["actor_id"].(float64)
	app, _ := who.app()
	switch {
	case text(actor, "bypass_mode") == "pull_request":
		return false
	case text(actor, "actor_type") == "DeployKey":
		return who.Kind == DeployKey
	case text(actor, "actor_type") == "Integration":
		return app != 0 && int64(id) == app
	case text(actor, "actor_type") == "RepositoryRole":
		role := map[int]string{2: "maintain", 4: "write", 5: "admin"}[int(id)]
		return app == 0 && role != "" && s.atLeast(who.Login, role)
	case text(actor, "actor_type") == "OrganizationAdmin":
		return app == 0 && s.atLeast(who.Login, "admin")
	}
	return false
}
