package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/forge/forgetest"
)

// TestLimits waits as GitHub asks, by the caller's clock.
func TestLimits(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	c := w.supervisor()
	reset := func(after time.Duration) map[string]string {
		return map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(w.now.Add(after).Unix())}
	}
	for _, test := range []struct {
		name  string
		fault forgetest.Fault
		want  []time.Duration
	}{
		{"primary", forgetest.Fault{Status: 403, Header: reset(5 * time.Minute), Body: "API rate limit exceeded for installation"}, []time.Duration{5*time.Minute + time.Second}},
		{"retry-after", forgetest.Fault{Status: 403, Header: map[string]string{"Retry-After": "7"}, Body: "You have exceeded a secondary rate limit"}, []time.Duration{7 * time.Second}},
		{"429", forgetest.Fault{Status: 429, Header: map[string]string{"Retry-After": "3"}, Times: 2, Body: "slow down"}, []time.Duration{3 * time.Second, 3 * time.Second}},
		{"secondary", forgetest.Fault{Status: 403, Times: 2, Body: "You have exceeded a secondary rate limit"}, []time.Duration{time.Minute, 2 * time.Minute}},
		{"bare 429", forgetest.Fault{Status: 429, Body: "too many"}, []time.Duration{time.Minute}},
		{"502", forgetest.Fault{Status: 502, Times: 3, Body: "Bad Gateway"}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
	} {
		w.slept = nil
		w.Fail(test.fault)
		if _, err := c.Repository(context.Background()); err != nil || fmt.Sprint(w.slept) != fmt.Sprint(test.want) {
			t.Errorf("%s: slept %v, want %v; %v", test.name, w.slept, test.want, err)
		}
	}
}

