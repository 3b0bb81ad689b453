package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of what Fingerprint reads from a folder that a candidate may have
// written.
const (
	maxHashed   = 4 << 30  // bytes of one file
	maxHashedIn = 64 << 30 // bytes of one folder
	maxSeen     = 1_000_000
)

// Snapshot says what stands in a folder: every path below it, of every kind.
type Snapshot struct {
	Files []SnapshotFile `json:"files"` // sorted by path
}

// SnapshotFile is one path of a Snapshot.
type SnapshotFile struct {
	Path   string `json:"path"`             // slash-separated, raw bytes
	Mode   string `json:"mode"`             // type and permissions, octal as in stat: "100644", "040755", "010600"
	Size   int64  `json:"size"`             // bytes; of plain files only
	SHA256 string `json:"sha256,omitempty"` // hexadecimal; of plain files, and of what a symbolic link holds
	Links  uint64 `json:"links,omitempty"`  // further names of a plain file, 0 where it has but one
	Fault  string `json:"fault,omitempty"`  // why it could not be read
}

// Digest is the SHA-256 of the whole snapshot, "sha256:" and hexadecimal.
func (s Snapshot) Digest() string {
	h := sha256.New()
	for _, f := range s.Files {
		fmt.Fprintf(h, "%d:%s %s %d %s %d %q\n", len(f.Path), f.Path, f.Mode, f.Size, f.SHA256, f.Links, f.Fault)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Diff names every path that differs from s to later, and how, sorted by path.
// It is empty exactly if the digests are equal.
func (s Snapshot) Diff(later Snapshot) []string {
	was, is := s.Files, later.Files
	var out []string
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Path < is[0].Path:
			out = append(out, fmt.Sprintf("%q: missing", was[0].Path))
			was = was[1:]
		case len(was) == 0 || is[0].Path < was[0].Path:
			out = append(out, fmt.Sprintf("%q: unexpected %s", is[0].Path, kindOf(is[0])))
			is = is[1:]
		default:
			if was[0] != is[0] {
				out = append(out, fmt.Sprintf("%q: %s", was[0].Path, difference(was[0], is[0])))
			}
			was, is = was[1:], is[1:]
		}
	}
	return out
}

func kindOf(f SnapshotFile) string {
	switch f.Mode[:2] {
	case "10":
		return "file"
	case "04":
		return "folder"
	case "12":
		return "symbolic link"
	case "01":
		return "pipe"
	case "14":
		return "socket"
	case "02", "06":
		return "device"
	}
	return "path that cannot be read"
}

func difference(was, is SnapshotFile) string {
	switch {
	case kindOf(was) != kindOf(is):
		return fmt.Sprintf("%s became %s", kindOf(was), kindOf(is))
	case is.Fault != "":
		return is.Fault
	case was.Mode != is.Mode:
		return fmt.Sprintf("mode %s became %s", was.Mode, is.Mode)
	case was.Links != is.Links:
		return "has further names (hard links)"
	}
	return "contents differ"
}

// Fingerprint takes a snapshot of a folder on disk. It follows no link and
// waits for no pipe. What a candidate can do to a path, such as making it
// unreadable or too large, is a Fault of that path; the error is for what it
// cannot: the folder itself is not there, or there is more in it than is read.
func Fingerprint(dir string) (Snapshot, error) {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", dir)
	}
	if err != nil {
		return Snapshot{}, err
	}
	t := taking{dir: dir}
	if err := t.folder(""); err != nil {
		return Snapshot{}, fmt.Errorf("fingerprint of %s: %w", dir, err)
	}
	slices.SortFunc(t.out, func(a, b SnapshotFile) int { return strings.Compare(a.Path, b.Path) })
	return Snapshot{t.out}, nil
}

// taking is one Fingerprint at work.
type taking struct {
	dir   string
	out   []SnapshotFile
	bytes int64
}

// folder adds everything below the folder at prefix, "" or ending in a slash.
func (t *taking) folder(prefix string) error {
	f, err := os.Open(filepath.Join(t.dir, filepath.FromSlash(prefix)))
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if err := t.entry(prefix + name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *taking) entry(path string) error {
	if len(t.out) == maxSeen {
		return fmt.Errorf("%w files: more than %d", ErrTooMany, maxSeen)
	}
	full := t.dir + string(filepath.Separator) + filepath.FromSlash(path)
	info, err := os.Lstat(full)
	if err != nil {
		t.out = append(t.out, SnapshotFile{Path: path, Mode: "000000", Fault: fault(err)})
		return nil
	}
	f := SnapshotFile{Path: path, Mode: statMode(info.Mode())}
	switch {
	case info.Mode().IsRegular():
		f, err = t.plain(f, full)
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		if target, err = os.Readlink(full); err == nil {
			f.SHA256 = sum([]byte(target))
		}
	case info.IsDir():
		at := len(t.out)
		t.out = append(t.out, f)
		if err := t.folder(path + "/"); err != nil {
			if errors.Is(err, ErrTooMany) {
				return err
			}
			t.out[at].Fault = fault(err)
		}
		return nil
	}
	if errors.Is(err, ErrTooMany) {
		return err
	}
	if err != nil {
		f.Fault = fault(err)
	}
	t.out = append(t.out, f)
	return nil
}

// plain hashes a plain file, at most as many bytes as it has when opened.
func (t *taking) plain(f SnapshotFile, full string) (SnapshotFile, error) {
	file, err := openPlain(full)
	if err != nil {
		return f, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, errors.New("changed while it was read")
	}
	f.Size = info.Size()
	if links := hardLinks(info); links > 1 {
		f.Links = links - 1
	}
	if f.Size > maxHashed {
		return f, fmt.Errorf("larger than %d bytes", int64(maxHashed))
	}
	if t.bytes += f.Size; t.bytes > maxHashedIn {
		return f, fmt.Errorf("%w bytes: more than %d", ErrTooMany, int64(maxHashedIn))
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, f.Size+1))
	if err != nil {
		return f, err
	}
	if n != f.Size {
		return f, errors.New("changed while it was read")
	}
	f.SHA256 = hex.EncodeToString(h.Sum(nil))
	return f, nil
}

// fault is the part of an error that does not depend on where the folder is.
func fault(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// statMode writes a mode as stat does, in six octal digits.
func statMode(m fs.FileMode) string {
	kind := 0o100000
	switch m.Type() {
	case fs.ModeDir:
		kind = 0o040000
	case fs.ModeSymlink:
		kind = 0o120000
	case fs.ModeNamedPipe:
		kind = 0o010000
	case fs.ModeSocket:
		kind = 0o140000
	case fs.ModeDevice:
		kind = 0o060000
	case fs.ModeDevice | fs.ModeCharDevice:
		kind = 0o020000
	}
	for bit, value := range map[fs.FileMode]int{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&bit != 0 {
			kind |= value
		}
	}
	return fmt.Sprintf("%06o", kind|int(m.Perm()))
}
