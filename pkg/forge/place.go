package forge

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Place is where one repository is to be found.
type Place struct {
	API   string // base URL of the REST API, without a slash at its end
	Web   string // base URL of the pages and of git, without a slash at its end
	Owner string
	Name  string
}

// String gives OWNER/NAME.
func (p Place) String() string { return p.Owner + "/" + p.Name }

// SSH gives the address of the repository for git over SSH.
func (p Place) SSH() string {
	_, host, _ := strings.Cut(p.Web, "://")
	user := "git"
	if tenant, ok := strings.CutSuffix(host, ".ghe.com"); ok {
		user = tenant // GitHub with data residency names its users so
	}
	return fmt.Sprintf("ssh://%s@%s/%s.git", user, host, p)
}

// Compare is the page on which a person opens a pull request by hand.
func (p Place) Compare(base, head string) string {
	return fmt.Sprintf("%s/%s/compare/%s...%s?expand=1", p.Web, p, escapeRef(base), escapeRef(head))
}

// escapeRef escapes the parts of a branch name and keeps its slashes.
func escapeRef(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// names are what GitHub allows for owners and repositories.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`) })

// ErrElsewhere says that a remote is no repository of a GitHub, as far as its
// address tells.
var ErrElsewhere = fmt.Errorf("the remote is not on GitHub")

// Locate finds the place of a repository. In a job the runner's variables
// GITHUB_API_URL, GITHUB_SERVER_URL and GITHUB_REPOSITORY say it; elsewhere the
// address of the git remote does, and GITHUB_API_URL overrides what is derived
// from it: api.HOST for github.com and what ends in .ghe.com, HOST/api/v3 for any other host. A
// folder or a host without OWNER/NAME gives ErrElsewhere.
func Locate(remote string, getenv func(string) string) (Place, error) {
	p := Place{API: getenv("GITHUB_API_URL"), Web: getenv("GITHUB_SERVER_URL")}
	full := ""
	if getenv("GITHUB_ACTIONS") == "true" {
		full = getenv("GITHUB_REPOSITORY")
	}
	if full == "" {
		web, path, err := split(remote)
		if err != nil {
			return Place{}, err
		}
		p.Web, full = web, path
	}
	owner, name, _ := strings.Cut(full, "/")
	if !names().MatchString(owner) || !names().MatchString(name) || name == "." || name == ".." {
		return Place{}, fmt.Errorf("%w: %.100q is not OWNER/NAME", ErrElsewhere, full)
	}
	p.Owner, p.Name = owner, name
	if p.API == "" {
		p.API = apiOf(p.Web)
	}
	p.API, p.Web = strings.TrimRight(p.API, "/"), strings.TrimRight(p.Web, "/")
	_, err := p.base()
	return p, err
}

// apiOf derives the address of the API from that of the pages.
func apiOf(web string) string {
	host, secure := strings.CutPrefix(web, "https://")
	if secure && (host == "github.com" || strings.HasSuffix(host, ".ghe.com")) {
		return "https://api." + host
	}
	return strings.TrimRight(web, "/") + "/api/v3"
}

// split takes the address of a git remote apart: the host's pages and the path.
func split(remote string) (web, path string, err error) {
	scheme, host := "https", ""
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.Host == "" {
			return "", "", ErrElsewhere
		}
		switch host, path = u.Host, u.Path; u.Scheme {
		case "https":
		case "http":
			scheme = "http"
		case "ssh":
			host = u.Hostname()
		default:
			return "", "", ErrElsewhere
		}
	} else {
		at, rest, ok := strings.Cut(remote, ":")
		if !ok || strings.ContainsAny(at, "/\\") || len(at) < 2 { // a folder, or a drive
			return "", "", ErrElsewhere
		}
		_, host, ok = strings.Cut(at, "@")
		if !ok {
			host = at
		}
		path = rest
	}
	if host == "ssh.github.com" {
		host = "github.com"
	}
	return scheme + "://" + strings.ToLower(host), strings.TrimSuffix(strings.Trim(path, "/"), ".git"), nil
}

// base parses the API's address and refuses one that a token must not be sent to.
func (p Place) base() (*url.URL, error) {
	u, err := url.Parse(p.API + "/")
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("GITHUB_API_URL must be an address such as https://api.github.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("GITHUB_API_URL may hold no user, query or fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("GITHUB_API_URL: %s has no TLS, and a token would travel in clear: use https", u.Host)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
