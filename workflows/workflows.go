// Package workflows holds the two workflow files of research-loop as a repository
// gets them. They name the action by a commit: a tag can be moved.
package workflows

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed research-loop.yml
var loop string

//go:embed research-loop-signal.yml
var signal string

// The files, as GitHub and its API name them.
const (
	Loop   = "research-loop.yml"
	Signal = "research-loop-signal.yml"
	// Folder is where GitHub looks for workflows.
	Folder = ".github/workflows/"
	// Event is the repository_dispatch that wakes Loop.
	Event = "research-loop"
)

const (
	unpinned = "research-loop/research-loop@0000000000000000000000000000000000000000 # unreleased"
	action   = "research-loop/research-loop@"
)

var (
	commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}$`) })
	version  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.+-]{1,60}$`) })
)

// Files gives the files by their paths in a repository, with the action pinned to a
// commit of research-loop, whose version stands beside it for people.
func Files(commit, name string) (map[string][]byte, error) {
	if !commitID().MatchString(commit) || !version().MatchString(name) {
		return nil, fmt.Errorf("the action cannot be pinned to %.60q %.60q: want the 40 digits of a commit, and a version", commit, name)
	}
	return map[string][]byte{
		Folder + Loop:   []byte(strings.ReplaceAll(loop, unpinned, action+commit+" # "+name)),
		Folder + Signal: []byte(signal),
	}, nil
}

// Shipped gives the files by their paths, with no commit of the action named yet:
// to be compared with what [Unpin] makes of a repository's.
func Shipped() map[string][]byte {
	return map[string][]byte{Folder + Loop: []byte(loop), Folder + Signal: []byte(signal)}
}

// Unpin takes out of a workflow file which commit of the action it names.
func Unpin(file []byte) []byte {
	return pin().ReplaceAll(file, []byte(unpinned))
}

var pin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(regexp.QuoteMeta(action) + `([0-9a-f]{40})(?: # (\S+))?`)
})

// Pinned gives the commit and the version that a workflow file names, "" where it
// names none, or several.
func Pinned(file []byte) (commit, name string) {
	for _, m := range pin().FindAllStringSubmatch(string(file), -1) {
		if commit != "" && commit != m[1] {
			return "", ""
		}
		commit, name = m[1], m[2]
	}
	return commit, name
}
