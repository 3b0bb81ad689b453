package ledger

// Arm names one side of a comparison.
type Arm string

// The two arms. The baseline's own attempt measures Candidate alone.
const (
	Incumbent Arm = "incumbent"
	Candidate Arm = "candidate"
)

// Stage is what one pass runs.
type Stage string

// The stages.
const (
	Development Stage = "development"
	Validation  Stage = "validation"
	Final       Stage = "final"
)

// Status is what an attempt ended as.
type Status string

// The statuses.
const (
	Keep    Status = "keep"
	Discard Status = "discard"
	Crash   Status = "crash"
	Timeout Status = "timeout"
	Invalid Status = "invalid"
)

// LaunchKind says what a launch was for.
type LaunchKind string

// The kinds of launches.
const (
	Build          LaunchKind = "build"
	Measure        LaunchKind = "candidate"
	Score          LaunchKind = "score"
	Counterexample LaunchKind = "counterexample"
	Drive          LaunchKind = "driver" // the frozen driver itself
	CounterDrive   LaunchKind = "counterexample-driver"
)

// NotLaunched is the outcome of a launch that a failed check prevented.
const NotLaunched = "not-launched"

// Launch is one launch in the sandbox, whatever came of it.
type Launch struct {
	Kind       LaunchKind `json:"kind"`
	Arm        Arm        `json:"arm"`
	Commit     string     `json:"commit"`
	Repetition int        `json:"repetition"`
	// Case is the case's identifier in mode case, empty for a whole split.
	Case string `json:"case"`
	// Call numbers what a driver asked for, from 1; 0 for every other launch.
	Call int `json:"call"`
	// Outcome is the sandbox's word for it, or NotLaunched with a Reason.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Exit    int    `json:"exit"`
	Signal  int    `json:"signal"`
	// WallSeconds runs from exec to exit.
	WallSeconds float64 `json:"wall_seconds"`
	// CPUSeconds and PeakMemoryBytes are null where the machine cannot tell.
	CPUSeconds      *float64 `json:"cpu_seconds"`
	PeakMemoryBytes *int64   `json:"peak_memory_bytes"`
	StdoutBytes     int64    `json:"stdout_bytes"`
	StderrBytes     int64    `json:"stderr_bytes"`
	// Before and After are the state digests around the launch.
	Before string `json:"before"`
	After  string `json:"after"`
	// Log is a name below logs/, empty where there is none.
	Log string `json:"log"`
}

// Failure is why an arm has no value.
type Failure struct {
	// Status is Crash, Timeout or Invalid.
	Status Status `json:"status"`
	// What is build, launch, total, extract, state or output; interrupted for a lost pass.
	What string `json:"what"`
	// Detail is redacted.
	Detail string `json:"detail"`
}

// Measurement is one repetition of one arm.
type Measurement struct {
	Arm        Arm    `json:"arm"`
	Commit     string `json:"commit"`
	Repetition int    `json:"repetition"`
	// Metrics holds every metric of the contract, measured ones included;
	// null when Failure is set.
	Metrics map[string]float64 `json:"metrics"`
	Cases   []CaseScore        `json:"cases"`
	// Counterexamples maps a case of the counterexample split to the SHA-256 of its output.
	Counterexamples map[string]string `json:"counterexamples"`
	Failure         *Failure          `json:"failure"`
}

// CaseScore is what the scorer says of one case.
type CaseScore struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
}

// Evaluation is what execute found in one pass.
type Evaluation struct {
	Stage        Stage         `json:"stage"`
	Launches     []Launch      `json:"launches"`
	Measurements []Measurement `json:"measurements"`
	// Tools maps a toolchain or required tool to what identifies its version.
	Tools map[string]string `json:"tools"`
	// Violations are failed state checks: invalid, whatever else happened.
	Violations []string `json:"violations"`
	// EvaluatorSeconds is the wall time of all launches together, a driver's
	// calls left out, which run while it does.
	EvaluatorSeconds float64 `json:"evaluator_seconds"`
}
