package supervisor

import (
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/vault"
)

// AttemptValue is what a pass on sealed cases showed.
type AttemptValue struct {
	Iteration int           `json:"iteration"`
	Stage     ledger.Stage  `json:"stage"`
	Status    ledger.Status `json:"status"` // of the attempt, "" for the final test
	Answer    ledger.Answer `json:"answer"`
	Value
}

// Mean is the mean score of the cases, 0 without scores.
func (v AttemptValue) Mean() float64 {
	sum := 0.0
	for _, s := range v.Scores {
		sum += s / float64(len(v.Scores))
	}
	return sum
}

// Values opens everything that a run has sealed of its passes, with the key of
// the judge or the maintainer.
func Values(key vault.Identity, r *journal.Run) ([]AttemptValue, error) {
	var out []AttemptValue
	for _, e := range r.Entries {
		if e.GateSealed == nil {
			continue
		}
		v, err := OpenValue(key, r, e.Iteration, ledger.Validation, *e.GateSealed)
		if err != nil {
			return nil, err
		}
		out = append(out, AttemptValue{e.Iteration, ledger.Validation, e.Status, ledger.Answer(*e.SplitMetrics.Validation), *v})
	}
	if f := r.Final; f != nil && f.Sealed != "" {
		v, err := OpenValue(key, r, r.Iteration, ledger.Final, f.Sealed)
		if err != nil {
			return nil, err
		}
		out = append(out, AttemptValue{r.Iteration, ledger.Final, "", f.Answer, *v})
	}
	return out, nil
}
