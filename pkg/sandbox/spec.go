package sandbox

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	defaultInodes    = 16384
	defaultOpenFiles = 1024
	maxCollect       = 64 // scratches; their descriptors travel in one message
	systemPath       = "/usr/local/bin:/usr/bin:/bin"
)

// reserved are the places that the sandbox makes itself: no target may equal,
// contain or lie in one.
var reserved = []string{"/research-loop", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/libx32", "/lib64", "/etc", "/proc", "/sys", "/dev", "/tmp", "/var", "/run"}

// check refuses a Spec that means nothing, before anything is touched.
func (s Spec) check() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return refuse("command", "no command is named", "give the command to run")
	}
	for i, a := range s.Argv {
		if err := plainText(fmt.Sprintf("command, word %d", i+1), a); err != nil {
			return err
		}
	}
	if s.Dir != "" && !(path.IsAbs(s.Dir) && path.Clean(s.Dir) == s.Dir) {
		return refuse(fmt.Sprintf("working folder %q", s.Dir), "not a clean absolute path", "name a folder inside the sandbox, such as /arm")
	}
	for i, e := range s.Env { // no message may hold a value: it can be a secret
		name, value, ok := strings.Cut(e, "=")
		switch {
		case !ok || name == "":
			return refuse(fmt.Sprintf("environment, entry %d", i+1), "not NAME=value", "")
		case plainText("", e) != nil:
			return refuse(fmt.Sprintf("environment, %+q", name), fmt.Sprintf("its value of %d bytes is not UTF-8 text without NUL bytes", len(value)), "")
		}
	}
	if err := s.Limits.check(); err != nil {
		return err
	}
	return s.checkTargets()
}

func plainText(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return refuse(what, fmt.Sprintf("%q is not UTF-8 text without NUL bytes", s), "")
	}
	return nil
}

func (l Limits) check() error {
	for _, c := range []struct {
		name  string
		value float64
		shown any
		must  bool // zero is refused as well
	}{
		{"wall", float64(l.Wall), l.Wall, true}, {"output", float64(l.Output), l.Output, true}, {"temporary", float64(l.Temporary), l.Temporary, true},
		{"cpu", float64(l.CPU), l.CPU, false}, {"memory", float64(l.Memory), l.Memory, false}, {"pids", float64(l.Pids), l.Pids, false},
		{"inodes", float64(l.Inodes), l.Inodes, false}, {"open files", float64(l.OpenFiles), l.OpenFiles, false}, {"cpus", l.CPUs, l.CPUs, false},
	} {
		if !(c.value >= 0) || c.must && c.value == 0 {
			return refuse("limit "+c.name, fmt.Sprintf("%v is not more than zero", c.shown), "give it a value above zero")
		}
	}
	if l.Pids > maxPids {
		return refuse("limit pids", fmt.Sprintf("%d are more than a kernel can hold", l.Pids), fmt.Sprintf("give it at most %d", maxPids))
	}
	return nil
}

// maxPids is the most processes that Linux counts.
const maxPids = 4 << 20

func (s Spec) checkTargets() error {
	seen := map[string]bool{}
	one := func(target string) error {
		what := fmt.Sprintf("target %q", target)
		if !path.IsAbs(target) || path.Clean(target) != target || target == "/" {
			return refuse(what, "not a clean absolute path below /", "name a folder inside the sandbox, such as /inputs")
		}
		if err := plainText(what, target); err != nil {
			return err
		}
		for _, r := range reserved {
			if overlap(r, target) {
				return refuse(what, r+" belongs to the sandbox", "choose another place")
			}
		}
		if seen[target] {
			return refuse(what, "named twice", "give every bind and scratch its own place")
		}
		seen[target] = true
		return nil
	}
	for _, b := range s.Binds {
		if err := one(b.Target); err != nil {
			return err
		}
	}
	if len(s.Scratch) > maxCollect {
		return refuse("scratches", fmt.Sprintf("%d are more than %d", len(s.Scratch), maxCollect), "join some")
	}
	for _, c := range s.Scratch {
		if err := one(c.Target); err != nil {
			return err
		}
		if c.Bytes <= 0 || c.Inodes < 0 {
			return refuse("scratch "+c.Target, fmt.Sprintf("a cap of %d bytes and %d files is not more than zero", c.Bytes, c.Inodes), "give it a size")
		}
		if err := emptyFolder(c); err != nil {
			return err
		}
	}
	return nil
}

func emptyFolder(c Scratch) error {
	if c.Collect == "" {
		return nil
	}
	what := fmt.Sprintf("folder %q that collects %s", c.Collect, c.Target)
	entries, err := os.ReadDir(c.Collect)
	if err != nil {
		return refusef(what, err, "make an empty folder")
	}
	if len(entries) > 0 {
		return refuse(what, fmt.Sprintf("not empty: it holds %q", entries[0].Name()), "give every launch its own empty folder")
	}
	return nil
}

