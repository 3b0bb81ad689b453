package verify_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/verify"
)

// clerk writes the records of a long run as a supervisor does: every candidate
// is rejected, one commit a durable point. Its repository is in memory, where
// a journal blob is no more than its id.
type clerk struct {
	t       testing.TB
	signer  *ledger.Signer
	origin  string
	run     *journal.Run
	chain   ledger.Chain
	now     time.Time
	files   map[string][]byte // below the run's folder
	ids     map[string]string
	changed map[string]bool

	head    string
	commits map[string]repo.Commit
	changes map[string][]repo.Change
	blobs   map[string][]byte
	all     map[string][]repo.Change // commits that are listed whole
	project map[string][]byte        // the files of the run branch
	sink    io.Writer                // for git fast-import, or io.Discard
	begun   bool                     // the run branch was told to it
	// Commits that wait for the versions of the files that they change, newest
	// first: so a repack lays them out, and so each version is a small delta.
	pending  bytes.Buffer
	versions map[string][]version
	marks    int
}

// version is a file as it was: so many of its bytes.
type version struct{ mark, length int }

func (k *clerk) Commit(id string) (repo.Commit, error) {
	c, ok := k.commits[id]
	if !ok {
		return c, &repo.MissingError{ID: id}
	}
	return c, nil
}

func (k *clerk) Diff(from, to string) ([]repo.Change, error) {
	if from == "" {
		return k.all[to], nil
	}
	merged := map[string]repo.Change{}
	for at := to; at != from; at = k.commits[at].Parents[0] {
		for _, c := range k.changes[at] {
			if later, ok := merged[c.Path]; ok {
				c.To = later.To
			}
			merged[c.Path] = c
		}
	}
	return slices.Collect(maps.Values(merged)), nil
}

func (k *clerk) Blob(id string) ([]byte, error) {
	data, ok := k.blobs[id]
	if !ok {
		return nil, &repo.MissingError{ID: id}
	}
	return data, nil
}

func id(kind string, data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return fmt.Sprintf("%x", h.Sum(nil))
}

func name(format string, args ...any) string { return id("name", fmt.Appendf(nil, format, args...)) }

func (k *clerk) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// newClerk seals a run.
func newClerk(t testing.TB, sink io.Writer) *clerk {
	k := &clerk{
		t: t, signer: key(t, "example.com/widget", 1), origin: "research-loop/octo-org/widget/speedup",
		now: time.Unix(1800000000, 0).UTC(), files: map[string][]byte{}, ids: map[string]string{}, changed: map[string]bool{},
		sink: sink, versions: map[string][]version{}, commits: map[string]repo.Commit{}, changes: map[string][]repo.Change{}, blobs: map[string][]byte{}, all: map[string][]repo.Change{},
	}
	text := strings.Replace(keys(k.signer)+draft, "attempts: 50", "attempts: 1000000", 1)
	c, err := contract.Parse("contract.yml", []byte(text))
	k.must(err)
	cases := map[string][]byte{"inputs/a": []byte("x\n"), "answers/a": []byte("y\n")}
	pinned := map[string][]byte{contract.DraftPath: []byte(text), "solver/run.sh": []byte("x")}
	for path, data := range cases {
		pinned["evaluation/development/"+path] = data
	}
	k.project = pinned
	base := k.make(pinned, nil, "baseline\n", nil)
	facts := contract.Facts{Tag: tag, Baseline: base, Pinned: base, Level: "local", Probe: "p", Tool: "t", ConfirmedBy: "ada", ConfirmedHow: "--confirm", ConfirmedAt: k.now}
	split, err := contract.NewSplit("evaluation/development", cases)
	k.must(err)
	facts.Splits = []contract.SplitFact{{Name: "development", Cases: 1, Digest: split.Digest}}
	for path, data := range pinned {
		blob := id("blob", data)
		k.blobs[blob] = data
		k.all[base] = append(k.all[base], repo.Change{Path: path, To: repo.Entry{Path: path, Mode: repo.ModeFile, ID: blob}})
		if c.Frozen(path) {
			facts.Frozen = append(facts.Frozen, contract.File{Path: path, Mode: repo.ModeFile, Blob: blob, SHA256: ledger.Hash(data)[7:], Size: int64(len(data))})
		}
	}
	k.files["contract.md"] = contract.Seal([]byte(text), c, facts)
	k.changed["contract.md"] = true
	sealed, err := contract.Open(k.files["contract.md"], "")
	k.must(err)
	k.run, err = journal.Fold(sealed, nil)
	k.must(err)
	k.hold(&ledger.Sealed{Contract: string(sealed.Digest), Baseline: base, Tree: k.commits[base].Tree, Pinned: base, Tool: "t"})
	k.flush()
	return k
}

