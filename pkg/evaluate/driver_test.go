package evaluate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// playing is a driver that asks for one launch a case.
const playing = `for f in "$RESEARCH_LOOP_INPUTS"/*; do
  $RESEARCH_LOOP_CANDIDATE -- "$GREETING" "two words" <"$f" >"$RESEARCH_LOOP_OUTPUTS/${f##*/}" || echo "$f: $?" >&2
done
`

// newDriven is a job of mode driver.
func newDriven(t *testing.T, driver, program string) *bench {
	t.Helper()
	b := newBench(t, program)
	b.contract.Candidate.Mode = contract.ModeDriver
	b.contract.Evaluation.Driver = &contract.Driver{Run: "sh evaluation/drive.sh {seed}"}
	b.harness["evaluation/drive.sh"] = driver
	return b
}

func TestDriver(t *testing.T) {
	b := newDriven(t, "pwd; echo \"seed $1\"\n"+playing, `test "$1.$2.$#" = "hello.two words.2" || exit 3; tr a-z A-Z; echo "seed $RESEARCH_LOOP_SEED" >&2`+"\n")
	b.contract.Secondary = []contract.Metric{{Name: contract.WallSeconds}}
	b.job.Counterexamples = split("counter", 2)
	b.job.Repetitions = 2
	o := b.run()
	once := "driver candidate N, candidate candidate N, candidate candidate N, candidate candidate N, " +
		"counterexample-driver candidate N, counterexample candidate N, counterexample candidate N, score candidate N"
	if got, want := kinds(o), strings.ReplaceAll(once, "N", "0")+", "+strings.ReplaceAll(once, "N", "1"); got != want {
		t.Fatalf("launches: %s\nwant %s\n%s", got, want, logs(o))
	}
	wall, total := 0.0, 0.0
	names := map[string]bool{}
	for i, l := range o.Evaluation.Launches {
		want := []int{0, 1, 2, 3, 0, 1, 2, 0}[i%8]
		if l.Call != want || l.Before == "" || l.Before != l.After || l.WallSeconds <= 0 || names[l.Log] {
			t.Errorf("launch %d: %+v", i, l)
		}
		names[l.Log] = true
		if l.Kind == ledger.Measure && l.Repetition == 0 {
			wall += l.WallSeconds
		}
		if l.Call == 0 {
			total += l.WallSeconds
		}
	}
	m := o.Evaluation.Measurements
	if len(m) != 2 || m[0].Failure != nil || m[0].Metrics["accuracy"] != 1 || m[0].Metrics[contract.WallSeconds] != wall || len(m[0].Counterexamples) != 2 {
		t.Errorf("measured %+v\n%s", m, logs(o))
	}
	if o.Evaluation.EvaluatorSeconds != total {
		t.Errorf("%v s of evaluator, want %v", o.Evaluation.EvaluatorSeconds, total)
	}
	text := logs(o)
	for _, want := range []string{"--- 000/7/candidate-0.driver.log", "--- 000/7/candidate-0-call-000003.log", "--- 000/7/candidate-1.counterexample-driver.log", "--- 000/7/candidate-1.counterexample-call-000002.log",
		", call 3\n", "WORD-DEVELOPMENT-00", "\n/harness\nseed " + seed(b.job.Contract.Digest, ledger.Development), "== stderr: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the logs have no %q", want)
		}
	}
}

// TestDriverSees looks from the driver and from what it launches: neither has
// what is the other's, and nobody has answers.
func TestDriverSees(t *testing.T) {
	const look = `ls -d /arm/* /inputs /outputs /answers /harness/* /launches.json /research-loop 2>/dev/null; env | grep RESEARCH; `
	b := newDriven(t, look+"\n$RESEARCH_LOOP_CANDIDATE -- x </dev/null\n", look+"grep -e inputs -e harness /proc/self/mountinfo; ls /proc | grep -c '^[0-9]'")
	b.contract.Metric.Name = "accuracy"
	o := b.run()
	log := func(name string) string {
		for _, l := range o.Logs {
			if l.Name == "000/7/"+name {
				_, after, _ := strings.Cut(string(l.Data), " bytes\n")
				out, _, _ := strings.Cut(after, "== stderr")
				return out
			}
		}
		t.Fatalf("no log %s\n%s", name, logs(o))
		return ""
	}
	sees := "RESEARCH_LOOP_SEED=" + seed(b.job.Contract.Digest, ledger.Development) + "\n"
	candidate := "/arm/program\n" + sees + "5\n" // init, two shells, ls, grep
	if got := log("candidate-0-call-000001.log"); got != candidate {
		t.Errorf("the candidate sees\n%swant\n%s", got, candidate)
	}
	driver := "/harness/evaluation\n/inputs\n/outputs\n/research-loop\n"
	got := log("candidate-0.driver.log")
	if !strings.HasPrefix(got, driver) || !strings.HasSuffix(got, candidate) || strings.Count(got, "\n") != 11 {
		t.Errorf("the driver sees\n%s", got)
	}
}

