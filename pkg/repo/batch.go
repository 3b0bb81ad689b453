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

func (b *batch) object(id string) (kind string, data []byte, err error) {
	err = b.objects([]string{id}, func(_, k string, d []byte) error {
		kind, data = k, d
		return nil
	})
	return kind, data, err
}

// objects reads many objects while it asks for more, which saves two changes
// between processes for each. It stops at the first error, take's included.
func (b *batch) objects(ids []string, take func(id, kind string, data []byte) error) error {
	if len(ids) == 0 {
		return nil
	}
	if b.cmd == nil {
		if err := b.start(); err != nil {
			return err
		}
	}
	sent := make(chan error, 1)
	in := b.in
	ask := func() {
		_, err := io.WriteString(in, strings.Join(ids, "\n")+"\n")
		sent <- err
	}
	if len(ids) == 1 {
		ask() // fits into the pipe
	} else {
		go ask()
	}
	for i, id := range ids {
		kind, data, err := b.receive(id)
		if err == nil {
			err = take(id, kind, data)
		}
		var missing *MissingError
		if errors.As(err, &missing) {
			missing.Why = b.why
			if i == len(ids)-1 {
				<-sent // everything was answered: the process can go on
				return err
			}
		}
		if err != nil {
			return b.fail(id, err)
		}
	}
	return <-sent
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

// receive reads one answer. After an error other than *MissingError the
// process is out of step and must be stopped.
func (b *batch) receive(id string) (string, []byte, error) {
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
