package forgetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Run is one run of a workflow. The server starts it; whoever tests carries it
// out and says how it went.
type Run struct {
	ID         int64
	Attempt    int
	Workflow   string // the file, for example .github/workflows/ci.yml
	Name       string // what the file calls itself
	Event      string // the event's name
	Actor      string
	Ref        string // GITHUB_REF
	Commit     string // GITHUB_SHA, and where the file was taken from
	Status     string // queued, in_progress or completed
	Conclusion string
	Payload    []byte // the event
	created    string
}

// Dispatch is one repository_dispatch or workflow_dispatch.
type Dispatch struct {
	Event  string // the type of a repository_dispatch, the file of a workflow_dispatch
	Login  string
	Fields map[string]any
}

// Runs gives the runs, oldest first.
func (s *Server) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Run
	for _, r := range s.state.runs {
		out = append(out, *r)
	}
	return out
}

// Dispatches gives the dispatches, oldest first.
func (s *Server) Dispatches() []Dispatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.dispatches)
}

// Begin says that a run is at work.
func (s *Server) Begin(id int64) { s.move(id, "in_progress", "") }

// Finish says how a run ended: success, failure, cancelled …
func (s *Server) Finish(id int64, conclusion string) { s.move(id, "completed", conclusion) }

// Rerun makes the next attempt of a run.
func (s *Server) Rerun(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runOf(id); r != nil {
		r.Attempt, r.Status, r.Conclusion = r.Attempt+1, "queued", ""
	}
}

// Forget deletes a run, as whoever may write can once it has ended.
func (s *Server) Forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.runs = slices.DeleteFunc(s.state.runs, func(r *Run) bool { return r.ID == id })
}

// Schedule fires every schedule of the default branch.
func (s *Server) Schedule() {
	s.mu.Lock()
	defer s.mu.Unlock()
	tip := s.branch(s.c.Default)
	for _, w := range s.workflows(tip) {
		if _, ok := w.on["schedule"]; ok {
			s.start(w, "schedule", "refs/heads/"+s.c.Default, tip, "github-actions[bot]", s.payload("workflow_dispatch", map[string]any{"inputs": gone, "ref": gone, "workflow": gone, "schedule": "17 */6 * * *"}))
		}
	}
}

// Start counts a run that a test made up, such as one of a foreign workflow.
func (s *Server) Start(r Run) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.ID, r.Attempt, r.Status, r.created = s.next(), max(r.Attempt, 1), or(r.Status, "queued"), s.stamp()
	s.state.runs = append(s.state.runs, &r)
	return r.ID
}

func (s *Server) runOf(id int64) *Run {
	for _, r := range s.state.runs {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (s *Server) move(id int64, status, conclusion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runOf(id)
	if r == nil || r.Status == "completed" {
		s.t.Errorf("forgetest: run %d is not there or has ended", id)
		return
	}
	r.Status, r.Conclusion = status, conclusion
	s.chain(r, status)
}

// workflow is one workflow file.
type workflow struct {
	file, name string
	on         map[string]any
}

// workflows reads the workflow files of a commit. One that GitHub could not read
// starts nothing.
func (s *Server) workflows(commit string) []workflow {
	var out []workflow
	all := s.files(commit, ".github/workflows/")
	for _, file := range sortedKeys(all) {
		var body struct {
			Name string `yaml:"name"`
			On   any    `yaml:"on"`
		}
		if yaml.Unmarshal([]byte(all[file]), &body) != nil {
			continue
		}
		w := workflow{file: file, name: or(body.Name, file), on: map[string]any{}}
		switch on := body.On.(type) {
		case string:
			w.on[on] = nil
		case []any:
			for _, name := range on {
				w.on[fmt.Sprint(name)] = nil
			}
		case map[string]any:
			w.on = on
		}
		out = append(out, w)
	}
	return out
}

// filter gives a list under an event; ok is false where there is none.
func (w workflow) filter(event, field string) (list []string, ok bool) {
	fields, _ := w.on[event].(map[string]any)
	switch value := fields[field].(type) {
	case string:
		return []string{value}, true
	case []any:
		for _, v := range value {
			list = append(list, fmt.Sprint(v))
		}
		return list, true
	}
	return nil, false
}

// listens says whether the workflow listens to a type of an event.
func (w workflow) listens(event, kind string) bool {
	if _, ok := w.on[event]; !ok {
		return false
	}
	types, some := w.filter(event, "types")
	return !some || slices.Contains(types, kind)
}

// takes says whether the branch filters of an event let a branch through.
func (w workflow) takes(event, branch string) bool {
	if without, ok := w.filter(event, "branches-ignore"); ok {
		return !anyGlob(without, branch)
	}
	if only, ok := w.filter(event, "branches"); ok {
		return anyGlob(only, branch)
	}
	_, tags := w.filter(event, "tags")
	return !tags
}

func anyGlob(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return glob(p).MatchString(name) })
}

