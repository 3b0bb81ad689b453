package evaluate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

func TestHonest(t *testing.T) {
	b := newBench(t, upper+"\n\n  \necho \"$GREETING to stderr\" >&2\n")
	b.job.Repetitions = 2
	b.contract.Acceptance.TieBreakers = []string{contract.CodeLines}
	b.contract.Secondary = []contract.Metric{{Name: contract.WallSeconds}}
	o := b.run()
	if got, want := kinds(o), "candidate candidate 0, score candidate 0, candidate candidate 1, score candidate 1"; got != want {
		t.Fatalf("launches: %s, want %s\n%s", got, want, logs(o))
	}
	e := o.Evaluation
	sum := 0.0
	for i, m := range e.Measurements {
		launch := e.Launches[2*i]
		want := map[string]float64{"accuracy": 1, contract.CodeLines: 2, contract.WallSeconds: launch.WallSeconds}
		if m.Failure != nil || fmt.Sprint(m.Metrics) != fmt.Sprint(want) || m.Repetition != i || m.Arm != ledger.Candidate {
			t.Errorf("measurement %d: %+v, want %v", i, m, want)
		}
		if len(m.Cases) != 3 || m.Cases[0] != (ledger.CaseScore{ID: "case-000.txt", Score: 1}) {
			t.Errorf("cases %v", m.Cases)
		}
	}
	for _, l := range e.Launches {
		sum += l.WallSeconds
		if l.Before == "" || l.Before != l.After || l.WallSeconds <= 0 || l.Commit != "c0ffee-candidate" {
			t.Errorf("launch %+v", l)
		}
	}
	if len(e.Measurements) != 2 || len(e.Violations) != 0 || e.Stage != ledger.Development || e.EvaluatorSeconds != sum {
		t.Errorf("evaluation %+v", e)
	}
	names := []string{"000/7/candidate-0.log", "000/7/candidate-0.score.log", "000/7/candidate-1.log", "000/7/candidate-1.score.log"}
	for i, l := range o.Logs {
		if l.Name != names[i] || e.Launches[i].Log != l.Name {
			t.Errorf("log %d is %s, recorded as %s", i, l.Name, e.Launches[i].Log)
		}
	}
	want := fmt.Sprintf(`candidate of arm candidate at c0ffee-candidate, repetition 0
outcome exited, exit 0, signal 0, wall %.3f s
== stdout: 0 bytes
== stderr: 16 bytes
hello to stderr
`, e.Launches[0].WallSeconds)
	if got := string(o.Logs[0].Data); got != want {
		t.Errorf("log:\n%s\nwant\n%s", got, want)
	}
}

// TestMeasured holds the supervisor's own metrics against the launch records.
func TestMeasured(t *testing.T) {
	b := newBench(t, `read word; echo "$word" | tr a-z A-Z; awk 'BEGIN { while (i++ < 1000000) x += i }'`+"\n")
	if b.contract.Exception(contract.BestEffortLimits) {
		t.Skip("an ordinary user may have no cgroup, and nothing to measure with")
	}
	b.contract.Candidate.Mode = contract.ModeCase
	limit := 1e9
	b.contract.Secondary = []contract.Metric{{Name: contract.CPUSeconds}, {Name: contract.WallSeconds}}
	b.contract.Constraints = []contract.Constraint{{Metric: contract.PeakMemoryBytes, AtMost: &limit}}
	o := b.accuracy(1)
	var wall, cpu, peak float64
	for _, l := range o.Evaluation.Launches[:3] {
		wall, cpu, peak = wall+l.WallSeconds, cpu+*l.CPUSeconds, max(peak, float64(*l.PeakMemoryBytes))
	}
	m := b.only(o).Metrics
	if m[contract.WallSeconds] != wall || m[contract.CPUSeconds] != cpu || m[contract.PeakMemoryBytes] != peak || len(m) != 4 {
		t.Errorf("metrics %v; launches give %v, %v, %v", m, wall, cpu, peak)
	}
	if cpu < 0.01 || peak < 1<<19 {
		t.Errorf("three launches that count to a million took %v s and %v bytes", cpu, peak)
	}
}

