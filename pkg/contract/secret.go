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
	shape func() *regexp.Regexp
	digit bool
}{
	{"a private key", shape(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----(?s:.*?-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----)?`), false},
	{"a GitHub token", shape(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`), false},
	{"a GitLab token", shape(`\bglpat-[A-Za-z0-9_-]{16,}`), false},
	{"an AWS access key", shape(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), false},
	{"a Google API key", shape(`\bAIza[A-Za-z0-9_-]{30,}`), false},
	{"a Slack token", shape(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`), true},
	{"an API key", shape(`\bsk-[A-Za-z0-9_-]{20,}`), true},
	{"an API key", shape(`\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`), false},
	{"a registry token", shape(`\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,})`), false},
	{"an age identity", shape(`\bAGE-SECRET-KEY-(?:PQ-)?1[A-Za-z0-9]{20,}`), false},
	{"a signing key", shape(`\bPRIVATE\+KEY\+[^\s"']{10,}|\bresearch-loop-signing-key:\s*[A-Za-z0-9+/]{20,}`), false},
	{"a JSON web token", shape(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`), false},
	{"a password in an address", shape(`\b[a-z][a-z0-9+.-]*://[^\s/:@"']+:[^\s/:@"'$]+@`), false},
}

// findSecrets returns what looks like a secret in data.
func findSecrets(data []byte) []secret {
	var found []secret
	for _, s := range secretShapes {
		for _, at := range s.shape().FindAllIndex(data, -1) {
			if !s.digit || bytes.ContainsAny(data[at[0]:at[1]], "0123456789") {
				found = append(found, secret{s.what, at[0], at[1]})
			}
		}
	}
	return found
}
