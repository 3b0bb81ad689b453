package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/forge"
)

// State is how a setting of the repository was found.
type State string

// The states of a row. Broken ones break the trust model: no run starts.
const (
	Fine    State = "ok"
	Warning State = "warning"
	Unclear State = "unknown" // the token may not see it
	Broken  State = "broken"
)

// Row is one setting of a repository.
type Row struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what a person does about it
	// Requests are what Fix sends about it, with an administrator's token.
	Requests []forge.Request `json:"requests,omitempty"`
}

// The levels of trust that a repository's settings can reach.
const (
	LevelProtected = "protected"
	LevelSigned    = "signed"
	LevelOpen      = "open"
)

// Wanted is what a repository is examined for.
type Wanted struct {
	// Keys says that the contract has keys, so that there are secrets to keep.
	Keys bool
	// RepositorySecrets says that the contract has the exception of that name.
	RepositorySecrets bool
	// Workflows are the files that this version ships, by path.
	Workflows map[string][]byte
	// Author says that the token is the author's: its rights are looked at.
	Author bool
	// Job says that the token is that of a job of the workflow, to which GitHub
	// shows the name of no secret. Its environment gave it those that it has, and
	// the job without an environment refuses to go on where it is given one.
	Job bool
	// DeployKey says that this job was given a deploy key.
	DeployKey bool
	// Attested says that an administrator, whose token sees what a job's does not,
	// found deploy keys, their secret and those who pass rulesets as level protected
	// needs them. A job believes it as far as what it sees itself agrees.
	Attested bool
}

// Diagnosis is what doctor found.
type Diagnosis struct {
	Repository string   `json:"repository"`
	Level      string   `json:"level"`
	Why        []string `json:"why"` // what keeps the level from being higher, or qualifies it
	Rows       []Row    `json:"rows"`
}

// Refusals are the rows that break the trust model.
func (d Diagnosis) Refusals() []Row {
	return slices.DeleteFunc(slices.Clone(d.Rows), func(r Row) bool { return r.State != Broken })
}

// The environments whose secrets a run uses, and what stands in each.
const (
	judgeEnvironment   = "research-loop"
	executeEnvironment = "research-loop-execute"
	finalEnvironment   = "research-loop-final"

	judgeSecret  = "RESEARCH_LOOP_JUDGE"
	inputsSecret = "RESEARCH_LOOP_INPUTS"
	deploySecret = "RESEARCH_LOOP_DEPLOY_KEY"
)

// doctor examines one repository.
type doctor struct {
	c    *forge.Client
	want Wanted
	repo forge.Repository
	rows []Row
	err  error

	rulesets []forge.Ruleset
	why      []string
	// What the level rests on.
	trunk, state, secrets bool
	short                 string // what state falls short of, where it does
}

// Diagnose examines the settings of a repository. What the token may not see is
// a row of state unknown; an error says that GitHub could not be asked at all.
func Diagnose(ctx context.Context, c *forge.Client, want Wanted) (Diagnosis, error) {
	d := &doctor{c: c, want: want, short: "whoever may write can change the state branch: that is detected, not prevented"}
	var err error
	if d.repo, err = c.Repository(ctx); err != nil {
		return Diagnosis{}, err
	}
	if d.rulesets, err = c.Rulesets(ctx); err != nil && !unseen(err) {
		return Diagnosis{}, err
	}
	for _, examine := range []func(context.Context){
		d.actions, d.workflows, d.environments, d.repositorySecrets, d.approvals, d.defaultBranch, d.runBranches, d.stateBranches, d.inTheWay, d.author,
	} {
		if examine(ctx); d.err != nil {
			return Diagnosis{}, d.err
		}
	}
	out := Diagnosis{Repository: c.Place.String(), Rows: d.rows}
	out.Level, out.Why = d.level()
	return out, nil
}

// level says how far the settings can be trusted, and why no further.
func (d *doctor) level() (string, []string) {
	switch {
	case !d.want.Keys:
		return LevelOpen, append(d.why, "the contract has no keys: nothing is signed, there is no gate")
	case !d.secrets:
		return LevelOpen, append(d.why, "the secrets are not kept from authors")
	case !d.trunk:
		return LevelOpen, append(d.why, "the default branch takes changes without a reviewed pull request")
	case !d.state:
		return LevelSigned, append(d.why, d.short)
	}
	return LevelProtected, d.why
}

// row notes a setting.
func (d *doctor) row(name string, state State, fix, detail string, args ...any) *Row {
	if state == Fine {
		fix = ""
	}
	d.rows = append(d.rows, Row{Name: name, State: state, Detail: fmt.Sprintf(detail, args...), Fix: fix})
	return &d.rows[len(d.rows)-1]
}

// hidden notes a setting that the token may not see; every other error ends the
// examination.
func (d *doctor) hidden(name string, err error) bool {
	if err == nil {
		return false
	}
	if !unseen(err) {
		d.err = err
		return true
	}
	d.row(name, Unclear, "run research-loop doctor with an administrator's token", "this token may not see it")
	return true
}

// unseen says that GitHub does not show something to this token.
func unseen(err error) bool {
	var e *forge.Error
	return errors.As(err, &e) && (e.Denied() || e.Missing())
}

// because adds what qualifies the level.
func (d *doctor) because(format string, args ...any) {
	d.why = append(d.why, fmt.Sprintf(format, args...))
}

// author looks at the rights of the author's token.
func (d *doctor) author(ctx context.Context) {
	const name = "author's rights"
	if !d.want.Author {
		d.because("author's rights unknown: run research-loop doctor --author with the author's token")
		return
	}
	rights, err := d.c.Rights(ctx)
	if err != nil {
		d.err = err
		return
	}
	var has, unknown []string
	for _, r := range []struct {
		name   string
		answer forge.Answer
	}{{"administration", rights.Admin}, {"actions", rights.Actions}, {"workflows", rights.Workflows}} {
		switch r.answer {
		case forge.Yes:
			has = append(has, r.name)
		case forge.Unknown:
			unknown = append(unknown, r.name)
		}
	}
	const fix = "give the author a token of an own GitHub App, or a fine-grained one: contents and pull requests write, checks and actions read, nothing else"
	switch {
	case len(has) > 0:
		d.row(name, Broken, fix, "the token may use %s", strings.Join(has, ", "))
		d.because("the author's token may use %s", strings.Join(has, ", "))
	case len(unknown) > 0:
		d.row(name, Unclear, "look at the token's page: it must not have the right to write workflows", "neither administration nor actions; a token of this kind does not tell its right on %s", strings.Join(unknown, ", "))
		d.because("author's rights unknown: %s", strings.Join(unknown, ", "))
	default:
		d.row(name, Fine, "", "neither administration nor actions nor workflows")
	}
}