// TestUnconfined runs a pass without walls, as the demo may.
func TestUnconfined(t *testing.T) {
	b := newBench(t, upper)
	b.launcher = sandbox.NewUnconfined()
	b.contract.Evaluation.Requires = []string{"sh"}
	b.accuracy(1)
}

// TestArmsAlike launches two arms and compares all that the sandbox is told of
// them: order alternates, and nothing but an opaque path differs.
func TestArmsAlike(t *testing.T) {
	b := newBench(t, upper)
	b.arms[ledger.Incumbent] = map[string]string{"program/main.sh": "#\n" + upper}
	b.job.Repetitions = 2
	real := realSandbox(t)
	var seen []string
	opaque := regexp.MustCompile(`/[^ ]*/([0-9a-f]{24})`)
	b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
		if text := fmt.Sprint(s.Argv, s.Env, s.Dir, s.Binds, s.Scratch); s.Dir == armDir {
			seen = append(seen, opaque.ReplaceAllString(text, "OPAQUE"))
			for _, word := range []string{"candidate", "incumbent", "c0ffee", "case-0", b.job.Harness, answersDir} {
				if strings.Contains(text, word) {
					t.Errorf("a launch can see %q: %s", word, text)
				}
			}
		}
		return real.Run(ctx, s)
	})
	o := b.run()
	want := "candidate incumbent 0, score incumbent 0, candidate candidate 0, score candidate 0, " +
		"candidate candidate 1, score candidate 1, candidate incumbent 1, score incumbent 1"
	if got := kinds(o); got != want {
		t.Errorf("launches: %s", got)
	}
	if len(seen) != 4 || len(slices.Compact(seen)) != 1 {
		t.Errorf("launches differ: %q", seen)
	}
}

// TestArmsLookAlike has a candidate look at all that could tell it which arm it
// is. The two arms hold the same files; what both see must be the same, but for
// the names drawn at random and numbers that the kernel counts up for every
// mount and file, whichever arm it belongs to.
func TestArmsLookAlike(t *testing.T) {
	const look = `id; hostname; pwd; umask; env | sort; cat /proc/self/cgroup; cat /proc/1/cmdline; ls /proc >/tmp/ps; grep -c '^[0-9]' /tmp/ps; rm /tmp/ps; ls -l /proc/self/fd | wc -l
awk '{ $1 = $2 = $3 = ""; print }' /proc/self/mountinfo
stat -c '%n %a %u:%g %s %Y %h' /arm /arm/* /arm/program/*
stat -c '%n %a %u:%g %s %h' /inputs /outputs /tmp
ls -a / /tmp /dev /etc; grep -e Uid -e Groups -e Cap -e Seccomp /proc/self/status; ulimit -a; cat /proc/self/oom_score_adj
`
	b := newBench(t, upper+look)
	b.arms[ledger.Incumbent] = b.arms[ledger.Candidate]
	b.job.Repetitions = 2
	b.launcher = realSandbox(t)
	b.prepare()
	for _, a := range b.job.Arms {
		err := filepath.WalkDir(a.Dir, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0))) // as repo materialises
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o, err := Run(context.Background(), b.launcher, b.job)
	if err != nil {
		t.Fatal(err)
	}
	// Which slot of the machine a launch gets goes by what else runs there.
	opaque := regexp.MustCompile(`/[^ ]*/[0-9a-f]{24}|inode64|size=[0-9]+k?|\b61[0-9]{3}\b`)
	seen := map[string][]string{}
	for _, l := range o.Logs {
		if _, text, ok := strings.Cut(string(l.Data), "== stdout: "); ok && !strings.Contains(l.Name, "score") {
			text = opaque.ReplaceAllString(text, "OPAQUE")
			seen[text] = append(seen[text], l.Name)
		}
	}
	if len(seen) != 1 {
		for text, names := range seen {
			t.Errorf("%s see\n%s", names, text)
		}
	}
	for text := range seen {
		for _, want := range []string{"sandbox\n/arm\n", "/arm/program/main.sh 644", "Seccomp:\t2", " OPAQUE /arm ro,"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not seen: has the look become empty?\n%s", want, text)
			}
		}
	}
}