func (k *clerk) hold(d ledger.Data) {
	k.t.Helper()
	iteration := max(k.run.Iteration, 0)
	if d.Kind() == ledger.KindPrepared {
		iteration = k.run.Iteration + 1
	}
	k.now = k.now.Add(time.Second)
	chain, text, err := k.chain.Append(ledger.Event{Time: k.now, Run: string(tag), Iteration: iteration, Data: d})
	k.must(err)
	k.must(k.run.Apply(chain.Events[len(chain.Events)-1]))
	k.chain = chain
	k.add(ledger.Segment(iteration), text)
	if f, ok := d.(*ledger.Finalized); ok {
		line, err := ledger.FormatEntry(f.Entry)
		k.must(err)
		k.add(ledger.Results(iteration), line)
	}
}

func (k *clerk) add(file string, text []byte) {
	k.files[file] = append(k.files[file], text...)
	k.changed[file] = true
}

const person = "ada <ada@example.com> 1800000000 +0000"

// make makes a commit of the run branch, whose script changes to script.
func (k *clerk) make(files map[string][]byte, parents []string, message string, script []byte) string {
	c := repo.Commit{Tree: treeID(files, ""), Parents: parents, Message: message}
	raw := "tree " + c.Tree + "\n"
	for _, p := range parents {
		raw += "parent " + p + "\n"
	}
	c.ID = id("commit", []byte(raw+"author "+person+"\ncommitter "+person+"\n\n"+message))
	k.commits[c.ID] = c
	branch := journal.RunBranch(tag)
	put := map[string][]byte{"solver/run.sh": script}
	if script == nil {
		branch, put = "main", files
	}
	k.emit(branch, message, put, nil)
	return c.ID
}

// emit tells fast-import about a commit on top of a branch. Files that grow are
// given by their marks, the others by what they hold.
func (k *clerk) emit(branch, message string, put map[string][]byte, marked map[string]int) {
	w := &k.pending
	fmt.Fprintf(w, "commit refs/heads/%s\ncommitter %s\ndata %d\n%s", branch, person, len(message), message)
	if branch == journal.RunBranch(tag) && !k.begun {
		k.begun = true
		fmt.Fprintf(w, "from refs/heads/main\n")
	}
	for path, mark := range marked {
		fmt.Fprintf(w, "M 100644 :%d %s\n", mark, path)
	}
	for path, data := range put {
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(data), data)
	}
}

// release tells fast-import about the versions of all files that grew, and then
// about the commits that wait for them.
func (k *clerk) release() {
	for file, versions := range k.versions {
		for _, v := range slices.Backward(versions) {
			fmt.Fprintf(k.sink, "blob\nmark :%d\ndata %d\n", v.mark, v.length)
			_, err := k.sink.Write(k.files[file][:v.length])
			k.must(err)
			fmt.Fprintln(k.sink)
		}
	}
	clear(k.versions)
	_, err := k.pending.WriteTo(k.sink)
	k.must(err)
}

// treeID is the id of the tree of the files below a prefix.
func treeID(files map[string][]byte, prefix string) string {
	entries := map[string]string{}
	for path, data := range files {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		if folder, _, nested := strings.Cut(rest, "/"); nested {
			entries[folder+"/"] = "40000 " + folder + "\x00" + bin(treeID(files, prefix+folder+"/"))
		} else {
			entries[rest] = "100644 " + rest + "\x00" + bin(id("blob", data))
		}
	}
	raw := ""
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		raw += entries[name]
	}
	return id("tree", []byte(raw))
}

func bin(id string) string {
	raw, _ := hex.DecodeString(id) // made by id
	return string(raw)
}

