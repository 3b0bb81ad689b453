package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// written is the time that every materialised file bears (seconds since 1970),
// so that an arm does not tell when it was made.
const written = 1_000_000_000

// Materialise writes the files of entries into an existing, empty folder, 0644
// or 0755 by their mode, and returns the snapshot of what it wrote: a later
// Fingerprint of the untouched folder is equal to it. Entries must be in the
// order of a well-formed tree. It refuses, before it writes anything, whatever
// is no plain file and every path that is hostile, doubled or out of order.
func (c *Clone) Materialise(entries []Entry, dir string) (Snapshot, error) {
	return Materialise(entries, c.Blob, dir)
}

// Materialise is the same with the contents of files from anywhere: blob gives
// them by the ids that the entries name.
func Materialise(entries []Entry, blob func(id string) ([]byte, error), dir string) (Snapshot, error) {
	if err := checkEntries(entries); err != nil {
		return Snapshot{}, err
	}
	root, err := openEmpty(dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer root.Close()
	var s Snapshot
	made := map[string]bool{".": true}
	for _, e := range entries {
		data, err := blob(e.ID)
		if err != nil {
			return Snapshot{}, fmt.Errorf("%q: %w", e.Path, err)
		}
		mode := fs.FileMode(0o644)
		if e.Mode == ModeExecutable {
			mode = 0o755
		}
		if err := makeFolders(root, path.Dir(e.Path), made); err != nil {
			return Snapshot{}, err
		}
		if err := writeFile(root, e.Path, data, mode); err != nil {
			return Snapshot{}, err
		}
		s.Files = append(s.Files, SnapshotFile{Path: e.Path, Mode: statMode(mode), Size: int64(len(data)), SHA256: sum(data)})
	}
	folders, err := stampFolders(root, made)
	if err != nil {
		return Snapshot{}, err
	}
	s.Files = append(s.Files, folders...)
	slices.SortFunc(s.Files, func(a, b SnapshotFile) int { return strings.Compare(a.Path, b.Path) })
	return s, nil
}

// openEmpty opens a folder that must be there, be empty and be no link.
func openEmpty(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", dir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	defer d.Close()
	names, err := d.Readdirnames(1)
	if !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("%s is not empty: %q stands in it", dir, names[0])
		}
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func makeFolders(root *os.Root, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := makeFolders(root, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return root.Chmod(dir, 0o755)
}

func writeFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err != nil {
		return err
	}
	return root.Chtimes(name, time.Unix(written, 0), time.Unix(written, 0))
}

// stampFolders gives the folders their time, deepest first, and lists them.
func stampFolders(root *os.Root, made map[string]bool) ([]SnapshotFile, error) {
	var names []string
	for name := range made {
		names = append(names, name)
	}
	slices.Sort(names)
	slices.Reverse(names)
	var out []SnapshotFile
	for _, name := range names {
		if err := root.Chtimes(name, time.Unix(written, 0), time.Unix(written, 0)); err != nil {
			return nil, err
		}
		if name != "." {
			out = append(out, SnapshotFile{Path: name, Mode: statMode(fs.ModeDir | 0o755)})
		}
	}
	return out, nil
}

func checkEntries(entries []Entry) error {
	last := ""
	folders := map[string]bool{}
	for _, e := range entries {
		if e.Mode != ModeFile && e.Mode != ModeExecutable {
			return fmt.Errorf("%q has mode %s: only plain files can be written", e.Path, e.Mode)
		}
		if err := CheckPath(e.Path); err != nil {
			return err
		}
		if e.Path == last || folders[e.Path] {
			return fmt.Errorf("%q stands twice in the tree", e.Path)
		}
		if e.Path < last {
			return fmt.Errorf("%q stands after %q: the tree is out of order", e.Path, last)
		}
		last = e.Path
		for dir := path.Dir(e.Path); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	// A file and a folder of one name: the file sorts first, its folder later.
	for _, e := range entries {
		if folders[e.Path] {
			return fmt.Errorf("%q is a file and a folder", e.Path)
		}
	}
	return nil
}

// CheckPath refuses a path that is no relative path of plain names, or that a
// file system or git could take for something else: what came out of a tree is
// not to be written where it says before this was asked.
func CheckPath(p string) error {
	if len(p) > 4000 {
		return fmt.Errorf("path %q… is longer than 4000 bytes", p[:60])
	}
	for name := range strings.SplitSeq(p, "/") {
		if why := hostile(name); why != "" {
			return fmt.Errorf("path %q: %s", p, why)
		}
	}
	return nil
}

// hostile says what is wrong with one name of a path, "" if nothing.
func hostile(name string) string {
	switch {
	case name == "":
		return "an empty name"
	case name == "." || name == "..":
		return "a name of dots"
	case len(name) > 255:
		return "a name longer than 255 bytes"
	case !utf8.ValidString(name):
		return "a name that is not UTF-8"
	case strings.HasPrefix(name, "-"):
		return "a name that begins with a dash"
	case strings.ContainsAny(name, "\\"):
		return "a backslash"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) }):
		return "a control character"
	case isDotGit(name):
		return "a spelling of .git"
	}
	return ""
}

// isDotGit knows the spellings that some file system takes for ".git": case,
// trailing dots and spaces, streams and the short name of Windows, and the
// characters that HFS+ ignores.
func isDotGit(name string) bool {
	plain := strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
	plain, _, _ = strings.Cut(plain, ":")
	plain = strings.TrimRight(plain, ". ")
	return plain == ".git" || plain == "git~1"
}
