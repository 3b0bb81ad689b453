package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/vault"
)

// canary stands in every case of a gate, and in no error.
const canary = "qoldrivex"

func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// cases are the files of a split of these inputs.
func cases(inputs ...string) map[string]string {
	out := map[string]string{}
	for i, input := range inputs {
		out[fmt.Sprintf("inputs/%03d", i)] = input
		out[fmt.Sprintf("answers/%03d", i)] = fmt.Sprintf("answer %d %s\n", i, canary)
	}
	return out
}

// project is a repository of commits, one for each set of files, where the
// message of a commit is its file "message".
func project(t testing.TB, commits ...map[string]string) Repository {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "core.autocrlf=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet")
	for _, files := range commits {
		message := files["message"]
		delete(files, "message")
		git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
		put(t, dir, files)
		git("add", "--all")
		git("commit", "--quiet", "--allow-empty", "--message", "commit "+message)
	}
	w, err := repo.OpenWork(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	_, head := w.Head()
	return Repository{Work: w, Commit: head, Contract: &contract.Contract{
		Population: "Sentences.", Splits: contract.Splits{Development: "development"},
	}}
}

// with adds files below a folder to others.
func with(files map[string]string, folder string, more map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = text
	}
	for name, text := range more {
		out[folder+name] = text
	}
	return out
}

func long(i int) string { return fmt.Sprintf("case %d of the gate is about %s\n", i, canary) }

func TestSealFindsOverlaps(t *testing.T) {
	visible := with(map[string]string{"code.txt": "first\n" + long(3) + "last\n"}, "development/", cases("one\n", "two words\n", "three\n"))
	visible = with(visible, "counter/", cases("four and four\n"))
	r := project(t,
		with(visible, "", map[string]string{"old.txt": strings.ToUpper(long(5)), "message": "says\n\n" + long(6)}),
		with(visible, "", map[string]string{"message": canary}),
	)
	r.Contract.Counterexamples = "counter"
	gate := t.TempDir()
	put(t, gate, cases("one\n", "Two  Words", long(2), long(3), long(4), long(5), long(6), "four and four\n", long(8), long(9)))
	put(t, gate, map[string]string{"brief.md": "left alone"})
	other := t.TempDir()
	put(t, other, cases("unlike\n", long(8), long(8)))
	s := Sealing{Split: "validation", Dir: gate, Keys: &keyring(t, true).Public, Against: []string{other}, Out: filepath.Join(t.TempDir(), "new", "folder")}

	_, err := Seal(s, r)
	var overlap *OverlapError
	if !errors.As(err, &overlap) {
		t.Fatal(err)
	}
	if overlap.Cases != 10 || overlap.Shared != 7 {
		t.Errorf("%d of %d", overlap.Shared, overlap.Cases)
	}
	want := []string{
		"2 in development, 1 of them byte for byte: development/inputs/000, development/inputs/001",
		"1 in counterexamples, 1 of them byte for byte: counter/inputs/000",
		"1 in the tree, 1 of them byte for byte: code.txt:2",
		"2 in the history, 1 of them byte for byte: ????????????:(message):3, ????????????:old.txt:1",
		"1 in " + other + ", 1 of them byte for byte: " + other + "/inputs/001, " + other + "/inputs/002",
	}
	for i, o := range overlap.Overlaps {
		if i >= len(want) {
			t.Errorf("more: %s", o)
		} else if !alike(o.String(), want[i]) {
			t.Errorf("got  %s\nwant %s", o, want[i])
		}
	}
	if len(overlap.Overlaps) < len(want) {
		t.Errorf("only %v", overlap.Overlaps)
	}
	if text := err.Error(); strings.Contains(text, canary) || strings.Contains(strings.ToLower(text), "two words") {
		t.Errorf("the refusal quotes a case: %s", text)
	}
	if _, err := os.Stat(s.Out); err == nil {
		t.Error("a refused seal leaves something behind")
	}

	s.Drop = true
	sealed, err := Seal(s, r)
	if err != nil {
		t.Fatal(err)
	}
	if sealed.Cases != 3 || sealed.Dropped != 7 || len(sealed.Overlaps) != 5 || sealed.Looked.Commits != 2 || sealed.Looked.Stopped {
		t.Errorf("sealed: %+v", sealed)
	}
	// Ten files of splits are known, the code is one file, the old text another.
	if sealed.Looked.Files != 2 || !strings.HasPrefix(sealed.Looked.String(), "2 files (") {
		t.Errorf("looked at %+v: %s", sealed.Looked, sealed.Looked)
	}
}

// alike compares where a question mark stands for any character.
func alike(got, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if want[i] != '?' && want[i] != got[i] {
			return false
		}
	}
	return true
}

