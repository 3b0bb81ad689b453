package contract

import (
	"regexp"
	"slices"
	"time"
)

// Version is the version of the contract's format that this program reads and
// writes, the value of the key research_loop.
const Version = 1

// Mode says how the candidate is called.
type Mode string

// The modes of a candidate.
const (
	ModeBatch  Mode = "batch"  // one launch reads /inputs and writes /outputs
	ModeCase   Mode = "case"   // one launch a case, stdin to stdout
	ModeDriver Mode = "driver" // a frozen command asks for the launches
	ModeData   Mode = "data"   // a frozen command reads the files, nothing of them is launched
)

// Direction says which values of a metric are better.
type Direction string

// The directions of a metric.
const (
	Higher Direction = "higher"
	Lower  Direction = "lower"
)

// Policy says what a launch finds below a generated path.
type Policy string

// The policies of a generated path.
const (
	GeneratedReset    Policy = "reset"    // fresh for every launch
	GeneratedIsolate  Policy = "isolate"  // fresh for every arm and repetition
	GeneratedSnapshot Policy = "snapshot" // filled from a frozen folder
)

// DraftPath is where a contract is drafted, on the default branch.
const DraftPath = ".research-loop/contract.yml"

// Deterministic is the acceptance policy that launches a candidate once and
// compares it with the incumbent's record.
const Deterministic = "deterministic"

// The exceptions that a contract may ask for today.
const (
	BestEffortLimits = "best-effort-limits" // limits that the machine cannot enforce are left out
	NoGate           = "no-gate"            // the run has no sealed gate
	ReusedGate       = "reused-gate"        // earlier runs may have asked the same gate cases
	// RepositorySecrets lets the keys be plain secrets of the repository, which
	// every author who may push a workflow file can read.
	RepositorySecrets = "repository-secrets"
)

// Contract is what a run agreed to, with every default filled in. Paths are
// slash paths relative to the repository's top, without a slash at the end.
type Contract struct {
	Goal            string // what the run is to reach
	Population      string // what an improvement must hold for
	Specification   string // a file, or "" for none
	Baseline        string // a commit or HEAD, as written
	Keys            *Keys  // nil: nothing of the run is signed
	Harness         Harness
	Scope           Scope
	Candidate       Candidate
	Evaluation      Evaluation
	Splits          Splits
	Metric          Metric
	Secondary       []Metric
	Constraints     []Constraint
	Counterexamples string // a folder with inputs/ and answers/, or "" for none
	Acceptance      Acceptance
	Gate            *Gate // nil: the run has no sealed gate
	Limits          Limits
	Shards          int // how many machines share a pass; always 1 today
	Redact          []Redaction
	Exceptions      []string
}

// Keys are the public keys of a run: who signs its records, and to whom what is
// sealed is encrypted.
type Keys struct {
	Verifier string // of the records' signatures: <name>+<hash>+<base64>
	// age recipients, "" where there is none; no two are the same
	Judge, Execute, Final, Maintainer string
}

// Gate is the sealed validation gate of a run: see package gate for its law.
type Gate struct {
	Queries int    // how often it may be asked, the baseline's query included
	Rule    string // non_inferior or improve
	// Margin is a whole number of cases; of workloads, a fraction of the
	// reference's value.
	Margin float64
	// Window is how long the launches of a query take to anybody who watches, and
	// how long its scoring does, whatever they really take.
	Window    time.Duration
	Cases     string    // where the cases come from: user, untouched-split or generated
	Direction Direction // which score of a case is better
	Workloads bool      // every case is a workload that must pass by itself
}

// Harness names the frozen files.
type Harness struct {
	Paths  []string // patterns
	Source string   // who made the harness: "user"
}

// Scope says what the author may change and what the candidate may read.
type Scope struct {
	Writable  []string // patterns; all else is immutable
	Readable  []string // patterns; what candidate code sees beside its writable files
	Generated []Generated
}

