package hook

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
)

// maxInput bounds what is read from git, in bytes.
const maxInput = 16 << 20

const heads = "refs/heads/"

// update is one line of what git tells a pre-push hook.
type update struct {
	local    string // what was typed: a ref, a revision, "(delete)"
	localID  string // what will be sent, zeros for a deletion
	remote   string // full name of the ref
	remoteID string // what stands there, zeros for nothing
}

func (u update) deletes() bool { return zero(u.localID) }
func (u update) creates() bool { return zero(u.remoteID) }

// run returns the part of the ref behind "refs/heads/research-loop/".
func (u update) run() (tag string, ok bool) {
	return strings.CutPrefix(u.remote, heads+journal.RunBranch(""))
}

// records says whether the ref is one of the supervisor's.
func (u update) records() bool {
	return strings.HasPrefix(u.remote, heads+journal.StateBranch(contract.Tag("")))
}

func zero(id string) bool { return strings.Trim(id, "0") == "" }

// parseUpdates reads "<local ref> <local id> <remote ref> <remote id>" lines.
// The first field is what the person typed and may hold spaces, so a line is
// taken apart from its right end.
func parseUpdates(text string) ([]update, error) {
	var out []update
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue // a wrapper's own line end
		}
		u, ok := parseUpdate(line)
		if !ok {
			return nil, fmt.Errorf("line %d of standard input is not what git tells a pre-push hook: %+q", n, shorten(line))
		}
		out = append(out, u)
	}
	return out, nil
}

func parseUpdate(line string) (u update, ok bool) {
	rest, remoteID, ok1 := cutLast(line)
	rest, remote, ok2 := cutLast(rest)
	local, localID, ok3 := cutLast(rest)
	u = update{local, localID, remote, remoteID}
	ok = ok1 && ok2 && ok3 && local != "" && strings.HasPrefix(remote, "refs/") &&
		isID(localID) && isID(remoteID) && len(localID) == len(remoteID)
	return u, ok
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func shorten(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

// readInput reads all of stdin. A terminal is refused at once: nobody will
// type there what git would say.
func readInput(stdin io.Reader) (string, error) {
	if terminal(stdin) {
		return "", &UsageError{"standard input is a terminal; git runs this hook and tells it there which refs it pushes"}
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("what git pushes cannot be read from standard input: %w", err)
	}
	if len(data) > maxInput {
		return "", fmt.Errorf("standard input is longer than %d bytes", maxInput)
	}
	return string(data), nil
}

// terminal says whether r is a character device other than the null device.
func terminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
