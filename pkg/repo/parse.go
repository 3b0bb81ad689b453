package repo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// treeEntry is one entry of a raw tree object.
type treeEntry struct {
	mode, name, id string
}

// parseTree reads a raw tree object whose ids have width bytes. It takes every
// name and mode that git can store, in the order they stand.
func parseTree(raw []byte, width int) ([]treeEntry, error) {
	// All names and ids of a tree share two strings: there are many of both.
	text := string(raw)
	var ids []byte
	out := make([]treeEntry, 0, len(raw)/(width+12))
	for at := 0; at < len(text); {
		mode, rest, ok := strings.Cut(text[at:], " ")
		if !ok || len(mode) == 0 || len(mode) > 7 || strings.Trim(mode, "01234567") != "" {
			return nil, fmt.Errorf("malformed tree: entry %d has no mode", len(out)+1)
		}
		name, rest, ok := strings.Cut(rest, "\x00")
		if !ok || len(name) == 0 {
			return nil, fmt.Errorf("malformed tree: entry %d has no name", len(out)+1)
		}
		if len(rest) < width {
			return nil, fmt.Errorf("malformed tree: entry %q has no whole id", name)
		}
		out = append(out, treeEntry{mode: mode, name: name})
		at = len(text) - len(rest)
		ids = hex.AppendEncode(ids, raw[at:at+width])
		at += width
	}
	for i, all := 0, string(ids); i < len(out); i++ {
		out[i].id = all[2*width*i : 2*width*(i+1)]
	}
	return out, nil
}

// encodeTree is the inverse of parseTree.
func encodeTree(entries []treeEntry) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.id)
		if err != nil {
			return nil, fmt.Errorf("tree entry %q: id: %w", e.name, err)
		}
		fmt.Fprintf(&b, "%s %s\x00", e.mode, e.name)
		b.Write(id)
	}
	return b.Bytes(), nil
}

// isTree says whether git takes an entry of this mode for a folder.
func isTree(mode string) bool {
	n, err := strconv.ParseUint(mode, 8, 32)
	return err == nil && n&0o170000 == 0o040000
}

// parseCommit reads a raw commit object by git's own rule: the tree, then the
// parents directly below it, then whatever else, then an empty line.
func parseCommit(id string, raw []byte, width int) (Commit, error) {
	c := Commit{ID: id}
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	c.Message = string(message)
	line, rest, _ := strings.Cut(string(head), "\n")
	tree, ok := strings.CutPrefix(line, "tree ")
	if !ok || !isID(tree, width) {
		return c, &ObjectError{ID: id, Why: "is a malformed commit: it names no tree"}
	}
	c.Tree = tree
	for strings.HasPrefix(rest, "parent ") {
		line, rest, _ = strings.Cut(rest, "\n")
		parent := strings.TrimPrefix(line, "parent ")
		if !isID(parent, width) {
			return c, &ObjectError{ID: id, Why: fmt.Sprintf("is a malformed commit: its parent is %q", parent)}
		}
		c.Parents = append(c.Parents, parent)
	}
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		if person, ok := strings.CutPrefix(line, "author "); ok && c.Author == "" {
			c.Author, _ = splitPerson(person)
		}
		if person, ok := strings.CutPrefix(line, "committer "); ok && c.Time.IsZero() {
			_, c.Time = splitPerson(person)
		}
	}
	return c, nil
}

// splitPerson takes "name <address> seconds zone" apart.
func splitPerson(s string) (who string, when time.Time) {
	end := strings.LastIndexByte(s, '>')
	if end < 0 {
		return s, time.Time{}
	}
	stamp, _, _ := strings.Cut(strings.TrimLeft(s[end+1:], " \t"), " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return s[:end+1], time.Time{}
	}
	return s[:end+1], time.Unix(seconds, 0).UTC()
}

// isID says whether s is a whole object id of width bytes.
func isID(s string, width int) bool {
	if len(s) != 2*width {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || '9' < c) && (c < 'a' || 'f' < c) {
			return false
		}
	}
	return true
}

// parseStatus reads `git status --porcelain=v1 -z --no-renames`.
func parseStatus(out []byte) ([]string, error) {
	var paths []string
	for len(out) > 0 {
		record, rest, ok := bytes.Cut(out, []byte{0})
		if !ok || len(record) < 4 || record[2] != ' ' {
			return nil, fmt.Errorf("git status printed %q", record)
		}
		paths = append(paths, string(record[3:]))
		out = rest
	}
	return paths, nil
}

// parseBatchHeader reads the first line of an answer of `git cat-file --batch`.
func parseBatchHeader(line string) (id, kind string, size int64, err error) {
	id, rest, _ := strings.Cut(line, " ")
	kind, number, sized := strings.Cut(rest, " ")
	if kind == "missing" && !sized {
		return id, "", 0, &MissingError{ID: id}
	}
	if size, err = strconv.ParseInt(number, 10, 64); err != nil || size < 0 || kind == "" || id == "" {
		return "", "", 0, fmt.Errorf("git cat-file printed %q", line)
	}
	return id, kind, size, nil
}

// versionLine matches what `git version` prints, whatever the vendor adds.
const versionLine = `^git version (\d+)\.(\d+)`

// parseVersion reads `git version`.
func parseVersion(out string) (major, minor int, err error) {
	m := regexp.MustCompile(versionLine).FindStringSubmatch(out)
	if m == nil {
		return 0, 0, fmt.Errorf("git version printed %q", out)
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	return major, minor, errors.Join(err1, err2)
}
