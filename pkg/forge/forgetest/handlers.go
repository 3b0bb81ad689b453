package forgetest

import (
	"encoding/json"
	"net/http"
	"time"
)

// handler carries out one operation, for tokens with the permission; "" asks the
// handler itself.
type handler struct {
	permission string
	do         func(*call) (int, any, *problem)
}

const repo = "/repos/{owner}/{repo}"

// handlers are the operations that are served.
func handlers() map[string]handler {
	all := map[string]handler{
		"GET /user":   {"", (*call).user},
		"GET " + repo: {"metadata:read", (*call).repository},
		"GET " + repo + "/collaborators/{username}/permission": {"metadata:read", (*call).permissionOf},
	}
	for _, more := range []map[string]handler{checkHandlers(), talkHandlers(), runHandlers(), settingHandlers(), ruleHandlers()} {
		for key, h := range more {
			all[key] = h
		}
	}
	return all
}

// example is the description's example of the answer to this call.
func (c *call) example(status int) map[string]any { return c.spec.example(c.op.key, status) }

// text gives a field of the request's body.
func (c *call) text(field string) string {
	text, _ := c.body[field].(string)
	return text
}

// missing is what GitHub says of what is not there, or is hidden.
func missing() (int, any, *problem) { return 0, nil, refuse(http.StatusNotFound, "Not Found") }

func (s *Server) stamp() string { return s.c.Now().UTC().Format(time.RFC3339) }

// person is a user in an answer.
func (s *Server) person(login string, example map[string]any) map[string]any {
	kind := "User"
	if len(login) > 5 && login[len(login)-5:] == "[bot]" {
		kind = "Bot"
	}
	return with(example, map[string]any{"login": login, "type": kind, "html_url": s.URL + "/" + login})
}

// object reads a field of an example that is an object.
func object(example map[string]any, field string) map[string]any {
	text, err := json.Marshal(example[field])
	if err != nil {
		panic(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil || out == nil {
		return map[string]any{}
	}
	return out
}

func (c *call) user() (int, any, *problem) {
	switch c.who.Kind {
	case "":
		return 0, nil, refuse(http.StatusUnauthorized, "Requires authentication")
	case Workflow, App:
		return 0, nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return http.StatusOK, with(c.person(c.who.Login, c.example(200)), map[string]any{"user_view_type": "private"}), nil
}

// rights are what a role may.
func (s *Server) rights(login string) map[string]any {
	out := map[string]any{}
	for right, role := range map[string]string{"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage", "pull": "read"} {
		out[right] = s.atLeast(login, role)
	}
	return out
}

func (c *call) repository() (int, any, *problem) {
	example := c.example(200)
	kind := "User"
	if c.c.Organisation {
		kind = "Organization"
	}
	owner := with(object(example, "owner"), map[string]any{"login": c.c.Owner, "type": kind})
	visibility := "public"
	if c.c.Private {
		visibility = "private"
	}
	rights := c.rights(c.who.Login)
	if id, _ := c.who.app(); id != 0 {
		rights = map[string]any{"admin": false, "maintain": false, "push": c.granted(c.who, "contents", "write"), "triage": false, "pull": true}
	}
	fields := map[string]any{
		"name": c.c.Name, "full_name": c.Server.Repository(), "owner": owner, "private": c.c.Private, "visibility": visibility,
		"default_branch": c.c.Default, "permissions": rights, "html_url": c.URL + "/" + c.Server.Repository(),
		"clone_url": c.Remote(), "language": nil, "organization": gone, "parent": gone, "source": gone, "template_repository": gone,
	}
	return http.StatusOK, with(example, fields), nil
}

func (c *call) permissionOf() (int, any, *problem) {
	login := c.parts["username"]
	role := c.role(login)
	legacy := map[string]string{"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read", "none": "none"}[role]
	if role == "none" && !c.c.Private {
		legacy = "read"
	}
	example := c.example(200)
	user := with(c.person(login, object(example, "user")), map[string]any{"permissions": c.rights(login), "role_name": role})
	return http.StatusOK, with(example, map[string]any{"permission": legacy, "role_name": role, "user": user}), nil
}