func TestNamesAreDrawnAnew(t *testing.T) {
	program := upper + `ls "$RESEARCH_LOOP_INPUTS"` + "\n"
	names := func() string {
		b := newBench(t, program)
		b.launcher = realSandbox(t)
		log := string(b.accuracy(1).Logs[0].Data)
		_, list, _ := strings.Cut(log, "== stdout: ")
		if got := regexp.MustCompile(`(?m)^[0-9a-f]{24}$`).FindAllString(list, -1); len(got) != 3 {
			t.Fatalf("inputs: %s", list)
		}
		return list
	}
	if a, b := names(), names(); a == b {
		t.Errorf("twice the names %s", a)
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name, program string
		status        ledger.Status
		what, detail  string
	}{
		{"exit", "echo alas >&2; exit 3\n", ledger.Crash, "launch", `exit 3; stderr ends "alas"`},
		{"signal", "kill -SEGV $$\n", ledger.Crash, "launch", "exit 139"}, // 128 + 11, says the shell
		{"no program", "exec /nowhere/at/all\n", ledger.Crash, "launch", "exit 127"},
		{"flood of stdout", "while :; do echo 0123456789012345678901234567890123456789; done\n", ledger.Crash, "output", "output-limit"},
		{"full outputs", upper + `dd if=/dev/zero of="$RESEARCH_LOOP_OUTPUTS/big" bs=64k 2>/dev/null || exit 9` + "\n", ledger.Crash, "launch", "exit 9"},
		{"links in outputs", upper + `ln -s /etc/passwd "$RESEARCH_LOOP_OUTPUTS/link"` + "\n", ledger.Crash, "output", "link"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			newBench(t, tt.program).failure(tt.status, tt.what, tt.detail)
		})
	}
	t.Run("shell killed", func(t *testing.T) {
		b := newBench(t, "")
		b.contract.Candidate.Run = "kill -KILL $$"
		b.failure(ledger.Crash, "launch", "ended by signal 9")
	})
	t.Run("memory", func(t *testing.T) {
		b := newBench(t, `awk 'BEGIN { s = "0123456789abcdef"; while (1) s = s s }'`+"\n")
		b.contract.Evaluation.Resources.Memory = 48 << 20
		if b.contract.Exception(contract.BestEffortLimits) {
			t.Skip("an ordinary user may have no cgroup, and memory no limit")
		}
		b.failure(ledger.Crash, "launch", "out-of-memory")
	})
}

// TestNoCommand has the sandbox find no command: the arm fails by it, but not
// by the scorer's.
func TestNoCommand(t *testing.T) {
	for _, dir := range []string{armDir, harnessDir} {
		b := newBench(t, upper)
		real := realSandbox(t)
		b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
			if s.Dir == dir {
				s.Argv = []string{"./nowhere"}
			}
			return real.Run(ctx, s)
		})
		if dir == armDir {
			if got := kinds(b.failure(ledger.Crash, "launch", "command ./nowhere: there is no such file")); got != "candidate candidate 0 not-launched" {
				t.Errorf("launches: %s", got)
			}
		} else if _, err := b.try(); !errors.Is(err, sandbox.ErrCommand) {
			t.Errorf("a scorer that is not there: %v", err)
		}
	}
}

