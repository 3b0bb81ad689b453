package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Comment is a comment on a pull request.
type Comment struct {
	ID          int64
	Pull        int
	Login, Body string
	Updates     int
}

// Pull is a pull request between two branches of the repository.
type Pull struct {
	Number             int
	Title, Body        string
	Base, Head, Author string
	Draft, Closed      bool
}

// Comments gives the comments on a pull request, oldest first.
func (s *Server) Comments(pull int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, m := range s.state.comments {
		if m.Pull == pull {
			out = append(out, *m)
		}
	}
	return out
}

// Pulls gives the pull requests, oldest first.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Pull
	for _, p := range s.state.pulls {
		out = append(out, *p)
	}
	return out
}

func talkHandlers() map[string]handler {
	return map[string]handler{
		"GET " + repo + "/issues/{issue_number}/comments":  {"pull_requests:read|issues:read", (*call).listComments},
		"POST " + repo + "/issues/{issue_number}/comments": {"pull_requests:write|issues:write", (*call).makeComment},
		"GET " + repo + "/issues/comments/{comment_id}":    {"pull_requests:read|issues:read", (*call).readComment},
		"PATCH " + repo + "/issues/comments/{comment_id}":  {"pull_requests:write|issues:write", (*call).changeComment},
		"GET " + repo + "/pulls":                           {"pull_requests:read", (*call).listPulls},
		"POST " + repo + "/pulls":                          {"pull_requests:write", (*call).makePull},
		"GET " + repo + "/pulls/{pull_number}":             {"pull_requests:read", (*call).readPull},
		"PATCH " + repo + "/pulls/{pull_number}":           {"pull_requests:write", (*call).changePull},
	}
}

func (c *call) pull(field string) *Pull {
	number, _ := strconv.Atoi(c.parts[field])
	for _, p := range c.state.pulls {
		if p.Number == number {
			return p
		}
	}
	return nil
}

func (c *call) listComments() (int, any, *problem) {
	p := c.pull("issue_number")
	if p == nil {
		return missing()
	}
	var found []*Comment
	for _, m := range c.state.comments {
		if m.Pull == p.Number {
			found = append(found, m)
		}
	}
	out := []any{}
	for _, m := range page(c, found) {
		out = append(out, c.showComment(m))
	}
	return http.StatusOK, out, nil
}

// commentRules bound a comment as it was measured on GitHub.
func (c *call) commentRules() *problem {
	switch body := c.text("body"); {
	case strings.TrimSpace(body) == "":
		return refuse(http.StatusUnprocessableEntity, "Validation Failed: body can't be blank")
	case utf8.RuneCountInString(body) > 65536:
		return refuse(http.StatusUnprocessableEntity, "Validation Failed: body is too long (maximum is 65536 characters)")
	}
	return nil
}

func (c *call) makeComment() (int, any, *problem) {
	p := c.pull("issue_number")
	if p == nil {
		return missing()
	}
	if bad := c.commentRules(); bad != nil {
		return 0, nil, bad
	}
	m := &Comment{ID: c.next(), Pull: p.Number, Login: c.who.Login, Body: c.text("body")}
	c.state.comments = append(c.state.comments, m)
	return http.StatusCreated, c.showComment(m), nil
}