func TestSearchSaysWhatItLeftOut(t *testing.T) {
	visible := with(map[string]string{"big.txt": strings.Repeat(" ", maxSearched) + long(1)}, "development/", cases("one\n"))
	found, looked, err := project(t, visible).search([]vault.Case{{ID: "a", Input: []byte(long(1))}})
	if err != nil {
		t.Fatal(err)
	}
	if looked.TooLarge != 1 || !strings.Contains(looked.String(), "not at 1 files of more than 16 MiB") {
		t.Errorf("looked at %+v: %s", looked, looked)
	}
	for _, o := range found {
		if o.Alike != 0 {
			t.Errorf("found %s", o)
		}
	}
	looked.Stopped = true
	if !strings.Contains(looked.String(), "not at the rest") {
		t.Errorf("%s", looked)
	}
}

// TestSealedForWhom opens both halves of both splits with every key.
func TestSealedForWhom(t *testing.T) {
	r := project(t, with(nil, "development/", cases("one\n")))
	gate := t.TempDir()
	put(t, gate, cases("a\n", "b\n", "\xff\x00"))
	for _, maintainer := range []bool{true, false} {
		k := keyring(t, maintainer)
		out := t.TempDir()
		for _, split := range []string{"validation", "final"} {
			sealed, err := Seal(Sealing{Split: split, Dir: gate, Keys: &k.Public, Out: out}, r)
			if err != nil {
				t.Fatal(err)
			}
			for key, i := range map[string]vault.Identity{"judge": k.private.Judge.Identity, "execute": k.private.Execute, "final": k.private.Final, "maintainer": k.private.Maintainer} {
				for _, b := range []Bundle{sealed.Inputs, sealed.Answers} {
					inputs := b == sealed.Inputs
					may := key == "judge" || key == "maintainer" && maintainer || inputs && (key == "execute" && split == "validation" || key == "final" && split == "final")
					opened, err := Open(b.File, i)
					if may != (err == nil) {
						t.Errorf("%s with the key of %s: %v", b.File, key, err)
					}
					if may && (opened.Digest != b.Digest || opened.Cases != 3 || opened.Split != split) {
						t.Errorf("opened %+v, sealed %+v", opened, b)
					}
				}
			}
			if _, err := Seal(Sealing{Split: split, Dir: gate, Keys: &k.Public, Out: out}, r); !isExisting(err) {
				t.Errorf("sealed over itself: %v", err)
			}
		}
	}
}

func isExisting(err error) bool {
	var there *ExistsError
	return errors.As(err, &there)
}

