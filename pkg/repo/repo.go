// Package repo reads and writes the git repositories of a run.
//
// There are two kinds, and they are never confused:
//
//   - A [Clone] is a bare repository that the supervisor owns. Objects are read
//     and written with go-git; the git binary is used for transport alone, so
//     that a person's credentials, proxies and ssh settings work as they do for
//     them. It mirrors the remote's branches exactly.
//   - A [Work] is a person's repository. It is only ever asked through the git
//     binary's plumbing, because go-git refuses or misreads ordinary set-ups
//     (SHA-256, reftable, split index, sparse and partial clones). Work tree,
//     index and stash are never changed.
//
// Three rules hold for both:
//
//   - An object is taken by its id, and its bytes must hash to that id. Replace
//     refs, grafts, attributes, text conversions, file monitors and forged
//     shallow files therefore cannot show anything but the truth; at worst
//     something is missing, which is an error and never an absence.
//   - A tree is flattened from its raw bytes. Names survive reading exactly as
//     they stand, the hostile ones included, for the audit to see; they are
//     refused where a file would be written ([Clone.Materialise]).
//   - No hook runs and nothing prompts, save for a remote's own hooks.
//
// [Clone.Push] is the only way to change a remote: a compare-and-swap that can
// create a branch or move it forward and cannot rewrite one.
package repo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Modes of an [Entry]. Another mode is possible in a malformed tree.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
	ModeGitlink    = "160000"
	modeTree       = "40000"
)

// Limits of what is read from objects that anybody may have written.
const (
	maxObject  = 256 << 20 // bytes of one object
	maxEntries = 2_000_000 // entries visited while one tree is flattened
	maxDepth   = 512       // folders below each other
	maxRange   = 1000      // commits of one Range
	maxCached  = 2_000_000 // tree entries kept in memory for the next tree
	maxKept    = 64 << 10  // bytes of a commit that is kept in memory
	maxHeld    = 512 << 20 // bytes of all commits that are kept
)

// ErrTooMany is returned by Range when more than 1000 commits lie between its
// ends, and by Tree for a tree of more than two million entries.
var ErrTooMany = errors.New("too many")

// Entry is one file of a flattened tree.
type Entry struct {
	Path string // the raw bytes of the tree objects, joined with slashes
	Mode string // "100644", "100755", "120000", "160000"; as it stands if malformed
	ID   string // object id, lower-case hexadecimal
}

// Commit is one commit object.
type Commit struct {
	ID, Tree string
	Parents  []string
	Author   string    // name and address, as written
	Message  string    // raw bytes
	Time     time.Time // of the committer, in UTC; zero if it cannot be read
}

// Change is a path that differs between two trees. From.ID is "" where the
// path was added, To.ID where it was deleted. There are no renames.
type Change struct {
	Path     string
	From, To Entry
}

// Changes lists what differs from a to b, sorted by path. A path that stands
// twice in one tree is compared occurrence by occurrence.
func Changes(a, b []Entry) []Change {
	a, b = sorted(a), sorted(b)
	var out []Change
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			out = append(out, Change{Path: a[0].Path, From: a[0]})
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			out = append(out, Change{Path: b[0].Path, To: b[0]})
			b = b[1:]
		default:
			if a[0] != b[0] {
				out = append(out, Change{Path: a[0].Path, From: a[0], To: b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// sorted returns entries in order of their paths; those of a well-formed tree
// are so already.
func sorted(entries []Entry) []Entry {
	byPath := func(x, y Entry) int { return cmp.Compare(x.Path, y.Path) }
	if slices.IsSortedFunc(entries, byPath) {
		return entries
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, byPath)
	return entries
}

// MissingError says that an object is not in the repository, which is never
// the same as a file that is not in a tree.
type MissingError struct {
	ID  string
	Why string // what may have caused it and what helps, "" if not known
}

func (e *MissingError) Error() string {
	if e.Why == "" {
		return fmt.Sprintf("object %s is missing", e.ID)
	}
	return fmt.Sprintf("object %s is missing: %s", e.ID, e.Why)
}

// ObjectError says that an object is not what it must be: its bytes are not
// those of its id, it is of another kind, or it cannot be taken apart. Reading
// it again will not help.
type ObjectError struct {
	ID  string
	Why string // begins with a verb
}

func (e *ObjectError) Error() string { return fmt.Sprintf("object %s %s", e.ID, e.Why) }

// SizeError says that an object is larger than this package reads.
type SizeError struct {
	ID           string
	Bytes, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("object %s has %d bytes; at most %d are read", e.ID, e.Bytes, e.Limit)
}
