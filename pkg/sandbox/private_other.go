//go:build !linux

package sandbox

// privateParent is no place at all: see Private.
const privateParent = ""

// Private makes a folder for data that may never lie on a disk. Only Linux has
// a place for one: elsewhere the error is a *SetupError.
func Private() (dir string, remove func() error, err error) {
	return "", nil, &SetupError{What: "sealed cases may not lie on a disk, and only Linux has a tmpfs for them", Fix: "judge the run on a Linux machine"}
}
