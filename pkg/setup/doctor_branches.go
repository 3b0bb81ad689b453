package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/forge"
)

// The rulesets that Fix makes, by the names that it knows them by again.
const (
	trunkRules = "research-loop: default branch"
	runRules   = "research-loop: run branches"
	stateRules = "research-loop: state branches"

	anyRun   = "research-loop/doctor"       // stands for every run branch
	anyState = "research-loop-state/doctor" // stands for every state branch
)

// actionsApp is GitHub's app for Actions: whatever it may, every workflow may.
const actionsApp = 15368

// review says how the default branch is reviewed: whether at least one person must
// approve, and whether that must be a code owner.
func (d *doctor) review(ctx context.Context) (approved, owners bool) {
	rules, err := d.c.BranchRules(ctx, d.repo.Default)
	if err != nil {
		return false, false
	}
	for _, r := range rules {
		var p struct {
			Approvals int  `json:"required_approving_review_count"`
			Owners    bool `json:"require_code_owner_review"`
		}
		if r.Type == "pull_request" && json.Unmarshal(r.Parameters, &p) == nil && p.Approvals > 0 && !d.open(r.RulesetID) {
			approved, owners = true, owners || p.Owners
		}
	}
	if p, err := d.c.Protection(ctx, d.repo.Default); err == nil && p != nil && p.Approvals > 0 {
		approved, owners = true, owners || p.CodeOwners
	}
	return approved, owners
}

// open says that a ruleset lets pass whoever may write, or every workflow.
func (d *doctor) open(id int64) bool {
	for _, r := range d.rulesets {
		if r.ID != id {
			continue
		}
		for _, b := range r.Bypass {
			writers := b.Type == "RepositoryRole" && b.ID != nil && *b.ID == 4
			workflows := b.Type == "Integration" && b.ID != nil && *b.ID == actionsApp
			if b.Mode != "pull_request" && (writers || workflows) {
				return true
			}
		}
	}
	return false
}

// defaultBranch looks whether the branch that everything is read from changes by
// reviewed pull requests only.
func (d *doctor) defaultBranch(ctx context.Context) {
	name := "default branch " + d.repo.Default
	have, err := d.kinds(ctx, d.repo.Default)
	if d.hidden(name, err) {
		return
	}
	approved, owners := d.review(ctx)
	protection, err := d.c.Protection(ctx, d.repo.Default)
	if err != nil && !unseen(err) {
		d.err = err
		return
	}
	older := protection != nil
	straight := have["non_fast_forward"] || older && !protection.ForcePush
	kept := have["deletion"] || older && !protection.Deletion
	if d.trunk = approved && straight && kept; d.trunk {
		d.row(name, Fine, "", "changes by reviewed pull requests only%s", map[bool]string{true: ", code owners must approve"}[owners])
		return
	}
	var lacks []string
	for _, it := range []struct {
		ok   bool
		what string
	}{{approved, "an approval by a second person"}, {straight, "a rule against force-pushes"}, {kept, "a rule against deletion"}} {
		if !it.ok {
			lacks = append(lacks, it.what)
		}
	}
	state := Warning
	if d.want.Keys {
		state = Broken
	}
	d.row(name, state, "protect it by a ruleset", "it lacks %s", strings.Join(lacks, ", ")).Requests = d.ruleset(trunkRules, fields{
		"include": []string{"~DEFAULT_BRANCH"},
	}, []fields{
		{"type": "deletion"}, {"type": "non_fast_forward"},
		{"type": "pull_request", "parameters": fields{
			"required_approving_review_count": 1, "dismiss_stale_reviews_on_push": true, "require_code_owner_review": true,
			"require_last_push_approval": true, "required_review_thread_resolution": false,
		}},
	}, []fields{{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "pull_request"}}) // an administrator who is alone may merge
}

// kinds gives the types of the rules that bind a branch.
func (d *doctor) kinds(ctx context.Context, branch string) (map[string]bool, error) {
	rules, err := d.c.BranchRules(ctx, branch)
	out := map[string]bool{}
	for _, r := range rules {
		out[r.Type] = true
	}
	return out, err
}

// blocking are the rules under which a workflow's token cannot push.
func blocking() []string {
	return []string{"creation", "update", "pull_request", "required_signatures", "required_status_checks", "required_linear_history", "merge_queue", "workflows", "required_deployments"}
}

