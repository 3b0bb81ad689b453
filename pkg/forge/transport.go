package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// transport sends requests to one host, waits out its limits and tries again
// where that is harmless.
type transport struct {
	base         http.RoundTripper
	scheme, host string
	token        string
	now          func() time.Time
	sleep        func(context.Context, time.Duration) error
}

const (
	// untilHeader tells wrap when a limit ends that was not waited for. It
	// stands in place of GitHub's own headers, from which go-github would take
	// its own measures, by its own clock.
	untilHeader = "Research-Loop-Until"
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 32 << 20
	// perTry bounds one try, so that a silent server does not hold a job.
	perTry = time.Minute
	// patience bounds what one request waits for limits where the context has
	// no deadline.
	patience = 15 * time.Minute
)

// harmless marks a request that may be carried out twice.
type harmless struct{}

func repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, harmless{}, true)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != t.host || r.URL.Scheme != t.scheme {
		return nil, fmt.Errorf("a request to %s is not sent: the token is for %s", r.URL.Host, t.host)
	}
	twice := r.Method != http.MethodPost && r.Method != http.MethodPatch || r.Context().Value(harmless{}) != nil
	end := t.now().Add(patience)
	if d, ok := r.Context().Deadline(); ok {
		end = d
	}
	for try := 1; ; try++ {
		answer, err := t.once(r)
		limit := t.limit(answer, try)
		var wait time.Duration
		switch {
		case limit > 0:
			wait = limit
		case r.Context().Err() == nil && try < tries && twice && (err != nil || answer.StatusCode >= 500):
			wait = pause(try)
		default:
			return strip(answer), err
		}
		if until := t.now().Add(wait); until.After(end) {
			strip(answer)
			if limit > 0 {
				answer.Header.Set(untilHeader, until.UTC().Format(time.RFC3339))
			}
			return answer, err
		}
		if err := t.sleep(r.Context(), wait); err != nil {
			return nil, err
		}
	}
}

// once sends the request and reads the whole answer, so that an answer that
// breaks off counts as none.
func (t *transport) once(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), perTry)
	defer cancel()
	copied := r.Clone(ctx)
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		copied.Body = body
	}
	if t.token != "" {
		copied.Header.Set("Authorization", "Bearer "+t.token)
	}
	answer, err := t.base.RoundTrip(copied)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errors.New("the answer has more than 32 MiB")
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.Request = r
	return answer, nil
}

// limit gives how long GitHub wants to be left alone, 0 where it did not limit.
func (t *transport) limit(answer *http.Response, try int) time.Duration {
	if answer == nil || answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusTooManyRequests {
		return 0
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return 0
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(max(seconds, 1)) * time.Second
	}
	// The last request of an hour may be refused for want of a right: then the
	// headers say that nothing is left, and the text does not speak of a limit.
	text := strings.ToLower(string(body))
	if answer.StatusCode == http.StatusForbidden && !strings.Contains(text, "rate limit") && !strings.Contains(text, "abuse detection") {
		return 0
	}
	if answer.Header.Get("X-RateLimit-Remaining") == "0" {
		if at, err := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			return max(time.Unix(at, 0).Sub(t.now()), 0) + time.Second
		}
	}
	return time.Minute << min(try-1, 5) // at least a minute, then longer and longer
}

// strip takes GitHub's own headers about limits off an answer.
func strip(answer *http.Response) *http.Response {
	if answer != nil {
		answer.Header.Del("Retry-After")
		for name := range answer.Header {
			if strings.HasPrefix(name, "X-Ratelimit-") {
				answer.Header.Del(name)
			}
		}
	}
	return answer
}

// pause gives the time between two tries: one second, then twice as long each.
func pause(try int) time.Duration { return time.Second << (try - 1) }
