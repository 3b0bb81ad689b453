// Package hooks holds the pre-push hook as it is installed: a shell shim that
// calls the program for pushes to run branches and lets all others pass.
package hooks

import (
	_ "embed"
	"strings"
)

//go:embed pre-push
var prePush string

// Marker is the second line of every version of the hook that this program
// has installed or will install, up to the version.
const Marker = "# research-loop:pre-push:v"

// PrePush returns the text of the hook for a program at an absolute path.
func PrePush(program string) string {
	return strings.Replace(prePush, "@PROGRAM@", strings.ReplaceAll(program, "'", `'\''`), 1)
}
