//go:build !linux

package repo

import "io"

// widen leaves a pipe as the system made it.
func widen(io.Reader) {}
