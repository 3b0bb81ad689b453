package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// streams copies the standard streams of one launch and keeps their caps.
type streams struct {
	limit int64
	over  func() // called when more than limit bytes have arrived

	mu       sync.Mutex
	used     int64
	failed   error // of a Spec's writer
	pending  sync.WaitGroup
	out, err stream
}

type stream struct {
	kept bytes.Buffer
	seen int64
}

// copy reads src to its end in the background. Within the limit the bytes go to
// w or, where that is nil, to s.kept; what is over is read and dropped, so that
// the writer ends by the kill and not by a full pipe.
func (x *streams) copy(s *stream, name string, w io.Writer, src io.ReadCloser) {
	if w == nil {
		w = &s.kept
	}
	x.pending.Add(1)
	go func() {
		defer x.pending.Done()
		defer src.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := src.Read(buf)
			s.seen += int64(n)
			if room := x.take(int64(n)); room > 0 {
				if _, err := w.Write(buf[:room]); err != nil {
					x.fail(fmt.Errorf("copy %s: %w", name, err))
				}
			}
			if err != nil {
				return
			}
		}
	}()
}

// take books n bytes and says how many of them are within the limit.
func (x *streams) take(n int64) int64 {
	x.mu.Lock()
	room := max(0, min(n, x.limit-x.used))
	x.used += n
	over := x.used > x.limit
	x.mu.Unlock()
	if over {
		x.over()
	}
	return room
}

func (x *streams) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed == nil {
		x.failed = err
		x.limit = x.used // nothing more is written
	}
}

// feed copies src to the candidate in the background; a candidate that does not
// read is no error.
func feed(w io.WriteCloser, src io.Reader) {
	if src == nil {
		w.Close()
		return
	}
	go func() {
		io.Copy(w, src)
		w.Close()
	}()
}

// into waits for the ends of both streams and writes what they held.
func (x *streams) into(r *Result) error {
	x.pending.Wait()
	r.Stdout, r.StdoutBytes = x.out.kept.Bytes(), x.out.seen
	r.Stderr, r.StderrBytes = x.err.kept.Bytes(), x.err.seen
	return x.failed
}