func TestOpenAgain(t *testing.T) {
	r := project(t, with(nil, "development/", cases("one\n")))
	gate, out, back := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "back")
	files := cases("a\n", "b\n", "\xff\x00")
	put(t, gate, files)
	k := keyring(t, true)
	sealed, err := Seal(Sealing{Split: "final", Dir: gate, Keys: &k.Public, Out: out}, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Bundle{sealed.Inputs, sealed.Answers} {
		opened, err := Open(b.File, k.private.Maintainer)
		if err != nil {
			t.Fatal(err)
		}
		if err := opened.Write(back); err != nil {
			t.Fatal(err)
		}
		if err := opened.Write(back); !isExisting(err) {
			t.Errorf("written over itself: %v", err)
		}
		if err := opened.Write(filepath.Join(r.Work.Top(), "opened")); err == nil {
			t.Error("written into a work tree")
		}
	}
	for name, text := range files {
		got, err := os.ReadFile(filepath.Join(back, name))
		if err != nil || string(got) != text {
			t.Errorf("%s came back as %q, %v", name, got, err)
		}
		if info, err := os.Stat(filepath.Join(back, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if again, err := readFolder("final", back); err != nil || len(again) != 3 {
		t.Errorf("read again: %d cases, %v", len(again), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	r := project(t, with(nil, "development/", cases("one\n")))
	gate, out := t.TempDir(), t.TempDir()
	put(t, gate, cases(long(1), long(2)))
	k := keyring(t, true)
	sealed, err := Seal(Sealing{Split: "validation", Dir: gate, Keys: &k.Public, Out: out}, r)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := os.ReadFile(sealed.Inputs.File)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"validation.answers.age", inputs, "answers of validation: swapped: these are the inputs of validation"},
		{"final.inputs.age", inputs, "inputs of final: swapped"},
		{"validation.inputs.age", inputs[:len(inputs)/2], "damaged"},
		{"validation.inputs.age", nil, "damaged"},
		{"validation.inputs.age", bytes.Repeat([]byte("x"), 1000), "damaged"},
		{"validation.age", inputs, "is not named as a bundle is"},
		{"validation.value.age", inputs, "is not named as a bundle is"},
		{".inputs.age", inputs, "is not named as a bundle is"},
		{"validation.inputs.age.gz", inputs, "is not named as a bundle is"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, k.private.Judge.Identity); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(out, "none.inputs.age"), k.private.Maintainer); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("no such file: %v", err)
	}
}

func TestSealRefuses(t *testing.T) {
	r := project(t, with(map[string]string{"gate/inputs/1": "x", "gate/answers/1": "x"}, "development/", cases("one\n")))
	k := keyring(t, true)
	good := func() map[string]string { return cases(long(1), long(2)) }
	for name, c := range map[string]struct {
		change func(s *Sealing)
		files  func(dir string) error
		want   string
	}{
		"no keys":          {change: func(s *Sealing) { s.Keys = nil }, want: "has no keys to seal to"},
		"no judge":         {change: func(s *Sealing) { s.Keys = &contract.Keys{Execute: k.Public.Execute} }, want: "keys.judge: is missing"},
		"no execute":       {change: func(s *Sealing) { s.Keys = &contract.Keys{Judge: k.Public.Judge, Final: k.Public.Final} }, want: "keys.execute: is missing"},
		"private":          {change: func(s *Sealing) { s.Keys = &contract.Keys{Judge: secrets(k)[1]} }, want: "this is an age identity, which is secret"},
		"split":            {change: func(s *Sealing) { s.Split = "development" }, want: "is not sealed"},
		"work tree":        {change: func(s *Sealing) { s.Dir = filepath.Join(r.Work.Top(), "gate") }, want: "may not lie in a git repository"},
		"other work tree":  {change: func(s *Sealing) { s.Against = []string{filepath.Join(r.Work.Top(), "gate")} }, want: "may not lie in a git repository"},
		"nothing":          {change: func(s *Sealing) { s.Dir = filepath.Join(s.Dir, "nothing") }, want: "no such file or directory"},
		"no answers":       {files: func(dir string) error { return os.RemoveAll(filepath.Join(dir, "answers")) }, want: "answers: no such file"},
		"answers are file": {files: func(dir string) error { return replace(filepath.Join(dir, "answers"), "x") }, want: "answers: is no folder"},
		"link to inputs": {files: func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "inputs"), filepath.Join(dir, "other")), os.Symlink("other", filepath.Join(dir, "inputs")))
		}, want: "inputs: is no folder"},
		"link to file": {files: func(dir string) error { return os.Symlink("000", filepath.Join(dir, "inputs", "001x")) }, want: "is no plain file"},
		"folder":       {files: func(dir string) error { return os.Mkdir(filepath.Join(dir, "inputs", "more"), 0o755) }, want: "is no plain file"},
		"count":        {files: func(dir string) error { return os.Remove(filepath.Join(dir, "answers", "001")) }, want: `there is no "answers/001"`},
		"empty": {files: func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "inputs")), os.RemoveAll(filepath.Join(dir, "answers")),
				os.Mkdir(filepath.Join(dir, "inputs"), 0o755), os.Mkdir(filepath.Join(dir, "answers"), 0o755))
		}, want: "no case"},
		"pointer": {files: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "inputs", "000"), []byte("version https://git-lfs.github.com/spec/v1\n"), 0o644)
		}, want: "LFS pointer"},
		"all known": {files: func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "inputs", "000"), []byte("one"), 0o644), os.WriteFile(filepath.Join(dir, "inputs", "001"), []byte("ONE"), 0o644))
		}, change: func(s *Sealing) { s.Drop = true }, want: "all 2 cases stand somewhere else too"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			put(t, dir, good())
			s := Sealing{Split: "validation", Dir: dir, Keys: &k.Public, Out: out}
			if c.files != nil {
				if err := c.files(dir); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				c.change(&s)
			}
			_, err := Seal(s, r)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error quotes a case: %v", err)
			}
			silent(t, "the error", err.Error(), k)
			if left, _ := os.ReadDir(out); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func replace(folder, text string) error {
	return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, []byte(text), 0o644))
}

func TestDoubles(t *testing.T) {
	of := func(inputs ...string) (list []vault.Case) {
		for _, input := range inputs {
			list = append(list, vault.Case{Input: []byte(input)})
		}
		return list
	}
	if got := doubles(of("a b\n", "A  b", "c", "a b", "c ", "d")); got != 3 {
		t.Errorf("%d doubles, want 3", got)
	}
	if got := doubles(of("a b", "a c", "ab")); got != 0 {
		t.Errorf("%d doubles, want none", got)
	}
}
