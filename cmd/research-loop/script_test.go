package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script. Most scripts begin with `project` (the
// files of testdata/project as a repository with the remote ../origin.git,
// nothing sealed) or `started` (the same with the run t open, which needs a
// sandbox). Files that a script brings below project/ win over those.
func TestScripts(t *testing.T) {
	ready := t.TempDir()
	if noSandbox() == "" {
		must(t, copyMissing(ready, filepath.Join("testdata", "project")))
		p := newPerson(t, ready)
		p.publish()
		p.start("t")
	}
	testscript.Run(t, testscript.Params{
		Files: scripts(t),
		Setup: func(env *testscript.Env) error {
			vars, err := environment(env.WorkDir)
			env.Vars = append(env.Vars, append(vars, "RUN=research-loop/t", "STATE=research-loop-state/t")...)
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sandbox":
				return noSandbox() == "", nil
			case "ci":
				return os.Getenv("CI") == "true", nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"odd": odd, "project": project,
			"publish":   func(ts *testscript.TestScript, _ bool, args []string) { publish(ts, args[0]) },
			"started":   func(ts *testscript.TestScript, _ bool, _ []string) { started(ts, ready) },
			"candidate": candidate, "push": push, "exits": exits, "recorded": recorded,
			"whole": whole, "object": object, "dead": dead, "set": set, "digest": digest,
		},
	})
}

// scripts lists those to run: all under CI=true, else one of every kind that
// README's session does not have.
func scripts(t *testing.T) []string {
	t.Helper()
	dir := filepath.Join("testdata", "script")
	if os.Getenv("CI") == "true" {
		all, err := filepath.Glob(filepath.Join(dir, "*.txt"))
		must(t, err)
		return all
	}
	var some []string
	for _, name := range []string{"contract_faults", "gate_seal", "push_kept", "start_tag", "wait_answers"} {
		some = append(some, filepath.Join(dir, name+".txt"))
	}
	t.Logf("%d of all scripts: set CI=true for the rest", len(some))
	return some
}

// copyMissing copies the files of a folder that are not yet at dir/project.
func copyMissing(dir, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, "project", name)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// git runs git in the script's folder, or dies.
func git(ts *testscript.TestScript, args ...string) string {
	ts.Check(ts.Exec("git", args...))
	return strings.TrimSpace(ts.ReadFile("stdout"))
}

// project makes the project and goes there.
func project(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(copyMissing(ts.MkAbs("."), filepath.Join("testdata", "project")))
	git(ts, "init", "--quiet", "--bare", "origin.git")
	git(ts, "init", "--quiet", "project")
	ts.Check(ts.Chdir("project"))
	git(ts, "remote", "add", "origin", "../origin.git")
	publish(ts, "the project")
}

// publish commits everything and pushes it to main.
func publish(ts *testscript.TestScript, message string) {
	git(ts, "add", "--all")
	git(ts, "commit", "--quiet", "--message", message)
	git(ts, "push", "--quiet", "origin", "HEAD:main")
	git(ts, "fetch", "--quiet", "origin")
	git(ts, "remote", "set-head", "origin", "main")
}

// started copies a project whose run t is open, and goes there.
func started(ts *testscript.TestScript, ready string) {
	if why := noSandbox(); why != "" {
		ts.Fatalf("begin the script with [!sandbox] skip: %s", why)
	}
	for _, name := range []string{"origin.git", "project"} {
		ts.Check(os.CopyFS(ts.MkAbs(name), os.DirFS(filepath.Join(ready, name))))
	}
	ts.Check(ts.Chdir("project"))
}

// candidate commits the files of testdata/candidate/NAME, or of the script's
// own folder $WORK/NAME, on top of the run branch as the remote has it:
//
//	candidate NAME [none]
//
// "none" leaves the trailers out of the message. $CANDIDATE is the new commit.
func candidate(ts *testscript.TestScript, _ bool, args []string) {
	branch := ts.Getenv("RUN")
	git(ts, "fetch", "--quiet", "--prune", "origin")
	git(ts, "checkout", "--quiet", "-B", branch, "origin/"+branch)
	from := filepath.Join(ts.Getenv("WORK"), args[0])
	if _, err := os.Stat(from); err != nil {
		from = filepath.Join("testdata", "candidate", args[0])
	}
	ts.Check(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		ts.Check(err)
		name, err := filepath.Rel(from, path)
		ts.Check(err)
		ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(name)), 0o755))
		return os.WriteFile(ts.MkAbs(name), data, 0o644)
	}))
	git(ts, "add", "--all")
	message := args[0]
	if len(args) < 2 {
		message += trailers
	}
	git(ts, "commit", "--quiet", "--allow-empty", "--message", message)
	ts.Setenv("CANDIDATE", git(ts, "rev-parse", "HEAD"))
}

