//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"runtime"
)

// Init does nothing here: no sandbox can be had on this system.
func Init() {}

// Sandbox cannot be made here; see New.
type Sandbox struct{}

func notHere() error {
	return refuse("sandbox", "none can be had on "+runtime.GOOS+"/"+runtime.GOARCH, "evaluate on Linux, amd64 or arm64")
}

// New returns a *SetupError: candidates are evaluated on Linux only.
func New(Options) (*Sandbox, error) { return nil, notHere() }

// Run returns a *SetupError.
func (s *Sandbox) Run(context.Context, Spec) (Result, error) { return Result{}, notHere() }

// Probe returns a *SetupError.
func (s *Sandbox) Probe(context.Context) ([]ProbeRow, error) { return nil, notHere() }

// Mode is empty.
func (s *Sandbox) Mode() Mode { return "" }

// Limits is empty.
func (s *Sandbox) Limits() []string { return nil }

// Metrics is empty.
func (s *Sandbox) Metrics() []string { return nil }

// Close does nothing.
func (s *Sandbox) Close() error { return nil }