func TestDriverFails(t *testing.T) {
	for _, tt := range []struct {
		name, driver, program string
		change                func(*bench)
		status                ledger.Status
		what, detail          string
		launches              string
	}{
		{"exit", "echo alas >&2; exit 3\n", "", nil, ledger.Crash, "launch", `driver: exit 3; stderr ends "alas"`, "driver candidate 0"},
		{"links in outputs", "ln -s /etc/passwd /outputs/link\n", "", nil, ledger.Crash, "output", "driver: unreadable-output", "driver candidate 0 unreadable-output"},
		{"total", "$RESEARCH_LOOP_CANDIDATE -- </dev/null", "sleep 60", func(b *bench) { b.contract.Evaluation.Total = 2 * time.Second },
			ledger.Timeout, "total", "over the 2s", "driver candidate 0 timeout, candidate candidate 0 cancelled"},
		{"killed", "mkfifo /tmp/up; $RESEARCH_LOOP_CANDIDATE -- </dev/null >/tmp/up & read up </tmp/up; kill -9 $$", "echo up; sleep 60", nil,
			ledger.Crash, "launch", "driver: exit 137", "driver candidate 0, candidate candidate 0 cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newDriven(t, tt.driver, tt.program)
			if tt.change != nil {
				tt.change(b)
			}
			o := b.failure(tt.status, tt.what, tt.detail)
			if got := kinds(o); got != tt.launches {
				t.Errorf("launches: %s, want %s", got, tt.launches)
			}
		})
	}
}

// TestDriverJudges leaves what a launch did to the driver.
func TestDriverJudges(t *testing.T) {
	b := newDriven(t, `t() { $RESEARCH_LOOP_CANDIDATE -- "$@" </dev/null; echo "$*: $?"; }
t sh -c 'exit 7'
t sh -c 'kill -9 $$'
t /nowhere/at/all
$RESEARCH_LOOP_CANDIDATE -- sh -c yes </dev/null >/dev/null; echo "sh -c yes: $?"
t sh -c 'sleep 60'
mkfifo /tmp/up; $RESEARCH_LOOP_CANDIDATE -- sh -c 'echo up; sleep 60' </dev/null >/tmp/up & read up </tmp/up; kill -9 $!; wait $!; echo "killed: $?"
`, "")
	b.contract.Candidate.Run = ""
	b.contract.Evaluation.Timeout = 2 * time.Second
	o := b.accuracy(0)
	text := string(o.Logs[len(o.Logs)-2].Data)
	for _, want := range []string{"sh -c exit 7: 7\n", "sh -c kill -9 $$: 137\n", "/nowhere/at/all: 127\n", "sh -c yes: 122\n", "sh -c sleep 60: 124\n", "killed: 137\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the driver has no %q: %.3000s", want, text)
		}
	}
	want := "driver candidate 0, candidate candidate 0, candidate candidate 0 signalled, candidate candidate 0, candidate candidate 0 output-limit, " +
		"candidate candidate 0 timeout, candidate candidate 0 cancelled, score candidate 0"
	if got := kinds(o); got != want {
		t.Errorf("launches: %s\nwant %s", got, want)
	}
}

// TestDriverForks has a driver ask for far more launches than may run at once.
func TestDriverForks(t *testing.T) {
	asked := callsAtOnce + 2
	if os.Getenv("CI") == "true" {
		asked = 24
	}
	for policy, most := range map[contract.Policy]int64{contract.GeneratedReset: callsAtOnce, contract.GeneratedIsolate: 1} {
		b := newDriven(t, fmt.Sprintf("for i in $(seq %d); do", asked)+` $RESEARCH_LOOP_CANDIDATE -- $i </dev/null & done; wait`, `echo x >>state/count; wc -l <state/count`)
		b.contract.Scope.Generated = []contract.Generated{{Path: "state", Policy: policy}}
		real := realSandbox(t)
		var now, seen atomic.Int64
		b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
			if s.Dir == armDir {
				seen.Store(max(seen.Load(), now.Add(1)))
				defer now.Add(-1)
			}
			return real.Run(ctx, s)
		})
		o := b.accuracy(0)
		if n := len(o.Evaluation.Launches); n != asked+2 || seen.Load() > most {
			t.Errorf("%s: %d launches, %d at once\n%s", policy, n, seen.Load(), logs(o))
		}
		last := map[contract.Policy]string{contract.GeneratedReset: "\n1\n", contract.GeneratedIsolate: fmt.Sprintf("\n%d\n", asked)}[policy]
		if text := logs(o); !strings.Contains(text, last) {
			t.Errorf("%s: no launch counts %q", policy, last)
		}
	}
}

