package evaluate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
)

// newBuild is a bench whose arm is built by a shell command.
func newBuild(t *testing.T, program, build string, generated ...contract.Generated) *bench {
	t.Helper()
	b := newBench(t, program)
	b.contract.Candidate.Build = &contract.Build{Run: build, Timeout: time.Minute, Temporary: 16 << 20}
	b.contract.Scope.Generated = generated
	return b
}

// TestGeneratedPolicies has every launch print what it finds in the generated
// paths and then spoil it.
func TestGeneratedPolicies(t *testing.T) {
	b := newBuild(t, `read word; echo "$word" | tr a-z A-Z
for f in out/reset out/sub/isolate frozen/state; do
  printf '%s=%s ' "$f" "$(tr -d '\n' <$f/state)" >&2
  echo + >>$f/state || exit 1
  echo new >$f/extra-$$ && mkdir -p $f/deep/er && echo + >>$f/deep/er/file || exit 1
done
echo >&2
`, `for f in out/reset out/sub/isolate frozen/state; do echo built >>$f/state || exit 1; done`,
		contract.Generated{Path: "out/reset", Policy: contract.GeneratedReset},
		contract.Generated{Path: "out/sub/isolate", Policy: contract.GeneratedIsolate},
		contract.Generated{Path: "frozen/state", Policy: contract.GeneratedSnapshot, From: "evaluation/given"})
	b.harness["evaluation/given/state"] = "given\n"
	b.contract.Candidate.Mode = contract.ModeCase
	b.job.Counterexamples = split("counter", 2)
	b.job.Repetitions = 2
	o := b.run()
	if f := o.Evaluation.Measurements[len(o.Evaluation.Measurements)-1].Failure; f != nil {
		t.Fatalf("%+v\n%s", f, logs(o))
	}
	line := func(n int) string {
		return "out/reset=built out/sub/isolate=built" + strings.Repeat("+", n) + " frozen/state=given "
	}
	one := []string{line(0), line(1), line(2), line(0), line(1)}
	want := strings.Join(append(one, one...), "\n")
	got := strings.Join(regexp.MustCompile(`(?m)^out/reset.*$`).FindAllString(logs(o), -1), "\n")
	if got != want {
		t.Errorf("launches saw\n%s\nwant\n%s", got, want)
	}
	checkStates(t, o)
}

// checkStates wants each launch to start in the state that the one before it
// left, and only isolated ones to leave another.
func checkStates(t *testing.T, o *Outcome) {
	t.Helper()
	built := o.Evaluation.Launches[0].After
	for i, l := range o.Evaluation.Launches {
		switch {
		case l.Kind == ledger.Build:
			if l.Before == l.After {
				t.Errorf("launch %d: a build leaves no trace in the state", i)
			}
		case l.Kind == ledger.Score:
			if l.Before != built || l.After != built {
				t.Errorf("launch %d: the scorer ran in another state", i)
			}
		case o.Evaluation.Launches[i-1].Kind == l.Kind:
			if l.Before != o.Evaluation.Launches[i-1].After || l.After == l.Before {
				t.Errorf("launch %d does not follow on: %+v", i, l)
			}
		default:
			if l.Before != built || l.After == built {
				t.Errorf("launch %d does not start from the build: %+v", i, l)
			}
		}
	}
}

// TestGeneratedWithoutBuild starts isolated state empty.
func TestGeneratedWithoutBuild(t *testing.T) {
	b := newBench(t, `read word; echo x >>state/count; wc -l <state/count >&2; echo "$word" | tr a-z A-Z`+"\n")
	b.contract.Candidate.Mode = contract.ModeCase
	b.contract.Scope.Generated = []contract.Generated{{Path: "state", Policy: contract.GeneratedIsolate}}
	o := b.accuracy(1)
	got := strings.Join(regexp.MustCompile(`(?m)^[0-9]+$`).FindAllString(logs(o), -1), "")
	if got != "123" {
		t.Errorf("counts %s\n%s", got, logs(o))
	}
}