func TestTimeouts(t *testing.T) {
	t.Run("launch", func(t *testing.T) {
		b := newBench(t, "sleep 30\n")
		b.contract.Evaluation.Timeout = 300 * time.Millisecond
		b.failure(ledger.Timeout, "launch", "over its time")
	})
	t.Run("total in a launch", func(t *testing.T) {
		b := newBench(t, "sleep 30\n")
		b.contract.Evaluation.Total = 300 * time.Millisecond
		b.failure(ledger.Timeout, "total", "over the 300ms of one arm on one split")
	})
	t.Run("total over cases", func(t *testing.T) {
		b := newBench(t, "sleep 0.3\n")
		b.contract.Candidate.Mode = contract.ModeCase
		b.contract.Evaluation.Total = 500 * time.Millisecond
		o := b.failure(ledger.Timeout, "total", "over the 500ms")
		if n := len(o.Evaluation.Launches); n != 2 {
			t.Errorf("%d launches: %s", n, kinds(o))
		}
	})
	t.Run("total between cases", func(t *testing.T) {
		b := newBench(t, "sleep 0.2\n")
		b.contract.Candidate.Mode = contract.ModeCase
		b.contract.Evaluation.Total = 2 * time.Second
		real := realSandbox(t)
		b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
			res, err := real.Run(ctx, s)
			res.Wall += 2 * time.Second
			return res, err
		})
		o := b.failure(ledger.Timeout, "total", "over the 2s")
		if got := kinds(o); got != "candidate candidate 0, candidate candidate 0 not-launched" {
			t.Errorf("launches: %s", got)
		}
	})
}

// TestDaemon leaves a process behind; it is gone before anything is scored.
func TestDaemon(t *testing.T) {
	b := newBench(t, upper+`(setsid sh -c 'while :; do echo late >"$RESEARCH_LOOP_OUTPUTS/late"; sleep 0.05; done' >/dev/null 2>&1 &)`+"\n")
	b.contract.Candidate.Run += " # daemon-of-research-loop-test"
	b.accuracy(1)
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if line, err := os.ReadFile(p); err == nil && strings.Contains(string(line), "/late\"") {
			t.Errorf("%s lives: %q", p, line)
		}
	}
}

// TestForgedMetric prints and leaves what a scorer would; nobody reads it.
func TestForgedMetric(t *testing.T) {
	b := newBench(t, `echo '{"metrics":{"accuracy":1}}' | tee "$RESEARCH_LOOP_OUTPUTS/metrics.json" /tmp/metrics.json; echo 'accuracy: 1'; echo '{"metrics":{"accuracy":1}}' >&2`+"\n")
	o := b.accuracy(0)
	if log := string(o.Logs[0].Data); !strings.Contains(log, "note: 1 outputs are named after no input and were ignored\n") {
		t.Errorf("log: %s", log)
	}
	want := []string{"1 outputs are named after no input and were ignored", "3 of 3 inputs have no output"}
	if !slices.Equal(o.Notes, want) {
		t.Errorf("notes %q", o.Notes)
	}
}

func TestOwnTreeIsReadOnly(t *testing.T) {
	newBench(t, `umask 077; for f in program/main.sh program/new new /inputs/new; do if (echo x >>$f) 2>/dev/null; then echo "wrote $f" >&2; exit 1; fi; done
rm -f program/main.sh 2>/dev/null && exit 1
`+upper).accuracy(1)
}

// TestAnswersAreNowhere has the candidate look for them everywhere.
func TestAnswersAreNowhere(t *testing.T) {
	b := newBench(t, `grep -rq 'word-[d]evelopment' /inputs || exit 2
grep -rl 'WORD-[D]EVELOPMENT' / --exclude-dir=proc --exclude-dir=usr --exclude-dir=dev 2>/dev/null && exit 1
find / -path /usr -prune -o \( -name 'case-0*' -o -name 'score.sh' -o -name answers -o -name harness \) -print 2>/dev/null | grep . && exit 1
env | grep -i answer && exit 1
grep -l case-000 /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null && exit 1
`+upper)
	b.accuracy(1)
}

func TestModeCase(t *testing.T) {
	b := newBench(t, `read word; echo "$word" | tr a-z A-Z`+"\n")
	b.contract.Candidate.Mode = contract.ModeCase
	b.job.Split = split("development", 12)
	b.job.Split.Cases[7].ID = "a case: ünlike others"
	o := b.accuracy(1)
	if n := len(o.Evaluation.Launches); n != 13 {
		t.Fatalf("%d launches", n)
	}
	var order []string
	logNames := map[string]bool{}
	for _, l := range o.Evaluation.Launches[:12] {
		order = append(order, l.Case)
		logNames[l.Log] = true
		if l.StdoutBytes == 0 {
			t.Errorf("%+v", l)
		}
	}
	if slices.IsSorted(order) || len(logNames) != 12 {
		t.Errorf("order %v, logs %v", order, logNames)
	}
	if !logNames["000/7/candidate-0-case-003.txt.log"] {
		t.Errorf("logs %v", logNames)
	}
}

