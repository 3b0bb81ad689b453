package forgetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Config says what repository the server holds.
type Config struct {
	Owner, Name  string // octo-org and widget if empty
	Default      string // the default branch, main if empty
	Private      bool
	Organisation bool // an organisation owns it
	// NoDrafts and NoPulls are what a plan or a setting takes away: draft pull
	// requests, and those that a workflow's token opens.
	NoDrafts, NoPulls bool
	// Now is the clock of everything that the server stamps, nil for the real one.
	Now func() time.Time
}

// Server is one repository on a GitHub.
type Server struct {
	URL string // of the pages and of git

	t       testing.TB
	c       Config
	spec    *spec
	dir     string // the bare repository
	objects *reader
	hook    string // where the policy for one push is left for its hook

	mu    sync.Mutex
	state state
	push  sync.Mutex // one push at a time
}

// state is what the repository holds beside its git objects.
type state struct {
	serial       int64
	tokens       map[string]Token
	roles        map[string]string
	checks       []*Check
	comments     []*Comment
	pulls        []*Pull
	statuses     []Status
	dispatches   []Dispatch
	runs         []*Run
	environments map[string]*environment
	rulesets     []*ruleset
	protections  map[string]map[string]any
	keys         []*key
	secrets      []string
	above        []string // secrets of the organisation
	disabled     map[string]string
	actions      map[string]any
	faults       []*Fault
	requests     []Request
}

// Request is one request that reached the API.
type Request struct {
	Method, Path string // the path below the repository, with its query
	Login        string
	Body         string
	Status       int
}

// New starts a server that ends with the test.
func New(t testing.TB, c Config) *Server {
	t.Helper()
	c.Owner, c.Name, c.Default = or(c.Owner, "octo-org"), or(c.Name, "widget"), or(c.Default, "main")
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{t: t, c: c, spec: loadSpec(t), dir: filepath.Join(t.TempDir(), c.Name+".git"), hook: t.TempDir()}
	s.state = state{
		serial: 1000, tokens: map[string]Token{}, roles: map[string]string{}, environments: map[string]*environment{},
		protections: map[string]map[string]any{}, disabled: map[string]string{},
		actions: map[string]any{
			"enabled": true, "allowed_actions": "all", "sha_pinning_required": false,
			"default_workflow_permissions": "read", "can_approve_pull_request_reviews": false,
		},
	}
	s.initGit()
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// API is the base URL of the REST API.
func (s *Server) API() string { return s.URL + "/api/v3" }

// Remote is the address of the git repository. It needs a token for whatever
// the public may not do: see [Server.GitEnv].
func (s *Server) Remote() string { return s.URL + "/" + s.Repository() + ".git" }

// Repository is OWNER/NAME.
func (s *Server) Repository() string { return s.c.Owner + "/" + s.c.Name }

// Dir is the bare repository itself. What is pushed to it by its path passes no
// rule and starts nothing.
func (s *Server) Dir() string { return s.dir }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	prefix := "/" + s.Repository() + ".git/"
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/v3/"):
		s.rest(w, r)
	case strings.HasPrefix(r.URL.Path, prefix):
		s.serveGit(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Fault makes requests fail.
type Fault struct {
	Method string // "" for any of the API; PUSH and FETCH are what git does
	Path   string // a regular expression on the path below the repository, "" for any
	Status int    // 0 breaks the connection
	Header map[string]string
	Body   string // a message if it is no JSON
	Times  int    // how often; 0 means once
	After  bool   // the request takes effect, and its answer is lost
	Skip   int    // so many matching requests pass first
}

// Fail arranges a fault. Faults are looked at in the order of their making.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.state.faults = append(s.state.faults, &f)
}

// Mend ends all faults, those that nothing has met too.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.faults = nil
}

// Pending counts the faults that nothing has met yet.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, f := range s.state.faults {
		n += f.Times
	}
	return n
}

