package repo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// A git that answers one question at a time costs two changes between processes
// for each. What is asked for in bulk is read from a git of its own, which
// writes its answers in large pieces while it is still being asked.

const (
	// worthOwn is how many objects are worth a git of their own.
	worthOwn = 64
	// maxAsked is how many questions may be waiting for their answers. All their
	// answers must be more than a git keeps to itself before it writes.
	maxAsked = 4096
	// maxWarm bounds how many commits Warm reads.
	maxWarm = 1_000_000
)

// apart reads objects from a git of their own, in their order, while ids go on
// to come. It stops at the first error that take gives back, and gives take what
// is wrong with an object. data is take's only while it runs.
func (b *batch) apart(ids iter.Seq[string], take func(id, kind string, data []byte, err error) error) error {
	own := &batch{ctx: b.ctx, git: b.git, max: b.max, why: b.why}
	own.git.set = append(slices.Clone(own.git.set), "core.deltaBaseCacheLimit=16m") // what is asked for together lies together
	if err := own.start("--batch", "--buffer"); err != nil {
		return err
	}
	defer own.stop()
	for id := range own.ask(ids) {
		kind, data, err := own.receive(id)
		var missing *MissingError
		var size *SizeError
		switch {
		case errors.As(err, &missing):
			missing.Why = b.why
		case errors.As(err, &size):
			if _, broken := io.CopyN(io.Discard, own.out, size.Bytes+1); broken != nil {
				return own.fail(id, broken)
			}
		case err != nil:
			return own.fail(id, err)
		}
		if err := take(id, kind, data, err); err != nil {
			return err
		}
	}
	return nil
}

// ask asks for objects and gives their ids to whoever reads the answers. What is
// asked of a git that has ended is missed by him.
func (b *batch) ask(ids iter.Seq[string]) iter.Seq[string] {
	asked, done := make(chan string, maxAsked), make(chan struct{})
	in := bufio.NewWriter(b.in)
	go func() {
		defer close(asked)
		defer b.in.Close()
		defer in.Flush()
		for id := range ids {
			_, _ = in.WriteString(id + "\n")
			select {
			case asked <- id:
				continue
			default:
			}
			_ = in.Flush() // or nobody would ever answer
			select {
			case asked <- id:
			case <-done:
				return
			}
		}
	}()
	return func(yield func(string) bool) {
		defer close(done)
		for id := range asked {
			if !yield(id) {
				return
			}
		}
	}
}

// listed reads the commits that rev-list shows, of which many are not as they
// stand in git: see restored. That list is no more than a hint: it is complete
// where the history is, and take, which may end it, is told what it has to
// believe. raw is take's only while it runs.
func (b *batch) listed(revisions []string, take func(id string, raw []byte) bool) error {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	list := b.git.command(ctx, append([]string{"rev-list", "--header", fmt.Sprintf("--max-count=%d", maxWarm)}, revisions...)...)
	out, err := list.StdoutPipe()
	if err == nil {
		err = list.Start()
	}
	if err != nil {
		return fmt.Errorf("git rev-list: %w", err)
	}
	defer list.Wait() // a list that was cut off is a shorter hint
	defer cancel()
	widen(out)
	records := bufio.NewScanner(out)
	records.Buffer(make([]byte, readSize), int(b.max))
	records.Split(untilZero)
	var scratch []byte
	for records.Scan() {
		id, shown, _ := bytes.Cut(records.Bytes(), []byte("\n"))
		scratch = restored(scratch[:0], shown)
		if !take(string(id), scratch) {
			return nil
		}
	}
	return context.Cause(b.ctx)
}

// untilZero splits at zero bytes; it is a bufio.SplitFunc.
func untilZero(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// restored appends a commit to b as it may stand in git, of one that rev-list
// shows: there every line of the message stands four spaces in, and has lost the
// white space at its end. The hash says whether it was so.
func restored(b, shown []byte) []byte {
	head, message, _ := bytes.Cut(shown, []byte("\n\n"))
	b = append(append(b, head...), "\n\n"...)
	for line := range bytes.Lines(message) {
		b = append(b, bytes.TrimPrefix(line, []byte("    "))...)
	}
	return b
}

func negated(ids []string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, "^"+id)
	}
	return out
}

