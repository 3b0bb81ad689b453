package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Checkpoint is the head of a run's records, as it is signed at every durable
// point. Its text is
//
//	<origin>
//	<number of journal lines>
//	<base64 of the SHA-256 of the last journal line with its newline>
//	contract sha256:<hex>
//	results sha256:<hex>
//	gate <used>/<budget>
type Checkpoint struct {
	// Origin names repository and run: see [Origin].
	Origin string
	// Lines is the length of the journal, at least 1, and Head the hash of its
	// last line.
	Lines int
	Head  string
	// Contract is the digest of the sealed contract.
	Contract string
	// Results is the hash of the bytes of all results, ZeroHash while there are none.
	Results string
	// Used and Budget count gate queries; both are 0 for a run without a gate.
	Used, Budget int
}

// VerdictNote binds one verdict to one commit of one run, at one point of its
// journal. Its text is
//
//	<origin>
//	verdict <status>
//	iteration <number>, or "none" for a tip that was no candidate
//	commit <id>
//	tree <id>
//	journal <number of lines> sha256:<hex of the last one>
//
// The second line keeps it apart from every checkpoint.
type VerdictNote struct {
	Origin string
	// Status is a status, or "superseded".
	Status string
	// Iteration is -1 where there was no attempt.
	Iteration    int
	Commit, Tree string
	// Lines and Head are the journal before the event that publishes the verdict.
	Lines int
	Head  string
}

// isOrigin says whether s is research-loop/<owner>/<repository>/<tag>.
func isOrigin(s string) bool {
	const small, large = "abcdefghijklmnopqrstuvwxyz0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ._%-"
	rest, ok := strings.CutPrefix(s, "research-loop/")
	owner, rest, _ := strings.Cut(rest, "/")
	repository, tag, _ := strings.Cut(rest, "/")
	return ok && madeOf(owner, small+large) && madeOf(repository, small+large) && madeOf(tag, small+"-") &&
		!strings.Contains("-"+tag+"-", "--")
}

func isStatus(s string) bool { return len(s) <= 20 && madeOf(s, "abcdefghijklmnopqrstuvwxyz") }

// madeOf says whether s is not empty and has no other characters, which are ASCII.
func madeOf(s, characters string) bool { return s != "" && strings.Trim(s, characters) == "" }

// isHash says whether s is "sha256:" and 64 digits, isObject whether it is a
// whole object id. All of these are asked tens of thousands of times for a long run.
func isHash(s string) bool {
	digits, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(digits) == 64 && hexadecimal(digits)
}

func isObject(s string) bool { return (len(s) == 40 || len(s) == 64) && hexadecimal(s) }

func hexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || '9' < c) && (c < 'a' || 'f' < c) {
			return false
		}
	}
	return true
}

// Format gives the text that is signed. An error names the field that cannot
// be written.
func (c Checkpoint) Format() (string, error) {
	switch {
	case !isOrigin(c.Origin):
		return "", fmt.Errorf("origin %.100q: want research-loop/<owner>/<repository>/<tag>", c.Origin)
	case c.Lines < 1:
		return "", fmt.Errorf("a journal of %d lines has no checkpoint", c.Lines)
	case c.Used < 0 || c.Budget < c.Used:
		return "", fmt.Errorf("%d of %d gate queries", c.Used, c.Budget)
	}
	for _, h := range []string{c.Head, c.Contract, c.Results} {
		if !isHash(h) {
			return "", fmt.Errorf("hash %.100q: want sha256: and 64 hexadecimal digits", h)
		}
	}
	head, err := hex.DecodeString(strings.TrimPrefix(c.Head, "sha256:"))
	return c.Origin + "\n" + strconv.Itoa(c.Lines) + "\n" + encode(head) + "\ncontract " + c.Contract + "\nresults " + c.Results +
		"\ngate " + strconv.Itoa(c.Used) + "/" + strconv.Itoa(c.Budget) + "\n", err
}

// ParseCheckpoint reads the text of a checkpoint, and no other text.
func ParseCheckpoint(text string) (Checkpoint, error) {
	var c Checkpoint
	lines := strings.Split(text, "\n")
	if len(lines) != 7 || lines[6] != "" {
		return c, errors.New("a checkpoint has six lines")
	}
	c.Origin = lines[0]
	c.Lines, _ = strconv.Atoi(lines[1]) // what is not written back the same is refused below
	head, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil {
		return c, fmt.Errorf("line 3: %w", err)
	}
	c.Head = "sha256:" + hex.EncodeToString(head)
	c.Contract = strings.TrimPrefix(lines[3], "contract ")
	c.Results = strings.TrimPrefix(lines[4], "results ")
	used, budget, _ := strings.Cut(strings.TrimPrefix(lines[5], "gate "), "/")
	c.Used, _ = strconv.Atoi(used)
	c.Budget, _ = strconv.Atoi(budget)
	return c, unchanged(c.Format, text)
}

