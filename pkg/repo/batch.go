package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// batch is a `git cat-file --batch` that is started when it is first asked and
// started again if it should end. It is a source.
type batch struct {
	ctx context.Context
	git git
	max int64  // bytes of an object that is read
	why string // told with a missing object

	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *bytes.Buffer
	scratch []byte // of an answer, where it is used again
	reuse   bool
}

func (b *batch) object(id string) (kind string, data []byte, err error) {
	if b.cmd == nil {
		if err := b.start("--batch"); err != nil {
			return "", nil, err
		}
	}
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return "", nil, b.fail(id, err)
	}
	kind, data, err = b.receive(id)
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		missing.Why = b.why
	case err != nil:
		err = b.fail(id, err)
	}
	return kind, data, err
}

// fail ends a process that is out of step and says why.
func (b *batch) fail(id string, err error) error {
	said := b.stop()
	var missing *MissingError
	var size *SizeError
	switch {
	case errors.As(err, &missing), errors.As(err, &size):
		return err
	case b.ctx.Err() != nil:
		err = context.Cause(b.ctx)
	case said != "":
		err = errors.New(lastWords(said, 0))
	}
	return fmt.Errorf("object %s: %w", id, err)
}

// start starts a git that is asked through in. One with "--buffer" writes what
// it has to say in large pieces: it answers when it has been asked for much, or
// for everything.
func (b *batch) start(options ...string) error {
	cmd := b.git.command(b.ctx, append([]string{"cat-file"}, options...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	b.in = in
	return b.run(cmd, len(options) > 1)
}

func (b *batch) run(cmd *exec.Cmd, bulk bool) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	b.stderr = &bytes.Buffer{}
	cmd.Stderr = b.stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	widen(out)
	b.cmd, b.reuse, b.out = cmd, bulk, bufio.NewReaderSize(out, readSize)
	return nil
}

// pipeSize is how much a git may have written before it is read, where the system
// has a choice, and readSize how much is read at once, in bytes: git writes 4 KiB
// at a time, and to wait for each other costs both sides more than the reading.
const (
	pipeSize = 1 << 20
	readSize = 256 << 10
)

// receive reads the answer to one question. After an error other than
// *MissingError the process is out of step and must be stopped.
func (b *batch) receive(id string) (string, []byte, error) {
	got, kind, data, err := b.next()
	if err == nil && got != id {
		err = fmt.Errorf("git cat-file answered with %s", got)
	}
	return kind, data, err
}

// next reads whatever answer comes next.
func (b *batch) next() (id, kind string, data []byte, err error) {
	id, kind, size, err := b.header()
	if err == nil && size > b.max {
		err = &SizeError{ID: id, Bytes: size, Limit: b.max}
	}
	if err != nil {
		return id, "", nil, err
	}
	data = b.room(int(size) + 1)
	if _, err := io.ReadFull(b.out, data); err != nil {
		return id, "", nil, err
	}
	if data[size] != '\n' {
		return id, "", nil, errors.New("git cat-file is out of step")
	}
	return id, kind, data[:size:size], nil
}

// header reads the line that says what comes.
func (b *batch) header() (id, kind string, size int64, err error) {
	line, err := b.out.ReadSlice('\n')
	if err != nil {
		return "", "", 0, err
	}
	return parseBatchHeader(strings.TrimSuffix(string(line), "\n"))
}

// room gives n bytes for an answer: the same ones again where answers are read
// in bulk.
func (b *batch) room(n int) []byte {
	if !b.reuse {
		return make([]byte, n)
	}
	if n > len(b.scratch) {
		b.scratch = make([]byte, 2*n)
	}
	return b.scratch[:n]
}

// stop ends the process and returns what it complained about.
func (b *batch) stop() string {
	if b.cmd == nil {
		return ""
	}
	b.in.Close()
	_ = b.cmd.Cancel() // it may be writing an object that nobody will read
	_ = b.cmd.Wait()   // it was killed: its status says nothing
	b.cmd = nil
	return b.stderr.String()
}
