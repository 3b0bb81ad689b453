package ledger

import "time"

// Head stands at the front of every event of an attempt.
type Head struct {
	// Incumbent is the commit that the candidate is compared with.
	Incumbent string `json:"incumbent_commit"`
	// Candidate is the commit under trial; empty in prepared only.
	Candidate string `json:"candidate_commit"`
	// Lease is the identifier of the lease under which the event was written;
	// empty where no lease was in force (after evaluated).
	Lease string `json:"lease"`
	// Claim is set in the event that makes the lease.
	Claim *Claim `json:"claim"`
}

// Claim makes a lease: from then until Deadline only Holder may go on.
type Claim struct {
	Holder   Holder    `json:"holder"`
	Deadline time.Time `json:"deadline"`
	// TookOver is the identifier of the lease that this one replaces, Why the
	// proof that its holder is gone. Both are empty for a first claim.
	TookOver string `json:"took_over"`
	Why      string `json:"why"`
}

// Holder is the process that holds a lease.
type Holder struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Start tells apart two processes that had the same PID: the process's
	// start time as the system gives it.
	Start string `json:"start"`
}

// Sealed is the first event of every run.
type Sealed struct {
	Contract string `json:"contract_sha256"`
	Baseline string `json:"baseline_commit"`
	Tree     string `json:"baseline_tree"`
	Pinned   string `json:"pinned_commit"`
	Tool     string `json:"tool_version"`
}

// Probed says what the sandbox on the evaluating machine was found to enforce.
type Probed struct {
	Mode   string   `json:"mode"`
	Limits []string `json:"limits"`
	// Held lists the attacks that were tried and did not succeed, Open those
	// that did: then nothing is launched.
	Held []string `json:"held"`
	Open []string `json:"open"`
}

// SetupRetried says that the baseline's machine lacked something harmless.
type SetupRetried struct {
	Reason string `json:"reason"`
}

// Prepared claims a candidate.
type Prepared struct {
	Head
}

// Committed says what was found at the claimed tip, and what the audit said.
type Committed struct {
	Head
	Tree string `json:"tree"`
	// RecordedTip is the tip of the run branch that the last judgement left.
	RecordedTip string `json:"recorded_tip"`
	// Commits are the commits above the recorded tip, oldest first.
	Commits  []string `json:"commits"`
	Summary  string   `json:"change_summary"`
	Trailers Trailers `json:"trailers"`
	Missing  []string `json:"missing_trailers"`
	Audit    Audit    `json:"audit"`
}

// Trailers are what the author says of a candidate.
type Trailers struct {
	Hypothesis       string `json:"hypothesis"`
	FailureClass     string `json:"failure_class"`
	Mechanism        string `json:"mechanism"`
	PredictedVariant string `json:"predicted_variant"`
	Counterexample   string `json:"counterexample"`
}

// Audit is the audit's report.
type Audit struct {
	// Verdict is pass, review or invalid.
	Verdict  string    `json:"verdict"`
	Classes  []string  `json:"classes"`
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes"`
	// Tree says that every invalid finding is about the candidate's tree
	// itself, not about its shape, history or messages: only then is the
	// verdict replayed when the tree comes again.
	Tree bool `json:"tree"`
}

// Finding is one finding of the audit.
type Finding struct {
	Class    string `json:"class"`
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Message  string `json:"message"`
	Fix      string `json:"fix"`
	Commit   string `json:"commit"`
}

// Started claims a pass: what follows it may have launched candidate code.
type Started struct {
	Head
	Stage       Stage `json:"stage"`
	Repetitions int   `json:"repetitions"`
}

// Retried says that the pass under an earlier lease was lost and is launched again.
type Retried struct {
	Head
	Stage  Stage  `json:"stage"`
	Lost   int    `json:"lost"`
	Reason string `json:"reason"`
}

// Evaluated carries what execute found, unchanged, and ends the pass's lease.
type Evaluated struct {
	Head
	Evaluation
	// Logs maps the files that the pass added below logs/ to the SHA-256 of
	// their bytes as they are stored.
	Logs map[string]string `json:"logs"`
}

// GateCharged charges a query of the gate in the commit that claims its pass,
// and makes the pass's lease.
type GateCharged struct {
	Head
	// Query is its number in this run, from 1, the baseline's.
	Query  int    `json:"query"`
	Budget int    `json:"budget"`
	Tree   string `json:"tree"`
}

// Answer is what a pass on sealed cases tells.
type Answer string

// The answers. A query has the first three, the final pass all but Overlap.
const (
	Pass        Answer = "pass"
	Fail        Answer = "fail"
	Overlap     Answer = "protected-overlap" // a sealed case stands in the candidate, or it broke the state
	Interrupted Answer = "interrupted"       // lost for good: charged, and no result
)

// GateResult is the answer to a query and ends its pass's lease. Nothing else
// of the pass stands in the open.
type GateResult struct {
	Head
	Query  int    `json:"query"`
	Answer Answer `json:"answer"`
	// Sealed holds the results of cases and the launches, in base64, encrypted
	// to judge and maintainer; its length follows from the number of cases.
	Sealed string `json:"gate_sealed"`
}

// FinalCharged charges the final test, which is asked once, and makes its
// lease. Its candidate is the best kept commit, its incumbent too.
type FinalCharged struct {
	Head
	Baseline string `json:"baseline_commit"`
}

