package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// privateParent is where Private makes folders: the one tmpfs that any user of a
// Linux machine may write to.
const privateParent = "/dev/shm"

// Private makes a folder for data that may never lie on a disk: on a tmpfs,
// for its owner alone, and the one place below /dev that a launch of this
// program can be shown parts of. remove takes it away; what a killed process
// left is removed by the next call. A machine without such a place is a
// *SetupError.
func Private() (dir string, remove func() error, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(privateParent, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return "", nil, &SetupError{What: privateParent + " is no tmpfs, and sealed cases may not lie on a disk", Fix: "mount -t tmpfs -o mode=1777 tmpfs " + privateParent}
	}
	if err := sweepTemp(privateParent); err != nil {
		return "", nil, err
	}
	t, err := newTemp(privateParent)
	if err != nil {
		return "", nil, fmt.Errorf("private folder: %w", err)
	}
	return t.dir, t.remove, nil
}
