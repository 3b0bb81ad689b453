package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-github/v60/github"
)

// maxComment bounds a comment or the text of a pull request, in bytes.
const maxComment = 60000

var marker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9:./-]{1,200}$`) })

// Comment makes the one comment of a marker on a pull request say body, in
// Markdown, and gives its address. The marker stands in it invisibly; comments of
// others that bear it are left alone.
func (c *Client) Comment(ctx context.Context, pull int, mark, body string) (string, error) {
	if !marker().MatchString(mark) {
		return "", fmt.Errorf("marker %.60q may hold a-z, 0-9 and :./- only", mark)
	}
	login, err := c.Self(ctx)
	if err != nil {
		return "", err
	}
	first := "<!-- " + mark + " -->\n"
	text := first + shorten(body, maxComment-len(first))
	for try := 1; ; try++ {
		found, err := c.comment(ctx, pull, first, login)
		if err != nil {
			return "", err
		}
		if found != nil && strings.TrimSpace(found.GetBody()) == strings.TrimSpace(text) {
			return found.GetHTMLURL(), nil
		}
		doing, send := "commenting on the pull request", &github.IssueComment{Body: &text}
		var made *github.IssueComment
		if found == nil {
			made, _, err = c.gh.Issues.CreateComment(ctx, c.Place.Owner, c.Place.Name, pull, send)
		} else {
			made, _, err = c.gh.Issues.EditComment(repeatable(ctx), c.Place.Owner, c.Place.Name, found.GetID(), send)
		}
		if err = c.wrap(ctx, doing, err); !c.again(ctx, try, err) {
			return made.GetHTMLURL(), err
		}
	}
}

// comment finds the oldest comment of login that begins with first.
func (c *Client) comment(ctx context.Context, pull int, first, login string) (*github.IssueComment, error) {
	all, err := list(func(page github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		return c.gh.Issues.ListComments(ctx, c.Place.Owner, c.Place.Name, pull, &github.IssueListCommentsOptions{ListOptions: page})
	})
	for _, it := range all {
		if it.GetUser().GetLogin() == login && strings.HasPrefix(strings.ReplaceAll(it.GetBody(), "\r\n", "\n"), strings.TrimSpace(first)) {
			return it, nil
		}
	}
	return nil, c.wrap(ctx, "reading the comments of the pull request", err)
}

// Pull is a pull request, or where a person may open one.
type Pull struct {
	Number int    // 0: there is none, and Address is where to open it
	URL    string // the page
	Why    string // why there is none
}

// DraftPull gives the pull request from head into base, branches of this
// repository: the one that is there, open or closed, else a new draft. Where the
// repository refuses one, it gives the page on which a person can open it.
func (c *Client) DraftPull(ctx context.Context, base, head, title, body string) (Pull, error) {
	draft := true
	for try := 1; ; try++ {
		found, err := c.pull(ctx, base, head)
		if err != nil || found.Number != 0 {
			return found, err
		}
		text := shorten(body, maxComment)
		made, _, err := c.gh.PullRequests.Create(ctx, c.Place.Owner, c.Place.Name, &github.NewPullRequest{
			Title: github.String(cutBytes(plain(title), maxTitle)), Head: &head, Base: &base, Body: &text, Draft: &draft,
		})
		err = c.wrap(ctx, "opening a pull request", err)
		var e *Error
		switch {
		case err == nil:
			return Pull{Number: made.GetNumber(), URL: made.GetHTMLURL()}, nil
		case c.again(ctx, try, err):
		case !errors.As(err, &e) || e.Limited() || e.Status != http.StatusForbidden && e.Status != http.StatusUnprocessableEntity:
			return Pull{}, err
		case draft && strings.Contains(strings.ToLower(e.Why), "draft"):
			draft = false // not on every plan
		default:
			return Pull{URL: c.Place.Compare(base, head), Why: e.Why}, nil
		}
	}
}

// pull finds the pull request from head into base: an open one before a closed one.
func (c *Client) pull(ctx context.Context, base, head string) (Pull, error) {
	all, err := list(func(page github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
		return c.gh.PullRequests.List(ctx, c.Place.Owner, c.Place.Name, &github.PullRequestListOptions{
			State: "all", Base: base, Head: c.Place.Owner + ":" + head, ListOptions: page,
		})
	})
	var found Pull
	for _, p := range all {
		// An unknown head filters nothing: GitHub then lists every pull request.
		if p.GetHead().GetRef() != head || p.GetBase().GetRef() != base || !strings.EqualFold(p.GetHead().GetRepo().GetFullName(), c.Place.String()) {
			continue
		}
		if found.Number == 0 || p.GetState() == "open" {
			found = Pull{Number: p.GetNumber(), URL: p.GetHTMLURL()}
		}
	}
	return found, c.wrap(ctx, "looking for the pull request", err)
}

// Self gives the login that the token writes as.
func (c *Client) Self(ctx context.Context) (string, error) {
	if c.login != "" {
		return c.login, nil
	}
	user, _, err := c.gh.Users.Get(ctx, "")
	return user.GetLogin(), c.wrap(ctx, "asking whose token this is", err)
}

// Permission gives the role of a user in the repository: admin, maintain, write,
// triage, read or none; a custom role counts as the one that it includes.
func (c *Client) Permission(ctx context.Context, login string) (string, error) {
	if !names().MatchString(strings.TrimSuffix(login, "[bot]")) {
		return "", fmt.Errorf("%.60q is no login", login)
	}
	level, _, err := c.gh.Repositories.GetPermissionLevel(ctx, c.Place.Owner, c.Place.Name, login)
	if err != nil {
		return "", c.wrap(ctx, "asking for the rights of "+login, err)
	}
	rights := level.GetUser().GetPermissions()
	for _, role := range []struct{ right, name string }{{"admin", "admin"}, {"maintain", "maintain"}, {"push", "write"}, {"triage", "triage"}, {"pull", "read"}} {
		if rights[role.right] {
			return role.name, nil
		}
	}
	return level.GetPermission(), nil
}

// Answer is what is known about a right.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Rights are what a token may do beyond writing contents.
type Rights struct {
	Login     string // "" where the token does not tell
	Admin     Answer // to see and change the repository's settings
	Actions   Answer // to cancel, repeat and start workflow runs
	Workflows Answer // to push workflow files; only a classic token tells
}

// Rights finds out what the token may do. It asks for the settings, which only
// administrators see, and to cancel a run that does not exist, which changes
// nothing.
func (c *Client) Rights(ctx context.Context) (Rights, error) {
	r, err := c.Repository(ctx)
	if err != nil {
		return Rights{}, err
	}
	out := Rights{Admin: No, Actions: No, Workflows: Unknown}
	if out.Login, err = c.Self(ctx); refused(err) {
		out.Login = ""
	} else if err != nil {
		return out, err
	}
	if _, err := c.Actions(ctx); err == nil {
		out.Admin = Yes
	} else if !refused(err) {
		return out, err
	}
	_, err = c.Do(repeatable(ctx), Request{Method: "POST", Path: "actions/runs/1/cancel"})
	var e *Error
	switch {
	case err == nil, errors.As(err, &e) && (e.Missing() || e.Status == http.StatusConflict):
		out.Actions = Yes
	case !refused(err):
		return out, err
	}
	if r.Scopes != nil {
		out.Workflows = No
		if slices.Contains(r.Scopes, "workflow") {
			out.Workflows = Yes
		}
	}
	return out, nil
}

// refused says that GitHub does not let this token do it, or does not show it.
func refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Denied() || e.Missing())
}
