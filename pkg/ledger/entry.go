package ledger

import (
	"encoding/json"
	"fmt"
	"time"
)

// Role says whether an attempt measured the baseline or a candidate.
type Role string

// The roles.
const (
	RoleBaseline  Role = "baseline"
	RoleCandidate Role = "candidate"
)

// Entry is the ledger's record of one attempt. What is not available is null.
type Entry struct {
	Iteration       int                `json:"iteration"`
	Role            Role               `json:"role"`
	Commit          string             `json:"commit"`
	Incumbent       string             `json:"incumbent_commit"`
	RollbackCommit  *string            `json:"rollback_commit"`
	StartedAt       time.Time          `json:"started_at"`
	EndedAt         time.Time          `json:"ended_at"`
	Contract        string             `json:"contract_sha256"`
	Status          Status             `json:"status"`
	Reason          string             `json:"acceptance_reason"`
	PrimaryMetric   string             `json:"primary_metric"`
	PrimaryValue    *float64           `json:"primary_value"`
	SplitMetrics    SplitMetrics       `json:"split_metrics"`
	Aggregation     string             `json:"aggregation"`
	Secondary       map[string]float64 `json:"secondary_metrics"`
	Repetitions     []Repetition       `json:"repetitions"`
	DurationSeconds float64            `json:"duration_seconds"`
	Hypothesis      string             `json:"hypothesis"`
	ChangeSummary   string             `json:"change_summary"`
	Queries         int                `json:"validation_queries"`
	LeakageAudit    LeakageAudit       `json:"leakage_audit"`
	Counterexamples *Counterexamples   `json:"counterexample_results"`
	Constraints     map[string]*bool   `json:"constraint_results"`
	Failure         *Failure           `json:"failure"`
	GateSealed      *string            `json:"gate_sealed"`
	Level           string             `json:"level"`
	Exceptions      []string           `json:"exceptions"`
}

// SplitMetrics are the results by split: a value where it may be seen, pass or
// fail where only that may be.
type SplitMetrics struct {
	Development *float64 `json:"development"`
	Validation  *string  `json:"validation"`
}

// LeakageAudit is the audit in short.
type LeakageAudit struct {
	Verdict string   `json:"verdict"`
	Classes []string `json:"classes"`
}

// Repetition is one launch of one arm on a split.
type Repetition struct {
	PairID   int                `json:"pair_id"`
	Arm      Arm                `json:"arm"`
	Phase    string             `json:"phase"`
	Commit   string             `json:"evaluated_commit"`
	Seed     *string            `json:"seed"`
	Primary  *float64           `json:"primary_value"`
	Metrics  map[string]float64 `json:"metrics"`
	Duration float64            `json:"duration_seconds"`
	Log      *string            `json:"log"`
	Failure  *Failure           `json:"failure"`
}

// FormatEntry gives the entry's line in the results, newline included.
func FormatEntry(e Entry) ([]byte, error) {
	text, err := marshal(e)
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.Iteration, err)
	}
	return append(text, '\n'), nil
}

// ParseEntry reads one line of the results, newline included.
func ParseEntry(text []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(text, &e); err != nil {
		return Entry{}, err
	}
	again, err := FormatEntry(e)
	if err != nil {
		return Entry{}, err
	}
	if err := same(again, text); err != nil {
		return Entry{}, err
	}
	return e, nil
}
