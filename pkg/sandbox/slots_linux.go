//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	firstUID = 61001
	maxSlots = 256
	lockDir  = "/run/research-loop"
)

// slots hands out places for concurrent launches. Run by root, each has a user
// id of its own, held by a lock file against other supervisors on this host:
// two candidates with one id would share the kernel's process count and could
// signal each other wherever a namespace failed.
type slots struct {
	own bool // each slot has its own user id

	mu   sync.Mutex
	free []slot // ready to use again
	next int
}

type slot struct {
	number int
	lock   *os.File // nil where the id is the supervisor's
}

func (s slot) uid() int { return firstUID + s.number }

func (s *slots) take() (slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		x := s.free[0]
		s.free = s.free[1:]
		return x, nil
	}
	for ; s.next < maxSlots; s.next++ {
		x := slot{number: s.next}
		if !s.own {
			s.next++
			return x, nil
		}
		lock, err := lockSlot(x.uid())
		if err != nil {
			return slot{}, refusef("lock of the sandboxed user", err, "")
		}
		if lock != nil {
			x.lock = lock
			s.next++
			return x, nil
		}
	}
	return slot{}, refuse("sandboxed user", fmt.Sprintf("the ids %d to %d are all in use", firstUID, firstUID+maxSlots-1), "run fewer launches at once")
}

// give takes back a slot whose processes are proven dead.
func (s *slots) give(x slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append([]slot{x}, s.free...)
}

func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.free {
		if x.lock != nil {
			x.lock.Close()
		}
	}
	s.free, s.next = nil, maxSlots
}

// lockSlot returns nil without error for an id that somebody uses: another
// supervisor, or any process at all.
func lockSlot(uid int) (*os.File, error) {
	if err := os.Mkdir(lockDir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(lockDir, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != 0 || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("%s is not a folder that only root can write", lockDir)
	}
	f, err := os.OpenFile(filepath.Join(lockDir, "uid-"+strconv.Itoa(uid)), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, nil
	}
	used, err := uidInUse(uid)
	if err != nil || used {
		f.Close()
		return nil, err
	}
	return f, nil
}

// uidInUse looks for a process with this id, by its status: a process may hide
// its owner from stat.
func uidInUse(uid int) (bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, err
	}
	want := strconv.Itoa(uid)
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") != "" {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(data, []byte("\nUid:"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		for _, id := range strings.Fields(string(line)) {
			if id == want {
				return true, nil
			}
		}
	}
	return false, nil
}