// glob makes a regular expression of a pattern: one star stops at a slash, two do not.
func glob(pattern string) *regexp.Regexp {
	text := regexp.QuoteMeta(pattern)
	text = strings.ReplaceAll(text, `\*\*/`, `(.*/)?`)
	text = strings.ReplaceAll(text, `\*\*`, `.*`)
	text = strings.ReplaceAll(text, `\*`, `[^/]*`)
	return regexp.MustCompile("^" + strings.ReplaceAll(text, `\?`, `[^/]`) + "$")
}

// start counts a run of a workflow, unless that is disabled.
func (s *Server) start(w workflow, event, ref, commit, actor string, payload []byte) *Run {
	if enabled, _ := s.state.actions["enabled"].(bool); !enabled || s.state.disabled[w.file] != "" {
		return nil
	}
	r := &Run{ID: s.next(), Attempt: 1, Workflow: w.file, Name: w.name, Event: event, Actor: actor, Ref: ref, Commit: commit, Status: "queued", Payload: payload, created: s.stamp()}
	s.state.runs = append(s.state.runs, r)
	s.chain(r, "requested")
	return r
}

// chain starts the workflows of the default branch that listen to a run.
func (s *Server) chain(r *Run, kind string) {
	tip := s.branch(s.c.Default)
	for _, w := range s.workflows(tip) {
		if w.file == r.Workflow {
			continue
		}
		names, _ := w.filter("workflow_run", "workflows")
		if !w.listens("workflow_run", kind) || !slices.Contains(names, r.Name) || !w.takes("workflow_run", r.branch()) {
			continue
		}
		run := object(map[string]any{"r": s.showRun(r)}, "r")
		s.start(w, "workflow_run", "refs/heads/"+s.c.Default, tip, r.Actor, s.payload("workflow_run", map[string]any{
			"action": kind, "workflow_run": run, "sender": s.sender(r.Actor), "organization": gone,
		}))
	}
}

func (r *Run) branch() string { return strings.TrimPrefix(r.Ref, "refs/heads/") }

// startPush starts what listens to a push to a branch.
func (s *Server) startPush(who Token, name, before, after string) {
	message := s.message(after)
	for _, skip := range []string{"[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]"} {
		if strings.Contains(message, skip) {
			return
		}
	}
	payload := s.payload("push", map[string]any{
		"ref": "refs/heads/" + name, "before": before, "after": after, "created": before == zeros, "deleted": false,
		"forced":      before != zeros && s.run("merge-base", before, after) != before+"\n",
		"commits":     []any{},
		"head_commit": map[string]any{"id": after, "message": strings.TrimSpace(message)},
		"pusher":      map[string]any{"name": who.Login}, "sender": s.sender(who.Login),
	})
	for _, w := range s.workflows(after) {
		if _, ok := w.on["push"]; ok && w.takes("push", name) {
			s.start(w, "push", "refs/heads/"+name, after, who.Login, payload)
		}
	}
}

// repositoryID is the number of the repository, wherever it is told.
const repositoryID = 1296269

// payload makes an event of a real delivery.
func (s *Server) payload(event string, fields map[string]any) []byte {
	var delivery map[string]any
	if err := json.Unmarshal(s.spec.deliveries[event], &delivery); err != nil {
		panic(err) // it was read at the start
	}
	home := with(object(delivery, "repository"), map[string]any{
		"id": repositoryID, "name": s.c.Name, "full_name": s.Repository(), "private": s.c.Private, "default_branch": s.c.Default,
		"html_url": s.URL + "/" + s.Repository(), "clone_url": s.Remote(),
		"owner": with(object(object(delivery, "repository"), "owner"), map[string]any{"login": s.c.Owner}),
	})
	delivery = with(with(delivery, map[string]any{"repository": home}), fields)
	text, err := json.Marshal(delivery)
	if err != nil {
		panic(err)
	}
	return text
}

func (s *Server) sender(login string) map[string]any {
	var delivery map[string]any
	if err := json.Unmarshal(s.spec.deliveries["push"], &delivery); err != nil {
		panic(err)
	}
	return s.person(login, object(delivery, "sender"))
}

