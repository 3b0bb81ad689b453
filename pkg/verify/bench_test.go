package verify_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// clerk writes the records of a run as a supervisor does, one commit a durable
// point, without a supervisor: it tells git fast-import. What it plays is every
// candidate rejected, or what its caller holds.
type clerk struct {
	t       testing.TB
	signer  *ledger.Signer
	origin  string
	run     *journal.Run
	chain   ledger.Chain
	now     time.Time
	files   map[string][]byte // below the run's folder, logs left out once written
	changed map[string]bool
	project map[string][]byte // the files of the run branch
	best    []byte            // the incumbent's script
	begun   bool              // the run branch was told
	leases  int

	sink io.Writer // of git fast-import
	// Commits that wait for the versions of the files that they change, newest
	// first: so a repack lays them out, and so each version is a small delta.
	pending  bytes.Buffer
	versions map[string][]version
	marks    int
}

// version is a file as it was: so many of its bytes.
type version struct{ mark, length int }

func id(kind string, data []byte) string { return string(repo.NewHasher(sha1.Size).ID(kind, data)) }

func (k *clerk) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// newClerk seals a run of the plain task.
func newClerk(t testing.TB, sink io.Writer) *clerk {
	signer := key(t, "example.com/widget", 1)
	return sealedClerk(t, sink, signer, strings.Replace(keys(signer)+draft, "attempts: 50", "attempts: 1000000", 1), nil, nil)
}

