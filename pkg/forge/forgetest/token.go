package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Kind is what a token is.
type Kind string

// The kinds of tokens.
const (
	Workflow    Kind = "workflow"     // a job's own: it may be given permissions, and starts no workflow by a push
	App         Kind = "app"          // an installation of somebody's own app
	FineGrained Kind = "fine-grained" // a person's, with permissions; none of them is for checks
	Classic     Kind = "classic"      // a person's, with ClassicScopes: repo is all that the person may
	DeployKey   Kind = "deploy-key"   // a deploy key that may write; git only
)

// Token is who asks and what that may do.
type Token struct {
	Kind  Kind
	Login string
	// Permissions are levels (read, write) by permission (contents, checks …), for
	// all kinds but the classic one.
	Permissions map[string]string
	// ClassicScopes are those of a classic token: repo, workflow.
	ClassicScopes []string
}

// actionsApp is the number of GitHub's own app for Actions.
const actionsApp = 15368

// app gives the number and the slug of the app behind a token, 0 for a person.
func (t Token) app() (int64, string) {
	switch t.Kind {
	case Workflow:
		return actionsApp, "github-actions"
	case App:
		return 4711, strings.TrimSuffix(t.Login, "[bot]")
	}
	return 0, ""
}

// User gives a person a role: admin, maintain, write, triage or read.
func (s *Server) User(login, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.roles[login] = role
}

// Token makes a token.
func (s *Server) Token(t Token) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := map[Kind]string{Workflow: "ghs_", App: "ghs_", FineGrained: "github_pat_", Classic: "ghp_", DeployKey: "key_"}[t.Kind]
	if t.Kind == Workflow {
		t.Login = "github-actions[bot]"
	}
	text := fmt.Sprintf("%stest%036d", prefix, s.next())
	s.state.tokens[text] = t
	return text
}

// Admin makes a classic token of a new administrator.
func (s *Server) Admin(login string) string {
	s.User(login, "admin")
	return s.Token(Token{Kind: Classic, Login: login, ClassicScopes: []string{"repo", "workflow"}})
}

// JobToken makes the token of a job with these permissions, such as "contents:write".
func (s *Server) JobToken(permissions ...string) string {
	t := Token{Kind: Workflow, Permissions: map[string]string{}}
	for _, p := range permissions {
		name, level, _ := strings.Cut(p, ":")
		t.Permissions[name] = level
	}
	return s.Token(t)
}

// who finds the token of a request; the zero Token is nobody.
func (s *Server) who(r *http.Request) Token {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		text, _ = strings.CutPrefix(r.Header.Get("Authorization"), "token ")
	}
	if _, password, basic := r.BasicAuth(); basic {
		text = password
	}
	return s.state.tokens[text]
}

// roles, the strongest last.
func roles() []string { return []string{"none", "read", "triage", "write", "maintain", "admin"} }

func (s *Server) role(login string) string { return or(s.state.roles[login], "none") }

func (s *Server) atLeast(login, role string) bool {
	return slices.Index(roles(), s.role(login)) >= slices.Index(roles(), role)
}

// wants gives the role that a person needs for a permission.
func wants(permission, level string) string {
	switch {
	case permission == "administration" || permission == "environments" && level == "write":
		return "admin"
	case permission == "secrets":
		return "write"
	case level == "write":
		return "write"
	}
	return "read"
}

// may says whether a token has a permission, such as "contents:write".
func (s *Server) may(t Token, permission string) bool {
	name, level, _ := strings.Cut(permission, ":")
	public := !s.c.Private && level == "read" && slices.Contains([]string{"metadata", "contents", "checks", "pull_requests", "issues", "actions", "statuses"}, name)
	switch t.Kind {
	case "":
		return public
	case DeployKey:
		return name == "contents"
	case Classic:
		return public || slices.Contains(t.ClassicScopes, "repo") && s.atLeast(t.Login, wants(name, level)) && permission != "checks:write"
	case FineGrained:
		return public || name != "checks" && s.granted(t, name, level) && s.atLeast(t.Login, wants(name, level))
	}
	return public || s.granted(t, name, level)
}

func (s *Server) granted(t Token, name, level string) bool {
	has := t.Permissions[name]
	return name == "metadata" || has == "write" || has == level
}

// permit refuses what the token may not do, as GitHub does. Several permissions
// are parted by "|": one of them is enough.
func (c *call) permit(permission string) *problem {
	if c.r.Header.Get("Authorization") != "" && c.who.Kind == "" {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	if permission == "" {
		return nil
	}
	for p := range strings.SplitSeq(permission, "|") {
		if c.may(c.who, p) {
			return nil
		}
	}
	switch {
	case c.who.Kind == "":
		return refuse(http.StatusNotFound, "Not Found")
	case c.who.Kind == Classic && !c.atLeast(c.who.Login, "read") && c.c.Private:
		return refuse(http.StatusNotFound, "Not Found")
	case c.who.Kind == Classic || c.who.Kind == FineGrained && c.who.Permissions["administration"] != "":
		if strings.HasSuffix(permission, ":read") || strings.HasPrefix(permission, "administration") {
			return refuse(http.StatusNotFound, "Not Found") // GitHub hides what only administrators see
		}
		return refuse(http.StatusForbidden, "Must have admin rights to Repository.")
	case c.who.Kind == FineGrained:
		return refuse(http.StatusForbidden, "Resource not accessible by personal access token")
	}
	return refuse(http.StatusForbidden, "Resource not accessible by integration")
}
