package supervisor_test

import (
	"testing"

	"github.com/research-loop/research-loop/pkg/supervisor"
)

// FuzzParseBundle: whatever bytes come, an error comes of them and no panic, or
// a bundle that can be written again.
func FuzzParseBundle(f *testing.F) {
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"))
	f.Add([]byte(`{"version": "research-loop/pass/v1", "body": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := supervisor.ParseBundle(data)
		if err != nil {
			return
		}
		if _, err := b.Encode(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzOpenOutcome does the same with outcomes.
func FuzzOpenOutcome(f *testing.F) {
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = supervisor.OpenOutcome(&supervisor.Bundle{Tag: "t", Lease: "l"}, data, nil)
	})
}
