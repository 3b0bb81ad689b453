package main

import (
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
)

// TestREADME types the commands of README.md's console blocks, in their order,
// and compares what is printed: standard output and error as they come.
//
// The session begins in a folder beside a bare repository and its clone, with
// the task of the demo in them, and with the patches of testdata/readme. `cd`
// holds for the commands that follow, and $? is the last exit code. A line of
// README that is only … stands for any lines, one that ends in … for all that
// begin with it. Two things may differ from run to
// run and are normalised: hexadecimal numbers of 7 digits and more (each number
// of README stands for one number throughout, and its first 7 digits for all
// that begin with them, in commands too), and the folder, which README calls
// /home/ada.
func TestREADME(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	must(t, err)
	s := &transcript{person: newPerson(t, t.TempDir()), numbers: map[string]string{}}
	s.home = s.dir
	s.layOut()
	var blocks int
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks++
		for _, step := range steps(block[1]) {
			s.play(step)
		}
	}
	if blocks == 0 {
		t.Error("README.md shows no session")
	}
}

// TestREADMEContract parses the contract that README shows.
func TestREADMEContract(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	must(t, err)
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("README.md shows no contract")
	}
	for _, block := range blocks {
		if _, err := contract.Parse("README.md", block[1]); err != nil {
			t.Error(err)
		}
	}
}

// TestREADMEHouse compares README's table of packages with the first sentences
// of the packages' own comments.
func TestREADMEHouse(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	must(t, err)
	folders, err := os.ReadDir(filepath.Join("..", "..", "pkg"))
	must(t, err)
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		p, err := build.ImportDir(filepath.Join("..", "..", "pkg", folder.Name()), 0)
		must(t, err)
		row := regexp.MustCompile(`(?m)^\| ` + p.Name + ` \| (.*) \|$`).FindSubmatch(text)
		if row == nil || !strings.HasPrefix(p.Doc, "Package "+p.Name+" "+string(row[1])) {
			t.Errorf("README.md has no row for the package whose comment begins: %s", p.Doc)
		}
	}
}

// step is a command with what README says that it prints.
type step struct{ command, want string }

func steps(block string) []step {
	var out []step
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, step{command: strings.TrimSpace(command)})
		} else if len(out) > 0 {
			out[len(out)-1].want += line
		}
	}
	return out
}

// transcript is a session that is compared as it goes on.
type transcript struct {
	*person
	home    string
	last    int
	numbers map[string]string // the first digits of README's number: the number here
}

// layOut makes the task's repository, its remote, and a clone, numerals.
func (s *transcript) layOut() {
	s.t.Helper()
	task := filepath.Join("..", "..", "pkg", "demo", "task")
	must(s.t, copyMissing(s.dir, task))
	project := filepath.Join(s.dir, "project")
	must(s.t, os.Mkdir(filepath.Join(project, ".research-loop"), 0o755))
	must(s.t, os.Rename(filepath.Join(project, "contract.yml"), filepath.Join(project, ".research-loop", "contract.yml")))
	s.publish()
	s.dir = s.home
	must(s.t, os.RemoveAll(project))
	s.run("git", "clone", "--quiet", "origin.git", "numerals")
	must(s.t, os.CopyFS(s.dir, os.DirFS(filepath.Join("testdata", "readme"))))
}

// play types one command.
func (s *transcript) play(st step) {
	s.t.Helper()
	command := number.ReplaceAllStringFunc(st.command, func(n string) string {
		if here, ok := s.numbers[n[:digits]]; ok && len(n) <= len(here) {
			return here[:len(n)]
		}
		return n
	})
	if dir, ok := strings.CutPrefix(command, "cd "); ok {
		s.dir = filepath.Join(s.dir, dir)
		return
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf("(exit %d)\n%s", s.last, command))
	cmd.Dir, cmd.Env = s.dir, append(append(os.Environ(), s.env...), "PWD="+s.dir)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	s.last = cmd.ProcessState.ExitCode()
	got := strings.ReplaceAll(string(out), s.home, "/home/ada")
	if why := s.compare(strings.Split(st.want, "\n"), strings.Split(got, "\n")); why != "" {
		s.t.Fatalf("README.md is not what happens: %s\n$ %s\n%s", why, st.command, got)
	}
}

const digits = 7

var number = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)

// compare says what differs between what README shows and what was printed.
func (s *transcript) compare(want, got []string) string {
	for len(want) > 0 {
		if want[0] == "…" {
			want = want[1:]
			if len(want) == 1 { // the end
				return ""
			}
			for len(got) > 0 && !s.same(want[0], got[0]) {
				got = got[1:]
			}
		}
		if len(got) == 0 || !s.same(want[0], got[0]) {
			return fmt.Sprintf("no line %q", want[0])
		}
		want, got = want[1:], got[1:]
	}
	if len(got) > 0 {
		return fmt.Sprintf("README.md has no line %q", got[0])
	}
	return ""
}

// same compares a line, and learns its numbers if it is the same.
func (s *transcript) same(want, got string) bool {
	begins, cut := strings.CutSuffix(want, "…")
	shape := number.ReplaceAllString(got, "#")
	if pattern := number.ReplaceAllString(begins, "#"); pattern != shape && !(cut && strings.HasPrefix(shape, pattern)) {
		return false
	}
	theirs, ours := number.FindAllString(want, -1), number.FindAllString(got, -1)
	for i, n := range theirs {
		if known, ok := s.numbers[n[:digits]]; len(n) != len(ours[i]) || ok && known[:digits] != ours[i][:digits] {
			return false
		}
	}
	for i, n := range theirs {
		if len(ours[i]) > len(s.numbers[n[:digits]]) {
			s.numbers[n[:digits]] = ours[i]
		}
	}
	return true
}
