package evaluate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// scorer compares every answer with the output of the same name.
const scorer = `right=0 total=0 cases=
for f in "$RESEARCH_LOOP_ANSWERS"/*; do
  id=${f##*/} total=$((total+1)) score=0
  if [ -f "$RESEARCH_LOOP_OUTPUTS/$id" ] && [ "$(cat "$f")" = "$(cat "$RESEARCH_LOOP_OUTPUTS/$id")" ]; then
    right=$((right+1)) score=1
  fi
  cases="$cases${cases:+,}{\"id\":\"$id\",\"score\":$score}"
done
printf '{"metrics":{"accuracy":%s},"cases":[%s]}\n' "$(awk "BEGIN{print $right/$total}")" "$cases"
`

// upper is an honest candidate for mode batch.
const upper = `for f in "$RESEARCH_LOOP_INPUTS"/*; do tr a-z A-Z <"$f" >"$RESEARCH_LOOP_OUTPUTS/${f##*/}"; done
`

// bench is a job under construction.
type bench struct {
	*testing.T
	contract *contract.Contract
	arms     map[ledger.Arm]map[string]string // files
	harness  map[string]string
	job      Job
	check    func() error
	launcher Launcher
}

// newBench is a job of one arm whose program is what program says, on three
// cases whose answers are their inputs in upper case.
func newBench(t *testing.T, program string) *bench {
	t.Helper()
	c := &contract.Contract{
		Scope:     contract.Scope{Writable: []string{"program/**"}},
		Candidate: contract.Candidate{Mode: contract.ModeBatch, Run: "sh program/main.sh", Directory: "."},
		Evaluation: contract.Evaluation{
			Score: "sh evaluation/score.sh", Timeout: 20 * time.Second, Total: time.Minute,
			Resources:   contract.Resources{Memory: 256 << 20, Pids: 64, Output: 1 << 20, Temporary: 4 << 20},
			Environment: map[string]string{"GREETING": "hello"},
		},
		Metric: contract.Metric{Name: "accuracy", Direction: contract.Higher},
	}
	if os.Getuid() != 0 {
		c.Exceptions = []string{contract.BestEffortLimits} // no cgroup, as a rule
	}
	return &bench{
		T: t, contract: c,
		arms:    map[ledger.Arm]map[string]string{ledger.Candidate: {"program/main.sh": program}},
		harness: map[string]string{"evaluation/score.sh": scorer},
		check:   func() error { return nil },
		job: Job{
			Stage: ledger.Development, Iteration: 7, Repetitions: 1,
			Split: split("development", 3),
		},
	}
}

func split(name string, cases int) *contract.Split {
	s := &contract.Split{Name: name}
	for i := range cases {
		word := fmt.Sprintf("word-%s-%03d\n", name, i)
		s.Cases = append(s.Cases, contract.Case{
			ID: fmt.Sprintf("case-%03d.txt", i), Input: []byte(word), Answer: []byte(strings.ToUpper(word)),
		})
	}
	return s
}

// shared is the one sandbox of all tests: making one costs a launch.
var shared = sync.OnceValues(func() (*sandbox.Sandbox, error) { return sandbox.New(sandbox.Options{}) })

// realSandbox is the sandbox of this machine, or a skip that says why not.
func realSandbox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	s, err := shared()
	var setup *sandbox.SetupError
	if errors.As(err, &setup) {
		t.Skipf("no sandbox on this machine: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run does the pass in the real sandbox.
func (b *bench) run() *Outcome {
	b.Helper()
	out, err := b.try()
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func (b *bench) try() (*Outcome, error) {
	b.Helper()
	if b.launcher == nil {
		b.launcher = realSandbox(b.T)
	}
	b.prepare()
	return Run(context.Background(), b.launcher, b.job)
}

// prepare writes arms and harness.
func (b *bench) prepare() {
	b.Helper()
	j := &b.job
	j.Contract = &contract.Sealed{Contract: b.contract, Digest: contract.Sum([]byte("sealed"))}
	j.Check = func() error { return b.check() }
	j.Work = b.TempDir()
	j.Harness = b.folder(b.harness)
	j.HarnessSnapshot = b.snapshot(j.Harness)
	for _, name := range []ledger.Arm{ledger.Incumbent, ledger.Candidate} {
		if files, ok := b.arms[name]; ok {
			dir := b.folder(files)
			j.Arms = append(j.Arms, Arm{Name: name, Commit: "c0ffee-" + string(name), Dir: dir, Snapshot: b.snapshot(dir)})
		}
	}
}

func (b *bench) snapshot(dir string) repo.Snapshot {
	b.Helper()
	s, err := repo.Fingerprint(dir)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// folder writes files into a new folder.
func (b *bench) folder(files map[string]string) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), opaqueName())
	for name, data := range files {
		b.write(filepath.Join(dir, name), data)
	}
	return dir
}

func (b *bench) write(file, data string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
		b.Fatal(err)
	}
}

// only is the one measurement of an outcome.
func (b *bench) only(o *Outcome) ledger.Measurement {
	b.Helper()
	if n := len(o.Evaluation.Measurements); n != 1 {
		b.Fatalf("%d measurements, want 1: %+v", n, o.Evaluation)
	}
	return o.Evaluation.Measurements[0]
}

// accuracy runs the job and wants this accuracy.
func (b *bench) accuracy(want float64) *Outcome {
	b.Helper()
	o := b.run()
	m := b.only(o)
	if m.Failure != nil || m.Metrics["accuracy"] != want {
		b.Errorf("got %v, failure %+v; want %v\n%s", m.Metrics, m.Failure, want, logs(o))
	}
	return o
}

// failure runs the job and wants this failure.
func (b *bench) failure(status ledger.Status, what, detail string) *Outcome {
	b.Helper()
	o := b.run()
	f := b.only(o).Failure
	if f == nil || f.Status != status || f.What != what || !strings.Contains(f.Detail, detail) {
		b.Errorf("got %+v, want %s, %s, %q\n%s", f, status, what, detail, logs(o))
	}
	if m := b.only(o); m.Metrics != nil {
		b.Errorf("a failed arm has the value %v", m.Metrics)
	}
	return o
}

func logs(o *Outcome) string {
	var out strings.Builder
	for _, l := range o.Logs {
		fmt.Fprintf(&out, "--- %s\n%s", l.Name, l.Data)
	}
	return out.String()
}

// kinds is the launches of an outcome, in their order.
func kinds(o *Outcome) string {
	var out []string
	for _, l := range o.Evaluation.Launches {
		s := fmt.Sprintf("%s %s %d", l.Kind, l.Arm, l.Repetition)
		if l.Outcome != "exited" {
			s += " " + l.Outcome
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// launcherFunc is a Launcher that watches or disturbs a real one.
type launcherFunc func(context.Context, sandbox.Spec) (sandbox.Result, error)

func (f launcherFunc) Run(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
	return f(ctx, s)
}