// TestDriverViolation changes the harness while the driver runs: the launch
// after which it is seen ends everything.
func TestDriverViolation(t *testing.T) {
	b := newDriven(t, "$RESEARCH_LOOP_CANDIDATE -- </dev/null; sleep 60", "true")
	real := realSandbox(t)
	b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
		if s.Dir == armDir {
			b.write(filepath.Join(b.job.Harness, "evaluation", "score.sh"), "changed")
		}
		return real.Run(ctx, s)
	})
	o := b.failure(ledger.Invalid, "state", "after candidate of arm candidate, repetition 0, call 1")
	if got := kinds(o); got != "driver candidate 0 cancelled, candidate candidate 0" || len(o.Evaluation.Violations) == 0 {
		t.Errorf("launches: %s, violations %q", got, o.Evaluation.Violations)
	}
}

// TestDriverMachine fails a call as a machine does: there is no score then.
func TestDriverMachine(t *testing.T) {
	broken := errors.New("no proof")
	b := newDriven(t, "$RESEARCH_LOOP_CANDIDATE -- </dev/null; sleep 60", "true")
	real := realSandbox(t)
	b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
		if s.Dir == armDir {
			return sandbox.Result{}, broken
		}
		return real.Run(ctx, s)
	})
	if _, err := b.try(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	b = newDriven(t, "sleep 60", "true")
	b.launcher = real
	b.prepare()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, real, b.job); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
}

// newData is a job of mode data.
func newData(t *testing.T, driver string) *bench {
	b := newDriven(t, driver, "the candidate's text\n")
	b.contract.Candidate.Mode, b.contract.Candidate.Run = contract.ModeData, ""
	return b
}

func TestData(t *testing.T) {
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "judge says hello")
			c.Close()
		}
	}()
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		t.Skip("no perl to open a connection with")
	}
	const secret = "sk-very-secret+value/1"
	program := fmt.Sprintf(`test "$JUDGE_API_KEY" = '%s' || exit 4
echo x 2>/dev/null >"$RESEARCH_LOOP_CANDIDATE_DIR/program/new" && exit 5
grep -q text "$RESEARCH_LOOP_CANDIDATE_DIR/program/main.sh" || exit 6
test -z "$RESEARCH_LOOP_CANDIDATE$OTHER_SECRET" && ! test -e /research-loop || exit 7
echo "the key is $JUDGE_API_KEY"; printf %%s "$JUDGE_API_KEY" | base64 >&2
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("127.0.0.1:%d") or exit 8; print <$s>' || exit 8
`, secret, host.Addr().(*net.TCPAddr).Port) + upper
	b := newData(t, program)
	b.contract.Evaluation.Driver.Network = true
	b.contract.Evaluation.Driver.Secrets = []string{"JUDGE_API_KEY"}
	b.contract.Acceptance.TieBreakers = []string{contract.CodeLines}
	b.job.DriverSecrets = map[string]string{"JUDGE_API_KEY": secret, "OTHER_SECRET": "not named"}
	real := realSandbox(t)
	b.launcher = launcherFunc(func(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
		if strings.Contains(fmt.Sprint(s.Argv), secret) {
			t.Errorf("the secret stands in a command: %q", s.Argv)
		}
		return real.Run(ctx, s)
	})
	o := b.accuracy(1)
	if got := kinds(o); got != "driver candidate 0, score candidate 0" {
		t.Errorf("launches: %s", got)
	}
	text := fmt.Sprintf("%+v", o)
	if strings.Contains(text, "very-secret") || !strings.Contains(logs(o), "the key is [redacted]\njudge says hello\n") || strings.Count(logs(o), redacted) != 2 {
		t.Errorf("logs: %s", logs(o))
	}
	b = newData(t, program)
	b.contract.Evaluation.Driver.Secrets = []string{"JUDGE_API_KEY"}
	b.job.DriverSecrets = map[string]string{"JUDGE_API_KEY": secret}
	b.failure(ledger.Crash, "launch", "driver: exit 8") // without network
}

func TestDriverRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*bench)
		want   string
	}{
		{"no driver", func(b *bench) { b.contract.Evaluation.Driver = nil }, "mode driver without a driver"},
		{"network", func(b *bench) { b.contract.Evaluation.Driver.Network = true }, "for mode data only"},
		{"secrets", func(b *bench) { b.contract.Evaluation.Driver.Secrets = []string{"A_KEY"} }, "for mode data only"},
		{"no secret", func(b *bench) {
			b.contract.Candidate.Mode, b.contract.Evaluation.Driver.Secrets = contract.ModeData, []string{"A_KEY"}
		}, "evaluation.driver.secrets: A_KEY is not in the environment"},
		{"short secret", func(b *bench) {
			b.contract.Candidate.Mode, b.contract.Evaluation.Driver.Secrets = contract.ModeData, []string{"A_KEY"}
			b.job.DriverSecrets = map[string]string{"A_KEY": "12345"}
		}, "A_KEY has fewer than 6 bytes"},
		{"no walls", func(b *bench) { b.launcher = sandbox.NewUnconfined() }, "its launches need walls"},
	} {
		b := newDriven(t, "true", "true")
		tt.change(b)
		if _, err := b.try(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