// sealedClerk seals a run of a contract, whose pinned commit has more files and
// whose seal has more splits.
func sealedClerk(t testing.TB, sink io.Writer, signer *ledger.Signer, text string, more map[string][]byte, splits []contract.SplitFact) *clerk {
	k := &clerk{
		t: t, signer: signer, origin: "research-loop/local/widget/speedup", now: time.Unix(1800000000, 0).UTC(),
		files: map[string][]byte{}, changed: map[string]bool{}, sink: sink, versions: map[string][]version{},
	}
	c, err := contract.Parse("contract.yml", []byte(text))
	k.must(err)
	cases := map[string][]byte{"inputs/a": []byte("x\n"), "answers/a": []byte("y\n")}
	k.best = []byte("x")
	k.project = map[string][]byte{contract.DraftPath: []byte(text), "solver/run.sh": k.best}
	for path, data := range cases {
		k.project["evaluation/development/"+path] = data
	}
	maps.Copy(k.project, more)
	base, tree := k.make(k.project, nil, "baseline\n", nil)
	facts := contract.Facts{Tag: tag, Baseline: base, Pinned: base, Level: "local", Probe: "p", Tool: "t", ConfirmedBy: "ada", ConfirmedHow: "--confirm", ConfirmedAt: k.now}
	split, err := contract.NewSplit("evaluation/development", cases)
	k.must(err)
	facts.Splits = append([]contract.SplitFact{{Name: "development", Cases: 1, Digest: split.Digest}}, splits...)
	for _, path := range slices.Sorted(maps.Keys(k.project)) {
		if data := k.project[path]; c.Frozen(path) {
			facts.Frozen = append(facts.Frozen, contract.File{Path: path, Mode: repo.ModeFile, Blob: id("blob", data), SHA256: ledger.Hash(data)[7:], Size: int64(len(data))})
		}
	}
	k.files["contract.md"] = contract.Seal([]byte(text), c, facts)
	k.changed["contract.md"] = true
	sealed, err := contract.Open(k.files["contract.md"], "")
	k.must(err)
	k.run, err = journal.Fold(sealed, nil)
	k.must(err)
	k.hold(&ledger.Sealed{Contract: string(sealed.Digest), Baseline: base, Tree: tree, Pinned: base, Tool: "t"})
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

// make makes a commit of the run branch, whose script changes to script; nil
// makes the baseline.
func (k *clerk) make(files map[string][]byte, parents []string, message string, script []byte) (commit, tree string) {
	tree = treeID(files, "", func(data []byte) string { return id("blob", data) })
	raw := "tree " + tree + "\n"
	for _, p := range parents {
		raw += "parent " + p + "\n"
	}
	commit = id("commit", []byte(raw+"author "+person+"\ncommitter "+person+"\n\n"+message))
	branch := journal.RunBranch(tag)
	put := map[string][]byte{"solver/run.sh": script}
	if script == nil {
		branch, put = "main", files
	}
	k.emit(branch, message, put, nil)
	return commit, tree
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

// treeID is the id of the tree of the files below a prefix; blob gives the id of
// what a file holds.
func treeID[F any](files map[string]F, prefix string, blob func(F) string) string {
	entries := map[string]string{}
	for path, file := range files {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		folder, _, nested := strings.Cut(rest, "/")
		switch _, done := entries[folder+"/"]; {
		case !nested:
			entries[rest] = "100644 " + rest + "\x00" + bin(blob(file))
		case !done:
			entries[folder+"/"] = "40000 " + folder + "\x00" + bin(treeID(files, prefix+folder+"/", blob))
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
	put, marked := map[string][]byte{}, map[string]int{}
	for file := range k.changed {
		data := k.files[file]
		path := journal.Folder(tag) + file
		switch folder, _, _ := strings.Cut(file, "/"); folder {
		case "journal", "results":
			k.marks++
			k.versions[file] = append(k.versions[file], version{k.marks, len(data)})
			marked[path] = k.marks
		case "logs":
			delete(k.files, file)
			put[path] = data
		default:
			put[path] = data
		}
	}
	clear(k.changed)
	k.emit(journal.StateBranch(tag), journal.Message("state", note), put, marked)
}

// attempt judges one candidate, launched so many times and no better than the
// baseline.
func (k *clerk) attempt(repetitions int) {
	if (k.run.Iteration+1)%10 == 0 { // not too much waits
		k.release()
	}
	k.play(trial{value: 0.5, repetitions: repetitions})
}

// trial is what becomes of a candidate.
type trial struct {
	value       float64
	repetitions int
	answer      ledger.Answer // of the gate, "" where it is not asked
	setup, lost bool          // the first launch comes to nothing
}

// claimed is a head that takes the run's next lease.
func (k *clerk) claimed(head ledger.Head, why string) ledger.Head {
	k.leases++
	took := ""
	if k.run.Open != nil && k.run.Open.Lease != nil {
		took = k.run.Open.Lease.ID
	}
	head.Lease = fmt.Sprintf("%016x", k.leases)
	head.Claim = &ledger.Claim{Holder: ledger.Holder{Host: "h", PID: k.leases, Start: "1"}, Deadline: k.now.Add(10 * time.Minute), TookOver: took, Why: why}
	return head
}

// play judges one candidate, the baseline first.
func (k *clerk) play(t trial) {
	i := k.run.Iteration + 1
	head := ledger.Head{Incumbent: k.run.Best()}
	first := k.claimed(head, "")
	k.hold(&ledger.Prepared{Head: first})
	found := k.found(i)
	head.Candidate, head.Lease = found.Candidate, first.Lease
	found.Head = head
	k.hold(found)
	k.hold(&ledger.Started{Head: head, Stage: ledger.Development, Repetitions: t.repetitions})
	k.flush()
	if t.setup {
		k.hold(&ledger.SetupRetried{Reason: "sh was not found"})
		k.flush()
	}
	if t.lost {
		again := k.claimed(head, "the process is gone")
		k.hold(&ledger.Retried{Head: again, Stage: ledger.Development, Lost: 1, Reason: "the process is gone"})
		head.Lease = again.Lease
		k.flush()
	}
	k.hold(k.evaluated(head, i, t))
	head.Lease = ""
	if t.answer != "" {
		k.ask(head, found.Tree, t.answer)
	}
	d, err := decide.Decide(k.run.Evidence(""))
	k.must(err)
	d.Head = head
	k.hold(&d)
	k.flush()
	if d.Rollback.Required {
		k.project["solver/run.sh"] = k.best
		restore, _ := k.make(k.project, []string{found.Candidate}, "restore\n", k.best)
		k.hold(&ledger.RolledBack{Head: head, Commit: restore, By: "supervisor", Swept: []string{}})
	} else {
		k.best = k.project["solver/run.sh"]
	}
	k.hold(&ledger.Finalized{Entry: k.run.Entry(k.now, "local")})
	k.publish(found.Candidate, found.Tree)
	if i == 0 {
		k.hold(&ledger.Opened{Branch: journal.RunBranch(tag), Commit: found.Candidate})
	}
	k.flush()
}

// found gives a new candidate as the supervisor finds it, or the baseline.
func (k *clerk) found(i int) *ledger.Committed {
	commit := k.run.Sealed.Baseline
	found := &ledger.Committed{Tree: k.run.Sealed.Tree, RecordedTip: k.run.Tip, Missing: []string{},
		Summary: "1 file solver/run.sh", Audit: ledger.Audit{Verdict: "pass", Classes: []string{}, Findings: []ledger.Finding{}, Notes: []string{}}}
	if i > 0 {
		k.project["solver/run.sh"] = fmt.Appendf(nil, "candidate %d\n", i)
		commit, found.Tree = k.make(k.project, []string{k.run.Tip}, "t\n\nHypothesis: h\nFailure-class: f\nMechanism: m\nPredicted-variant: p\nCounterexample: c\n", k.project["solver/run.sh"])
		found.Trailers = ledger.Trailers{Hypothesis: "h", FailureClass: "f", Mechanism: "m", PredictedVariant: "p", Counterexample: "c"}
	}
	found.Candidate, found.Commits = commit, []string{commit}
	return found
}

// ask charges a query of the gate for the open attempt and has it answered.
func (k *clerk) ask(head ledger.Head, tree string, answer ledger.Answer) {
	asks, use := k.claimed(head, ""), k.run.Use()
	k.hold(&ledger.GateCharged{Head: asks, Query: use.Charged + 1, Budget: use.Budget, Tree: tree})
	asks.Claim = nil
	k.hold(&ledger.Started{Head: asks, Stage: ledger.Validation, Repetitions: 1})
	k.flush()
	k.hold(&ledger.GateResult{Head: asks, Query: use.Charged + 1, Answer: answer, Sealed: base64.StdEncoding.EncodeToString([]byte("sealed"))})
}

// publish publishes the verdict about a commit.
func (k *clerk) publish(commit, tree string) {
	note, err := k.signer.Verdict(k.run.VerdictNote(k.origin, commit, tree, len(k.chain.Events), k.chain.Head))
	k.must(err)
	v, _ := k.run.Verdict(commit)
	k.hold(&ledger.Published{Commit: commit, Verdict: v.Status, Note: string(note), Where: []string{}})
}

func (k *clerk) evaluated(head ledger.Head, i int, t trial) *ledger.Evaluated {
	repetitions := t.repetitions
	if i == 0 {
		repetitions = max(repetitions, 2)
	}
	out := &ledger.Evaluated{Head: head, Logs: map[string]string{}, Evaluation: ledger.Evaluation{
		Stage: ledger.Development, Tools: map[string]string{"sh": "1"}, Violations: []string{}, EvaluatorSeconds: 0.5}}
	for n := range repetitions {
		log := fmt.Sprintf("%03d/%d/candidate-%d.log", i/100, i, n)
		k.add("logs/"+log+".gz", []byte(log))
		out.Logs[log+".gz"] = ledger.Hash([]byte(log))
		out.Launches = append(out.Launches, ledger.Launch{Kind: ledger.Measure, Arm: ledger.Candidate, Commit: head.Candidate, Repetition: n,
			Outcome: "exited", WallSeconds: 0.25, Before: ledger.ZeroHash, After: ledger.ZeroHash, Log: log})
		out.Measurements = append(out.Measurements, ledger.Measurement{Arm: ledger.Candidate, Commit: head.Candidate, Repetition: n,
			Metrics: map[string]float64{"accuracy": t.value, "wall_seconds": 0.25}, Cases: []ledger.CaseScore{{ID: "a", Score: 1}}, Counterexamples: map[string]string{}})
	}
	return out
}

func measureVerify(b *testing.B, src verify.Source) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		checkHolds(b, src)
	}
	runtime.ReadMemStats(&after)
	if peak := peakMemory(); peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	}
	b.ReportMetric(float64(after.HeapSys)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20)/float64(b.N), "MiB-allocated/op")
}

