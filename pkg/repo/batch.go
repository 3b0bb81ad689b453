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

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func (b *batch) object(id string) (string, []byte, error) {
	if b.cmd == nil {
		if err := b.start(); err != nil {
			return "", nil, err
		}
	}
	kind, data, err := b.ask(id)
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		missing.Why = b.why
		return "", nil, err
	case err != nil:
		said := b.stop()
		if b.ctx.Err() != nil {
			return "", nil, fmt.Errorf("object %s: %w", id, context.Cause(b.ctx))
		}
		var size *SizeError
		if said != "" && !errors.As(err, &size) {
			err = errors.New(lastWords(said, 0))
		}
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	return kind, data, nil
}

func (b *batch) start() error {
	cmd := b.git.command(b.ctx, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	b.stderr = &bytes.Buffer{}
	cmd.Stderr = b.stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	b.cmd, b.in, b.out = cmd, in, bufio.NewReaderSize(out, 64<<10)
	return nil
}

// ask sends one id and reads one answer. After an error other than
// *MissingError the process is out of step and must be stopped.
func (b *batch) ask(id string) (string, []byte, error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return "", nil, err
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return "", nil, err
	}
	got, kind, size, err := parseBatchHeader(strings.TrimSuffix(line, "\n"))
	if err != nil {
		return "", nil, err
	}
	if got != id {
		return "", nil, fmt.Errorf("git cat-file answered with %s", got)
	}
	if size > b.max {
		return "", nil, &SizeError{ID: id, Bytes: size, Limit: b.max}
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, data); err != nil {
		return "", nil, err
	}
	if data[size] != '\n' {
		return "", nil, errors.New("git cat-file is out of step")
	}
	return kind, data[:size], nil
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
