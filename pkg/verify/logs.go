package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// recorded is a log that a pass has recorded: its name, its blob, which is ""
// where the log is missing, the line of the journal, from 0, and the hash that
// this says.
type recorded struct {
	name, id string
	event    int
	hash     string
	is       string // its hash, or what is wrong with it
}

// logs compares the logs of the newest commit with what their passes recorded,
// while the journal is read. There may be very many: none is kept but those that
// are wrong.
type logs struct {
	src     Source
	right   map[string]string // blobs that were found in place of wrong ones, by name
	blind   bool              // contents were compared before
	folders chan listed
	reading chan recorded
	done    chan error
	stop    chan struct{}
	ahead   *listed // the folder that was listed and not asked for yet
	count   int
	wrong   []recorded // by contents, which the reader of blobs finds, while reading
	missing []recorded
	left    []string // recorded by no pass
}

// listed is the folder of an attempt's logs: their blobs by name.
type listed struct {
	iteration int
	held      map[string]string
	err       error
}

// newLogs begins to list the folders and to read what is recorded.
func newLogs(src Source, list *newest, right map[string]string, blind bool) *logs {
	l := &logs{src: src, right: right, blind: blind, folders: make(chan listed, 16), reading: make(chan recorded, 1024), done: make(chan error, 1), stop: make(chan struct{})}
	go l.list(list.logs)
	go func() { l.done <- l.read(len(list.logs)) }()
	return l
}

// list lists the folders, in the order of their attempts.
func (l *logs) list(folders []logFolder) {
	defer close(l.folders)
	give := func(f listed) error {
		select {
		case l.folders <- f:
			return nil
		case <-l.stop:
			return errEnough
		}
	}
	trees := make([]string, len(folders))
	for i, f := range folders {
		trees[i] = f.tree
	}
	err := l.src.Objects.Folders(trees, func(i int, entries []repo.Entry) error {
		held, err := l.src.logNames(folders[i].iteration, entries)
		if err != nil {
			return err
		}
		return give(listed{iteration: folders[i].iteration, held: held})
	})
	if err != nil {
		_ = give(listed{err: err}) // nobody may want it any more
	}
}

// logNames gives the blobs of an attempt's folder of logs by their names below
// logs/.
func (src Source) logNames(iteration int, entries []repo.Entry) (map[string]string, error) {
	held := make(map[string]string, len(entries))
	folder := ledger.Folder(iteration) + "/"
	for _, e := range entries {
		name := folder + e.Path
		e.Path = journal.Folder(src.Tag) + "logs/" + name
		if _, err := src.name(e); err != nil {
			return nil, err
		}
		if held[name] != "" {
			return nil, breach("branch", e.Path, "stands in the tree twice")
		}
		held[name] = e.ID
	}
	return held, nil
}

// logsOf gives the blobs of one attempt's logs by name.
func (src Source) logsOf(list *newest, iteration int) (held map[string]string, err error) {
	i, found := slices.BinarySearchFunc(list.logs, iteration, func(f logFolder, n int) int { return f.iteration - n })
	if !found {
		return nil, nil
	}
	err = src.Objects.Folders([]string{list.logs[i].tree}, func(_ int, entries []repo.Entry) error {
		held, err = src.logNames(iteration, entries)
		return err
	})
	return held, err
}

// held gives the logs that an attempt has; was is what it gave for it before.
func (l *logs) held(iteration int, was map[string]string) (map[string]string, error) {
	if was != nil {
		return was, nil
	}
	for {
		if l.ahead == nil {
			f, ok := <-l.folders
			if !ok {
				return map[string]string{}, nil
			}
			l.ahead = &f
		}
		f := l.ahead
		switch {
		case f.err != nil:
			return nil, f.err
		case f.iteration > iteration:
			return map[string]string{}, nil
		}
		l.ahead = nil
		if f.iteration == iteration {
			return f.held, nil
		}
		if err := l.leave(f.held); err != nil {
			return nil, err
		}
	}
}

// record gives the logs that a line of the journal, from 0, records, and takes
// them from those that are held.
func (l *logs) record(event int, of map[string]string, held map[string]string) []recorded {
	out := make([]recorded, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		r := recorded{name: name, id: held[name], event: event, hash: of[name]}
		delete(held, name)
		switch {
		case r.id == "":
			l.missing = append(l.missing, r)
		case !l.blind:
			l.reading <- r
		}
		l.count++
		if r.id = cmp.Or(l.right[name], r.id); r.id != "" {
			out = append(out, r)
		}
	}
	return out
}

// maxLeft is how many logs may have been recorded by no pass before nobody looks
// for more: trees that name each other are cheap to push.
const maxLeft = 100_000

// leave notes the logs of an attempt that none of its lines has recorded.
func (l *logs) leave(held map[string]string) error {
	l.left = append(l.left, slices.Sorted(maps.Keys(held))...)
	if len(l.left) > maxLeft {
		return breach(lawLogs, "logs/"+l.left[0], "was recorded by no pass, nor were more than %d others", maxLeft)
	}
	return nil
}

// rest notes the logs of attempts that are in no journal.
func (l *logs) rest() error {
	if l.ahead != nil {
		if err := l.leave(l.ahead.held); err != nil {
			return err
		}
	}
	for f := range l.folders {
		if f.err != nil {
			return f.err
		}
		if err := l.leave(f.held); err != nil {
			return err
		}
	}
	return nil
}

// end waits until all that were recorded were read.
func (l *logs) end() error {
	close(l.stop)
	close(l.reading)
	return <-l.done
}

// read compares what is recorded with what stands there, of some n attempts.
func (l *logs) read(n int) error {
	var mu sync.Mutex
	var waiting []recorded // for their blobs
	err := l.src.Objects.Stream(n, func(yield func(string) bool) {
		for r := range l.reading {
			mu.Lock()
			waiting = append(waiting, r)
			mu.Unlock()
			if !yield(r.id) {
				return
			}
		}
	}, func(_ int, data []byte, err error) error {
		mu.Lock()
		r := waiting[0]
		waiting = waiting[1:]
		mu.Unlock()
		var object *repo.ObjectError
		var size *repo.SizeError
		switch {
		case errors.As(err, &object):
			r.is = object.Error()
		case errors.As(err, &size):
			r.is = fmt.Sprintf("%d bytes", size.Bytes)
		case err != nil:
			return err
		default:
			r.is = ledger.Hash(data)
		}
		if r.is != r.hash {
			l.wrong = append(l.wrong, r)
		}
		return nil
	})
	for range l.reading { // whoever records waits for nobody
	}
	return err
}

// checkLogs says which logs are not what their passes recorded.
func (c *checker) checkLogs() {
	for _, r := range c.logs.missing {
		c.bad(lawLogs, "logs/"+r.name, "is missing, %s recorded it", c.at(r.event))
	}
	for _, r := range c.logs.wrong {
		c.bad(lawLogs, "logs/"+r.name, "has %s, %s recorded %s", r.is, c.at(r.event), r.hash)
	}
	for _, name := range c.logs.left {
		c.bad(lawLogs, "logs/"+name, "was recorded by no pass")
	}
	c.say(lawLogs, "%d files, each as its pass recorded it", c.logs.count)
}
