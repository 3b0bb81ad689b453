package supervisor

import (
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"strings"

	"github.com/research-loop/research-loop/pkg/decide"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// A remote may refuse records because some text in them looks like a secret to
// it. An author who writes such a text into a message, or a candidate that
// prints one, must not stop a run. What was refused is not durable, so it may
// still be said otherwise: every text in it that comes from outside gives way to
// its digest, and what follows from such texts is derived again. It is pushed
// again once; a remote that refuses even that is a person's concern.

// ByContract is who closes a run whose stop condition holds.
const ByContract = "contract"

// refusedAsSecret says whether a push was refused for what looks like a secret.
func refusedAsSecret(err error) bool {
	var remote *repo.RemoteError
	return errors.As(err, &remote) && remote.Secret
}

// withhold holds back again what is held back, without texts from outside.
func (s *Supervisor) withhold() error {
	all := s.chain.Events
	held := slices.Clone(all[len(all)-s.events:])
	past := all[: len(all)-s.events : len(all)-s.events]
	run, err := journal.Fold(s.Run.Contract, past)
	if err != nil {
		return err
	}
	logs := map[string]string{}
	for name, data := range s.changed {
		if strings.HasPrefix(name, "logs/") {
			logs[name] = ledger.Hash(data)
		}
	}
	s.Run, s.chain = run, ledger.Chain{Events: past, Head: held[0].Prev}
	s.changed, s.events, s.named = map[string][]byte{}, 0, nil
	packed := map[string][]byte{}
	for name, digest := range logs {
		if packed[name], err = pack([]byte(digest + ", of the log as it was stored, which the remote refused as a secret\n")); err != nil {
			return err
		}
		s.changed[name] = packed[name]
	}
	for _, e := range held {
		if e.Data, err = s.plain(e.Data, packed); err != nil {
			return err
		}
		if err := s.append(e); err != nil {
			return err
		}
	}
	return nil
}

// plain gives an event without texts from outside. What is derived from
// evidence is derived again, because the evidence is another one now.
func (s *Supervisor) plain(d ledger.Data, logs map[string][]byte) (ledger.Data, error) {
	switch d := d.(type) {
	case *ledger.Committed:
		return plainCommitted(*d), nil
	case *ledger.Evaluated:
		return plainEvaluated(*d, logs), nil
	case *ledger.Decided:
		lost := ""
		if d.Failure != nil && d.Failure.What == "interrupted" {
			lost = d.Failure.Detail
		}
		again, err := decide.Decide(s.Run.Evidence(lost))
		again.Head = d.Head
		return &again, err
	case *ledger.Finalized:
		return &ledger.Finalized{Entry: s.Run.Entry(d.Entry.EndedAt, d.Entry.Level)}, nil
	case *ledger.Published:
		again := *d
		var err error
		again.Note, err = s.note(d.Commit)
		return &again, err
	case *ledger.SetupRetried:
		return &ledger.SetupRetried{Reason: ledger.Withheld(d.Reason)}, nil
	case *ledger.Halted:
		return &ledger.Halted{Reason: ledger.Withheld(d.Reason), Paused: d.Paused}, nil
	case *ledger.Authorised:
		return &ledger.Authorised{Reason: ledger.Withheld(d.Reason), By: d.By}, nil
	case *ledger.Closing:
		if d.By != ByContract { // its reason is one of the program's own
			return &ledger.Closing{Reason: ledger.Withheld(d.Reason), By: d.By, Interrupt: d.Interrupt}, nil
		}
	case *ledger.Closed:
		reason := ledger.Withheld(d.Reason)
		if s.Run.Closing != nil {
			reason = s.Run.Closing.Reason
		}
		return &ledger.Closed{Reason: reason, Best: d.Best}, nil
	}
	return d, nil
}

// plainCommitted leaves out what the author wrote, paths included.
func plainCommitted(d ledger.Committed) *ledger.Committed {
	d.Trailers = rewritten(d.Trailers, ledger.Withheld)
	d.Summary = ledger.Withheld(d.Summary)
	d.Audit.Findings = slices.Clone(d.Audit.Findings)
	for i := range d.Audit.Findings {
		f := &d.Audit.Findings[i]
		f.Path, f.Message = ledger.Withheld(f.Path), ledger.Withheld(f.Message)
	}
	d.Audit.Notes = each(d.Audit.Notes, ledger.Withheld)
	return &d
}

// plainEvaluated leaves out what candidate code may have said.
func plainEvaluated(d ledger.Evaluated, logs map[string][]byte) *ledger.Evaluated {
	d.Violations = each(d.Violations, ledger.Withheld)
	d.Launches = slices.Clone(d.Launches)
	for i := range d.Launches {
		d.Launches[i].Reason = ledger.Withheld(d.Launches[i].Reason)
	}
	d.Measurements = slices.Clone(d.Measurements)
	for i := range d.Measurements {
		if f := d.Measurements[i].Failure; f != nil {
			d.Measurements[i].Failure = &ledger.Failure{Status: f.Status, What: f.What, Detail: ledger.Withheld(f.Detail)}
		}
	}
	stored := map[string]string{}
	for name := range d.Logs {
		stored[name] = ledger.Hash(logs["logs/"+name])
	}
	d.Logs = stored
	return &d
}

// redacted leaves out of what was found at a tip whatever is known for a secret:
// before it is recorded, wherever it is kept.
func redacted(d *ledger.Committed, r *evaluate.Redactor) {
	d.Trailers = rewritten(d.Trailers, r.String)
	d.Summary = r.String(d.Summary)
	for i := range d.Audit.Findings {
		f := &d.Audit.Findings[i]
		f.Path, f.Message = r.String(f.Path), r.String(f.Message)
	}
	d.Audit.Notes = each(d.Audit.Notes, r.String)
}

func rewritten(t ledger.Trailers, as func(string) string) ledger.Trailers {
	return ledger.Trailers{Hypothesis: as(t.Hypothesis), FailureClass: as(t.FailureClass), Mechanism: as(t.Mechanism),
		PredictedVariant: as(t.PredictedVariant), Counterexample: as(t.Counterexample)}
}

// each rewrites a list, nil staying nil.
func each(texts []string, as func(string) string) []string {
	out := slices.Clone(texts)
	for i, text := range out {
		out[i] = as(text)
	}
	return out
}

// pack compresses a log.
func pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}