func TestModeCaseFails(t *testing.T) {
	t.Run("one case", func(t *testing.T) {
		b := newBench(t, `read word; case $word in *-001) exit 4;; esac; echo "$word" | tr a-z A-Z`+"\n")
		b.contract.Candidate.Mode = contract.ModeCase
		b.failure(ledger.Crash, "launch", `case "case-001.txt": exit 4`)
	})
	t.Run("all outputs together", func(t *testing.T) {
		b := newBench(t, "head -c 400000 /dev/zero\n")
		b.contract.Candidate.Mode = contract.ModeCase
		b.failure(ledger.Crash, "output", "together are over 1048576 bytes")
	})
}

func TestDirectoryAndSeed(t *testing.T) {
	b := newBench(t, "")
	b.arms[ledger.Candidate] = map[string]string{"program/it's here/main.sh": `test "$1" = "$RESEARCH_LOOP_SEED" && test "$1" -ge 0 || exit 5` + "\n" + upper}
	b.contract.Candidate.Directory = "program/it's here"
	b.contract.Candidate.Run = "sh main.sh {seed}"
	b.accuracy(1)
	t.Run("missing", func(t *testing.T) {
		b := newBench(t, upper)
		b.contract.Candidate.Directory = "program/elsewhere"
		b.failure(ledger.Crash, "launch", "exit 127")
	})
}

func TestCounterexamples(t *testing.T) {
	b := newBench(t, `for f in "$RESEARCH_LOOP_INPUTS"/*; do case $(cat "$f") in *counter-001) ;; *) tr a-z A-Z <"$f" >"$RESEARCH_LOOP_OUTPUTS/${f##*/}";; esac; done`+"\n")
	b.job.Counterexamples = split("counter", 3)
	o := b.accuracy(1)
	want := map[string]string{}
	for _, i := range []int{0, 2} {
		c := b.job.Counterexamples.Cases[i]
		want[c.ID] = fmt.Sprintf("%x", sha256.Sum256(c.Answer))
	}
	if got := b.only(o).Counterexamples; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := kinds(o); got != "candidate candidate 0, counterexample candidate 0, score candidate 0" {
		t.Errorf("launches: %s", got)
	}
	t.Run("crash", func(t *testing.T) {
		b := newBench(t, `grep -q counter "$RESEARCH_LOOP_INPUTS"/* && exit 6`+"\n"+upper)
		b.job.Counterexamples = split("counter", 1)
		b.failure(ledger.Crash, "launch", "counterexamples: exit 6")
	})
}

func TestScorerFails(t *testing.T) {
	tests := []struct{ name, scorer, detail string }{
		{"NaN", `echo '{"metrics": {"accuracy": NaN}}'`, "invalid character 'N'"},
		{"two values", `echo '{"metrics": {"accuracy": 1}}'; echo '{"metrics": {"accuracy": 1}}'`, "text after the object"},
		{"extra text", `echo loading; echo '{"metrics": {"accuracy": 1}}'`, "invalid character 'l'"},
		{"nothing", `:`, "printed nothing"},
		{"exit", `echo '{"metrics": {"accuracy": 1}}'; echo no >&2; exit 2`, `scorer: exit 2; stderr ends "no"`},
		{"flood", `yes`, "scorer: output-limit"},
		{"time", `sleep 30`, "scorer: over its time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, upper)
			b.harness["evaluation/score.sh"] = tt.scorer + "\n"
			if tt.name == "time" {
				b.contract.Evaluation.Timeout = 500 * time.Millisecond
			}
			b.failure(ledger.Crash, "extract", tt.detail)
		})
	}
}