// blockers lists those among the rules of a branch.
func blockers(have map[string]bool) []string {
	var out []string
	for _, kind := range blocking() {
		if have[kind] {
			out = append(out, kind)
		}
	}
	return out
}

// runBranches looks whether history stays on run branches, and whether the restore
// commit can be pushed to them.
func (d *doctor) runBranches(ctx context.Context) {
	const name = "run branches"
	have, err := d.kinds(ctx, anyRun)
	if d.hidden(name, err) {
		return
	}
	if stop := blockers(have); len(stop) > 0 {
		d.row(name, Broken, "leave research-loop/** out of the rulesets that hold these rules, but for deletion and non_fast_forward",
			"a restore could not be pushed: %s", strings.Join(stop, ", "))
		return
	}
	if have["deletion"] && have["non_fast_forward"] {
		d.row(name, Fine, "", "neither deletion nor force-pushes")
		return
	}
	d.row(name, Warning, "forbid deletion and force-pushes by a ruleset", "whoever may write can delete or rewrite them; the records would tell").
		Requests = d.ruleset(runRules, fields{"include": []string{"refs/heads/research-loop/**"}}, []fields{{"type": "deletion"}, {"type": "non_fast_forward"}}, nil)
}

// stateBranches looks who can write the records.
func (d *doctor) stateBranches(ctx context.Context) {
	const name = "state branches"
	have, err := d.kinds(ctx, anyState)
	if d.hidden(name, err) {
		return
	}
	closed := have["creation"] && have["update"] && have["deletion"] && have["non_fast_forward"]
	keys, err := d.c.DeployKeys(ctx)
	if d.want.Job && err != nil && unseen(err) {
		d.stateInJob(name, closed)
		return
	}
	const blind = "this token does not see who may write the state branch"
	if d.hidden("deploy keys", err) {
		d.short = blind
		return
	}
	writing := slices.DeleteFunc(slices.Clone(keys), func(k forge.DeployKey) bool { return k.ReadOnly })
	pass, known := d.passes()
	stored := d.keyRows(ctx, writing, closed)
	switch {
	case closed && !known:
		d.short = blind
		d.row(name, Unclear, "run research-loop doctor with an administrator's token", "closed, but this token may not see for whom not")
	case closed && len(pass) == 0:
		d.row(name, Broken, "let a deploy key pass the ruleset", "nobody may write them, the supervisor included")
	case closed && !slices.Equal(pass, []string{"DeployKey"}) && !slices.Equal(pass, []string{"Integration"}):
		d.row(name, Warning, "let only a deploy key pass", "these pass the ruleset: %s", strings.Join(pass, ", "))
	case closed && pass[0] == "DeployKey" && (len(writing) != 1 || !stored):
		d.row(name, Broken, "there must be one deploy key that writes, and its private half in environment "+judgeEnvironment, "%d deploy keys may write", len(writing))
	case closed:
		d.state = true
		d.row(name, Fine, "", "only a %s may write them", map[string]string{"DeployKey": "deploy key", "Integration": "GitHub App"}[pass[0]])
	case !have["deletion"] || !have["non_fast_forward"] || len(writing) == 1 && stored:
		d.openState(name, len(writing) == 1 && stored)
	default:
		d.row(name, Fine, "", "neither deletion nor force-pushes; whoever may write can append: signatures tell")
	}
}

// stateInJob judges what a job sees of the state branches: the rules that bind them
// and the deploy key that it was given, but neither what other keys there are nor
// who passes the rules. That is attested, or the level stays below.
func (d *doctor) stateInJob(name string, closed bool) {
	switch {
	case closed && d.want.DeployKey && d.want.Attested:
		d.state = true
		d.row(name, Fine, "", "closed; that only the deploy key of this job may write them is attested by an administrator")
		d.because("that only the deploy key may write the state branch is by attestation of the administrator who started the run")
		return
	case closed && d.want.DeployKey:
		d.short = "the state branch is closed, and nobody attested for whom not: research-loop start with an administrator's token does"
	case closed:
		d.short = "the state branch is closed, and this job was given no deploy key to write it with"
	case d.want.Attested:
		d.short = "level protected was attested, and no rules close the state branch: whoever may write can change it"
	}
	d.row(name, Unclear, "research-loop start with an administrator's token", "%s", d.short)
}

