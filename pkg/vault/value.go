package vault

import (
	"bytes"
	"compress/flate"
	"io"
)

const (
	valueBase    = 4 << 10 // bytes of a value, after compression
	valuePerCase = 32
	maxValue     = 16 << 20 // bytes of a value, before
)

// SealValue seals a value about so many cases, such as their results in a
// pass. Its sealed length follows from the number of cases and of keys alone.
// A value that does not fit, compressed, into 4 KiB and 32 bytes a case is an
// *Error with the reason TooLarge; the caller then leaves details out.
func SealValue(name string, cases int, value []byte, to ...Recipient) ([]byte, error) {
	l := Label{Value, name, cases}
	if len(value) > maxValue {
		return nil, l.fault(TooLarge, "%d bytes, at most %d are allowed", len(value), maxValue)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(value); err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	return seal(l, packed.Bytes(), headerSize+valueBase+valuePerCase*max(0, cases), to)
}

// OpenValue opens what SealValue has sealed under the same name about so many
// cases. Its error is an *Error.
func (i Identity) OpenValue(sealed []byte, name string, cases int) ([]byte, error) {
	want := Label{Value, name, cases}
	if err := want.check(); err != nil {
		return nil, err
	}
	l, content, err := i.open(sealed, want)
	if err != nil {
		return nil, err
	}
	if l != want {
		return nil, want.fault(Swapped, "these are %d cases, want %d", l.Cases, cases)
	}
	source := bytes.NewReader(content)
	value, err := io.ReadAll(io.LimitReader(flate.NewReader(source), maxValue+1))
	if err != nil || len(value) > maxValue || source.Len() > 0 {
		return nil, want.fault(Damaged, "the compressed value is cut short, followed by something or too long")
	}
	return value, nil
}

// SealOutcome seals what a job found for the job that judges it. The name
// binds it to one claim, such as tag, iteration and lease. Every outcome of
// the same size, in bytes, has the same sealed length; a larger one is an
// *Error with the reason TooLarge.
func SealOutcome(name string, outcome []byte, size int, to Recipient) ([]byte, error) {
	l := Label{Outcome, name, 0}
	if size < 0 || size > maxSize-headerSize {
		return nil, l.fault(TooLarge, "a size of %d bytes, at most %d are allowed", size, maxSize-headerSize)
	}
	return seal(l, outcome, headerSize+size, []Recipient{to})
}

// OpenOutcome opens what SealOutcome has sealed under the same name. Its error
// is an *Error.
func (i Identity) OpenOutcome(sealed []byte, name string) ([]byte, error) {
	want := Label{Outcome, name, 0}
	if err := want.check(); err != nil {
		return nil, err
	}
	_, content, err := i.open(sealed, want)
	return content, err
}