// FinalResult is the answer of the final test and ends its lease. Losses, ties
// and P are those of the sign test, P 1 where there was none.
type FinalResult struct {
	Head
	Answer Answer  `json:"answer"`
	Wins   int     `json:"wins"`
	Losses int     `json:"losses"`
	Ties   int     `json:"ties"`
	P      float64 `json:"p"`
	Reason string  `json:"reason"`
	Sealed string  `json:"final_sealed"`
}

// Decided carries the decision before anything moves. After a restart it is
// executed, never computed again.
type Decided struct {
	Head
	Status Status `json:"status"`
	Reason string `json:"reason"`
	// Metrics are the candidate's, of the repetition that counts; null without one.
	Metrics map[string]float64 `json:"metrics"`
	// IncumbentMetrics are what Metrics were compared with; null for the baseline.
	IncumbentMetrics map[string]float64 `json:"incumbent_metrics"`
	Constraints      map[string]*bool   `json:"constraint_results"`
	Counterexamples  *Counterexamples   `json:"counterexample_results"`
	Failure          *Failure           `json:"failure"`
	// IntendedIncumbent is the incumbent once the decision has been carried out.
	IntendedIncumbent string   `json:"intended_incumbent"`
	Rollback          Rollback `json:"rollback"`
	// Replay says that the same tree, pushed again, gets this verdict without a launch.
	Replay bool `json:"replay"`
}

// Rollback says whether the run branch must be brought back, and to which tree.
type Rollback struct {
	Required bool   `json:"required"`
	Tree     string `json:"target_tree"`
}

// Counterexamples compares the recorded outputs on the counterexample split.
type Counterexamples struct {
	Total   int      `json:"total"`
	Changed []string `json:"changed"`
}

// RolledBack names the commit that brought the incumbent's tree back.
type RolledBack struct {
	Head
	Commit string `json:"rollback_commit"`
	// By is supervisor, or author where the author restored the tree himself.
	By string `json:"by"`
	// Swept are the commits between the candidate and Commit, oldest first:
	// they arrived while the attempt was open and are superseded.
	Swept []string `json:"swept_commits"`
}

// Finalized ends an attempt with its entry.
type Finalized struct {
	Entry Entry `json:"entry"`
}

// Published says that the verdict can be read wherever it is shown.
type Published struct {
	Commit  string `json:"commit"`
	Verdict string `json:"verdict"`
	// Note is the signed verdict note, empty in a run without keys.
	Note string `json:"note"`
	// Where lists the channels besides the state branch itself.
	Where []string `json:"where"`
}

// Opened says that the baseline stands and candidates may come.
type Opened struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Superseded is a tip that is no candidate.
type Superseded struct {
	Tip  string `json:"tip"`
	Tree string `json:"tree"`
	// Commits are the commits above the recorded tip, oldest first.
	Commits []string `json:"commits"`
	Reason  string   `json:"reason"`
	// Of is the iteration whose verdict is replayed, null where there is none.
	Of *int `json:"of_iteration"`
	// Restore is the restore commit, empty where the tip's tree is the incumbent's.
	Restore string `json:"rollback_commit"`
}

// Closing ends the opening of attempts.
type Closing struct {
	Reason string `json:"reason"`
	By     string `json:"by"`
	// Interrupt ends the open attempt with its running pass, undecided.
	Interrupt bool `json:"interrupt"`
}

// Halted stops a run until a maintainer authorises it.
type Halted struct {
	Reason string `json:"reason"`
	// Paused says that nothing is broken: a person must decide.
	Paused bool `json:"paused"`
}

// Authorised lets a halted run go on.
type Authorised struct {
	Reason string `json:"reason"`
	By     string `json:"by"`
}

// Closed ends a run.
type Closed struct {
	Reason string `json:"reason"`
	// Best is the last kept commit, the baseline included.
	Best string `json:"best_commit"`
}

// Kind implements Data.
func (*Sealed) Kind() Kind { return KindSealed }

// Kind implements Data.
func (*Probed) Kind() Kind { return KindProbed }

// Kind implements Data.
func (*SetupRetried) Kind() Kind { return KindSetupRetried }

// Kind implements Data.
func (*Prepared) Kind() Kind { return KindPrepared }

// Kind implements Data.
func (*Committed) Kind() Kind { return KindCommitted }

// Kind implements Data.
func (*Started) Kind() Kind { return KindStarted }

// Kind implements Data.
func (*Retried) Kind() Kind { return KindRetried }

// Kind implements Data.
func (*Evaluated) Kind() Kind { return KindEvaluated }

// Kind implements Data.
func (*GateCharged) Kind() Kind { return KindGateCharged }

// Kind implements Data.
func (*GateResult) Kind() Kind { return KindGateResult }

// Kind implements Data.
func (*FinalCharged) Kind() Kind { return KindFinalCharged }

// Kind implements Data.
func (*FinalResult) Kind() Kind { return KindFinalResult }

// Kind implements Data.
func (*Decided) Kind() Kind { return KindDecided }

// Kind implements Data.
func (*RolledBack) Kind() Kind { return KindRolledBack }

// Kind implements Data.
func (*Finalized) Kind() Kind { return KindFinalized }

// Kind implements Data.
func (*Published) Kind() Kind { return KindPublished }

// Kind implements Data.
func (*Opened) Kind() Kind { return KindOpened }

// Kind implements Data.
func (*Superseded) Kind() Kind { return KindSuperseded }

// Kind implements Data.
func (*Closing) Kind() Kind { return KindClosing }

// Kind implements Data.
func (*Halted) Kind() Kind { return KindHalted }

// Kind implements Data.
func (*Authorised) Kind() Kind { return KindAuthorised }

// Kind implements Data.
func (*Closed) Kind() Kind { return KindClosed }