// openState offers the strongest ruleset that the repository is ready for.
func (d *doctor) openState(name string, deployKey bool) {
	rules := []fields{{"type": "deletion"}, {"type": "non_fast_forward"}}
	var pass []fields
	detail := "whoever may write can change them"
	if deployKey {
		rules = append([]fields{{"type": "creation"}, {"type": "update"}}, rules...)
		pass = []fields{{"actor_id": nil, "actor_type": "DeployKey", "bypass_mode": "always"}}
		detail += ", though there is a deploy key to write them with"
	}
	d.row(name, Warning, "close them by a ruleset", "%s", detail).
		Requests = d.ruleset(stateRules, fields{"include": []string{"refs/heads/research-loop-state/**"}}, rules, pass)
}

// keyRows looks at the deploy key and says whether its private half is stored.
func (d *doctor) keyRows(ctx context.Context, writing []forge.DeployKey, closed bool) bool {
	have, err := d.c.EnvironmentSecrets(ctx, judgeEnvironment)
	if err != nil && !unseen(err) {
		d.err = err
		return false
	}
	stored := slices.Contains(have, deploySecret)
	const name = "deploy key"
	switch {
	case len(writing) == 0 && !closed:
		d.row(name, Warning, "for level protected: ssh-keygen -t ed25519 -N '' -f KEY; gh repo deploy-key add KEY.pub --allow-write; gh secret set "+deploySecret+" --env "+judgeEnvironment+" < KEY; delete KEY", "no deploy key may write")
	case len(writing) > 1:
		d.row(name, Broken, "delete all but one: a ruleset lets all of them pass or none", "%d deploy keys may write: %s", len(writing), titles(writing))
	case len(writing) == 1 && !stored:
		d.row(name, Warning, "gh secret set "+deploySecret+" --env "+judgeEnvironment+" < its private half", "%s may write, and its private half is not in environment %s", titles(writing), judgeEnvironment)
	case len(writing) == 1:
		d.row(name, Fine, "", "one may write, and its private half is stored")
	}
	return stored
}

func titles(keys []forge.DeployKey) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%q", k.Title))
	}
	return strings.Join(out, ", ")
}

// passes lists who passes the rulesets that close the state branches, by type;
// known is false where the token may not see it.
func (d *doctor) passes() (types []string, known bool) {
	known = true
	for _, r := range d.rulesets {
		closes := slices.ContainsFunc(r.Rules, func(rule forge.Rule) bool { return rule.Type == "update" })
		covers := slices.ContainsFunc(r.Conditions.Ref.Include, func(p string) bool {
			return p == "~ALL" || strings.HasPrefix(p, "refs/heads/research-loop-state/")
		})
		if !closes || !covers || r.Enforcement != "active" {
			continue
		}
		if r.Bypass == nil {
			known = false
		}
		for _, b := range r.Bypass {
			if !slices.Contains(types, b.Type) {
				types = append(types, b.Type)
			}
		}
	}
	slices.Sort(types)
	return types, known
}

// ruleset makes a ruleset, or brings the one of that name up to date.
func (d *doctor) ruleset(name string, refs fields, rules, bypass []fields) []forge.Request {
	refs["exclude"] = []string{}
	if bypass == nil {
		bypass = []fields{}
	}
	body := fields{
		"name": name, "target": "branch", "enforcement": "active", "conditions": fields{"ref_name": refs},
		"rules": rules, "bypass_actors": bypass,
	}
	for _, r := range d.rulesets {
		if r.Name == name && r.SourceType == "Repository" {
			return []forge.Request{request("PUT", fmt.Sprintf("rulesets/%d", r.ID), body)}
		}
	}
	return []forge.Request{request("POST", "rulesets", body)}
}

// inTheWay looks for branches whose names keep ours from being made: git holds no
// branch below another.
func (d *doctor) inTheWay(ctx context.Context) {
	const name = "branch names"
	have, err := d.c.Branches(ctx, "research-loop")
	if d.hidden(name, err) {
		return
	}
	for _, branch := range []string{"research-loop", "research-loop-state"} {
		if _, there := have[branch]; there {
			d.row(name, Broken, "rename it: git branch -m "+branch+" OTHER, push OTHER and delete "+branch, "a branch is called %s, so none can be called %s/TAG", branch, branch)
			return
		}
	}
	d.row(name, Fine, "", "no branch stands where runs put theirs")
}