// TestLimitBeyondDeadline says at once when to come back.
func TestLimitBeyondDeadline(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	w.now = time.Now()
	w.Fail(forgetest.Fault{Status: 403, Body: "API rate limit exceeded", Header: map[string]string{
		"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(w.now.Add(time.Hour).Unix()),
	}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := w.supervisor().Repository(ctx)
	var e *forge.Error
	if !errors.As(err, &e) || !e.Limited() || e.Denied() || len(w.slept) != 0 || e.Until.Sub(w.now) < 59*time.Minute {
		t.Fatalf("slept %v, %v", w.slept, err)
	}
	if _, err := w.supervisor().Repository(ctx); err != nil {
		t.Errorf("the next request is asked of GitHub again: %v", err)
	}
}

// TestRefusalIsNoLimit takes a 403 for want of a right for what it is, even where
// the headers say that the hour's last request was used.
func TestRefusalIsNoLimit(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	_, err := w.client(w.JobToken("contents:read"), forge.WorkflowLogin).Publish(context.Background(), check(w.Branch("main")))
	var e *forge.Error
	if !errors.As(err, &e) || !e.Denied() || len(w.slept) != 0 {
		t.Errorf("slept %v, %v", w.slept, err)
	}
	if _, err = w.client("ghs_wrong", "").Repository(context.Background()); !errors.As(err, &e) || e.Status != 401 || !e.Denied() {
		t.Errorf("a wrong token: %v", err)
	}
}

// TestTokenStaysInside: no error, request line or redirect shows the token.
func TestTokenStaysInside(t *testing.T) {
	const token = "ghp_0123456789secret"
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.String(), token):
			t.Error("the token stands in a URL")
		case strings.HasSuffix(r.URL.Path, "/keys"):
			http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"message":"Bad token %s\n::error::x"}`, r.Header.Get("Authorization"))
		}
	}))
	defer server.Close()
	w := &world{t: t}
	options := forge.Options{
		Place: forge.Place{API: server.URL, Web: server.URL, Owner: "octo-org", Name: "widget"}, Token: token,
		Now: func() time.Time { return w.now }, Sleep: func(context.Context, time.Duration) error { return nil },
	}
	c, err := forge.New(options)
	if err != nil {
		t.Fatal(err)
	}
	_, first := c.Repository(context.Background())
	_, second := c.DeployKeys(context.Background())
	_, third := c.Do(context.Background(), forge.Request{Method: "GET", Path: "../../user"})
	for _, err := range []error{first, second, third} {
		if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v", err)
		}
	}
	if len(elsewhere) != 0 || strings.Contains(fmt.Sprintf("%v %+v %s", c, c.Place, c), token) {
		t.Errorf("the token left: %q", elsewhere)
	}
	for _, bad := range []string{"a\nb", "a b", "gh\x00", "tökén"} {
		options.Token = bad
		if _, err := forge.New(options); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	w := newWorld(t, forgetest.Config{})
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("told to stop")
	cancel(stop)
	if _, err := w.supervisor().Repository(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestLocate(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, test := range []struct{ remote, api, web, full string }{
		{"https://github.com/octo-org/widget.git", "https://api.github.com", "https://github.com", "octo-org/widget"},
		{"https://github.com/octo-org/widget/", "https://api.github.com", "https://github.com", "octo-org/widget"},
		{"https://x-access-token:secret@GitHub.com/octo-org/widget", "https://api.github.com", "https://github.com", "octo-org/widget"},
		{"git@github.com:octo-org/widget.git", "https://api.github.com", "https://github.com", "octo-org/widget"},
		{"ssh://git@ssh.github.com:443/octo-org/widget.git", "https://api.github.com", "https://github.com", "octo-org/widget"},
		{"ssh://git@git.example.com:2222/octo-org/widget.git", "https://git.example.com/api/v3", "https://git.example.com", "octo-org/widget"},
		{"https://git.example.com:8443/octo-org/widget", "https://git.example.com:8443/api/v3", "https://git.example.com:8443", "octo-org/widget"},
		{"https://octo-corp.ghe.com/octo-org/widget", "https://api.octo-corp.ghe.com", "https://octo-corp.ghe.com", "octo-org/widget"},
		{"octo-corp@octo-corp.ghe.com:octo-org/widget.git", "https://api.octo-corp.ghe.com", "https://octo-corp.ghe.com", "octo-org/widget"},
		{"http://127.0.0.1:8080/octo-org/widget.git", "http://127.0.0.1:8080/api/v3", "http://127.0.0.1:8080", "octo-org/widget"},
	} {
		p, err := forge.Locate(test.remote, env())
		if err != nil || p.API != test.api || p.Web != test.web || p.String() != test.full {
			t.Errorf("%s: %+v, %v", test.remote, p, err)
		}
	}
	for remote, want := range map[string]string{
		"https://github.com/octo-org/widget":          "ssh://git@github.com/octo-org/widget.git",
		"https://git.example.com/octo-org/widget.git": "ssh://git@git.example.com/octo-org/widget.git",
		"https://octo-corp.ghe.com/octo-org/widget":   "ssh://octo-corp@octo-corp.ghe.com/octo-org/widget.git",
	} {
		if p, err := forge.Locate(remote, env()); err != nil || p.SSH() != want {
			t.Errorf("%s: %s, %v", remote, p.SSH(), err)
		}
	}
	for _, remote := range []string{
		"", "/srv/widget.git", "../widget", "file:///srv/octo-org/widget", `C:\repos\widget`, "C:/octo-org/widget", "https://github.com/widget",
		"https://github.com/a/b/c", "https://github.com/octo org/widget", "https://github.com/octo-org/..", "git@github.com:widget", "ftp://github.com/a/b",
		"https://:0/a/b%zz", "http://git.example.com/octo-org/widget",
	} {
		if p, err := forge.Locate(remote, env()); err == nil {
			t.Errorf("%q: %+v", remote, p)
		}
	}
	job := env("GITHUB_ACTIONS", "true", "GITHUB_REPOSITORY", "octo-org/widget", "GITHUB_API_URL", "https://git.example.com/api/v3/", "GITHUB_SERVER_URL", "https://git.example.com")
	if p, err := forge.Locate("/somewhere", job); err != nil || p.API != "https://git.example.com/api/v3" || p.String() != "octo-org/widget" {
		t.Errorf("in a job: %+v, %v", p, err)
	}
	for _, api := range []string{"https://user:pass@api.github.com", "http://api.github.com", "https://api.github.com?x=1", "nonsense", "file:///etc"} {
		if _, err := forge.Locate("git@github.com:octo-org/widget.git", env("GITHUB_API_URL", api)); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("GITHUB_API_URL=%s: %v", api, err)
		}
	}
}

func FuzzLocate(f *testing.F) {
	for _, s := range []string{"https://github.com/octo-org/widget.git", "git@github.com:octo-org/widget.git", "ssh://git@h:1/a/b", "://", "a:b", "@:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		p, err := forge.Locate(remote, func(string) string { return "" })
		if err == nil && (p.Owner == "" || p.Name == "" || strings.ContainsAny(p.String(), "\n ?#%") || !strings.HasPrefix(p.API, "http")) {
			t.Errorf("%q gives %+v", remote, p)
		}
	})
}