// Generated is a path that builds or launches write.
type Generated struct {
	Path   string
	Policy Policy
	From   string // the frozen folder of GeneratedSnapshot, else ""
}

// Candidate says how the candidate is built and launched.
type Candidate struct {
	Mode       Mode
	Build      *Build   // nil: nothing is built
	Run        string   // a shell command; mode driver: "" for the words of the call alone
	Directory  string   // where it runs, "." for the top
	Toolchains []string // absolute folders of the host
}

// Build is the command that makes a candidate ready.
type Build struct {
	Run       string
	Timeout   time.Duration
	Temporary int64 // bytes
}

// Evaluation says how outputs become metrics, and within which bounds.
type Evaluation struct {
	Driver      *Driver // of ModeDriver and ModeData, else nil
	Score       string  // a shell command
	Extract     Extract
	Timeout     time.Duration // of one launch
	Total       time.Duration // of one arm on one split
	Resources   Resources
	Environment map[string]string // never nil
	Requires    []string          // programs that must be on PATH
}

// Driver is the frozen command that works on a split in the candidate's place.
type Driver struct {
	Run     string   // a shell command
	Network bool     // it sees the machine's network; ModeData only
	Secrets []string // names of the supervisor's environment; ModeData only
}

// Extract says how the scorer's output is read.
type Extract struct {
	Regex *regexp.Regexp // with one group, the value; nil: the output is JSON
}

// Resources bound one launch.
type Resources struct {
	Memory            int64 // bytes
	Pids              int
	CPUs              float64
	Output, Temporary int64 // bytes
}

// Splits names the folders of cases.
type Splits struct {
	Development string
	// Validation and Final name sealed splits, "" for none: <name>.inputs.age and
	// <name>.answers.age are their files.
	Validation, Final string
}

// Metric is a name and the direction that is better.
type Metric struct {
	Name      string
	Direction Direction
}

// Constraint bounds a metric; one of AtMost and AtLeast is set.
type Constraint struct {
	Metric          string
	AtMost, AtLeast *float64
}

// Acceptance says when a candidate replaces the incumbent.
type Acceptance struct {
	Policy      string   // Deterministic
	MinDelta    float64  // the smallest gain that counts, above zero
	TieBreakers []string // metrics, the first that differs decides
}

// Limits say when a run ends by itself.
type Limits struct {
	Attempts     int           // candidates, 0: not limited
	Wall         time.Duration // from `opened`, 0: not limited
	Target       *Target       // nil: none
	SetupRetries int
	OpenEnded    bool // neither Attempts nor Wall is set, on purpose
}

// Target ends a run when the metric reaches Value on a split.
type Target struct {
	Value float64
	Split string
}

// Redaction is a pattern whose matches are struck from every log.
type Redaction struct {
	Pattern *regexp.Regexp
}

// The metrics that the supervisor measures. Lower is better for all of them.
const (
	WallSeconds     = "wall_seconds"
	CPUSeconds      = "cpu_seconds"
	PeakMemoryBytes = "peak_memory_bytes"
	CodeLines       = "code_lines"
)

func measured() []string {
	return []string{WallSeconds, CPUSeconds, PeakMemoryBytes, CodeLines}
}

// Noisy reports whether two launches of the same code may give two values.
func Noisy(metric string) bool {
	return metric == WallSeconds || metric == CPUSeconds || metric == PeakMemoryBytes
}

// Measured reports whether the supervisor measures metric, so that no scorer
// need print it.
func (c *Contract) Measured(metric string) bool {
	return slices.Contains(measured(), metric)
}

// driver returns the command of the driver, "" where there is none.
func (c *Contract) driver() string {
	if c.Evaluation.Driver == nil {
		return ""
	}
	return c.Evaluation.Driver.Run
}

// Exception reports whether the contract asks for the exception called name.
func (c *Contract) Exception(name string) bool {
	return slices.Contains(c.Exceptions, name)
}