func runHandlers() map[string]handler {
	return map[string]handler{
		"POST " + repo + "/dispatches":                                     {"contents:write", (*call).dispatchRepository},
		"POST " + repo + "/actions/workflows/{workflow_id}/dispatches":     {"actions:write", (*call).dispatchWorkflow},
		"GET " + repo + "/actions/workflows/{workflow_id}":                 {"actions:read", (*call).readWorkflow},
		"PUT " + repo + "/actions/workflows/{workflow_id}/enable":          {"actions:write", (*call).enableWorkflow},
		"GET " + repo + "/actions/workflows/{workflow_id}/runs":            {"actions:read", (*call).listRuns},
		"GET " + repo + "/actions/runs":                                    {"actions:read", (*call).listRuns},
		"GET " + repo + "/actions/runs/{run_id}":                           {"actions:read", (*call).readRun},
		"GET " + repo + "/actions/runs/{run_id}/attempts/{attempt_number}": {"actions:read", (*call).readRun},
		"POST " + repo + "/actions/runs/{run_id}/cancel":                   {"actions:write", (*call).cancelRun},
		"POST " + repo + "/actions/runs/{run_id}/rerun":                    {"actions:write", (*call).rerunRun},
	}
}

func (c *call) dispatchRepository() (int, any, *problem) {
	event := c.text("event_type")
	fields, _ := c.body["client_payload"].(map[string]any)
	size, _ := json.Marshal(fields)
	if event == "" || len(event) > 100 {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "event_type must have 1 to 100 characters")
	}
	if p := payloadRules(fields, len(size)); p != nil {
		return 0, nil, p
	}
	c.state.dispatches = append(c.state.dispatches, Dispatch{event, c.who.Login, fields})
	tip := c.branch(c.c.Default)
	for _, w := range c.workflows(tip) {
		if w.listens("repository_dispatch", event) {
			c.start(w, "repository_dispatch", "refs/heads/"+c.c.Default, tip, c.who.Login, c.payload("repository_dispatch", map[string]any{
				"action": event, "branch": c.c.Default, "client_payload": fields, "sender": c.sender(c.who.Login), "organization": gone, "installation": gone,
			}))
		}
	}
	return http.StatusNoContent, nil, nil
}

// workflowOf finds the workflow file that a path parameter names.
func (c *call) workflowOf(commit string) (workflow, bool) {
	for _, w := range c.workflows(commit) {
		if path.Base(w.file) == c.parts["workflow_id"] {
			return w, true
		}
	}
	return workflow{}, false
}

func (c *call) dispatchWorkflow() (int, any, *problem) {
	branch := strings.TrimPrefix(c.text("ref"), "refs/heads/")
	tip := c.branch(branch)
	if tip == "" {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "No ref found for: %s", branch)
	}
	if _, ok := c.workflowOf(c.branch(c.c.Default)); !ok {
		return missing()
	}
	w, ok := c.workflowOf(tip)
	declared, _ := w.on["workflow_dispatch"].(map[string]any)
	if _, listens := w.on["workflow_dispatch"]; !ok || !listens {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "Workflow does not have 'workflow_dispatch' trigger")
	}
	given, _ := c.body["inputs"].(map[string]any)
	inputs, p := dispatchInputs(declared, given)
	if p != nil {
		return 0, nil, p
	}
	c.state.dispatches = append(c.state.dispatches, Dispatch{c.parts["workflow_id"], c.who.Login, given})
	r := c.start(w, "workflow_dispatch", "refs/heads/"+branch, tip, c.who.Login, c.payload("workflow_dispatch", map[string]any{
		"inputs": inputs, "ref": "refs/heads/" + branch, "workflow": w.file, "sender": c.sender(c.who.Login), "organization": gone,
	}))
	if details, _ := c.body["return_run_details"].(bool); details && r != nil {
		where := fmt.Sprintf("/repos/%s/actions/runs/%d", c.Server.Repository(), r.ID)
		return http.StatusOK, map[string]any{"workflow_run_id": r.ID, "run_url": c.API() + where, "html_url": c.URL + where}, nil
	}
	return http.StatusNoContent, nil, nil
}

// dispatchInputs checks the inputs of a dispatch against those that the file
// declares, and adds the defaults.
func dispatchInputs(declared, given map[string]any) (map[string]any, *problem) {
	fields, _ := declared["inputs"].(map[string]any)
	out := map[string]any{}
	for name := range given {
		if _, ok := fields[name]; !ok {
			return nil, refuse(http.StatusUnprocessableEntity, "Unexpected inputs provided: [%q]", name)
		}
	}
	for name, f := range fields {
		f, _ := f.(map[string]any)
		value, ok := given[name]
		if !ok {
			if value, ok = f["default"]; !ok {
				value = ""
			}
		}
		if must, _ := f["required"].(bool); must && value == "" {
			return nil, refuse(http.StatusUnprocessableEntity, "Required input '%s' not provided", name)
		}
		if options, ok := f["options"].([]any); ok && value != "" && !slices.Contains(options, value) {
			return nil, refuse(http.StatusUnprocessableEntity, "Provided value '%v' for input '%s' not in the list of allowed values", value, name)
		}
		out[name] = fmt.Sprint(value)
	}
	return out, nil
}

