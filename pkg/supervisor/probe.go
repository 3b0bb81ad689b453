package supervisor

import (
	"context"
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// BrokenError says that an attack on the sandbox succeeded on this machine:
// nothing is launched here.
type BrokenError struct{ Attacks []string }

func (e *BrokenError) Error() string {
	return "evaluation integrity cannot be guaranteed: " + strings.Join(e.Attacks, ", ")
}

// prove attacks the sandbox before the first launch of this process and holds
// the result for the records, whatever it is. An error is a *BrokenError, or
// that the attacks could not be tried.
func (s *Supervisor) prove(ctx context.Context) error {
	if s.probed {
		return nil
	}
	found, err := s.Probe(ctx)
	if err != nil {
		return fmt.Errorf("probe of the sandbox: %w", err)
	}
	if err := s.hold(&found); err != nil {
		return err
	}
	if len(found.Open) > 0 {
		return &BrokenError{found.Open}
	}
	s.probed = true
	return nil
}

// ProbeOf gives the probe of a sandbox.
func ProbeOf(box *sandbox.Sandbox) func(context.Context) (ledger.Probed, error) {
	return func(ctx context.Context) (ledger.Probed, error) {
		found := ledger.Probed{Mode: string(box.Mode()), Limits: append([]string{}, box.Limits()...), Held: []string{}, Open: []string{}}
		rows, err := box.Probe(ctx)
		for _, r := range rows {
			if r.Held {
				found.Held = append(found.Held, r.Name)
			} else {
				found.Open = append(found.Open, r.Name)
			}
		}
		return found, err
	}
}
