package contract

import (
	"bytes"
	"regexp"
)

// secret is a place in a draft that looks like a credential.
type secret struct {
	what     string
	from, to int
}

// secretShapes are the shapes of common credentials. digit: the match must
// hold a digit, since words joined by hyphens look alike.
var secretShapes = []struct {
	what  string
	shape *regexp.Regexp
	digit bool
}{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----(?s:.*?-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----)?`), false},
	{"a GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`), false},
	{"a GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`), false},
	{"an AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), false},
	{"a Google API key", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), false},
	{"a Slack token", regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`), true},
	{"an API key", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`), true},
	{"an API key", regexp.MustCompile(`\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`), false},
	{"a registry token", regexp.MustCompile(`\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,})`), false},
	{"an age identity", regexp.MustCompile(`\bAGE-SECRET-KEY-(?:PQ-)?1[A-Za-z0-9]{20,}`), false},
	{"a signing key", regexp.MustCompile(`\bPRIVATE\+KEY\+[^\s"']{10,}|\bresearch-loop-signing-key:\s*[A-Za-z0-9+/]{20,}`), false},
	{"a JSON web token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`), false},
	{"a password in an address", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s/:@"']+:[^\s/:@"'$]+@`), false},
}

// findSecrets returns what looks like a secret in data.
func findSecrets(data []byte) []secret {
	var found []secret
	for _, s := range secretShapes {
		for _, at := range s.shape.FindAllIndex(data, -1) {
			if !s.digit || bytes.ContainsAny(data[at[0]:at[1]], "0123456789") {
				found = append(found, secret{s.what, at[0], at[1]})
			}
		}
	}
	return found
}
