package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Repository is what is to be known about the repository as a whole.
type Repository struct {
	ID           int64
	Private      bool
	Default      string // the default branch
	Organisation bool   // whether an organisation owns it
	// Rights are those of the token's user: admin, maintain, push, triage, pull.
	// The token itself may have fewer.
	Rights map[string]bool
	// Scopes are those of a classic token, nil for every other kind, which does
	// not tell its own rights.
	Scopes []string
}

// Repository reads what is to be known about the repository.
func (c *Client) Repository(ctx context.Context) (Repository, error) {
	r, response, err := c.gh.Repositories.Get(ctx, c.Place.Owner, c.Place.Name)
	if err != nil {
		return Repository{}, c.wrap(ctx, "reading the repository "+c.Place.String(), err)
	}
	out := Repository{
		ID: r.GetID(), Private: r.GetPrivate(), Default: r.GetDefaultBranch(),
		Organisation: r.GetOwner().GetType() == "Organization", Rights: r.GetPermissions(),
	}
	if text, told := response.Header["X-Oauth-Scopes"]; told {
		out.Scopes = []string{}
		for _, s := range strings.Split(strings.Join(text, ","), ",") {
			if s = strings.TrimSpace(s); s != "" {
				out.Scopes = append(out.Scopes, s)
			}
		}
	}
	return out, nil
}

// Environment is what guards the secrets of a job.
type Environment struct {
	Name        string
	Selected    bool     // only the branches and tags of Patterns may use it
	Protected   bool     // only protected branches may use it
	Patterns    []string // of branches, as they are written; a tag's begins with "tag:"
	PatternIDs  []int64
	Reviewers   []Reviewer
	WaitMinutes int
	AdminBypass bool
}

// Reviewer is who may have to approve a job.
type Reviewer struct {
	Type string `json:"type"` // User or Team
	ID   int64  `json:"id"`
}

// Environment reads an environment, nil where there is none.
func (c *Client) Environment(ctx context.Context, name string) (*Environment, error) {
	doing := "reading environment " + name
	e, _, err := c.gh.Repositories.GetEnvironment(ctx, c.Place.Owner, c.Place.Name, url.PathEscape(name))
	if err = c.wrap(ctx, doing, err); err != nil {
		return nil, unlessMissing(err)
	}
	out := &Environment{
		Name: e.GetName(), AdminBypass: e.GetCanAdminsBypass(),
		Selected: e.GetDeploymentBranchPolicy().GetCustomBranchPolicies(), Protected: e.GetDeploymentBranchPolicy().GetProtectedBranches(),
	}
	for _, rule := range e.ProtectionRules {
		for _, r := range rule.Reviewers {
			it := Reviewer{Type: r.GetType()}
			switch who := r.Reviewer.(type) {
			case *github.User:
				it.ID = who.GetID()
			case *github.Team:
				it.ID = who.GetID()
			}
			out.Reviewers = append(out.Reviewers, it)
		}
		out.WaitMinutes += rule.GetWaitTimer()
	}
	if !out.Selected {
		return out, nil
	}
	var answer struct {
		Policies []struct {
			ID         int64  `json:"id"`
			Name, Type string // the type is missing in old answers, and means branch
		} `json:"branch_policies"`
	}
	err = c.call(ctx, "GET", "environments/"+url.PathEscape(name)+"/deployment-branch-policies?per_page=100", nil, &answer)
	for _, p := range answer.Policies {
		pattern := p.Name
		if p.Type == "tag" {
			pattern = "tag:" + pattern
		}
		out.Patterns, out.PatternIDs = append(out.Patterns, pattern), append(out.PatternIDs, p.ID)
	}
	return out, c.wrap(ctx, doing, err)
}

// unlessMissing turns the error of a thing that is not there into none.
func unlessMissing(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Missing() {
		return nil
	}
	return err
}

