package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
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
	KindGateCharged  Kind = "gate_charged"
	KindGateResult   Kind = "gate_result"
	KindDecided      Kind = "decided"
	KindRolledBack   Kind = "rolled_back"
	KindFinalized    Kind = "finalized"
	KindPublished    Kind = "published"
	KindOpened       Kind = "opened"
	KindSuperseded   Kind = "superseded"
	KindClosing      Kind = "closing"
	KindFinalCharged Kind = "final_charged"
	KindFinalResult  Kind = "final_result"
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

// line is the wire form of all but the data: its field order is the key order.
type line struct {
	V         int       `json:"v"`
	Seq       int       `json:"seq"`
	Prev      string    `json:"prev"`
	Time      time.Time `json:"time"`
	Run       string    `json:"run"`
	Iteration int       `json:"iteration"`
	Event     Kind      `json:"event"`
}

// dataKey stands between the two parts of a line. No string before it can hold
// these bytes, because a quote inside a string is escaped.
const dataKey = `,"data":`

// ZeroHash is the prev of the first line.
const ZeroHash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// Hash gives the prev of the line that follows text; text includes its newline.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	var room [len(ZeroHash)]byte
	return string(hex.AppendEncode(append(room[:0], "sha256:"...), sum[:]))
}

// Format gives the event's line, newline included.
func (e Event) Format() ([]byte, error) {
	kind := e.Data.Kind()
	text, err := marshal(line{V: Version, Seq: e.Seq, Prev: e.Prev, Time: e.Time.UTC(), Run: e.Run, Iteration: e.Iteration, Event: kind})
	if err != nil {
		return nil, fmt.Errorf("event %d (%s): %w", e.Seq, kind, err)
	}
	data, err := marshal(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event %d (%s): %w", e.Seq, kind, err)
	}
	text = slices.Concat(text[:len(text)-1], []byte(dataKey), data, []byte("}\n"))
	if len(text) > MaxLine {
		return nil, fmt.Errorf("event %d (%s): %d bytes, at most %d fit one line", e.Seq, kind, len(text), MaxLine)
	}
	return text, nil
}

// ParseEvent reads one line, newline included. It checks the line's own form,
// not its place in the chain.
func ParseEvent(text []byte) (Event, error) { return new(strict).parse(text) }

// compared decodes a line, writes it again and says what differs.
func compared(text []byte) (Event, error) {
	front, rest, found := bytes.Cut(text, []byte(dataKey))
	rest, ended := bytes.CutSuffix(rest, []byte("}\n"))
	if !found || !ended {
		return Event{}, fmt.Errorf("not one object that ends in data, and a newline: %q", excerpt(text))
	}
	var l line
	if err := json.Unmarshal(slices.Concat(front, []byte("}")), &l); err != nil {
		return Event{}, err
	}
	if l.V != Version {
		return Event{}, fmt.Errorf("version %d: this program reads version %d", l.V, Version)
	}
	if l.Seq < 0 || l.Iteration < 0 {
		return Event{}, fmt.Errorf("seq %d, iteration %d: neither is ever negative", l.Seq, l.Iteration)
	}
	data := newData(l.Event)
	if data == nil {
		return Event{}, fmt.Errorf("unknown event %q", l.Event)
	}
	if err := json.Unmarshal(rest, data); err != nil {
		return Event{}, fmt.Errorf("data of %s: %w", l.Event, err)
	}
	e := Event{Seq: l.Seq, Prev: l.Prev, Time: l.Time, Run: l.Run, Iteration: l.Iteration, Data: data}
	again, err := e.Format()
	if err != nil {
		return Event{}, err
	}
	if err := same(again, text); err != nil {
		return Event{}, err
	}
	return e, nil
}

// same is the one rule about form: what was read is what would be written.
func same(again, text []byte) error {
	if bytes.Equal(again, text) {
		return nil
	}
	at := differ(again, text)
	return fmt.Errorf("not in the form that this program writes: from byte %d on %q, want %q", at, excerpt(text[at:]), excerpt(again[at:]))
}

// excerpt is the beginning of text.
func excerpt(text []byte) []byte { return text[:min(len(text), 40)] }

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
	return replaced(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// replaced writes the character U+FFFD itself where the encoder, meeting bytes
// that are not UTF-8, wrote its escape. A reader that writes the line again
// does so too, so that text of any bytes has one form.
func replaced(text []byte) []byte {
	escape := []byte(`\ufffd`)
	if !bytes.Contains(text, escape) {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := 1
		if text[0] == '\\' {
			n = 2 // an escape is taken whole: `\\ufffd` holds none
		}
		if bytes.HasPrefix(text, escape) {
			out, text = append(out, "\uFFFD"...), text[len(escape):]
			continue
		}
		out, text = append(out, text[:n]...), text[n:]
	}
	return out
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
	case KindGateCharged:
		return new(GateCharged)
	case KindGateResult:
		return new(GateResult)
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
	case KindFinalCharged:
		return new(FinalCharged)
	case KindFinalResult:
		return new(FinalResult)
	case KindHalted:
		return new(Halted)
	case KindAuthorised:
		return new(Authorised)
	case KindClosed:
		return new(Closed)
	}
	return nil
}