// fault takes the next fault that a request meets.
func (s *Server) fault(method, path string) *Fault {
	for _, f := range s.state.faults {
		if f.Times == 0 || f.Method != "" && f.Method != method || f.Path != "" && !regexp.MustCompile(f.Path).MatchString(path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.Times--
		taken := *f
		return &taken
	}
	return nil
}

// answer sends the fault in place of an answer.
func (f *Fault) answer(w http.ResponseWriter) {
	if f.Status == 0 {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.Close()
		}
		return
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	body := f.Body
	if !json.Valid([]byte(body)) {
		text, _ := json.Marshal(map[string]string{"message": body})
		body = string(text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	io.WriteString(w, body)
}

// call is one request to the API.
type call struct {
	*Server
	op    *operation
	r     *http.Request
	parts map[string]string // path parameters
	body  map[string]any
	who   Token
	total int
}

// problem is an answer that is a refusal.
type problem struct {
	status  int
	message string
	faults  []string
}

func refuse(status int, format string, args ...any) *problem {
	return &problem{status: status, message: fmt.Sprintf(format, args...)}
}

// reply is an answer on its way.
type reply struct {
	status int
	body   []byte
	total  int // the length of the whole list that a page was cut from
}

// rest serves the API: it finds the operation, validates, checks the token,
// carries it out and validates the answer.
func (s *Server) rest(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	below := strings.TrimPrefix(strings.TrimPrefix(r.URL.RequestURI(), "/api/v3/"), "repos/"+s.Repository()+"/")
	seen := Request{Method: r.Method, Path: below, Body: string(body), Login: s.who(r).Login}
	defer func() { s.state.requests = append(s.state.requests, seen) }()
	f := s.fault(r.Method, below)
	if f != nil && !f.After {
		seen.Status = f.Status
		f.answer(w)
		return
	}
	got := s.dispatch(r, body)
	if seen.Status = got.status; f != nil {
		f.answer(w)
		return
	}
	s.header(w, r, got.total)
	w.WriteHeader(got.status)
	w.Write(got.body)
}

func (s *Server) header(w http.ResponseWriter, r *http.Request, total int) {
	links(w, r, total)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-RateLimit-Limit", "1000")
	w.Header().Set("X-RateLimit-Remaining", "0") // a success all the same: a client may not stop for it
	w.Header().Set("X-RateLimit-Reset", fmt.Sprint(s.c.Now().Add(time.Hour).Unix()))
	if who := s.who(r); who.Kind == Classic {
		w.Header().Set("X-OAuth-Scopes", strings.Join(who.ClassicScopes, ", "))
	}
}

// dispatch carries a request out.
func (s *Server) dispatch(r *http.Request, body []byte) reply {
	op, parts := s.spec.find(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3"))
	if op == nil {
		s.t.Errorf("forgetest: GitHub has no %s %s, or the cut does not", r.Method, r.URL.Path)
		return say(refuse(http.StatusNotFound, "Not Found"))
	}
	if parts["owner"] != "" && !strings.EqualFold(parts["owner"]+"/"+parts["repo"], s.Repository()) {
		return say(refuse(http.StatusNotFound, "Not Found"))
	}
	if err := s.spec.request(op, parts, r, body); err != nil {
		s.t.Errorf("forgetest: %s %s is no valid request: %.700s\n%.2000s", r.Method, r.URL, err.Error(), body)
		return say(refuse(http.StatusUnprocessableEntity, "Invalid request."))
	}
	c := &call{Server: s, op: op, r: r, parts: parts, who: s.who(r)}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &c.body); err != nil {
			return say(refuse(http.StatusBadRequest, "Problems parsing JSON"))
		}
	}
	handle, ok := handlers()[op.key]
	if !ok {
		s.t.Errorf("forgetest: %s is not served", op.key)
		return say(refuse(http.StatusNotImplemented, "not served"))
	}
	if p := c.permit(handle.permission); p != nil {
		return say(p)
	}
	return c.carry(handle)
}

// carry runs the handler and validates what it answers.
func (c *call) carry(h handler) reply {
	status, answer, p := h.do(c)
	if p != nil {
		return say(p)
	}
	if answer == nil {
		return reply{status: status}
	}
	text, err := json.Marshal(answer)
	if err == nil {
		err = c.spec.response(c.op, c.parts, c.r, status, text)
	}
	if err != nil {
		c.t.Errorf("forgetest: the answer to %s %s is none that GitHub gives: %.700s\n%.2000s", c.r.Method, c.r.URL, err.Error(), text)
	}
	return reply{status: status, body: text, total: c.total}
}

// say gives a refusal as GitHub words it.
func say(p *problem) reply {
	body := map[string]any{"message": p.message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(p.status)}
	if len(p.faults) > 0 {
		list := []any{}
		for _, f := range p.faults {
			list = append(list, map[string]any{"message": f, "resource": "", "field": "", "code": "custom"})
		}
		body["errors"] = list
	}
	text, _ := json.Marshal(body)
	return reply{status: p.status, body: text}
}

// next gives a fresh number.
func (s *Server) next() int64 { s.state.serial++; return s.state.serial }

// paging reads which page a request wants.
func paging(r *http.Request) (size, number int) {
	size, number = 30, 1
	q := r.URL.Query()
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		number = n
	}
	return size, number
}

// page cuts a list as the request asks.
func page[T any](c *call, all []T) []T {
	size, number := paging(c.r)
	c.total = len(all)
	from := min((number-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

// links sets the Link header for the next page.
func links(w http.ResponseWriter, r *http.Request, total int) {
	size, number := paging(r)
	if number*size < total {
		u := *r.URL
		q := u.Query()
		q.Set("page", fmt.Sprint(number+1))
		u.Scheme, u.Host, u.RawQuery = "http", r.Host, q.Encode()
		w.Header().Set("Link", "<"+u.String()+`>; rel="next"`)
	}
}

// Requests gives every request that reached the API, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.requests)
}