// odd pushes a candidate with a file below solver/ whose name no decent
// program would write: odd GO-QUOTED-NAME
func odd(ts *testscript.TestScript, _ bool, args []string) {
	name, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	branch := ts.Getenv("RUN")
	git(ts, "fetch", "--quiet", "origin")
	blob, err := hex.DecodeString(git(ts, "rev-parse", "origin/"+branch+":solver/solve.sh"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("../tree"), append([]byte("100644 "+name+"\x00"), blob...), 0o644))
	tree := git(ts, "hash-object", "-t", "tree", "-w", "--literally", "../tree")
	root := strings.ReplaceAll(git(ts, "ls-tree", "origin/"+branch), git(ts, "rev-parse", "origin/"+branch+":solver"), tree)
	ts.Check(os.WriteFile(ts.MkAbs("../root"), []byte(root+"\n"), 0o644))
	ts.Check(ts.Exec("sh", "-c", "git mktree <../root"))
	tree = strings.TrimSpace(ts.ReadFile("stdout"))
	id := git(ts, "commit-tree", "-p", "origin/"+branch, "-m", "odd"+trailers, tree)
	git(ts, "push", "--quiet", "--no-verify", "origin", id+":refs/heads/"+branch)
	ts.Setenv("CANDIDATE", id)
}

const trailers = `

Hypothesis: sentences are turned around word by word
Failure-class: sentences of several words
Mechanism: the words change their places
Predicted-variant: any sentence of the population
Counterexample: a single word stays what it is
`

// push pushes HEAD to the run branch past the hook; the words after it are
// options of git push.
func push(ts *testscript.TestScript, _ bool, args []string) {
	git(ts, append(append([]string{"push", "--quiet", "--no-verify"}, args...), "origin", "HEAD:refs/heads/"+ts.Getenv("RUN"))...)
}

// digest asks start what would be sealed, for $DIGEST: digest TAG OPTION…
func digest(ts *testscript.TestScript, _ bool, args []string) {
	exits(ts, false, append([]string{"6", "research-loop", "start"}, args...))
	_, sum, ok := strings.Cut(ts.ReadFile("stderr"), "--confirm ")
	if !ok {
		ts.Fatalf("start names no digest to confirm")
	}
	ts.Setenv("DIGEST", strings.TrimSpace(sum))
}

// set puts what a command prints into a variable: set NAME COMMAND…
func set(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec(args[1], args[2:]...))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// exits runs a command that must end with an exit code: exits CODE COMMAND…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%s: %v", args[1], err)
	}
	got := 0
	if exit != nil {
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// recorded waits until the state branch holds an event at least N times:
// recorded KIND N
func recorded(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	deadline := time.Now().Add(time.Minute)
	for {
		cmd := exec.Command("git", "--git-dir", filepath.Join(ts.Getenv("WORK"), "origin.git"), "grep", "--no-color", "-h",
			`"event":"`+args[0]+`"`, ts.Getenv("STATE"), "--", "*.jsonl")
		out, _ := cmd.Output() // no match, or no branch yet
		if strings.Count(string(out), "\n") >= want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %s on the state branch after a minute", args[0])
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// whole checks that nothing is lost or broken: the remote's objects are
// sound, and the run branch has the incumbent's tree on top of every commit
// that is given. Where candidates had names that git itself refuses, only the
// connections are sound: whole -connected COMMIT…
func whole(ts *testscript.TestScript, _ bool, commits []string) {
	origin := []string{"--git-dir", filepath.Join(ts.Getenv("WORK"), "origin.git")}
	check := "--strict"
	if len(commits) > 0 && commits[0] == "-connected" {
		check, commits = "--connectivity-only", commits[1:]
	}
	git(ts, append(origin, "fsck", "--no-dangling", check)...)
	ts.Check(ts.Exec("research-loop", "status", ts.Getenv("RUN")[len("research-loop/"):], "--json"))
	var status struct {
		Incumbent string `json:"incumbent_commit"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &status))
	tree := func(rev string) string { return git(ts, append(origin, "rev-parse", rev+"^{tree}")...) }
	branch := "refs/heads/" + ts.Getenv("RUN")
	if got, want := tree(branch), tree(status.Incumbent); got != want {
		ts.Fatalf("the run branch has the tree %s, the incumbent %s", got, want)
	}
	for _, c := range commits {
		git(ts, append(origin, "merge-base", "--is-ancestor", c, branch)...)
	}
}

// object checks that what was printed is one JSON object with a schema:
// object SCHEMA
func object(ts *testscript.TestScript, _ bool, args []string) {
	var got struct {
		Schema string `json:"schema"`
	}
	text := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Schema != args[0] {
		ts.Fatalf("want one object with the schema %s (%v), got:\n%s", args[0], err, text)
	}
}

// dead checks that no process on this machine has the words in its command line,
// which are the script's own, or comes to have none in the time that the first
// word says: whom the kernel kills after a supervisor is not gone with it.
func dead(ts *testscript.TestScript, _ bool, args []string) {
	within, err := time.ParseDuration(args[0])
	if err == nil {
		args = args[1:]
	}
	begun := time.Now()
	for {
		alive := processes(strings.Join(args, " "))
		if len(alive) == 0 {
			return
		}
		if time.Since(begun) >= within {
			ts.Fatalf("still alive: %v", alive)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// processes lists the processes whose command line has the words.
func processes(words string) []string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, name := range lines {
		text, _ := os.ReadFile(name) // it may be gone by now
		if strings.Contains(strings.ReplaceAll(string(text), "\x00", " "), words) {
			found = append(found, filepath.Base(filepath.Dir(name)))
		}
	}
	return found
}