// Warm reads the commits that are reachable from the tips and not from those in
// without, so that asking for each afterwards is cheap. It changes nothing
// else: what is missing is missed when it is asked for.
func (o *objects) Warm(tips, without []string) error {
	if o.many == nil || !o.areIDs(tips) || !o.areIDs(without) {
		return nil
	}
	h := NewHasher(o.width)
	return o.many.listed(append(slices.Clone(tips), negated(without)...), func(id string, raw []byte) bool {
		if c, ok := h.taken(id, raw); ok {
			o.remember(c, len(raw))
		}
		return true
	})
}

// FirstParents shows visit the commit at tip, its first parent, and so on to a
// commit without one, until visit says no. Errors are those of Commit.
func (o *objects) FirstParents(tip string, visit func(Commit) bool) error {
	at := tip
	step := func(c Commit) (more bool) {
		if at = ""; visit(c) && len(c.Parents) > 0 {
			at = c.Parents[0]
		}
		return at != ""
	}
	if o.many != nil && o.areIDs([]string{tip}) {
		h := NewHasher(o.width)
		err := o.many.listed([]string{"--first-parent", tip}, func(id string, raw []byte) bool {
			if id != at {
				return false // what was listed is not the truth
			}
			c, ok := h.taken(id, raw)
			if !ok {
				var err error
				if c, err = o.Commit(id); err != nil {
					return false
				}
			}
			return step(c)
		})
		if err != nil {
			return err
		}
	}
	for at != "" {
		c, err := o.Commit(at)
		if err != nil {
			return err
		}
		step(c)
	}
	return nil
}

func (o *objects) areIDs(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !isID(id, o.width) })
}

// Blobs shows take the contents of many blobs, in their order. It stops at the
// first error, take's included; data is take's only while it runs. Errors are
// those of Blob.
func (o *objects) Blobs(ids []string, take func(i int, data []byte) error) error {
	return o.Stream(len(ids), slices.Values(ids), func(i int, data []byte, err error) error {
		if err == nil {
			err = take(i, data)
		}
		return err
	})
}

// Stream is Blobs for ids that go on to come while take runs, some n of them, and
// for a take that is told what is wrong with a blob, as an error of Blob, and may
// have it go on.
func (o *objects) Stream(n int, ids iter.Seq[string], take func(i int, data []byte, err error) error) error {
	return o.each(n, ids, "blob", take)
}

// Folders shows take what stands directly in each of many trees, in their order:
// names in place of paths. Errors are those of Tree; it stops at the first,
// take's included.
func (o *objects) Folders(trees []string, take func(i int, entries []Entry) error) error {
	return o.each(len(trees), slices.Values(trees), "tree", func(i int, data []byte, err error) error {
		if err != nil {
			return err
		}
		entries, err := parseTree(data, o.width)
		if err != nil {
			return &ObjectError{ID: trees[i], Why: "is a " + err.Error()}
		}
		out := make([]Entry, len(entries))
		for i, e := range entries {
			out[i] = Entry{Path: e.name, Mode: e.mode, ID: e.id}
		}
		return take(i, out)
	})
}

// each shows take many objects of a kind, or what is wrong with them.
func (o *objects) each(n int, ids iter.Seq[string], kind string, take func(i int, data []byte, err error) error) error {
	i := 0
	if o.many == nil || n < worthOwn {
		for id := range ids {
			data, err := o.read(id, kind)
			if err := take(i, data, err); err != nil {
				return err
			}
			i++
		}
		return nil
	}
	var wrong error
	h := NewHasher(o.width)
	err := o.many.apart(func(yield func(string) bool) {
		for id := range ids {
			if !isID(id, o.width) {
				wrong = o.notAnID(id) // seen when apart has ended
				return
			}
			if !yield(id) {
				return
			}
		}
	}, func(id, is string, data []byte, err error) error {
		if err == nil {
			err = h.genuine(id, is, kind, data)
		}
		err = take(i, data, err)
		i++
		return err
	})
	return cmp.Or(err, wrong)
}