// Rule is one rule of a ruleset or of a branch, its parameters as they came.
type Rule struct {
	Type       string          `json:"type"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	RulesetID  int64           `json:"ruleset_id,omitempty"`
}

// Bypass is who a ruleset does not bind.
type Bypass struct {
	ID   *int64 `json:"actor_id"`
	Type string `json:"actor_type"`
	Mode string `json:"bypass_mode"`
}

// Ruleset is a ruleset, read as raw JSON: go-github refuses the whole of one
// that has a rule newer than itself.
type Ruleset struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Target      string `json:"target"`
	Enforcement string `json:"enforcement"`
	SourceType  string `json:"source_type"` // Repository, Organization …
	Conditions  struct {
		Ref struct {
			Include []string `json:"include"`
			Exclude []string `json:"exclude"`
		} `json:"ref_name"`
	} `json:"conditions"`
	Rules []Rule `json:"rules"`
	// Bypass is nil where the token may not see it.
	Bypass []Bypass `json:"bypass_actors"`
}

// Rulesets reads every ruleset of the repository and above it, whole.
func (c *Client) Rulesets(ctx context.Context) ([]Ruleset, error) {
	var heads []Ruleset
	if err := c.call(ctx, "GET", "rulesets?per_page=100&includes_parents=true", nil, &heads); err != nil {
		return nil, c.wrap(ctx, "listing the rulesets", err)
	}
	out := []Ruleset{}
	for _, h := range heads {
		var full Ruleset
		if err := c.call(ctx, "GET", fmt.Sprintf("rulesets/%d?includes_parents=true", h.ID), nil, &full); err != nil {
			return nil, c.wrap(ctx, "reading ruleset "+h.Name, err)
		}
		out = append(out, full)
	}
	return out, nil
}

// BranchRules reads the active rules that bind a branch, whether it exists or
// not. Any reader may.
func (c *Client) BranchRules(ctx context.Context, branch string) ([]Rule, error) {
	rules := []Rule{}
	err := c.call(ctx, "GET", "rules/branches/"+escapeRef(branch)+"?per_page=100", nil, &rules)
	return rules, c.wrap(ctx, "reading the rules of branch "+branch, err)
}

// Protection is the older kind of protection of one branch.
type Protection struct {
	Approvals    int  // required approving reviews; -1: no pull request is required
	CodeOwners   bool // a code owner must approve
	LastPush     bool // whoever pushed last may not be the one who approves
	Admins       bool // it binds administrators too
	ForcePush    bool
	Deletion     bool
	Signatures   bool // only signed commits are taken
	StatusChecks bool // some checks must succeed first
	Restricted   bool // only some may push
}

// Protection reads the older kind of protection, nil where a branch has none.
// It needs an administrator's token.
func (c *Client) Protection(ctx context.Context, branch string) (*Protection, error) {
	p, _, err := c.gh.Repositories.GetBranchProtection(ctx, c.Place.Owner, c.Place.Name, branch)
	if errors.Is(err, github.ErrBranchNotProtected) {
		return nil, nil
	}
	if err != nil {
		return nil, unlessMissing(c.wrap(ctx, "reading the protection of branch "+branch, err))
	}
	out := &Protection{
		Approvals: -1, Admins: p.GetEnforceAdmins() != nil && p.GetEnforceAdmins().Enabled,
		ForcePush: p.GetAllowForcePushes() != nil && p.GetAllowForcePushes().Enabled,
		Deletion:  p.GetAllowDeletions() != nil && p.GetAllowDeletions().Enabled, Signatures: p.GetRequiredSignatures().GetEnabled(),
		StatusChecks: p.GetRequiredStatusChecks() != nil, Restricted: p.GetRestrictions() != nil,
	}
	if r := p.GetRequiredPullRequestReviews(); r != nil {
		out.Approvals, out.CodeOwners, out.LastPush = r.RequiredApprovingReviewCount, r.RequireCodeOwnerReviews, r.RequireLastPushApproval
	}
	return out, nil
}

// DeployKey is a key of the repository alone.
type DeployKey struct {
	ID       int64
	Title    string
	ReadOnly bool
}

// DeployKeys lists the deploy keys. It needs an administrator's token.
func (c *Client) DeployKeys(ctx context.Context) ([]DeployKey, error) {
	keys, err := list(func(page github.ListOptions) ([]*github.Key, *github.Response, error) {
		return c.gh.Repositories.ListKeys(ctx, c.Place.Owner, c.Place.Name, &page)
	})
	out := []DeployKey{}
	for _, k := range keys {
		out = append(out, DeployKey{k.GetID(), k.GetTitle(), k.GetReadOnly()})
	}
	return out, c.wrap(ctx, "listing the deploy keys", err)
}

// ActionsSettings are the repository's settings of Actions.
type ActionsSettings struct {
	Enabled     bool   `json:"enabled"`
	Allowed     string `json:"allowed_actions"` // all, local_only or selected
	PinRequired bool   `json:"sha_pinning_required"`
	Default     string `json:"default_workflow_permissions"` // read or write
	MayApprove  bool   `json:"can_approve_pull_request_reviews"`
}

// Actions reads the settings of Actions. It needs an administrator's token.
func (c *Client) Actions(ctx context.Context) (ActionsSettings, error) {
	var s ActionsSettings
	err := c.call(ctx, "GET", "actions/permissions", nil, &s)
	if err == nil {
		err = c.call(ctx, "GET", "actions/permissions/workflow", nil, &s)
	}
	return s, c.wrap(ctx, "reading the settings of Actions", err)
}

// Secrets lists the names of the secrets that every workflow of the repository
// can read: its own and those of its organisation.
func (c *Client) Secrets(ctx context.Context) ([]string, error) {
	names, err := c.secrets(ctx, "actions/secrets")
	if err != nil {
		return nil, err
	}
	above, err := c.secrets(ctx, "actions/organization-secrets")
	return append(names, above...), unlessMissing(err)
}

// EnvironmentSecrets lists the names of an environment's secrets.
func (c *Client) EnvironmentSecrets(ctx context.Context, environment string) ([]string, error) {
	return c.secrets(ctx, "environments/"+url.PathEscape(environment)+"/secrets")
}

func (c *Client) secrets(ctx context.Context, path string) ([]string, error) {
	var answer struct {
		Secrets []struct{ Name string }
	}
	err := c.call(ctx, "GET", path+"?per_page=100", nil, &answer)
	out := []string{}
	for _, s := range answer.Secrets {
		out = append(out, s.Name)
	}
	return out, c.wrap(ctx, "listing the names of secrets ("+path+")", err)
}

// Branches gives the branches whose names begin with prefix, and their commits.
func (c *Client) Branches(ctx context.Context, prefix string) (map[string]string, error) {
	refs, err := list(func(page github.ListOptions) ([]*github.Reference, *github.Response, error) {
		return c.gh.Git.ListMatchingRefs(ctx, c.Place.Owner, c.Place.Name, &github.ReferenceListOptions{Ref: "heads/" + prefix, ListOptions: page})
	})
	out := map[string]string{}
	for _, r := range refs {
		out[strings.TrimPrefix(r.GetRef(), "refs/heads/")] = r.GetObject().GetSHA()
	}
	return out, c.wrap(ctx, "listing the branches", err)
}

// File reads a file at a branch or commit, nil where there is none.
func (c *Client) File(ctx context.Context, ref, path string) ([]byte, error) {
	file, folder, _, err := c.gh.Repositories.GetContents(ctx, c.Place.Owner, c.Place.Name, path, &github.RepositoryContentGetOptions{Ref: ref})
	if err != nil {
		return nil, unlessMissing(c.wrap(ctx, "reading "+path, err))
	}
	if folder != nil || file.GetType() != "file" {
		return nil, &Error{Doing: "reading " + path, Status: http.StatusOK, Why: "it is no file"}
	}
	text, err := file.GetContent()
	return []byte(text), c.wrap(ctx, "reading "+path, err)
}

// WorkflowState gives the state of a workflow file that GitHub knows: active,
// disabled_manually, disabled_inactivity …; "" for one that it does not know.
func (c *Client) WorkflowState(ctx context.Context, file string) (string, error) {
	w, _, err := c.gh.Actions.GetWorkflowByFileName(ctx, c.Place.Owner, c.Place.Name, url.PathEscape(file))
	return w.GetState(), unlessMissing(c.wrap(ctx, "reading workflow "+file, err))
}
