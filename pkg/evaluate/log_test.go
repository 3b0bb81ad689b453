package evaluate

import (
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// TestLogNames holds that no two launches of a pass share a log, whatever the
// cases are called.
func TestLogNames(t *testing.T) {
	seen := map[string]ledger.Launch{}
	for _, arm := range []ledger.Arm{ledger.Incumbent, ledger.Candidate} {
		for _, kind := range []ledger.LaunchKind{ledger.Build, ledger.Measure, ledger.Score, ledger.Counterexample} {
			ids := []string{"", "a", "A", "score", "0", "a.score", "a.counterexample", "1-a", ".hidden", "a b", "ä", strings.Repeat("x", 101), strings.Repeat("x", 200)}
			if kind == ledger.Build || kind == ledger.Score {
				ids = ids[:1]
			}
			for _, id := range ids {
				for repetition := range 2 {
					l := ledger.Launch{Arm: arm, Kind: kind, Case: id, Repetition: repetition}
					if kind == ledger.Build {
						l.Repetition = 0
					}
					name := logName(l)
					if other, ok := seen[name]; ok && other != l {
						t.Errorf("%+v and %+v are both logged as %s", other, l, name)
					}
					if seen[name] = l; len(name) > 200 || strings.ContainsAny(name, "/ \\") {
						t.Errorf("%+v is logged as %q", l, name)
					}
				}
			}
		}
	}
}

// TestLogsAreBounded leaves the streams out once the logs of a pass are large.
func TestLogsAreBounded(t *testing.T) {
	p := &pass{redactor: NewRedactor(nil, nil)}
	stdout := []byte(strings.Repeat("x", 2*excerpt))
	const logs = logsBytes/(2*excerpt) + 10 // more than there is room for
	for range logs {
		p.logged(ledger.Launch{Kind: ledger.Measure}, sandbox.Result{Stdout: stdout, StdoutBytes: int64(len(stdout))}, nil)
	}
	total := 0
	for _, l := range p.logs {
		total += len(l.Data)
	}
	if total > logsBytes+3*excerpt+logs*300 {
		t.Errorf("the logs of a pass hold %d bytes", total)
	}
	if last := string(p.logs[logs-1].Data); !strings.Contains(last, "streams left out") {
		t.Errorf("the last log: %q", last)
	}
}
