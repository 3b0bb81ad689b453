package forgetest

import (
	"net/http"
	"slices"
	"strconv"
)

// Check is a check run.
type Check struct {
	ID                              int64
	Name, Head, ExternalID, Details string
	Status, Conclusion              string
	Title, Summary, Text            string
	Started, Completed              string
	Annotations                     []map[string]any
	AppID                           int64
	App                             string
	// Updates counts how often it was changed after it was made.
	Updates int
}

// Status is a commit status: anybody who may write can set any.
type Status struct{ Commit, Context, State string }

// Checks gives the check runs on a commit, in the order of their making.
func (s *Server) Checks(commit string) []Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Check
	for _, k := range s.state.checks {
		if k.Head == commit {
			out = append(out, *k)
		}
	}
	return out
}

// Forge makes a check run that nobody asked for through the API.
func (s *Server) Forge(k Check) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.ID, k.Started = s.next(), s.stamp()
	s.state.checks = append(s.state.checks, &k)
	return k.ID
}

// Statuses gives the commit statuses, in the order of their making.
func (s *Server) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.statuses)
}

func checkHandlers() map[string]handler {
	return map[string]handler{
		"POST " + repo + "/check-runs":                           {"checks:write", (*call).makeCheck},
		"PATCH " + repo + "/check-runs/{check_run_id}":           {"checks:write", (*call).changeCheck},
		"GET " + repo + "/check-runs/{check_run_id}":             {"checks:read", (*call).readCheck},
		"GET " + repo + "/check-runs/{check_run_id}/annotations": {"checks:read", (*call).readAnnotations},
		"GET " + repo + "/commits/{ref}/check-runs":              {"checks:read", (*call).listChecks},
		"POST " + repo + "/statuses/{sha}":                       {"statuses:write", (*call).makeStatus},
	}
}

func (c *call) makeCheck() (int, any, *problem) {
	if p := c.checkRules(true); p != nil {
		return 0, nil, p
	}
	head := c.text("head_sha")
	if len(head) != 40 || !c.isCommit(head) {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", head)
	}
	k := &Check{ID: c.next(), Head: head, Status: "queued", Started: c.stamp()}
	k.AppID, k.App = c.who.app()
	c.state.checks = append(c.state.checks, k)
	c.fill(k)
	return http.StatusCreated, c.showCheck(k, 201), nil
}

func (c *call) changeCheck() (int, any, *problem) {
	k := c.check()
	if k == nil {
		return missing()
	}
	if id, _ := c.who.app(); id != k.AppID {
		return 0, nil, refuse(http.StatusForbidden, "Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.", id)
	}
	if p := c.checkRules(false); p != nil {
		return 0, nil, p
	}
	k.Updates++
	c.fill(k)
	return http.StatusOK, c.showCheck(k, 200), nil
}

// fill sets what the request names. Annotations are added to those there are.
func (c *call) fill(k *Check) {
	for field, into := range map[string]*string{
		"name": &k.Name, "external_id": &k.ExternalID, "details_url": &k.Details, "status": &k.Status,
		"conclusion": &k.Conclusion, "started_at": &k.Started, "completed_at": &k.Completed,
	} {
		if text, ok := c.body[field].(string); ok {
			*into = text
		}
	}
	if _, ended := c.body["conclusion"]; ended {
		k.Status, k.Completed = "completed", or(k.Completed, c.stamp())
	} else if k.Status != "completed" {
		k.Conclusion, k.Completed = "", ""
	}
	output, ok := c.body["output"].(map[string]any)
	if !ok {
		return
	}
	for field, into := range map[string]*string{"title": &k.Title, "summary": &k.Summary, "text": &k.Text} {
		if text, ok := output[field].(string); ok {
			*into = text
		}
	}
	annotations, _ := output["annotations"].([]any)
	for _, a := range annotations {
		k.Annotations = append(k.Annotations, a.(map[string]any))
	}
}

func (c *call) check() *Check {
	id, _ := strconv.ParseInt(c.parts["check_run_id"], 10, 64)
	for _, k := range c.state.checks {
		if k.ID == id {
			return k
		}
	}
	return nil
}

func (c *call) readCheck() (int, any, *problem) {
	k := c.check()
	if k == nil {
		return missing()
	}
	return http.StatusOK, c.showCheck(k, 200), nil
}

func (c *call) readAnnotations() (int, any, *problem) {
	k := c.check()
	if k == nil {
		return missing()
	}
	out := []any{}
	for _, a := range page(c, k.Annotations) {
		out = append(out, with(c.example(200), a))
	}
	return http.StatusOK, out, nil
}

// listChecks lists the check runs of a commit. "latest" shows one of a name by
// suite, and all of an app share a suite: the last one hides the others.
func (c *call) listChecks() (int, any, *problem) {
	commit := c.commitOf(c.parts["ref"])
	if commit == "" {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", c.parts["ref"])
	}
	q := c.r.URL.Query()
	var found []*Check
	for _, k := range slices.Backward(c.state.checks) {
		if k.Head != commit || q.Get("check_name") != "" && k.Name != q.Get("check_name") || q.Get("status") != "" && k.Status != q.Get("status") {
			continue
		}
		hidden := slices.ContainsFunc(found, func(o *Check) bool { return o.Name == k.Name && o.AppID == k.AppID })
		if q.Get("filter") == "all" || !hidden {
			found = append(found, k)
		}
	}
	out := []any{}
	for _, k := range page(c, found) {
		out = append(out, c.showCheck(k, 200))
	}
	return http.StatusOK, map[string]any{"total_count": len(found), "check_runs": out}, nil
}

// showCheck is a check run as GitHub shows it.
func (c *call) showCheck(k *Check, status int) map[string]any {
	example := c.spec.example("GET "+repo+"/check-runs/{check_run_id}", 200)
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	app := with(object(example, "app"), map[string]any{"id": k.AppID, "slug": k.App, "name": k.App})
	return with(example, map[string]any{
		"id": k.ID, "name": k.Name, "head_sha": k.Head, "external_id": k.ExternalID, "details_url": null(k.Details),
		"status": k.Status, "conclusion": null(k.Conclusion), "started_at": null(k.Started), "completed_at": null(k.Completed),
		"app": app, "pull_requests": []any{}, "html_url": c.URL + "/" + c.Server.Repository() + "/runs/" + strconv.FormatInt(k.ID, 10),
		"output": map[string]any{
			"title": null(k.Title), "summary": null(k.Summary), "text": null(k.Text), "annotations_count": len(k.Annotations),
			"annotations_url": c.API() + "/repos/" + c.Server.Repository() + "/check-runs/" + strconv.FormatInt(k.ID, 10) + "/annotations",
		},
	})
}

func (c *call) makeStatus() (int, any, *problem) {
	s := Status{c.parts["sha"], or(c.text("context"), "default"), c.text("state")}
	if !c.isCommit(s.Commit) {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", s.Commit)
	}
	c.state.statuses = append(c.state.statuses, s)
	return http.StatusCreated, with(c.example(201), map[string]any{"context": s.Context, "state": s.State}), nil
}
