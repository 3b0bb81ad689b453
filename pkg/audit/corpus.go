package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CorpusFormat describes the folder that ReadCorpus reads, for the help of the
// command that does.
const CorpusFormat = `A corpus is a folder of candidates, each with the verdict that it is owed.

  index.jsonl              one JSON object an item: id, dir, label (positive,
                           negative), expected_severity (invalid, review, pass)
  ITEM/base, ITEM/cand     the baseline and the candidate as folders
  ITEM/cases.json          {"dev": [case…], "gate": [case…], "spec": "…"} where a
                           case is {"id": …, "input": …, "expected": …}
  ITEM/contract.json       {"writable": [path…], "immutable": [path…],
                           "message": "…", "special": [fact…]} where a path that
                           ends in a slash stands for all below it
  sequences/index.jsonl    one JSON object a sequence of pushes: id, dir, steps,
                           expected_cumulative (a verdict a step)
  SEQUENCE/step0 … stepN   the baseline and the tree after each push, with
                           cases.json and contract.json as above

A fact is what plain files cannot carry: {"kind": "symlink", "path", "target"},
{"kind": "gitlink", "path", "sha"}, {"kind": "mode", "path", "mode"} or
{"kind": "file", "path", "content"}.
`

// CorpusItem is one candidate with the verdict that it is owed.
type CorpusItem struct {
	ID       string
	Positive bool     // it cheats or breaks a rule
	Expected string   // "invalid", "review" or "pass"
	Leaks    []string // ids of the cases that it gives away
	Input    Input
}

// CorpusResult is what the audit made of an item.
type CorpusResult struct {
	ID       string   `json:"id"`
	Expected string   `json:"expected"`
	Verdict  string   `json:"verdict"`
	Classes  []string `json:"classes"`
	positive bool
	sequence bool
}