// flush commits what was held.
func (k *clerk) flush() {
	note, err := k.signer.Checkpoint(k.run.Checkpoint(k.origin, k.chain))
	k.must(err)
	k.files["checkpoint"] = note
	k.changed["checkpoint"] = true
	commit := repo.Commit{ID: name("state %d", len(k.chain.Events)), Tree: name("t")}
	if k.head != "" {
		commit.Parents = []string{k.head}
	}
	put, marked := map[string][]byte{}, map[string]int{}
	defer func() { k.emit(journal.StateBranch(tag), "state\n", put, marked) }()
	for file := range k.changed {
		data := k.files[file]
		blob := ""
		if strings.HasPrefix(file, "journal/") || strings.HasPrefix(file, "results/") {
			k.marks++
			k.versions[file] = append(k.versions[file], version{k.marks, len(data)})
			marked[journal.Folder(tag)+file] = k.marks
			if k.sink == io.Discard {
				blob = id("blob", data)
			}
		} else {
			blob = id("blob", data)
			put[journal.Folder(tag)+file] = data
			k.blobs[blob] = data
		}
		path := journal.Folder(tag) + file
		from := repo.Entry{}
		if old, ok := k.ids[file]; ok {
			from = repo.Entry{Path: path, Mode: repo.ModeFile, ID: old}
		}
		k.ids[file] = blob
		k.changes[commit.ID] = append(k.changes[commit.ID], repo.Change{Path: path, From: from, To: repo.Entry{Path: path, Mode: repo.ModeFile, ID: blob}})
		if strings.HasPrefix(file, "logs/") {
			delete(k.files, file)
		}
	}
	if k.head == "" {
		k.all[commit.ID] = k.changes[commit.ID]
	}
	clear(k.changed)
	k.commits[commit.ID], k.head = commit, commit.ID
}

// attempt judges one candidate, launched so many times.
func (k *clerk) attempt(repetitions int) {
	i := k.run.Iteration + 1
	if i%ledger.SegmentSize == 0 {
		k.release()
	}
	claim := &ledger.Claim{Holder: ledger.Holder{Host: "h", PID: 7, Start: "1"}, Deadline: k.now.Add(10 * time.Minute)}
	head := ledger.Head{Incumbent: k.run.Best(), Lease: fmt.Sprintf("%016x", i)}
	first := head
	first.Claim = claim
	k.hold(&ledger.Prepared{Head: first})
	commit := k.run.Sealed.Baseline
	found := &ledger.Committed{Tree: k.run.Sealed.Tree, RecordedTip: k.run.Tip, Commits: []string{commit}, Missing: []string{},
		Summary: "1 file solver/run.sh", Audit: ledger.Audit{Verdict: "pass", Classes: []string{}, Findings: []ledger.Finding{}, Notes: []string{}}}
	if i > 0 {
		k.project["solver/run.sh"] = fmt.Appendf(nil, "candidate %d\n", i)
		commit = k.make(k.project, []string{k.run.Tip}, "t\n\nHypothesis: h\nFailure-class: f\nMechanism: m\nPredicted-variant: p\nCounterexample: c\n", k.project["solver/run.sh"])
		found.Tree, found.Commits = k.commits[commit].Tree, []string{commit}
		found.Trailers = ledger.Trailers{Hypothesis: "h", FailureClass: "f", Mechanism: "m", PredictedVariant: "p", Counterexample: "c"}
	}
	head.Candidate = commit
	found.Head = head
	k.hold(found)
	k.hold(&ledger.Started{Head: head, Stage: ledger.Development, Repetitions: repetitions})
	k.flush()
	k.hold(k.evaluated(head, i, repetitions))
	head.Lease = ""
	d, err := decide.Decide(k.run.Evidence(""))
	k.must(err)
	d.Head = head
	k.hold(&d)
	k.flush()
	if d.Rollback.Required {
		k.project["solver/run.sh"] = []byte("x")
		restore := k.make(k.project, []string{commit}, "restore\n", k.project["solver/run.sh"])
		k.hold(&ledger.RolledBack{Head: head, Commit: restore, By: "supervisor", Swept: []string{}})
	}
	k.hold(&ledger.Finalized{Entry: k.run.Entry(k.now, "local")})
	note, err := k.signer.Verdict(k.run.VerdictNote(k.origin, commit, found.Tree, k.chain))
	k.must(err)
	v, _ := k.run.Verdict(commit)
	k.hold(&ledger.Published{Commit: commit, Verdict: v.Status, Note: string(note), Where: []string{}})
	if i == 0 {
		k.hold(&ledger.Opened{Branch: journal.RunBranch(tag), Commit: commit})
	}
	k.flush()
}

