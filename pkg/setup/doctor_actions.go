package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/workflows"
)

// request makes one change of the settings.
func request(method, path string, body any) forge.Request {
	r := forge.Request{Method: method, Path: path}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(err) // maps, strings and numbers of this file
		}
		r.Body = text
	}
	return r
}

// fields is an object of the API.
type fields map[string]any

// actions looks whether workflows run at all, and with which rights by default.
func (d *doctor) actions(ctx context.Context) {
	s, err := d.c.Actions(ctx)
	if d.hidden("actions", err) {
		return
	}
	if !s.Enabled {
		d.row("actions", Broken, "enable Actions for this repository", "Actions are disabled").
			Requests = []forge.Request{request("PUT", "actions/permissions", fields{"enabled": true})}
	} else if s.Allowed != "all" {
		d.row("actions", Warning, "allow the actions that .github/workflows/research-loop.yml names", "only %s actions may run", s.Allowed)
	} else {
		d.row("actions", Fine, "", "enabled")
	}
	if s.Default != "read" {
		d.row("workflow permissions", Warning, "make read the default", "workflows that name no permissions may write").Requests = defaults(s.MayApprove)
	} else {
		d.row("workflow permissions", Fine, "", "workflows that name no permissions may read only")
	}
}

func defaults(approve bool) []forge.Request {
	return []forge.Request{request("PUT", "actions/permissions/workflow", fields{
		"default_workflow_permissions": "read", "can_approve_pull_request_reviews": approve,
	})}
}

// approvals looks whether a workflow, which whoever may write can push, may
// approve the pull request that its author wants merged.
func (d *doctor) approvals(ctx context.Context) {
	const name = "approvals by workflows"
	s, err := d.c.Actions(ctx)
	if err != nil {
		d.hidden(name, err)
		return
	}
	if !s.MayApprove {
		d.row(name, Fine, "", "workflows may neither open nor approve pull requests; start gives the page to open one")
		return
	}
	state, detail := Broken, "a workflow may approve pull requests, so an author's own workflow may approve the author's"
	if _, owners := d.review(ctx); owners {
		state, detail = Warning, "a workflow may approve pull requests; code owners must approve too"
	}
	d.row(name, state, "turn off “Allow GitHub Actions to create and approve pull requests”", "%s", detail).Requests = defaults(false)
}

// workflows looks whether the default branch holds the files of this version.
func (d *doctor) workflows(ctx context.Context) {
	for _, file := range slices.Sorted(maps.Keys(d.want.Workflows)) {
		name := "workflow " + path.Base(file)
		have, err := d.c.File(ctx, d.repo.Default, file)
		if d.hidden(name, err) {
			continue
		}
		state, err := d.c.WorkflowState(ctx, path.Base(file))
		if err != nil && !unseen(err) {
			d.err = err
			return
		}
		const renew = "commit the file of this version to the default branch: research-loop init --workflows writes it"
		switch {
		case have == nil:
			d.row(name, Broken, renew, "%s is not on branch %s", file, d.repo.Default)
		case strings.HasPrefix(state, "disabled"):
			d.row(name, Broken, "enable it", "GitHub says %s", state).
				Requests = []forge.Request{request("PUT", "actions/workflows/"+path.Base(file)+"/enable", nil)}
		case unpinned(d.want.Workflows[file], have):
			d.row(name, Broken, renew, "it does not name one released commit of the action")
		case !bytes.Equal(strip(have), strip(d.want.Workflows[file])):
			d.row(name, Warning, renew, "it differs from the file of this version outside the marked places")
		default:
			d.row(name, Fine, "", "on branch %s, as this version ships it", d.repo.Default)
		}
	}
}

// unpinned says that a file ought to name a commit of the action and names none.
func unpinned(want, have []byte) bool {
	if commit, _ := workflows.Pinned(want); commit == "" {
		return false
	}
	commit, _ := workflows.Pinned(have)
	return strings.Trim(commit, "0") == ""
}

// The marks between which a maintainer sets up toolchains.
const (
	ownFrom = "# >>> yours"
	ownTo   = "# <<< yours"
)

// strip takes out what belongs to the maintainer, which commit of the action is
// named, and the ends of lines that an editor may have changed.
func strip(file []byte) []byte {
	var out bytes.Buffer
	own := false
	for line := range bytes.Lines(workflows.Unpin(file)) {
		line = bytes.TrimRight(line, " \t\r\n")
		switch text := string(bytes.TrimSpace(line)); {
		case strings.HasPrefix(text, ownFrom):
			own = true
		case strings.HasPrefix(text, ownTo):
			own = false
		case !own:
			out.Write(append(line, '\n'))
		}
	}
	return out.Bytes()
}