// TestScorerSees has the scorer look at everything that it is given.
func TestScorerSees(t *testing.T) {
	b := newBench(t, `for f in "$RESEARCH_LOOP_INPUTS"/*; do case $(cat "$f") in *-000) ;; *) cat "$f" >"$RESEARCH_LOOP_OUTPUTS/${f##*/}";; esac; done`+"\n")
	b.contract.Evaluation.Extract.Regex = regexp.MustCompile(`^score: ([0-9]+)$`)
	b.harness["evaluation/score.sh"] = `cat "$RESEARCH_LOOP_LAUNCHES" >&2
(cd "$RESEARCH_LOOP_INPUTS" && ls) >&2; (cd "$RESEARCH_LOOP_ANSWERS" && ls) >&2; (cd "$RESEARCH_LOOP_OUTPUTS" && ls) >&2
pwd >&2; ls -d /arm >&2; (echo x >>evaluation/score.sh) 2>/dev/null && exit 1
echo "score: $(ls "$RESEARCH_LOOP_OUTPUTS" | wc -l)"
`
	o := b.accuracy(2)
	log := string(o.Logs[1].Data)
	all := "case-000.txt\ncase-001.txt\ncase-002.txt\n"
	for _, want := range []string{`[{"case":"","call":0,"outcome":"exited","exit":0,"signal":0,"wall_seconds":`, all + all + "case-001.txt\ncase-002.txt\n/harness\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
	if !regexp.MustCompile(`ls: cannot access '?/arm`).MatchString(log) {
		t.Errorf("the scorer sees the arm: %s", log)
	}
}

func TestRedactedLogs(t *testing.T) {
	secret := "hunter2-canary/+value"
	b := newBench(t, upper+`printf 'raw %s token %s%s\n' 'hunter2-canary/+value' ghp_ aaaabbbbccccddddeeeeffff
printf '%s' 'hunter2-canary/+value' | base64 >&2; echo house-4711 >&2; exit 1
`)
	b.job.Secrets = []string{secret}
	b.contract.Redact = []contract.Redaction{{Pattern: regexp.MustCompile(`house-[0-9]+`)}}
	o := b.failure(ledger.Crash, "launch", redacted)
	for _, leak := range []string{"hunter2", "house-4711", "aHVudGVyMi1jYW5hcnkvK3Z", "ghp_"} {
		if strings.Contains(logs(o)+fmt.Sprintf("%+v", o.Evaluation), leak) {
			t.Errorf("%q stands in %s", leak, logs(o))
		}
	}
}

// TestHarnessPrintsASecret has the frozen scorer print a planted secret in every
// form, in its log, in what it fails with and across the end of what is shown.
func TestHarnessPrintsASecret(t *testing.T) {
	b := newBench(t, upper)
	b.job.Secrets = []string{canary}
	b.harness["evaluation/score.sh"] = "cat evaluation/forms >&2\nexit 2\n"
	text := strings.Repeat(".", excerpt-40) + "\n"
	for _, form := range forms() {
		text += form + "\n"
	}
	b.harness["evaluation/forms"] = text + strings.Repeat("!", excerpt) + canary + strings.Repeat("?", 190)
	o := b.failure(ledger.Crash, "extract", "scorer: exit 2")
	all := logs(o) + fmt.Sprintf("%+v", b.only(o).Failure)
	if !strings.Contains(all, redacted) {
		t.Error("nothing was redacted: nothing was tried")
	}
	for name, form := range forms() {
		for i := 0; i+12 <= len(form); i++ {
			if strings.Contains(all, form[i:i+12]) {
				t.Errorf("%s: %q is seen", name, form[i:i+12])
				break
			}
		}
	}
}

func TestStateCheck(t *testing.T) {
	// Each disturbs what stands on the host after the n-th look at the
	// contract: 1 is before the candidate's launch, 2 after it.
	tests := []struct {
		name    string
		look    int
		disturb func(b *bench) error
		want    string
		kinds   string
	}{
		{"contract before", 1, func(*bench) error { return errors.New("digest is another") }, "before candidate of arm candidate, repetition 0: contract: digest is another", "candidate candidate 0 not-launched"},
		{"contract after", 2, func(*bench) error { return errors.New("digest is another") }, "after candidate of arm candidate, repetition 0: contract:", "candidate candidate 0"},
		{"arm after", 2, func(b *bench) error {
			return os.WriteFile(filepath.Join(b.job.Arms[0].Dir, "program/main.sh"), []byte(upper+"# changed"), 0o644)
		}, `after candidate of arm candidate, repetition 0: arm candidate: "program/main.sh"`, "candidate candidate 0"},
		{"arm gets a file", 3, func(b *bench) error { return os.WriteFile(filepath.Join(b.job.Arms[0].Dir, "extra"), nil, 0o644) },
			`before score of arm candidate, repetition 0: arm candidate: "extra"`, "candidate candidate 0, score candidate 0 not-launched"},
		{"harness before", 1, func(b *bench) error {
			return os.WriteFile(filepath.Join(b.job.Harness, "evaluation/score.sh"), []byte("x"), 0o644)
		}, `before candidate of arm candidate, repetition 0: harness: "evaluation/score.sh"`, "candidate candidate 0 not-launched"},
		{"harness gone", 2, func(b *bench) error { return os.RemoveAll(b.job.Harness) }, "harness: vanished", "candidate candidate 0"},
		{"put back", 2, func(b *bench) error {
			file := filepath.Join(b.job.Harness, "evaluation/score.sh")
			return errors.Join(os.WriteFile(file, []byte("x"), 0o644), os.WriteFile(file, []byte(scorer), 0o644))
		}, "harness: touched or replaced", "candidate candidate 0"},
		{"at the end", 5, func(b *bench) error { return os.Remove(filepath.Join(b.job.Harness, "evaluation/score.sh")) },
			"at the end of the pass: harness", "candidate candidate 0, score candidate 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, upper)
			looks := 0
			b.check = func() error {
				if looks++; looks == tt.look {
					return tt.disturb(b)
				}
				return nil
			}
			o := b.run()
			if v := o.Evaluation.Violations; len(v) != 1 || !strings.Contains(v[0], tt.want) {
				t.Errorf("violations %q, want %q", v, tt.want)
			}
			if got := kinds(o); got != tt.kinds {
				t.Errorf("launches %s, want %s", got, tt.kinds)
			}
			m := b.only(o)
			if tt.look < 5 && (m.Failure == nil || m.Failure.Status != ledger.Invalid || m.Failure.What != "state") {
				t.Errorf("measurement %+v", m)
			}
		})
	}
}