// checkHolds verifies a run that nobody touched.
func checkHolds(t testing.TB, src verify.Source) {
	t.Helper()
	report, err := verify.Run(src)
	if err != nil {
		t.Fatal(err)
	}
	if law, f, broken := report.First(); broken {
		t.Fatalf("%s: %s %s", law, f.Place, f.Is)
	}
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
	if _, err := os.Stat(dir); err != nil {
		write(b, dir, func(sink io.Writer) *clerk {
			k := newClerk(b, sink)
			for range attempts + 1 {
				k.attempt(repetitions)
			}
			return k
		})
		repack(b, dir)
	}
	measureVerify(b, packed(b, dir))
}

// repack packs a repository as a server does what it has been pushed.
func repack(t testing.TB, dir string) {
	t.Helper()
	if out, err := exec.Command("git", "-C", dir, "repack", "-adfq", "--window=10", "--depth=50").CombinedOutput(); err != nil {
		t.Fatalf("git repack: %v: %s", err, out)
	}
}

// write makes a bare repository of what a clerk says, packed as a fetch leaves it.
func write(t testing.TB, dir string, play func(sink io.Writer) *clerk) {
	t.Helper()
	git := func(stdin io.Reader, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Stdin = stdin
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git(nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		cmd := exec.Command("git", "-C", dir, "-c", "core.compression=1", "-c", "pack.compression=1", "-c", "core.bigFileThreshold=1g",
			"-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--depth=50")
		cmd.Stdin = reader
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("git fast-import: %w: %s", err, out)
		}
		reader.CloseWithError(err)
		done <- err
	}()
	buffered := bufio.NewWriterSize(writer, 1<<20)
	play(buffered).release()
	writer.CloseWithError(buffered.Flush())
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// packed says where the records are in such a repository, which is widget.git.
func packed(t testing.TB, dir string) verify.Source {
	t.Helper()
	work, err := repo.OpenWork(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { work.Close() })
	src, err := verify.Tracked(work, tag, "")
	if err != nil {
		t.Fatal(err)
	}
	return src
}
