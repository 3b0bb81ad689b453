package journal_test

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
)

const draft = `research_loop: 1
goal: Correct more words.
population: Single words.
baseline: HEAD
harness: {paths: [evaluation/**], source: user}
scope: {writable: [corrector/**]}
candidate: {mode: batch, run: sh corrector/run}
evaluation:
  score: sh evaluation/score
  extract: json
  timeout: 2s
  total: 60s
  resources: {memory: 256MiB, pids: 32, output: 1MiB, temporary: 16MiB}
splits: {development: evaluation/development}
metric: {name: accuracy, direction: higher}
acceptance: {policy: deterministic, min_delta: 0.01}
limits: {attempts: 20}
exceptions: [no-gate]
`

// records gives the files of a run of two attempts, and its clerk.
func records(t *testing.T) (map[string][]byte, *clerk) {
	t.Helper()
	c, err := contract.Parse("contract.yml", []byte(draft))
	if err != nil {
		t.Fatal(err)
	}
	text := contract.Seal([]byte(draft), c, contract.Facts{
		Tag: "speedup", Baseline: strings.Repeat("0", 40), Pinned: strings.Repeat("0", 40), Level: "local",
		Probe: "root", Tool: "test", ConfirmedBy: "m", ConfirmedHow: "terminal", ConfirmedAt: start,
	})
	sealed, err := contract.Open(text, "")
	if err != nil {
		t.Fatal(err)
	}
	k := newClerk(sealed).open()
	k.attempt(id(1), "X", ledger.Discard, id(2))
	files := map[string][]byte{"contract.md": text, "logs/1/a.gz": []byte("any bytes")}
	var chain ledger.Chain
	for _, e := range k.events {
		next, line, err := chain.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		chain = next
		files[ledger.Segment(e.Iteration)] = append(files[ledger.Segment(e.Iteration)], line...)
		if f, ok := e.Data.(*ledger.Finalized); ok {
			line, err := ledger.FormatEntry(f.Entry)
			if err != nil {
				t.Fatal(err)
			}
			files[ledger.Results(e.Iteration)] = append(files[ledger.Results(e.Iteration)], line...)
		}
	}
	return files, k
}

func TestRead(t *testing.T) {
	files, k := records(t)
	run, chain, err := journal.Read("speedup", files)
	if err != nil {
		t.Fatal(err)
	}
	if len(chain.Events) != len(k.events) || !reflect.DeepEqual(run.Entries, k.run.Entries) || run.Tip != k.run.Tip || run.Contract.Goal != "Correct more words." {
		t.Errorf("%+v", run)
	}
}

func TestReadRefuses(t *testing.T) {
	files, _ := records(t)
	other := contract.Tag("other")
	const segment, second, results = "journal/000/0.jsonl", "journal/000/1.jsonl", "results/000/1.json"
	tests := []struct {
		name  string
		tag   contract.Tag
		spoil func(map[string][]byte)
		where string // segment of a CorruptError, "" for a SealError
		want  string
	}{
		{"nothing", "speedup", func(f map[string][]byte) { clear(f) }, segment, "empty"},
		{"a foreign file", "speedup", func(f map[string][]byte) { f["notes.txt"] = nil }, "notes.txt", "no record"},
		{"a foreign folder", "speedup", func(f map[string][]byte) { f["journals/000.jsonl"] = nil }, "journals/000.jsonl", "no record"},
		{"a file called logs-2", "speedup", func(f map[string][]byte) { f["logs-2"] = nil }, "logs-2", "no record"},
		{"another tag", other, func(f map[string][]byte) {}, segment, "not of other"},
		{"contract.md missing", "speedup", func(f map[string][]byte) { delete(f, "contract.md") }, "", "sealed"},
		{"contract.md changed", "speedup", func(f map[string][]byte) { f["contract.md"] = append(f["contract.md"], ' ') }, "", "sealed"},
		{"journal changed", "speedup", func(f map[string][]byte) { f[segment] = bytes.Replace(f[segment], []byte("0.75"), []byte("0.76"), 1) }, segment, "prev is"},
		{"results changed", "speedup", func(f map[string][]byte) {
			f[results] = bytes.Replace(f[results], []byte("discard"), []byte("crash"), 1)
		}, results, "differs from the journal"},
		{"results missing", "speedup", func(f map[string][]byte) { delete(f, results) }, results, "is missing"},
		{"a first line that is not sealed", "speedup", func(f map[string][]byte) {
			_, line, _ := ledger.Chain{}.Append(ledger.Event{Time: start, Run: "speedup", Data: &ledger.Halted{}})
			f[segment] = line
			delete(f, second)
		}, segment, "must be sealed"},
		{"an event that cannot follow", "speedup", func(f map[string][]byte) {
			chain, err := ledger.ReadJournal(map[string][]byte{segment: f[segment], second: f[second]})
			if err != nil {
				t.Fatal(err)
			}
			_, line, _ := chain.Append(ledger.Event{Time: start, Run: "speedup", Iteration: 1, Data: &ledger.Closed{}})
			f[second] = append(bytes.Clone(f[second]), line...)
		}, "journal", "the run is not closing"},
	}
	for _, tt := range tests {
		spoilt := maps.Clone(files)
		tt.spoil(spoilt)
		run, _, err := journal.Read(tt.tag, spoilt)
		if err == nil || run != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
			continue
		}
		var corrupt *ledger.CorruptError
		var seal *contract.SealError
		switch {
		case tt.where == "" && !errors.As(err, &seal):
			t.Errorf("%s: %v is no *SealError", tt.name, err)
		case tt.where != "" && (!errors.As(err, &corrupt) || corrupt.Segment != tt.where):
			t.Errorf("%s: %v is no *CorruptError of %s", tt.name, err, tt.where)
		}
	}
}

func TestNames(t *testing.T) {
	got := []string{journal.Folder("a-b"), journal.RunBranch("a-b"), journal.StateBranch("a-b")}
	if want := []string{".research-loop/a-b/", "research-loop/a-b", "research-loop-state/a-b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