// TestSameSizeSameTime changes bytes behind the back of size and mtime.
func TestSameSizeSameTime(t *testing.T) {
	b := newBench(t, upper)
	looks := 0
	b.check = func() error {
		if looks++; looks != 2 {
			return nil
		}
		file := filepath.Join(b.job.Harness, "evaluation/score.sh")
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		swapped := strings.Replace(scorer, "score=1", "score=7", 1)
		return errors.Join(os.WriteFile(file, []byte(swapped), 0o644), os.Chtimes(file, info.ModTime(), info.ModTime()))
	}
	if v := b.run().Evaluation.Violations; len(v) != 1 || !strings.Contains(v[0], "harness") {
		t.Errorf("violations %q", v)
	}
}

// TestMachineFails holds that infrastructure is an error and no score.
func TestMachineFails(t *testing.T) {
	for n := 1; n <= 2; n++ {
		t.Run(fmt.Sprintf("launch %d", n), func(t *testing.T) {
			b := newBench(t, upper)
			real := realSandbox(t)
			calls := 0
			b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
				if calls++; calls == n {
					return sandbox.Result{}, &sandbox.IntegrityError{What: "cgroup", Why: "not empty"}
				}
				return real.Run(ctx, s)
			})
			o, err := b.try()
			var integrity *sandbox.IntegrityError
			if !errors.As(err, &integrity) || o != nil {
				t.Errorf("got %v, error %v", o, err)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		b := newBench(t, upper)
		b.launcher = realSandbox(t)
		b.prepare()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if o, err := Run(ctx, b.launcher, b.job); err == nil || o != nil {
			t.Errorf("got %v, error %v", o, err)
		}
	})
	t.Run("no cgroup for a metric", func(t *testing.T) {
		b := newBench(t, upper)
		b.contract.Secondary = []contract.Metric{{Name: contract.CPUSeconds}}
		real := realSandbox(t)
		b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
			res, err := real.Run(ctx, s)
			res.Usage = sandbox.Usage{}
			return res, err
		})
		if _, err := b.try(); err == nil || !strings.Contains(err.Error(), "cpu_seconds") {
			t.Errorf("error %v", err)
		}
	})
}