// environment is what the candidate gets: fixed names first, the Spec's last
// word on each, in the order of first mention.
func (s Spec) environment() []string {
	bins := []string{}
	for _, t := range s.Toolchains {
		bins = append(bins, path.Join(t, "bin"))
	}
	all := append([]string{
		"PATH=" + strings.Join(append(bins, systemPath), ":"), "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8",
	}, s.Env...)
	var out []string
	place := map[string]int{}
	for _, e := range all {
		name, _, _ := strings.Cut(e, "=")
		if i, ok := place[name]; ok {
			out[i] = e
			continue
		}
		place[name] = len(out)
		out = append(out, e)
	}
	return out
}

// sources follows the links of every host path in the Spec, refuses what is
// missing or protected, and writes the real paths back.
func (s *Spec) sources(p protected) error {
	s.Binds = slices.Clone(s.Binds)
	for i, b := range s.Binds {
		real, err := p.admit("bind "+b.Target, b.Source, false)
		if err != nil {
			return err
		}
		s.Binds[i].Source = real
	}
	s.Scratch = slices.Clone(s.Scratch)
	for i, c := range s.Scratch {
		if c.Lower == "" {
			continue
		}
		real, err := p.admit("lower layer of "+c.Target, c.Lower, true)
		if err != nil {
			return err
		}
		s.Scratch[i].Lower = real
	}
	for _, t := range s.Toolchains {
		real, err := p.admit("toolchain", t, true)
		if err != nil {
			return err
		}
		target := path.Clean(t)
		if within(target, "/usr") {
			target = real // a link in /usr leads to where it is shown
		}
		if !within(target, "/usr") {
			s.Binds = append(s.Binds, Bind{real, target})
		}
	}
	return s.checkTargets()
}

// protected lists real host paths that may not be shown.
type protected []string

// always are protected on every machine.
var always = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/root"}

func newProtected(paths []string) (protected, error) {
	var p protected
	for _, x := range append(slices.Clone(always), paths...) {
		if !filepath.IsAbs(x) {
			return nil, refuse(fmt.Sprintf("protected path %q", x), "not absolute", "give the whole path")
		}
		real, err := realPath(filepath.Clean(x))
		if err != nil {
			return nil, refusef(fmt.Sprintf("protected path %q", x), err, "")
		}
		if within(real, "/usr") {
			return nil, refuse(fmt.Sprintf("protected path %q", x), "it lies in /usr, which every sandbox shows", "move it out of /usr")
		}
		p = append(p, real)
	}
	return p, nil
}

// realPath follows links as far as the path exists.
func realPath(x string) (string, error) {
	real, err := filepath.EvalSymlinks(x)
	if err == nil || !os.IsNotExist(err) || filepath.Dir(x) == x {
		return real, err
	}
	parent, err := realPath(filepath.Dir(x))
	return filepath.Join(parent, filepath.Base(x)), err
}

func (p protected) admit(what, source string, folder bool) (string, error) {
	what = fmt.Sprintf("%s, source %q", what, source)
	if !filepath.IsAbs(source) {
		return "", refuse(what, "not an absolute path", "give the whole path")
	}
	if err := plainText(what, source); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return "", refusef(what, err, "name a file or folder that exists")
	}
	for _, x := range p {
		if overlap(x, real) && !inPrivate(real) {
			return "", refuse(what, fmt.Sprintf("%s equals, contains or lies in the protected %s", real, x), "show another folder")
		}
	}
	if slices.Contains(strings.Split(real, "/"), ".git") {
		return "", refuse(what, "it lies in a .git folder", "show a folder outside the repository")
	}
	if _, err := os.Lstat(filepath.Join(real, ".git")); err == nil {
		return "", refuse(what, "it holds a .git", "show a materialised copy without .git")
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", refusef(what, err, "")
	}
	if !info.IsDir() && (folder || !info.Mode().IsRegular()) {
		return "", refuse(what, "it is neither a folder nor a plain file that can be shown here", "name a folder")
	}
	return real, nil
}

// tempName begins the name of every temporary folder of ours.
const tempName = "rl-sandbox-"

// inPrivate says whether a path lies in a folder that Private made.
func inPrivate(real string) bool {
	return privateParent != "" && strings.HasPrefix(real, privateParent+"/"+tempName)
}

func within(x, parent string) bool {
	return x == parent || parent == "/" || strings.HasPrefix(x, parent+"/")
}

func overlap(a, b string) bool { return within(a, b) || within(b, a) }
