//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

const (
	maxDepth = 64   // folders in folders
	maxPath  = 1024 // bytes of a collected path
	maxNamed = 100  // refusals that are named; the others are counted
)

// collector copies the plain files of a tree that a hostile process has left.
// Whatever is not a regular file with one link is refused and named.
type collector struct {
	to      *os.Root
	budget  int64
	refused []Refusal
	more    int // refusals that are not named
}

// collect copies the plain files below the open folder dir into the host folder
// to, at most budget bytes. The error is about the host; what the candidate left
// amiss is in refused.
func collect(dir *os.File, to string, budget int64) (refused []Refusal, err error) {
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &collector{to: root, budget: budget}
	err = c.folder(dir, "", 1)
	if c.more > 0 {
		c.refused = append(c.refused, Refusal{Why: fmt.Sprintf("%d more", c.more)})
	}
	return c.refused, err
}

// folder copies what lies in dir, which is rel below the scratch.
func (c *collector) folder(dir *os.File, rel string, depth int) error {
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := c.entry(dir, name, path.Join(rel, name), depth); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			c.refuse(rel, err.Error())
			return nil
		}
	}
}

func (c *collector) entry(dir *os.File, name, rel string, depth int) error {
	if len(rel) > maxPath || depth > maxDepth {
		c.refuse(rel, fmt.Sprintf("deeper than %d folders or %d bytes", maxDepth, maxPath))
		return nil
	}
	f, info, err := openPlain(dir, name)
	if err != nil {
		c.refuse(rel, err.Error())
		return nil
	}
	defer f.Close()
	if info.IsDir() {
		if err := c.to.Mkdir(rel, 0o755); err != nil {
			return fmt.Errorf("collect %q: %w", rel, err)
		}
		return c.folder(f, rel, depth+1)
	}
	if info.Size() > c.budget {
		c.refuse(rel, "over the scratch's cap in bytes")
		return nil
	}
	c.budget -= info.Size()
	return c.file(f, rel, info)
}

func (c *collector) file(f *os.File, rel string, info fs.FileInfo) error {
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	out, err := c.to.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("collect %q: %w", rel, err)
	}
	_, err = io.Copy(out, io.LimitReader(f, info.Size()))
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("collect %q: %w", rel, err)
	}
	return nil
}

func (c *collector) refuse(rel, why string) {
	if len(c.refused) == maxNamed {
		c.more++
		return
	}
	c.refused = append(c.refused, Refusal{Path: visibleName(rel), Why: why})
}

// visibleName quotes a name that could forge a line of a report.
func visibleName(s string) string {
	if q := fmt.Sprintf("%+q", s); q != `"`+s+`"` {
		return q
	}
	return s
}

// plainKind says why a thing is not collected; empty for what may be.
func plainKind(info fs.FileInfo, links uint64) string {
	switch m := info.Mode(); {
	case m.IsDir():
		return ""
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	case !m.IsRegular():
		return "not a plain file"
	case links != 1:
		return "hard link"
	}
	return ""
}

// mostEntries bounds a lower layer: each entry costs time before every launch.
const mostEntries = 1 << 19

// measure lists the entries of a folder, "." first, which may not be more than
// most, and counts the bytes of its plain files.
func measure(dir string, most int) (entries []string, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if entries = append(entries, rel); len(entries) > most {
			return fmt.Errorf("more than %d files and folders", most)
		}
		if d.Type().IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			bytes += info.Size()
		}
		return nil
	})
	return entries, bytes, err
}