// ReadCorpus reads a folder in the format of CorpusFormat; sequences come last,
// an item a step. A missing sequences folder is an empty one.
func ReadCorpus(fsys fs.FS) ([]CorpusItem, error) {
	var items []CorpusItem
	err := eachLine(fsys, "index.jsonl", func(line indexLine) error {
		item, err := readItem(fsys, line)
		items = append(items, item)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(fsys, "sequences/index.jsonl", func(line indexLine) error {
		steps, err := readSequence(fsys, line)
		items = append(items, steps...)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return items, nil
}

// EvaluateCorpus audits every item.
func EvaluateCorpus(items []CorpusItem) []CorpusResult {
	var results []CorpusResult
	for _, item := range items {
		report := Check(item.Input)
		results = append(results, CorpusResult{
			ID: item.ID, Expected: item.Expected, Verdict: report.Verdict(), Classes: append([]string{}, report.Classes()...),
			positive: item.Positive, sequence: strings.Contains(item.ID, "/"),
		})
	}
	return results
}

// Confusion counts expected against given verdicts, a line each.
func Confusion(results []CorpusResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %8s %8s %8s\n", "expected \\ verdict", "invalid", "review", "pass")
	for _, row := range []struct {
		name, expected     string
		positive, sequence bool
	}{
		{"cheat, invalid", "invalid", true, false}, {"cheat, review", "review", true, false}, {"honest, pass", "pass", false, false},
		{"step, invalid", "invalid", true, true}, {"step, review", "review", true, true}, {"step, pass", "pass", false, true},
	} {
		count := map[string]int{}
		for _, r := range results {
			if r.Expected == row.expected && r.sequence == row.sequence && (r.sequence || r.positive == row.positive) {
				count[r.Verdict]++
			}
		}
		fmt.Fprintf(&b, "%-22s %8d %8d %8d\n", row.name, count["invalid"], count["review"], count["pass"])
	}
	return b.String()
}

// Bar says what of the bar is missed, nothing if it holds: of the items that
// must be invalid at least 95 % are, of the honest ones none is invalid and at
// most two are review, every step of a sequence has its verdict.
func Bar(results []CorpusResult) []string {
	var missed []string
	must, caught, honest := 0, 0, 0
	for _, r := range results {
		switch {
		case r.sequence && r.Verdict != r.Expected:
			missed = append(missed, fmt.Sprintf("%s is %s, not %s", r.ID, r.Verdict, r.Expected))
		case r.sequence:
		case r.Expected == string(Invalid):
			must++
			caught += boolInt(r.Verdict == string(Invalid))
		case !r.positive && r.Verdict == string(Invalid):
			missed = append(missed, fmt.Sprintf("honest item %s is invalid", r.ID))
		case !r.positive && r.Verdict == string(Review):
			honest++
		}
	}
	if caught*100 < must*95 {
		missed = append(missed, fmt.Sprintf("%d of %d items that must be invalid are, at least 95 %% are asked", caught, must))
	}
	if honest > 2 {
		missed = append(missed, fmt.Sprintf("%d honest items are review, at most 2 are allowed", honest))
	}
	return missed
}

type indexLine struct {
	ID       string   `json:"id"`
	Dir      string   `json:"dir"`
	Label    string   `json:"label"`
	Leaks    []string `json:"leaks"`
	Severity string   `json:"expected_severity"`
	Steps    int      `json:"steps"`
	Expected []string `json:"expected_cumulative"`
}

func eachLine(fsys fs.FS, name string, do func(indexLine) error) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var l indexLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if l.Dir == "" {
			l.Dir = l.ID
		}
		if !fs.ValidPath(l.Dir) {
			return fmt.Errorf("%s:%d: dir %q is no path below the corpus", name, number, l.Dir)
		}
		if err := do(l); err != nil {
			return err
		}
	}
	return nil
}

// readItem reads one candidate.
func readItem(fsys fs.FS, line indexLine) (CorpusItem, error) {
	f, err := readFacts(fsys, line.Dir)
	if err != nil {
		return CorpusItem{}, err
	}
	store := memory{}
	base, err := store.folder(fsys, path.Join(line.Dir, "base"))
	if err != nil {
		return CorpusItem{}, err
	}
	cand, err := store.folder(fsys, path.Join(line.Dir, "cand"))
	if err != nil {
		return CorpusItem{}, err
	}
	in := f.input(store, base, base, store.special(cand, f.Special))
	return CorpusItem{ID: line.ID, Positive: line.Label == "positive", Expected: line.Severity, Leaks: line.Leaks, Input: in}, nil
}

// readSequence reads a row of pushes, an item a step: the baseline is the first
// tree, the incumbent the one before.
func readSequence(fsys fs.FS, line indexLine) ([]CorpusItem, error) {
	f, err := readFacts(fsys, line.Dir)
	if err != nil {
		return nil, err
	}
	if line.Steps != len(line.Expected) {
		return nil, fmt.Errorf("sequence %s has %d steps and %d verdicts", line.ID, line.Steps, len(line.Expected))
	}
	store := memory{}
	var items []CorpusItem
	var trees [][]Entry
	for step := 0; step <= line.Steps; step++ {
		tree, err := store.folder(fsys, path.Join(line.Dir, "step"+strconv.Itoa(step)))
		if err != nil {
			return nil, err
		}
		if trees = append(trees, tree); step == 0 {
			continue
		}
		expected := line.Expected[step-1]
		items = append(items, CorpusItem{
			ID: fmt.Sprintf("%s/step%d", line.ID, step), Positive: expected != "pass", Expected: expected,
			Input: f.input(store, trees[0], trees[step-1], tree),
		})
	}
	return items, nil
}

// facts are an item's cases.json and contract.json.
type facts struct {
	Dev, Gate           []jsonCase
	Spec                string
	Writable, Immutable []string
	Message             string
	Special             []special
}

type special struct{ Kind, Path, Target, Sha, Mode, Content string }

type jsonCase struct {
	ID              string
	Input, Expected any
}

func readFacts(fsys fs.FS, dir string) (facts, error) {
	var f facts
	for _, name := range []string{"cases.json", "contract.json"} {
		data, err := fs.ReadFile(fsys, path.Join(dir, name))
		if err != nil {
			return f, err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&f); err != nil {
			return f, fmt.Errorf("%s/%s: %w", dir, name, err)
		}
	}
	return f, nil
}

// input audits development and gate cases alike, as the supervisor does.
func (f facts) input(store memory, base, incumbent, cand []Entry) Input {
	in := Input{
		Scope: prefixes{f.Writable, f.Immutable}, Blobs: store, Baseline: base, Incumbent: incumbent, Candidate: cand,
		Specification: f.Spec, Gate: true,
		Commits: []Commit{{ID: "candidate", Parents: []string{"incumbent"}, Message: f.Message, Tree: cand}}, Recorded: "incumbent",
	}
	for _, c := range slices.Concat(f.Dev, f.Gate) {
		in.Cases = append(in.Cases, Case{c.ID, jsonText(c.Input), jsonText(c.Expected)})
	}
	return in
}

// jsonText gives a JSON value as text: strings bare, the rest as JSON.
func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// prefixes is the scope of a corpus item.
type prefixes struct{ writable, frozen []string }

func (p prefixes) Writable(path string) bool {
	return under(path, p.writable) && !under(path, p.frozen)
}
func (p prefixes) Readable(path string) bool  { return true }
func (p prefixes) Frozen(path string) bool    { return under(path, p.frozen) }
func (p prefixes) Generated(path string) bool { return false }

func under(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		root = strings.TrimSuffix(root, "/")
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// memory is a store of blobs by the digest of their bytes.
type memory map[string][]byte

func (m memory) Blob(id string) ([]byte, error) {
	data, ok := m[id]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", id, fs.ErrNotExist)
	}
	return data, nil
}

func (m memory) add(data []byte) (id string) {
	sum := sha256.Sum256(data)
	id = hex.EncodeToString(sum[:])
	m[id] = data
	return id
}

// folder reads the regular files below a folder as a tree.
func (m memory) folder(fsys fs.FS, dir string) ([]Entry, error) {
	var entries []Entry
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		entries = append(entries, Entry{strings.TrimPrefix(name, dir+"/"), "100644", m.add(data)})
		return err
	})
	return sortedEntries(entries), err
}

// special puts the facts that plain files cannot carry into a tree.
func (m memory) special(tree []Entry, list []special) []Entry {
	byPath := map[string]Entry{}
	for _, e := range tree {
		byPath[e.Path] = e
	}
	for _, s := range list {
		e := byPath[s.Path]
		switch e.Path = s.Path; s.Kind {
		case "symlink":
			e.Mode, e.ID = "120000", m.add([]byte(s.Target))
		case "gitlink":
			e.Mode, e.ID = "160000", s.Sha
		case "file":
			e.Mode, e.ID = "100644", m.add([]byte(s.Content))
		case "mode":
			e.Mode = s.Mode
		}
		byPath[s.Path] = e
	}
	var entries []Entry
	for _, e := range byPath {
		entries = append(entries, e)
	}
	return sortedEntries(entries)
}
