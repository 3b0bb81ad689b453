//go:build !unix

package sandbox

import "context"

// Unconfined cannot be had on this system.
type Unconfined struct{}

// NewUnconfined returns a launcher whose Run returns a *SetupError.
func NewUnconfined() *Unconfined { return &Unconfined{} }

// Run returns a *SetupError.
func (u *Unconfined) Run(context.Context, Spec) (Result, error) { return Result{}, notHere() }