// environments looks at what guards the secrets.
func (d *doctor) environments(ctx context.Context) {
	d.secrets = true
	for _, it := range []struct {
		name, secret string
		attempts     bool // attempts use it, so nobody may have to approve
	}{{judgeEnvironment, judgeSecret, true}, {executeEnvironment, inputsSecret, true}, {finalEnvironment, inputsSecret, false}} {
		e, err := d.c.Environment(ctx, it.name)
		name := "environment " + it.name
		if d.hidden(name, err) {
			d.secrets = false
			continue
		}
		ok := d.environment(name, it.name, it.attempts, e)
		if e != nil && ok && d.want.Keys {
			ok = d.environmentSecret(ctx, it.name, it.secret)
		}
		d.secrets = d.secrets && ok
	}
	if d.want.RepositorySecrets {
		d.secrets = true
		d.because("repository-secrets: the gate is hidden only from authors who cannot push workflow files")
	}
}

// environment judges one environment. One that is not there, or that has no rule,
// is open to every workflow of every branch.
func (d *doctor) environment(name, key string, attempts bool, e *forge.Environment) bool {
	wrong := Broken
	if !d.want.Keys || d.want.RepositorySecrets {
		wrong = Warning // there is nothing in it to be kept
	}
	want := []string{d.repo.Default}
	fix := fmt.Sprintf("let only the branch %s use it", d.repo.Default)
	switch {
	case e == nil:
		d.row(name, wrong, fix, "there is none; a job that names it would make one without rules").Requests = d.admit(key, nil, attempts)
	case !e.Selected || !slices.Equal(e.Patterns, want):
		d.row(name, wrong, fix, "its secrets are given to %s", whoMay(e)).Requests = d.admit(key, e, attempts)
	case attempts && (len(e.Reviewers) > 0 || e.WaitMinutes > 0):
		d.row(name, wrong, "take reviewers and waiting time away: attempts use it", "every attempt would wait: %d reviewers, %d minutes", len(e.Reviewers), e.WaitMinutes).
			Requests = d.admit(key, e, attempts)
		return false
	default:
		d.row(name, Fine, "", "only branch %s%s", d.repo.Default, guards(e))
		return true
	}
	return false
}

func guards(e *forge.Environment) string {
	if len(e.Reviewers) == 0 {
		return ""
	}
	return fmt.Sprintf(", required reviewers: %d", len(e.Reviewers))
}

func whoMay(e *forge.Environment) string {
	switch {
	case e.Selected && len(e.Patterns) == 0:
		return "no branch"
	case e.Selected:
		return "the branches and tags " + strings.Join(e.Patterns, ", ")
	case e.Protected:
		return "protected branches, and where none is protected to all"
	}
	return "every branch"
}

// admit lets only the default branch use an environment. GitHub drops what such a
// change does not name, so it names the reviewers of the final environment again.
func (d *doctor) admit(name string, e *forge.Environment, attempts bool) []forge.Request {
	at := "environments/" + name
	var out []forge.Request
	if e == nil || !e.Selected || attempts && (len(e.Reviewers) > 0 || e.WaitMinutes > 0) {
		body := fields{"deployment_branch_policy": fields{"protected_branches": false, "custom_branch_policies": true}}
		if e != nil && !attempts {
			body["reviewers"], body["wait_timer"] = e.Reviewers, e.WaitMinutes
		}
		out = append(out, request("PUT", at, body))
	}
	there := false
	if e != nil {
		for i, pattern := range e.Patterns {
			if pattern == d.repo.Default {
				there = true
				continue
			}
			out = append(out, request("DELETE", fmt.Sprintf("%s/deployment-branch-policies/%d", at, e.PatternIDs[i]), nil))
		}
	}
	if !there {
		out = append(out, request("POST", at+"/deployment-branch-policies", fields{"name": d.repo.Default, "type": "branch"}))
	}
	return out
}

// environmentSecret looks for the name of a secret.
func (d *doctor) environmentSecret(ctx context.Context, environment, secret string) bool {
	name := fmt.Sprintf("secret %s of %s", secret, environment)
	have, err := d.c.EnvironmentSecrets(ctx, environment)
	if d.hidden(name, err) {
		return d.want.Job && d.err == nil
	}
	if d.want.RepositorySecrets {
		return true
	}
	if !slices.Contains(have, secret) {
		d.row(name, Broken, "research-loop gate keygen --gh, or gh secret set "+secret+" --env "+environment, "it is not there")
		return false
	}
	d.row(name, Fine, "", "there")
	return true
}

// repositorySecrets looks for our secrets where every workflow of every branch
// can read them.
func (d *doctor) repositorySecrets(ctx context.Context) {
	const name = "repository secrets"
	have, err := d.c.Secrets(ctx)
	if d.hidden(name, err) {
		return
	}
	var ours []string
	for _, s := range have {
		if strings.HasPrefix(s, "RESEARCH_LOOP_") {
			ours = append(ours, s)
		}
	}
	switch {
	case len(ours) == 0:
		d.row(name, Fine, "", "none of ours")
	case d.want.RepositorySecrets:
		d.row(name, Warning, "use environments where the plan has them", "%s can be read by whoever can push a workflow file; the contract says so", strings.Join(ours, ", "))
	default:
		d.secrets = false
		d.row(name, Broken, "gh secret delete "+strings.Join(ours, "; gh secret delete ")+"; then research-loop gate keygen, for what was readable is known",
			"%s can be read by whoever can push a workflow file", strings.Join(ours, ", "))
	}
}