func TestTools(t *testing.T) {
	b := newBench(t, upper)
	b.contract.Evaluation.Requires = []string{"sh", "awk", "test"}
	tools := b.accuracy(1).Evaluation.Tools
	for _, name := range []string{"sh", "awk"} {
		if !regexp.MustCompile(`^sha256:[0-9a-f]{64} /`).MatchString(tools[name]) {
			t.Errorf("%s is %q", name, tools[name])
		}
	}
	if len(tools) != 3 || tools["test"] == "" {
		t.Errorf("tools %v", tools)
	}
	t.Run("missing", func(t *testing.T) {
		b := newBench(t, upper)
		b.contract.Evaluation.Requires = []string{"sh", "no-such-tool", "$(touch /tmp/x)", "-p"}
		_, err := b.try()
		var missing *MissingTool
		if !errors.As(err, &missing) || !slices.Equal(missing.Names, []string{"no-such-tool", "$(touch /tmp/x)", "-p"}) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("missing toolchain", func(t *testing.T) {
		b := newBench(t, upper)
		b.contract.Candidate.Toolchains = []string{"/opt/no-such-toolchain"}
		var missing *MissingTool
		if _, err := b.try(); !errors.As(err, &missing) {
			t.Errorf("error %v", err)
		}
	})
}

func TestToolchainDigest(t *testing.T) {
	b := &bench{T: t}
	dir := b.folder(map[string]string{"VERSION": "1", "bin/tool": "a", "lib/x": "1"})
	digest := func() string {
		d, err := toolchain(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest()
	b.write(filepath.Join(dir, "lib/x"), "2")
	if digest() != first {
		t.Error("a library counts")
	}
	b.write(filepath.Join(dir, "bin/tool"), "b")
	second := digest()
	b.write(filepath.Join(dir, "VERSION"), "2")
	if first == second || digest() == second {
		t.Error("a change is not seen")
	}
}

func TestJobIsChecked(t *testing.T) {
	tests := []struct {
		name string
		with func(b *bench)
		want string
	}{
		{"no case", func(b *bench) { b.job.Split.Cases = nil }, "has no case"},
		{"no arm", func(b *bench) { b.job.Arms = nil }, "at least one arm"},
		{"two of a name", func(b *bench) { b.job.Arms = append(b.job.Arms, b.job.Arms[0]) }, `two arms are named "candidate"`},
		{"telling folder", func(b *bench) { b.job.Arms[0].Dir = "/tmp/x/candidate-7" }, "tells the candidate"},
		{"full work", func(b *bench) { b.write(filepath.Join(b.job.Work, "x"), "") }, "is not empty"},
		{"no work", func(b *bench) { b.job.Work = filepath.Join(b.job.Work, "gone") }, "work folder"},
		{"hostile case", func(b *bench) { b.job.Split.Cases[0].ID = "../x" }, `"../x" cannot name a file`},
		{"case twice", func(b *bench) { b.job.Split.Cases[0].ID = "case-001.txt" }, "two cases are named"},
		{"driver", func(b *bench) { b.contract.Candidate.Mode = "drive" }, `mode "drive" cannot be launched`},
		{"cache of two", func(b *bench) { b.job.FillCache = true }, "the cache is filled by"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, upper)
			b.prepare()
			tt.with(b)
			_, err := Run(context.Background(), launcherFunc(nil), b.job)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestWorkNotWritable has no place to write the cases to.
func TestWorkNotWritable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root writes into read-only folders: this needs an ordinary user")
	}
	b := newBench(t, upper)
	b.prepare()
	if err := os.Chmod(b.job.Work, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), launcherFunc(nil), b.job); !errors.Is(err, syscall.EACCES) {
		t.Errorf("error %v", err)
	}
}