// found gives the comment of the path, nil where there is none.
func (c *call) found() *Comment {
	id, _ := strconv.ParseInt(c.parts["comment_id"], 10, 64)
	for _, m := range c.state.comments {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (c *call) readComment() (int, any, *problem) {
	if m := c.found(); m != nil {
		return http.StatusOK, c.showComment(m), nil
	}
	return missing()
}

func (c *call) changeComment() (int, any, *problem) {
	m := c.found()
	if m == nil {
		return missing()
	}
	if bad := c.commentRules(); bad != nil {
		return 0, nil, bad
	}
	m.Body, m.Updates = c.text("body"), m.Updates+1
	return http.StatusOK, c.showComment(m), nil
}

func (c *call) showComment(m *Comment) map[string]any {
	example := c.spec.example("GET "+repo+"/issues/comments/{comment_id}", 200)
	return with(example, map[string]any{
		"id": m.ID, "body": m.Body, "user": c.person(m.Login, object(example, "user")),
		"html_url": fmt.Sprintf("%s/%s/pull/%d#issuecomment-%d", c.URL, c.Server.Repository(), m.Pull, m.ID),
	})
}

func (c *call) listPulls() (int, any, *problem) {
	q := c.r.URL.Query()
	var found []*Pull
	for _, p := range slices.Backward(c.state.pulls) {
		state := or(q.Get("state"), "open")
		if state != "all" && (state == "closed") != p.Closed || q.Get("base") != "" && q.Get("base") != p.Base {
			continue
		}
		// A head without its owner, or an unknown one, filters nothing.
		if owner, head, ok := strings.Cut(q.Get("head"), ":"); ok && owner == c.c.Owner && head != p.Head {
			continue
		}
		found = append(found, p)
	}
	out := []any{}
	for _, p := range page(c, found) {
		out = append(out, c.showPull(p, "GET "+repo+"/pulls"))
	}
	return http.StatusOK, out, nil
}

func (c *call) makePull() (int, any, *problem) {
	base, head := c.text("base"), strings.TrimPrefix(c.text("head"), c.c.Owner+":")
	draft, _ := c.body["draft"].(bool)
	invalid := func(format string, args ...any) (int, any, *problem) {
		p := refuse(http.StatusUnprocessableEntity, "Validation Failed")
		p.faults = []string{fmt.Sprintf(format, args...)}
		return 0, nil, p
	}
	open := func(p *Pull) bool { return p.Base == base && p.Head == head && !p.Closed }
	switch mayApprove, _ := c.state.actions["can_approve_pull_request_reviews"].(bool); {
	case c.who.Kind == Workflow && !mayApprove:
		return 0, nil, refuse(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests.")
	case c.c.NoPulls:
		return 0, nil, refuse(http.StatusForbidden, "Pull requests are restricted.")
	case c.branch(base) == "" || c.branch(head) == "":
		return invalid("head or base is invalid")
	case draft && c.c.NoDrafts:
		return invalid("Draft pull requests are not supported in this repository.")
	case c.ahead(base, head) == 0:
		return invalid("No commits between %s and %s", base, head)
	case slices.ContainsFunc(c.state.pulls, open):
		return invalid("A pull request already exists for %s:%s.", c.c.Owner, head)
	}
	p := &Pull{Number: int(c.next()), Title: c.text("title"), Body: c.text("body"), Base: base, Head: head, Author: c.who.Login, Draft: draft}
	c.state.pulls = append(c.state.pulls, p)
	return http.StatusCreated, c.showPull(p, "POST "+repo+"/pulls"), nil
}

func (c *call) readPull() (int, any, *problem) {
	p := c.pull("pull_number")
	if p == nil {
		return missing()
	}
	return http.StatusOK, c.showPull(p, "GET "+repo+"/pulls/{pull_number}"), nil
}

func (c *call) changePull() (int, any, *problem) {
	p := c.pull("pull_number")
	if p == nil {
		return missing()
	}
	for field, into := range map[string]*string{"title": &p.Title, "body": &p.Body} {
		if text, ok := c.body[field].(string); ok {
			*into = text
		}
	}
	if state := c.text("state"); state != "" {
		p.Closed = state == "closed"
	}
	return http.StatusOK, c.showPull(p, "PATCH "+repo+"/pulls/{pull_number}"), nil
}

func (c *call) showPull(p *Pull, key string) map[string]any {
	status := http.StatusOK
	if strings.HasPrefix(key, "POST") {
		status = http.StatusCreated
	}
	example := c.spec.example(key, status)
	state := "open"
	if p.Closed {
		state = "closed"
	}
	side := func(field, branch string) map[string]any {
		end := object(example, field)
		home := with(object(end, "repo"), map[string]any{"full_name": c.Server.Repository(), "name": c.c.Name})
		return with(end, map[string]any{"ref": branch, "sha": or(c.branch(branch), strings.Repeat("0", 40)), "label": c.c.Owner + ":" + branch, "repo": home})
	}
	return with(example, map[string]any{
		"number": p.Number, "title": p.Title, "body": p.Body, "state": state, "draft": p.Draft, "user": c.person(p.Author, object(example, "user")),
		"base": side("base", p.Base), "head": side("head", p.Head), "requested_teams": []any{},
		"html_url": fmt.Sprintf("%s/%s/pull/%d", c.URL, c.Server.Repository(), p.Number),
	})
}
