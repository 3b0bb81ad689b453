package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Error says that GitHub did not do what it was asked.
type Error struct {
	Doing  string    // what was asked, for example "creating a check run"
	Status int       // the HTTP status, 0 where no answer came
	Why    string    // what GitHub or the network said, without the token
	Until  time.Time // a rate limit ends then; zero where it was none
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Doing, e.Why)
	if e.Status != 0 {
		text = fmt.Sprintf("%s: GitHub answered %d: %s", e.Doing, e.Status, e.Why)
	}
	if e.Limited() {
		text += "; its rate limit ends at " + e.Until.UTC().Format(time.RFC3339)
	}
	return text
}

// Limited says that waiting until Until is the cure.
func (e *Error) Limited() bool { return !e.Until.IsZero() }

// Denied says that the token is missing, wrong or lacks a right. GitHub hides
// what a token may not see behind 404, so Missing may mean the same.
func (e *Error) Denied() bool {
	return !e.Limited() && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// Missing says that GitHub knows no such thing, or does not show it to this token.
func (e *Error) Missing() bool { return e.Status == http.StatusNotFound }

// unsure says that the request may or may not have been carried out.
func (e *Error) unsure() bool { return e.Status == 0 || e.Status >= 500 }

// wrap gives the error of a call as an *Error. What is no fault is nil; the
// caller's own cancellation stays what it is.
func (c *Client) wrap(ctx context.Context, doing string, err error) error {
	var accepted *github.AcceptedError
	if err == nil || errors.As(err, &accepted) {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	e := &Error{Doing: doing, Why: err.Error()}
	var (
		response *github.ErrorResponse
		limit    *github.RateLimitError
		abuse    *github.AbuseRateLimitError
		answer   *http.Response
	)
	switch {
	case errors.As(err, &response):
		answer, e.Why = response.Response, explain(response)
	case errors.As(err, &limit):
		answer, e.Why = limit.Response, limit.Message
	case errors.As(err, &abuse):
		answer, e.Why = abuse.Response, abuse.Message
	}
	if answer != nil {
		e.Status = answer.StatusCode
		if until, err := time.Parse(time.RFC3339, answer.Header.Get(untilHeader)); err == nil {
			e.Until = until
		}
	}
	e.Why = c.clean(e.Why)
	return e
}

// explain gives what GitHub said about a refusal: the message and each fault.
func explain(r *github.ErrorResponse) string {
	parts := []string{r.Message}
	for _, fault := range r.Errors {
		text := fault.Message
		if text == "" {
			text = strings.TrimSpace(strings.Join([]string{fault.Resource, fault.Field, fault.Code}, " "))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// clean bounds what a server said, makes it one line and takes the token out.
func (c *Client) clean(text string) string {
	const most = 500
	if c.token != "" {
		text = strings.ReplaceAll(text, c.token, "***")
	}
	text = strings.TrimSpace(plain(text))
	if text == "" {
		text = "no reason given"
	}
	return cutBytes(text, most)
}