func TestBuiltProgramRuns(t *testing.T) {
	b := newBuild(t, upper, `(echo '#!/bin/sh'; cat program/main.sh) >build/corrector && chmod +x build/corrector && ! (echo x >program/new) 2>/dev/null && echo "$HOME $GOTOOLCHAIN"`,
		contract.Generated{Path: "build", Policy: contract.GeneratedReset})
	b.contract.Candidate.Run = "build/corrector"
	o := b.accuracy(1)
	if o.Logs[0].Name != "000/7/candidate.build.log" || !strings.Contains(string(o.Logs[0].Data), "\n/cache local\n") {
		t.Errorf("log %s: %s", o.Logs[0].Name, o.Logs[0].Data)
	}
}

// TestLinksLeftByBuild has a baseline whose build leaves more than plain files
// in the cache and in its own folder.
func TestLinksLeftByBuild(t *testing.T) {
	b := newBuild(t, upper, `ln -s /etc/passwd /cache/link && echo warm >/cache/warm && ln -s program build/link && mkfifo build/pipe && echo x >build/plain`,
		contract.Generated{Path: "build", Policy: contract.GeneratedReset})
	b.job.Cache, b.job.FillCache = filepath.Join(t.TempDir(), "cache"), true
	o := b.accuracy(1)
	for _, want := range []string{`note: not taken: "/cache/link: symbolic link"`, `note: not taken: "/arm/build/link: symbolic link"`, `note: not taken: "/arm/build/pipe: named pipe"`} {
		if !strings.Contains(string(o.Logs[0].Data), want) {
			t.Errorf("the log of the build has no %s:\n%s", want, o.Logs[0].Data)
		}
	}
	if got := o.Evaluation.Launches[0].Outcome; got != "exited" {
		t.Errorf("the build is recorded as %s", got)
	}
	if entries, err := os.ReadDir(b.job.Cache); err != nil || len(entries) != 1 || entries[0].Name() != "warm" {
		t.Errorf("the cache holds %v, %v", entries, err)
	}
}

func TestBuildFailures(t *testing.T) {
	build := contract.Generated{Path: "build", Policy: contract.GeneratedReset}
	t.Run("exit", func(t *testing.T) {
		o := newBuild(t, upper, "echo broken >&2; exit 2", build).failure(ledger.Crash, "build", `exit 2; stderr ends "broken"`)
		if got := kinds(o); got != "build candidate 0" {
			t.Errorf("launches: %s", got)
		}
	})
	t.Run("time", func(t *testing.T) {
		b := newBuild(t, upper, "sleep 30", build)
		b.contract.Candidate.Build.Timeout = 300 * time.Millisecond
		b.failure(ledger.Timeout, "build", "over its time")
	})
	t.Run("room", func(t *testing.T) {
		newBuild(t, upper, "head -c 20000000 /dev/zero >build/big || exit 4", build).failure(ledger.Crash, "build", "exit 4")
	})
	t.Run("file in the way", func(t *testing.T) {
		b := newBuild(t, upper, "true", contract.Generated{Path: "out/build", Policy: contract.GeneratedReset})
		b.arms[ledger.Candidate]["out"] = "a file"
		b.failure(ledger.Crash, "build", `"out" is a file in this commit`)
	})
	t.Run("no snapshot", func(t *testing.T) {
		b := newBuild(t, upper, "true", contract.Generated{Path: "build", Policy: contract.GeneratedSnapshot, From: "evaluation/none"})
		if _, err := b.try(); err == nil || !strings.Contains(err.Error(), "evaluation/none is no frozen folder") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the other arm goes on", func(t *testing.T) {
		b := newBuild(t, upper, "test -e program/good", build)
		b.arms[ledger.Incumbent] = map[string]string{"program/main.sh": upper, "program/good": ""}
		o := b.run()
		m := o.Evaluation.Measurements
		if len(m) != 2 || m[0].Failure == nil || m[0].Arm != ledger.Candidate || m[1].Failure != nil || m[1].Metrics["accuracy"] != 1 {
			t.Errorf("measurements %+v", m)
		}
	})
}