// Format gives the text that is signed. An error names the field that cannot
// be written.
func (v VerdictNote) Format() (string, error) {
	iteration := "none"
	if v.Iteration >= 0 {
		iteration = strconv.Itoa(v.Iteration)
	}
	switch {
	case !isOrigin(v.Origin):
		return "", fmt.Errorf("origin %.100q: want research-loop/<owner>/<repository>/<tag>", v.Origin)
	case !isStatus(v.Status):
		return "", fmt.Errorf("status %.100q", v.Status)
	case v.Iteration < -1:
		return "", fmt.Errorf("iteration %d", v.Iteration)
	case !isObject(v.Commit) || !isObject(v.Tree):
		return "", fmt.Errorf("commit %.100q, tree %.100q: want full object ids", v.Commit, v.Tree)
	case v.Lines < 1 || !isHash(v.Head):
		return "", fmt.Errorf("journal of %d lines, head %.100q", v.Lines, v.Head)
	}
	return fmt.Sprintf("%s\nverdict %s\niteration %s\ncommit %s\ntree %s\njournal %d %s\n",
		v.Origin, v.Status, iteration, v.Commit, v.Tree, v.Lines, v.Head), nil
}

// ParseVerdict reads the text of a verdict note, and no other text.
func ParseVerdict(text string) (VerdictNote, error) {
	var v VerdictNote
	lines := strings.Split(text, "\n")
	if len(lines) != 7 || lines[6] != "" {
		return v, errors.New("a verdict note has six lines")
	}
	v.Origin = lines[0]
	v.Status = strings.TrimPrefix(lines[1], "verdict ")
	v.Iteration = -1
	if number := strings.TrimPrefix(lines[2], "iteration "); number != "none" {
		v.Iteration, _ = strconv.Atoi(number) // what is not written back the same is refused below
	}
	v.Commit = strings.TrimPrefix(lines[3], "commit ")
	v.Tree = strings.TrimPrefix(lines[4], "tree ")
	count, head, _ := strings.Cut(strings.TrimPrefix(lines[5], "journal "), " ")
	v.Lines, _ = strconv.Atoi(count)
	v.Head = head
	return v, unchanged(v.Format, text)
}

// unchanged refuses a text that would not be written as it stands.
func unchanged(format func() (string, error), text string) error {
	again, err := format()
	if err != nil {
		return err
	}
	return same([]byte(again), []byte(text))
}

// Checkpoint signs a checkpoint.
func (s *Signer) Checkpoint(c Checkpoint) ([]byte, error) {
	text, err := c.Format()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return s.sign(text)
}

// Verdict signs a verdict.
func (s *Signer) Verdict(v VerdictNote) ([]byte, error) {
	text, err := v.Format()
	if err != nil {
		return nil, fmt.Errorf("verdict note: %w", err)
	}
	return s.sign(text)
}

// Checkpoint opens a signed checkpoint. Whether it is one of the run that is
// looked at only its Origin and its Contract say.
func (v *Verifier) Checkpoint(data []byte) (Checkpoint, error) {
	text, err := v.open(data)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	return c, nil
}

// Verdict opens a signed verdict. Whether it is one of the run and the commit
// that are looked at only its fields say.
func (v *Verifier) Verdict(data []byte) (VerdictNote, error) {
	text, err := v.open(data)
	if err != nil {
		return VerdictNote{}, fmt.Errorf("verdict note: %w", err)
	}
	n, err := ParseVerdict(text)
	if err != nil {
		return VerdictNote{}, fmt.Errorf("verdict note: %w", err)
	}
	return n, nil
}

// Length gives the number of journal lines that a checkpoint says it covers,
// whoever signed it and whatever else it says; ok is false where it says none.
func Length(note string) (lines int, ok bool) {
	_, rest, _ := strings.Cut(note, "\n")
	number, _, _ := strings.Cut(rest, "\n")
	lines, err := strconv.Atoi(number)
	return lines, err == nil && lines > 0
}

// Origin names a run for its notes: research-loop/<owner>/<repository>/<tag>
// where the remote is a server's OWNER/NAME, as on github.com and on every GitHub
// Enterprise, in lower case since GitHub does not tell cases apart; elsewhere
// research-loop/local/<folder>/<tag>, the folder being the last one of the
// remote's path without .git. Only the address counts, so that whoever reads gives
// a run the name by which it was signed. Bytes other than letters, digits, dot,
// hyphen and underscore are written as in a URL.
func Origin(remote, tag string) (string, error) {
	host, path := address(remote)
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if n := len(parts); n > 0 && parts[n-1] == ".git" {
		parts = parts[:n-1]
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("remote %q has no folder to name the run by", remote)
	}
	owner, repository := "local", strings.TrimSuffix(parts[len(parts)-1], ".git")
	if len(host) > 1 && len(parts) == 2 { // one letter is a drive
		owner, repository = strings.ToLower(parts[0]), strings.ToLower(repository)
	}
	origin := "research-loop/" + escape(owner) + "/" + escape(repository) + "/" + tag
	if !isOrigin(origin) {
		return "", fmt.Errorf("remote %q and tag %q give no name for the run", remote, tag)
	}
	return origin, nil
}

// address cuts a remote, a URL, host:path or a folder, into host and path.
func address(remote string) (host, path string) {
	if _, rest, ok := strings.Cut(remote, "://"); ok {
		host, path, _ = strings.Cut(rest, "/")
	} else if before, after, ok := strings.Cut(remote, ":"); ok && !strings.ContainsAny(before, "/\\") {
		host, path = before, after
	} else {
		return "", remote
	}
	path, _, _ = strings.Cut(path, "?")
	host = host[strings.LastIndexByte(host, '@')+1:]
	host, _, _ = strings.Cut(host, ":")
	return strings.ToLower(host), path
}

// escape writes a name in characters that an origin may hold.
func escape(name string) string {
	var b bytes.Buffer
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
