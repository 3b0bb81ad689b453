package supervisor

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/vault"
)

// window is the time that a step of a query takes to anybody who watches. The
// final test is asked once, and its answer is published with more than a bit:
// it has no window.
type window struct{ start, end time.Time }

func openWindow(stage ledger.Stage, c *contract.Sealed) window {
	if stage != ledger.Validation {
		return window{}
	}
	now := time.Now()
	return window{now, now.Add(c.Gate.Window)}
}

// within gives a context that ends early enough for the work to be cleared
// away before the window closes.
func (w window) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.end.IsZero() {
		return context.WithCancel(ctx)
	}
	reserve := min(2*time.Second, w.end.Sub(w.start)/10)
	return context.WithDeadline(ctx, w.end.Add(-reserve))
}

// wait waits until the window closes.
func (w window) wait(ctx context.Context) error {
	timer := time.NewTimer(time.Until(w.end))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// BlurredError says that a pass on sealed cases could not be done, and no more
// than its kind: the text of what went wrong might name a case.
type BlurredError struct {
	Stage ledger.Stage
	// Integrity says that a process or mount may have been left.
	Integrity bool
	// Why is of a fixed set of texts.
	Why string
	// Fix is a cure, where one is known.
	Fix string
}

func (e *BlurredError) Error() string {
	return fmt.Sprintf("pass on the sealed %s cases: %s", e.Stage, e.Why)
}

// blur takes everything out of an error that could tell of a case.
func blur(stage ledger.Stage, err error) error {
	var (
		integrity *sandbox.IntegrityError
		setup     *sandbox.SetupError
		sealed    *vault.Error
		errno     syscall.Errno
	)
	out := &BlurredError{Stage: stage, Why: "the machine could not do its work", Fix: "run the same command again; the query is not charged twice"}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &integrity):
		out.Integrity, out.Why, out.Fix = true, "a process or mount may have been left", ""
	case errors.As(err, &sealed):
		out.Why, out.Fix = sealed.Error(), "use the keys whose public halves stand in "+contract.DraftPath
	case errors.As(err, &errno):
		out.Why += ": " + errno.Error()
	case errors.As(err, &setup):
		out.Why += ": the sandbox cannot be set up"
	}
	return out
}

// materialise writes files of a bundle.
func materialise(b *Bundle, entries []repo.Entry, dir string) (repo.Snapshot, error) {
	return repo.Materialise(entries, b.blob, dir)
}

// fact gives what was sealed of a stage's split.
func fact(c *contract.Sealed, stage ledger.Stage) contract.SplitFact {
	for _, s := range c.Facts.Splits {
		if s.Name == string(stage) {
			return s
		}
	}
	return contract.SplitFact{Name: string(stage)}
}
