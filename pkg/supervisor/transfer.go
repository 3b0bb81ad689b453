package supervisor

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/vault"
)

// Bundles and outcomes travel between machines as one JSON object, compressed.
// An outcome is sealed to the judge where the contract has one, that of a pass
// on sealed cases in a size that follows from the contract alone.

const (
	transferVersion = "research-loop/pass/v1"
	maxTransfer     = 2 << 30 // bytes, after decompression
)

// transfer is the form of both.
type transfer[T any] struct {
	Version string `json:"version"`
	Body    *T     `json:"body"`
}

func encode[T any](body *T) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(transfer[T]{transferVersion, body}); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func decode[T any](what string, data []byte) (*T, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	limited := &io.LimitedReader{R: r, N: maxTransfer}
	d := json.NewDecoder(limited)
	d.DisallowUnknownFields()
	var t transfer[T]
	if err := d.Decode(&t); err != nil {
		if limited.N <= 0 {
			err = fmt.Errorf("more than %d bytes", int64(maxTransfer))
		}
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: something follows it", what)
	}
	if t.Version != transferVersion || t.Body == nil {
		return nil, fmt.Errorf("%s: version %.40q, this program reads %s", what, t.Version, transferVersion)
	}
	return t.Body, nil
}

// Encode gives the bytes of a bundle.
func (b *Bundle) Encode() ([]byte, error) { return encode(b) }

// ParseBundle reads what Encode wrote.
func ParseBundle(data []byte) (*Bundle, error) {
	b, err := decode[Bundle]("bundle", data)
	if err != nil {
		return nil, err
	}
	sealed, err := contract.Open(b.Contract, b.Digest)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	if string(sealed.Facts.Tag) != b.Tag || b.Lease == "" || len(b.Arms) == 0 {
		return nil, errors.New("bundle: it is that of no pass of its contract")
	}
	return b, nil
}

// SealOutcome gives the bytes of what the execution of a bundle found.
func SealOutcome(b *Bundle, out *Outcome) ([]byte, error) {
	data, err := encode(out)
	if err != nil {
		return nil, err
	}
	sealed, err := contract.Open(b.Contract, b.Digest)
	if err != nil {
		return nil, err
	}
	if sealed.Keys == nil || sealed.Keys.Judge == "" {
		return data, nil
	}
	judge, err := vault.ParseRecipient(sealed.Keys.Judge)
	if err != nil {
		return nil, err
	}
	const step = 64 << 10
	size := (len(data) + step - 1) / step * step
	if b.sealed() {
		size = outcomeSize(b, sealed)
	}
	return vault.SealOutcome(b.passName(), data, size, judge)
}

// outcomeSize is the size of every outcome of a pass on sealed cases: all
// outputs that its arms may leave, and the launches of every case.
func outcomeSize(b *Bundle, c *contract.Sealed) int {
	cases := fact(c, b.Stage).Cases
	return len(b.Arms)*(int(c.Evaluation.Resources.Output)*11/10+cases<<10) + 2<<20
}

// passName binds an outcome to its claim.
func (b *Bundle) passName() string {
	return fmt.Sprintf("%s/%d/%s/%s", b.Tag, b.Iteration, b.Stage, b.Lease)
}

// OpenOutcome reads what SealOutcome gave for the bundle of the same claim. key
// is the judge's, nil where the contract has none.
func OpenOutcome(b *Bundle, data []byte, key *vault.Identity) (*Outcome, error) {
	if key != nil {
		var err error
		if data, err = key.OpenOutcome(data, b.passName()); err != nil {
			return nil, err
		}
	}
	out, err := decode[Outcome]("outcome", data)
	if err != nil {
		return nil, err
	}
	if out.Tag != b.Tag || out.Iteration != b.Iteration || out.Stage != b.Stage || out.Lease != b.Lease {
		return nil, errors.New("outcome: it is that of another pass")
	}
	return out, nil
}
