package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Options say how a client reaches one repository.
type Options struct {
	Place Place
	// Token is sent to Place.API and nowhere else; "" reads public things.
	Token string
	// Login is whose comments this token writes, "" to ask GitHub. The token of
	// a workflow cannot ask: it is WorkflowLogin.
	Login string
	Now   func() time.Time
	// Sleep waits for a duration, less if the context ends first, whose error
	// it then returns.
	Sleep func(context.Context, time.Duration) error
	// Base carries the requests, nil for the usual transport.
	Base http.RoundTripper
}

// WorkflowLogin is who a workflow's own token writes as.
const WorkflowLogin = "github-actions[bot]"

// Client speaks with GitHub about one repository. It may be used by several
// goroutines. Its errors are *Error, but for the cause of a cancelled context.
type Client struct {
	Place Place
	gh    *github.Client
	token string
	login string
	sleep func(context.Context, time.Duration) error
}

// New makes a client. It asks GitHub nothing yet.
func New(o Options) (*Client, error) {
	base, err := o.Place.base()
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token for GitHub holds a space, a line end or what is not ASCII: store it again")
	}
	if o.Now == nil || o.Sleep == nil {
		return nil, errors.New("forge.Options needs a clock and a sleep")
	}
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	door := &http.Client{
		Transport: &transport{base: o.Base, host: base.Host, scheme: base.Scheme, token: o.Token, now: o.Now, sleep: o.Sleep},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a moved repository is a finding, not a detour for a token
		},
	}
	gh := github.NewClient(door)
	gh.BaseURL, gh.UserAgent = base, "research-loop"
	return &Client{Place: o.Place, gh: gh, token: o.Token, login: o.Login, sleep: o.Sleep}, nil
}

// String never shows the token.
func (c *Client) String() string { return "GitHub repository " + c.Place.String() }

// Request is one change of the repository's settings, as it goes out.
type Request struct {
	Method string          `json:"method"`
	Path   string          `json:"path"` // below the repository, for example "rulesets"
	Body   json.RawMessage `json:"body,omitempty"`
}

// String gives the request as a person reads it before it is sent.
func (r Request) String() string {
	if len(r.Body) == 0 {
		return r.Method + " " + r.Path
	}
	return r.Method + " " + r.Path + " " + string(r.Body)
}

// Do sends one change of the settings and gives what GitHub answered.
func (c *Client) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	var body any
	if len(r.Body) > 0 {
		body = r.Body
	}
	var answer json.RawMessage
	err := c.call(ctx, r.Method, r.Path, body, &answer)
	return answer, c.wrap(ctx, r.Method+" "+r.Path, err)
}

// call sends a request that go-github has no fitting method for. The path is
// below the repository, and so is what it means: no dots lead out of it.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	if strings.Contains("/"+path+"/", "/../") || strings.HasPrefix(path, "/") {
		return fmt.Errorf("%.100q lies outside the repository", path)
	}
	request, err := c.gh.NewRequest(method, fmt.Sprintf("repos/%s/%s/%s", c.Place.Owner, c.Place.Name, path), body)
	if err != nil {
		return err
	}
	_, err = c.gh.Do(ctx, request, into)
	return err
}

// pages is how many pages of a hundred are read of any list: whoever makes more
// things than that wants us to read for ever.
const pages = 30

// list reads a list page by page.
func list[T any](read func(github.ListOptions) ([]T, *github.Response, error)) ([]T, error) {
	var all []T
	options := github.ListOptions{PerPage: 100}
	for range pages {
		items, response, err := read(options)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	return all, nil
}

// tries is how often something is tried whose answer gets lost.
const tries = 4

// again says whether a try whose answer was lost is followed by another, after
// a pause.
func (c *Client) again(ctx context.Context, try int, err error) bool {
	var e *Error
	return errors.As(err, &e) && e.unsure() && !e.Limited() && try < tries && c.sleep(ctx, pause(try)) == nil
}