func (k *clerk) evaluated(head ledger.Head, i, repetitions int) *ledger.Evaluated {
	if i == 0 {
		repetitions = max(repetitions, 2)
	}
	out := &ledger.Evaluated{Head: head, Logs: map[string]string{}, Evaluation: ledger.Evaluation{
		Stage: ledger.Development, Tools: map[string]string{"sh": "1"}, Violations: []string{}, EvaluatorSeconds: 0.5}}
	for n := range repetitions {
		log := fmt.Sprintf("%03d/%d/candidate-%d.log", i/ledger.SegmentSize, i, n)
		k.add("logs/"+log+".gz", []byte(log))
		out.Logs[log+".gz"] = ledger.Hash([]byte(log))
		out.Launches = append(out.Launches, ledger.Launch{Kind: ledger.Measure, Arm: ledger.Candidate, Commit: head.Candidate, Repetition: n,
			Outcome: "exited", WallSeconds: 0.25, Before: ledger.ZeroHash, After: ledger.ZeroHash, Log: log})
		out.Measurements = append(out.Measurements, ledger.Measurement{Arm: ledger.Candidate, Commit: head.Candidate, Repetition: n,
			Metrics: map[string]float64{"accuracy": 0.5, "wall_seconds": 0.25}, Cases: []ledger.CaseScore{{ID: "a", Score: 1}}, Counterexamples: map[string]string{}})
	}
	return out
}

// source ends the run's writing: everything is listed and can be verified.
func (k *clerk) source() verify.Source {
	for file, blob := range k.ids {
		if data, ok := k.files[file]; ok {
			k.blobs[blob] = data
		}
		path := journal.Folder(tag) + file
		k.all[k.head] = append(k.all[k.head], repo.Change{Path: path, To: repo.Entry{Path: path, Mode: repo.ModeFile, ID: blob}})
	}
	base := k.run.Sealed.Baseline
	return verify.Source{Objects: k, Tag: tag, Origin: k.origin, State: k.head, Default: base, Branch: k.run.Tip}
}

// BenchmarkVerify verifies runs of 10,000 attempts from memory; how much git's
// objects cost to read BenchmarkVerifyGit says.
func BenchmarkVerify(b *testing.B) {
	for _, n := range []struct{ attempts, repetitions int }{{1000, 1}, {10000, 1}, {10000, 64}} {
		b.Run(fmt.Sprintf("%d attempts of %d", n.attempts, n.repetitions), func(b *testing.B) {
			if n.repetitions > 1 && testing.Short() {
				b.Skip("takes long to write")
			}
			k := newClerk(b, io.Discard)
			for range n.attempts + 1 {
				k.attempt(n.repetitions)
			}
			measureVerify(b, k.source())
		})
	}
}

func measureVerify(b *testing.B, src verify.Source) {
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // as the command does
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		report, err := verify.Run(src)
		if err != nil {
			b.Fatal(err)
		}
		if law, f, broken := report.First(); broken {
			b.Fatalf("%s: %s %s", law, f.Place, f.Is)
		}
	}
	runtime.ReadMemStats(&after)
	if peak := peakMemory(); peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	}
	b.ReportMetric(float64(after.HeapSys)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20)/float64(b.N), "MiB-allocated/op")
}

// peakMemory is the most memory that this process has had, 0 where nobody says.
func peakMemory() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	text, _, _ := strings.Cut(rest, "kB")
	n, _ := strconv.Atoi(strings.TrimSpace(text))
	return n << 10
}

func fromEnv(b *testing.B, key string, n int) int {
	if text := os.Getenv(key); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatalf("%s: %v", key, err)
		}
	}
	return n
}

// BenchmarkVerifyGit verifies runs out of a real repository, packed as a fetch
// leaves it. RESEARCH_LOOP_BENCH_ATTEMPTS says how long the run is, and
// RESEARCH_LOOP_BENCH_KEEP where the repository stays, and is taken from again.
func BenchmarkVerifyGit(b *testing.B) {
	attempts, repetitions := fromEnv(b, "RESEARCH_LOOP_BENCH_ATTEMPTS", 100), fromEnv(b, "RESEARCH_LOOP_BENCH_REPETITIONS", 1)
	dir := os.Getenv("RESEARCH_LOOP_BENCH_KEEP")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, "widget.git")
	git := func(stdin io.Reader, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Stdin = stdin
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		git(nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
		reader, writer := io.Pipe()
		go func() {
			buffered := bufio.NewWriterSize(writer, 1<<20)
			k := newClerk(b, buffered)
			for range attempts + 1 {
				k.attempt(repetitions)
			}
			k.release()
			writer.CloseWithError(buffered.Flush())
		}()
		git(reader, "-C", dir, "-c", "core.compression=1", "-c", "pack.compression=1", "-c", "core.bigFileThreshold=1g", "fast-import", "--quiet", "--depth=50")
	}
	work, err := repo.OpenWork(context.Background(), dir)
	if err != nil {
		b.Fatal(err)
	}
	defer work.Close()
	src, err := verify.Tracked(work, tag, "")
	if err != nil {
		b.Fatal(err)
	}
	src.Origin = "research-loop/octo-org/widget/speedup"
	measureVerify(b, src)
}
