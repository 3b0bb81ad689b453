package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Version is the only version of the journal's lines that this package reads.
const Version = 1

// MaxLine bounds one journal line, in bytes.
const MaxLine = 64 << 20

// Kind names what happened.
type Kind string

// The kinds of events, in the order in which a run may first meet them.
const (
	KindSealed       Kind = "sealed"
	KindProbed       Kind = "probed"
	KindSetupRetried Kind = "setup_retried"
	KindPrepared     Kind = "prepared"
	KindCommitted    Kind = "committed"
	KindStarted      Kind = "started"
	KindRetried      Kind = "retried"
	KindEvaluated    Kind = "evaluated"
	KindDecided      Kind = "decided"
	KindRolledBack   Kind = "rolled_back"
	KindFinalized    Kind = "finalized"
	KindPublished    Kind = "published"
	KindOpened       Kind = "opened"
	KindSuperseded   Kind = "superseded"
	KindClosing      Kind = "closing"
	KindHalted       Kind = "halted"
	KindAuthorised   Kind = "authorised"
	KindClosed       Kind = "closed"
)

// Event is one line of the journal.
type Event struct {
	Seq       int
	Prev      string
	Time      time.Time
	Run       string
	Iteration int
	Data      Data
}

// Data is what an event says. Each kind has one type.
type Data interface{ Kind() Kind }

// line is the wire form: its field order is the key order.
type line struct {
	V         int             `json:"v"`
	Seq       int             `json:"seq"`
	Prev      string          `json:"prev"`
	Time      time.Time       `json:"time"`
	Run       string          `json:"run"`
	Iteration int             `json:"iteration"`
	Event     Kind            `json:"event"`
	Data      json.RawMessage `json:"data"`
}

// ZeroHash is the prev of the first line.
const ZeroHash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// Hash gives the prev of the line that follows text; text includes its newline.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Format gives the event's line, newline included.
func (e Event) Format() ([]byte, error) {
	data, err := marshal(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Data.Kind(), err)
	}
	text, err := marshal(line{
		V: Version, Seq: e.Seq, Prev: e.Prev, Time: e.Time.UTC(), Run: e.Run,
		Iteration: e.Iteration, Event: e.Data.Kind(), Data: data,
	})
	if err != nil {
		return nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Data.Kind(), err)
	}
	if len(text) >= MaxLine {
		return nil, fmt.Errorf("event %d (%s): %d bytes, at most %d fit one line", e.Seq, e.Data.Kind(), len(text), MaxLine)
	}
	return append(text, '\n'), nil
}

// ParseEvent reads one line, newline included. It checks the line's own form,
// not its place in the chain.
func ParseEvent(text []byte) (Event, error) {
	var l line
	if err := strict(bytes.TrimSuffix(text, []byte("\n")), &l); err != nil {
		return Event{}, err
	}
	if l.V != Version {
		return Event{}, fmt.Errorf("version %d: this program reads version %d", l.V, Version)
	}
	data := newData(l.Event)
	if data == nil {
		return Event{}, fmt.Errorf("unknown event %q", l.Event)
	}
	if err := strict(l.Data, data); err != nil {
		return Event{}, fmt.Errorf("data of %s: %w", l.Event, err)
	}
	e := Event{Seq: l.Seq, Prev: l.Prev, Time: l.Time, Run: l.Run, Iteration: l.Iteration, Data: data}
	again, err := e.Format()
	if err != nil {
		return Event{}, err
	}
	if !bytes.Equal(again, text) {
		return Event{}, fmt.Errorf("not in the form that this program writes, from byte %d on", differ(again, text))
	}
	return e, nil
}

// differ gives the offset of the first byte in which a and b differ.
func differ(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// marshal writes v as this package's JSON: no HTML escapes, no newline.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// strict decodes one JSON value without unknown keys and with nothing behind it.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if dec.InputOffset() != int64(len(text)) {
		return fmt.Errorf("bytes behind the object, at %d", dec.InputOffset())
	}
	return nil
}

// newData gives an empty value of the type that belongs to kind, nil if none does.
func newData(kind Kind) Data {
	switch kind {
	case KindSealed:
		return new(Sealed)
	case KindProbed:
		return new(Probed)
	case KindSetupRetried:
		return new(SetupRetried)
	case KindPrepared:
		return new(Prepared)
	case KindCommitted:
		return new(Committed)
	case KindStarted:
		return new(Started)
	case KindRetried:
		return new(Retried)
	case KindEvaluated:
		return new(Evaluated)
	case KindDecided:
		return new(Decided)
	case KindRolledBack:
		return new(RolledBack)
	case KindFinalized:
		return new(Finalized)
	case KindPublished:
		return new(Published)
	case KindOpened:
		return new(Opened)
	case KindSuperseded:
		return new(Superseded)
	case KindClosing:
		return new(Closing)
	case KindHalted:
		return new(Halted)
	case KindAuthorised:
		return new(Authorised)
	case KindClosed:
		return new(Closed)
	}
	return nil
}
