//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// runDriver is Run for a Spec with Calls: it lays the socket and the client out
// and answers calls for as long as the driver lives.
func (s *Sandbox) runDriver(ctx context.Context, spec Spec, p *plan, budgets []int64) (Result, error) {
	t, err := newTemp(os.TempDir()) // private: the socket is for the driver alone
	if err != nil {
		return Result{}, refusef("temporary folder", err, "")
	}
	defer t.remove()
	listener, err := listenIn(t.dir)
	if err != nil {
		return Result{}, refusef("socket of the driver", err, "")
	}
	// Put in here and not as Binds: nobody protects this binary from itself.
	self, err := os.Executable()
	if err != nil {
		listener.Close()
		return Result{}, refusef("this program's own file", err, "")
	}
	p.add(mount{Source: self, Target: ClientPath, File: true}, mount{Source: filepath.Join(t.dir, socketName), Target: ClientSocket, File: true})
	calls, cancel := context.WithCancel(ctx)
	d := &desk{answer: spec.Calls, listener: listener}
	d.pending.Add(1)
	go d.open(calls)
	r, err := s.run(ctx, spec, p, budgets)
	cancel()
	listener.Close()
	d.pending.Wait()
	return r, err
}

const socketName = "socket"

// listenIn makes the socket in a folder whose path may be longer than the
// address of a socket can be.
func listenIn(dir string) (*net.UnixListener, error) {
	at, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	name := fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), socketName)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)                     // its folder is removed as a whole
	if err := os.Chmod(name, 0o666); err != nil { // the driver may be another user
		l.Close()
		return nil, err
	}
	return l, nil
}

// desk takes the calls of one driver.
type desk struct {
	answer   func(context.Context, Call) (Result, error)
	listener *net.UnixListener
	pending  sync.WaitGroup
}

// open accepts clients until the listener is closed.
func (d *desk) open(ctx context.Context) {
	defer d.pending.Done()
	for {
		conn, err := d.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // the client has given up, or descriptors are short for a moment
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
				continue
			}
		}
		d.pending.Add(1)
		go func() {
			defer d.pending.Done()
			defer conn.Close()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(ctx, func() { conn.Close() })() // nobody waits for a client that does not read
			d.serve(ctx, cancel, conn)
		}()
	}
}

// serve answers one client.
func (d *desk) serve(ctx context.Context, cancel context.CancelFunc, conn net.Conn) {
	f, err := readFrame(conn)
	var words []string
	if err != nil || f.kind != frameCall || json.Unmarshal(f.data, &words) != nil ||
		slices.ContainsFunc(words, func(w string) bool { return plainText("", w) != nil }) {
		return // no client of ours
	}
	w := &frameWriter{w: conn}
	in := &input{ask: w, pieces: make(chan []byte, 1), done: ctx.Done()}
	go func() {
		defer cancel() // the client has ended, or talks nonsense
		in.receive(conn)
	}()
	r, err := d.answer(ctx, Call{Argv: words, Stdin: in, Stdout: reply{w, frameOut, cancel}, Stderr: reply{w, frameErr, cancel}})
	a := answer{Code: r.Code()}
	if err != nil {
		a = answer{notSetUp, err.Error()}
	}
	if data, err := json.Marshal(a); err == nil && len(data) <= maxWords {
		w.write(frameResult, data)
	}
}

// input is the standard input of a call: a piece is asked for when the one
// before is used up, so that reading the connection never waits for a launch,
// and the end of a client is seen at once.
type input struct {
	ask    *frameWriter
	pieces chan []byte
	done   <-chan struct{}
	rest   []byte
	ended  bool
}

// Read implements io.Reader; it is called by one goroutine.
func (x *input) Read(p []byte) (int, error) {
	for len(x.rest) == 0 {
		if x.ended || x.ask.write(frameMore, nil) != nil {
			return 0, io.EOF
		}
		select {
		case piece, ok := <-x.pieces:
			x.rest, x.ended = piece, !ok
		case <-x.done:
			return 0, io.EOF
		}
	}
	n := copy(p, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}

// receive reads what the client sends until it ends or sends what it must not.
func (x *input) receive(r io.Reader) {
	open := true
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		switch {
		case f.kind == frameInput && open:
			select {
			case x.pieces <- f.data:
			default:
				return // not asked for
			}
		case f.kind == frameEnd && open:
			open = false
			close(x.pieces)
		default:
			return
		}
	}
}

// reply sends one stream of a call to its client; see Call.
type reply struct {
	w      *frameWriter
	kind   byte
	cancel context.CancelFunc
}

func (x reply) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxPiece)
		if x.w.write(x.kind, rest[:n]) != nil {
			x.cancel()
			break
		}
		rest = rest[n:]
	}
	return len(p), nil
}
