package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A git that answers one question at a time costs two changes between processes
// for each. What is asked for in bulk is read from a git of its own, which
// writes its answers in large pieces while it is still being asked.

// worthOwn is how many objects are worth a git of their own.
const worthOwn = 64

// maxWarm bounds how many commits Warm reads.
const maxWarm = 1_000_000

// apart reads many objects from a git of their own. It stops at the first error
// that take gives back, and gives take what is wrong with an object. data is
// take's only while it runs.
func (b *batch) apart(ids []string, take func(id, kind string, data []byte, err error) error) error {
	own, err := b.ask(ids)
	if err != nil {
		return err
	}
	defer own.stop()
	for _, id := range ids {
		kind, data, err := own.receive(id)
		var missing *MissingError
		switch {
		case errors.As(err, &missing):
			missing.Why = b.why
		case err != nil:
			return own.fail(id, err)
		}
		if err := take(id, kind, data, err); err != nil {
			return err
		}
	}
	return nil
}

// ask starts a git of its own and asks it for objects.
func (b *batch) ask(ids []string) (*batch, error) {
	own := &batch{ctx: b.ctx, git: b.git, max: b.max, why: b.why}
	if err := own.start("--batch", "--buffer"); err != nil {
		return nil, err
	}
	in := own.in
	go func() {
		_, _ = io.WriteString(in, strings.Join(ids, "\n")+"\n") // cut off, it is missed by who reads
		in.Close()
	}()
	return own, nil
}

// FilesAt shows take the file at a path of each of many commits, in their order:
// its id, "" where there is none, and its contents, which are take's only while
// it runs, nil where they are more than is read. It stops at the first error,
// take's included. The contents are those of the id; that the id stands in the
// commit's tree is not proven, since the trees are not read: a caller compares
// the tree with what it must be.
func (o *objects) FilesAt(commits []string, path string, take func(i int, id string, data []byte) error) error {
	if strings.ContainsAny(path, " \t\r\n\v\f") {
		return fmt.Errorf("%q: a path with white space cannot be asked for in bulk", path)
	}
	if o.many == nil || len(commits) < worthOwn || !o.areIDs(commits) {
		return o.eachFileAt(commits, path, take)
	}
	questions := make([]string, len(commits))
	for i, id := range commits {
		questions[i] = id + ":" + path
	}
	own, err := o.many.ask(questions)
	if err != nil {
		return err
	}
	defer own.stop()
	for i := range questions {
		id, kind, data, err := own.next()
		var missing *MissingError
		var size *SizeError
		switch {
		case errors.As(err, &missing), err == nil && kind != "blob":
			id, data, err = "", nil, nil
		case errors.As(err, &size):
			_, err = io.CopyN(io.Discard, own.out, size.Bytes+1)
		case err == nil:
			if err := o.genuine(id, kind, "blob", data); err != nil {
				return err
			}
		}
		if err != nil {
			return own.fail(commits[i], err)
		}
		if err := take(i, id, data); err != nil {
			return err
		}
	}
	return nil
}

// eachFileAt is FilesAt, one commit after the other.
func (o *objects) eachFileAt(commits []string, path string, take func(i int, id string, data []byte) error) error {
	for i, commit := range commits {
		data, err := o.File(commit, path)
		id := ""
		var size *SizeError
		switch {
		case err == nil:
			id = hashObject("blob", data, o.width)
		case errors.As(err, &size):
			id = size.ID
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := take(i, id, data); err != nil {
			return err
		}
	}
	return nil
}

// listed reads the commits that rev-list names. That list is no more than a
// hint: it is complete where the history is, and take, which may end it, is told
// what it has to believe.
func (b *batch) listed(revisions []string, take func(id, kind string, data []byte) bool) error {
	list := b.git.command(b.ctx, append([]string{"rev-list", fmt.Sprintf("--max-count=%d", maxWarm)}, revisions...)...)
	own := &batch{ctx: b.ctx, git: b.git, max: b.max, why: b.why}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	list.Stdout = w
	err = list.Start()
	w.Close()
	if err != nil {
		r.Close()
		return fmt.Errorf("git rev-list: %w", err)
	}
	defer list.Wait() // a list that was cut off is a shorter hint
	err = own.startFrom(r)
	r.Close() // git alone reads it, and the list ends with git
	if err != nil {
		return err
	}
	defer own.stop()
	for {
		id, kind, data, err := own.next()
		var missing *MissingError
		switch {
		case errors.Is(err, io.EOF):
			return context.Cause(b.ctx)
		case errors.As(err, &missing):
		case err != nil:
			return own.fail(id, err)
		case !take(id, kind, data):
			return nil
		}
	}
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
	return o.many.listed(append(slices.Clone(tips), negated(without)...), func(id, kind string, data []byte) bool {
		if c, ok := o.taken(id, kind, data); ok {
			o.mu.Lock()
			o.commits[id] = c
			o.mu.Unlock()
		}
		return true
	})
}

// FirstParents shows visit the commit at tip, its first parent, and so on to a
// commit without one, until visit says no. Errors are those of Commit.
func (o *objects) FirstParents(tip string, visit func(Commit) bool) error {
	at, going := tip, true
	if o.many != nil && o.areIDs([]string{tip}) {
		err := o.many.listed([]string{"--first-parent", tip}, func(id, kind string, data []byte) bool {
			c, ok := o.taken(id, kind, data)
			if !ok || id != at {
				return false // what was listed is not the truth
			}
			going = visit(c)
			at = firstParent(c)
			return going && at != ""
		})
		if err != nil {
			return err
		}
	}
	for going && at != "" {
		c, err := o.Commit(at)
		if err != nil {
			return err
		}
		going = visit(c)
		at = firstParent(c)
	}
	return nil
}

func firstParent(c Commit) string {
	if len(c.Parents) == 0 {
		return ""
	}
	return c.Parents[0]
}

// taken takes a commit apart that was read in bulk, if it is right.
func (o *objects) taken(id, kind string, data []byte) (Commit, bool) {
	if o.genuine(id, kind, "commit", data) != nil {
		return Commit{}, false
	}
	c, err := parseCommit(id, data, o.width)
	return c, err == nil
}

func (o *objects) areIDs(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !isID(id, o.width) })
}

// Blobs shows take the contents of many blobs, in their order. It stops at the
// first error, take's included; data is take's only while it runs. Errors are
// those of Blob.
func (o *objects) Blobs(ids []string, take func(i int, data []byte) error) error {
	if o.many == nil || len(ids) < worthOwn {
		for i, id := range ids {
			data, err := o.Blob(id)
			if err == nil {
				err = take(i, data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, id := range ids {
		if !isID(id, o.width) {
			return o.notAnID(id)
		}
	}
	i := 0
	return o.many.apart(ids, func(id, kind string, data []byte, err error) error {
		if err == nil {
			err = o.genuine(id, kind, "blob", data)
		}
		if err == nil {
			err = take(i, data)
		}
		i++
		return err
	})
}