func (c *call) readWorkflow() (int, any, *problem) {
	w, ok := c.workflowOf(c.branch(c.c.Default))
	if !ok {
		return missing()
	}
	return http.StatusOK, with(c.example(200), map[string]any{"name": w.name, "path": w.file, "state": or(c.state.disabled[w.file], "active")}), nil
}

func (c *call) enableWorkflow() (int, any, *problem) {
	w, ok := c.workflowOf(c.branch(c.c.Default))
	if !ok {
		return missing()
	}
	delete(c.state.disabled, w.file)
	return http.StatusNoContent, nil, nil
}

// Disable disables a workflow file: disabled_manually or disabled_inactivity.
func (s *Server) Disable(file, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.disabled[file] = why
}

func (c *call) listRuns() (int, any, *problem) {
	q := c.r.URL.Query()
	var found []*Run
	for _, r := range slices.Backward(c.state.runs) {
		if file := c.parts["workflow_id"]; file != "" && path.Base(r.Workflow) != file {
			continue
		}
		if q.Get("event") != "" && q.Get("event") != r.Event || q.Get("branch") != "" && q.Get("branch") != r.branch() ||
			q.Get("status") != "" && q.Get("status") != r.Status && q.Get("status") != r.Conclusion {
			continue
		}
		found = append(found, r)
	}
	out := []any{}
	for _, r := range page(c, found) {
		out = append(out, c.showRun(r))
	}
	return http.StatusOK, map[string]any{"total_count": len(found), "workflow_runs": out}, nil
}

func (c *call) run() *Run {
	id, _ := strconv.ParseInt(c.parts["run_id"], 10, 64)
	return c.runOf(id)
}

func (c *call) readRun() (int, any, *problem) {
	r := c.run()
	if r == nil {
		return missing()
	}
	shown := *r
	if text := c.parts["attempt_number"]; text != "" {
		n, _ := strconv.Atoi(text)
		if n < 1 || n > r.Attempt {
			return missing()
		}
		if n < r.Attempt {
			shown.Attempt, shown.Status, shown.Conclusion = n, "completed", or(r.Conclusion, "cancelled")
		}
	}
	return http.StatusOK, c.showRun(&shown), nil
}

func (c *call) cancelRun() (int, any, *problem) {
	r := c.run()
	if r == nil {
		return missing()
	}
	if r.Status == "completed" {
		return 0, nil, refuse(http.StatusConflict, "Cannot cancel a workflow run that is completed.")
	}
	r.Status, r.Conclusion = "completed", "cancelled"
	c.chain(r, "completed")
	return http.StatusAccepted, map[string]any{}, nil
}

func (c *call) rerunRun() (int, any, *problem) {
	r := c.run()
	if r == nil {
		return missing()
	}
	r.Attempt, r.Status, r.Conclusion = r.Attempt+1, "queued", ""
	return http.StatusCreated, map[string]any{}, nil
}

func (s *Server) showRun(r *Run) map[string]any {
	example := s.spec.example("GET "+repo+"/actions/runs/{run_id}", 200)
	var conclusion any
	if r.Conclusion != "" {
		conclusion = r.Conclusion
	}
	actor := s.person(r.Actor, object(example, "actor"))
	home := with(object(example, "repository"), map[string]any{"id": repositoryID, "full_name": s.Repository(), "name": s.c.Name})
	title, _, _ := strings.Cut(s.message(r.Commit), "\n")
	where := fmt.Sprintf("/actions/runs/%d", r.ID)
	return with(example, map[string]any{
		"id": r.ID, "run_attempt": r.Attempt, "name": r.Name, "path": r.Workflow, "event": r.Event, "status": r.Status, "conclusion": conclusion,
		"head_branch": r.branch(), "head_sha": r.Commit, "display_title": title, "actor": actor, "triggering_actor": maps.Clone(actor),
		"repository": home, "head_repository": maps.Clone(home), "html_url": s.URL + "/" + s.Repository() + where, "pull_requests": []any{},
		"created_at": r.created, "updated_at": r.created, "run_started_at": r.created,
	})
}

func basic(token string) string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