// TestCache fills the cache with the baseline's build and has a candidate try
// to poison it.
func TestCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	pass := func(build string, fill bool) string {
		b := newBuild(t, upper, build)
		b.job.Cache, b.job.FillCache = cache, fill
		return string(b.accuracy(1).Logs[0].Data)
	}
	pass(`mkdir "$HOME/deep" && echo clean >"$HOME/deep/entry"`, true)
	read := `cat /cache/deep/entry; ls /cache; `
	for range 2 {
		log := pass(read+`echo poison >/cache/deep/entry && echo poison >/cache/more && cat /cache/deep/entry`, false)
		if !strings.HasSuffix(log, "\nclean\ndeep\npoison\n== stderr: 0 bytes\n") {
			t.Errorf("log: %s", log)
		}
	}
	if log := pass(read+`echo poison >/cache/deep/entry`, true); !strings.Contains(log, "\nclean\ndeep\n== stderr") {
		t.Errorf("a filled cache was not kept: %s", log)
	}
	if data, err := os.ReadFile(filepath.Join(cache, "deep/entry")); err != nil || string(data) != "clean\n" {
		t.Errorf("the cache holds %q, error %v", data, err)
	}
}

func TestCacheOfAFailedBuild(t *testing.T) {
	parent := t.TempDir()
	b := newBuild(t, upper, `echo half >/cache/half; exit 1`)
	b.job.Cache, b.job.FillCache = filepath.Join(parent, "cache"), true
	b.failure(ledger.Crash, "build", "exit 1")
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// TestGoBuild builds a Go program with the host's toolchain, without network,
// cold and then with the warm cache.
func TestGoBuild(t *testing.T) {
	if os.Getenv("CI") == "" && os.Getenv("RESEARCH_LOOP_SLOW") == "" {
		t.Skip("compiles Go's runtime, half a minute: only with CI or RESEARCH_LOOP_SLOW set")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go toolchain to show to the sandbox: %v", err)
	}
	root := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(root, "bin", "go")); err != nil {
		t.Skipf("no Go toolchain to show to the sandbox: %v", err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	var walls []float64
	for _, fill := range []bool{true, false} {
		b := newBuild(t, "", "go build -o build/corrector ./corrector", contract.Generated{Path: "build", Policy: contract.GeneratedIsolate})
		b.arms[ledger.Candidate] = map[string]string{
			"go.mod":            "module example.com/corrector\n\ngo 1.21\n",
			"corrector/main.go": fmt.Sprintf(goProgram, fill),
		}
		b.contract.Candidate.Mode = contract.ModeCase
		b.contract.Candidate.Run = "build/corrector"
		b.contract.Candidate.Toolchains = []string{root}
		b.contract.Candidate.Build.Temporary = 256 << 20
		b.contract.Candidate.Build.Timeout = 4 * time.Minute
		b.contract.Evaluation.Requires = []string{"go"}
		b.job.Cache, b.job.FillCache = cache, fill
		o := b.accuracy(1)
		walls = append(walls, o.Evaluation.Launches[0].WallSeconds)
		if tools := o.Evaluation.Tools; !strings.HasSuffix(tools["go"], "/bin/go") || !strings.HasPrefix(tools[root], "sha256:") {
			t.Errorf("tools %v", tools)
		}
	}
	t.Logf("cold %.1f s, warm %.1f s", walls[0], walls[1])
	if walls[1] > walls[0]*0.8 {
		t.Errorf("a build with a warm cache takes %.1f s, a cold one %.1f s", walls[1], walls[0])
	}
}

// goProgram turns a line into upper case with nothing but the runtime and
// syscall, which compile fast.
const goProgram = `package main

import "syscall"

const first = %t

func main() {
	buf := make([]byte, 1024)
	n, _ := syscall.Read(0, buf)
	for i, c := range buf[:n] {
		if 'a' <= c && c <= 'z' {
			buf[i] = c - 32
		}
	}
	syscall.Write(1, buf[:n])
}
`
