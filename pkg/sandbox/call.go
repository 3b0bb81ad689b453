package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Call is one launch that a driver asks for. A driver is a launch whose Spec
// has Calls: inside stand ClientPath, which is this program, and ClientSocket.
// Whoever runs ClientPath -- ARG… there, or this program's Ask, has Calls called
// in the supervisor, gets what the launch prints and ends with its Code, or with
// 125 and a line on standard error where there is no Result.
//
// The context of a call ends when its client does, and with the driver at the
// latest: Run returns after every call has. So Calls must return soon after its
// context ends, and only when what it launched is proven dead.
type Call struct {
	Argv []string
	// Stdin is read no further than the launch asks for, 64 KiB ahead. Stdout and
	// Stderr never fail: who has nobody to write to is ended by its context.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Where a driver finds the way to its candidate.
const (
	ClientPath   = "/research-loop/launch"
	ClientSocket = "/research-loop/socket"
)

// Client and supervisor talk in frames: one byte that says what it is, four
// with the length, and so many more. The client begins with frameCall and may
// then send one frameInput or frameEnd for each frameMore.
const (
	frameCall   = 'c' // to the supervisor: JSON of the words
	frameInput  = 'i' // to the supervisor: a piece of standard input
	frameEnd    = 'e' // to the supervisor: there is no more of it
	frameMore   = 'm' // to the client: standard input is wanted
	frameOut    = '1' // to the client: a piece of standard output
	frameErr    = '2' // to the client: a piece of standard error
	frameResult = 'r' // to the client: JSON of the answer, the last frame
)

const (
	maxPiece = 64 << 10 // of a stream
	maxWords = 1 << 20  // of a call or an answer
)

// answer is what the client is told at the end.
type answer struct {
	Code int
	Why  string // in place of a Result
}

type frame struct {
	kind byte
	data []byte
}

// readFrame reads one frame. Nothing is read ahead, and nothing is made room
// for that could not be there.
func readFrame(r io.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	f, most := frame{kind: head[0]}, uint32(0)
	switch f.kind {
	case frameInput, frameOut, frameErr:
		most = maxPiece
	case frameCall, frameResult:
		most = maxWords
	case frameEnd, frameMore:
	default:
		return frame{}, fmt.Errorf("there is no frame %q", f.kind)
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > most {
		return frame{}, fmt.Errorf("frame %q of %d bytes, at most %d are allowed", f.kind, length, most)
	}
	f.data = make([]byte, length)
	_, err := io.ReadFull(r, f.data)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

// frameWriter writes whole frames, from any number of goroutines.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (x *frameWriter) write(kind byte, data []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, err := x.w.Write(append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data))), data...))
	return err
}

// Ask has the supervisor behind the socket launch the candidate with these
// words. It returns the launch's exit code, or an error where there was no
// launch or the streams broke.
func Ask(socket string, words []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	for i, w := range words {
		if err := plainText(fmt.Sprintf("word %d", i+1), w); err != nil {
			return notSetUp, err
		}
	}
	call, err := json.Marshal(words)
	if err != nil {
		return notSetUp, err
	}
	if len(call) > maxWords {
		return notSetUp, fmt.Errorf("the words have %d bytes, at most %d are allowed: pass them as standard input", len(call), maxWords)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return notSetUp, fmt.Errorf("the supervisor cannot be reached, which only a driver can: %w", err)
	}
	defer conn.Close()
	w := &frameWriter{w: conn}
	if err := w.write(frameCall, call); err != nil {
		return notSetUp, err
	}
	more := make(chan struct{}, 1)
	defer close(more)
	go sendInput(w, stdin, more)
	return hear(conn, more, stdout, stderr)
}

// hear takes the supervisor's frames up to the answer.
func hear(r io.Reader, more chan<- struct{}, stdout, stderr io.Writer) (code int, err error) {
	for {
		f, err := readFrame(r)
		if err != nil {
			return notSetUp, fmt.Errorf("the supervisor is gone: %w", err)
		}
		switch f.kind {
		case frameMore:
			select {
			case more <- struct{}{}:
			default: // it has asked already
			}
		case frameOut:
			_, err = stdout.Write(f.data)
		case frameErr:
			_, err = stderr.Write(f.data)
		case frameResult:
			var a answer
			if err := json.Unmarshal(f.data, &a); err != nil {
				return notSetUp, fmt.Errorf("answer of the supervisor: %w", err)
			}
			if a.Why != "" {
				return a.Code, errors.New(a.Why)
			}
			return a.Code, nil
		default:
			err = fmt.Errorf("frame %q is not for a client", f.kind)
		}
		if err != nil {
			return notSetUp, err
		}
	}
}

// sendInput sends one piece for each that is asked for, to the end of stdin.
func sendInput(w *frameWriter, stdin io.Reader, more <-chan struct{}) {
	buf := make([]byte, maxPiece)
	for range more {
		n, err := stdin.Read(buf)
		for n == 0 && err == nil {
			n, err = stdin.Read(buf)
		}
		if n > 0 && w.write(frameInput, buf[:n]) != nil {
			return
		}
		if err != nil {
			w.write(frameEnd, nil) // who is gone will be noticed by hear
			return
		}
	}
}

// runClient is the whole life of ClientPath inside a driver's sandbox.
func runClient(args []string) int {
	if len(args) == 0 || args[0] != "--" {
		fmt.Fprintln(os.Stderr, "usage: $RESEARCH_LOOP_CANDIDATE -- ARG…")
		return notSetUp
	}
	code, err := Ask(ClientSocket, args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "research-loop:", err)
	}
	return code
}
