package verify

import (
	"errors"
	"maps"
	"slices"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// recorded is a log that a pass has recorded: its name and blob, and the line of
// the journal, from 0. The blob is "" where the log is missing.
type recorded struct {
	name, id string
	event    int
}

// compared is one whose contents are compared with their hash.
type compared struct {
	recorded
	hash string // as it was recorded
	is   string // its hash, or what is wrong with it
}

// logs compares the logs of the state branch with what their passes recorded,
// while the replay goes on.
type logs struct {
	src      Source
	left     map[string]string // files below logs/ that no pass has recorded yet → blob
	recorded []recorded        // the others, in the order of their lines
	missing  []compared
	batch    []compared
	reading  chan []compared
	done     chan struct{}
	// What was found, once done.
	wrong []compared
	err   error
}

// maxLogs is how many logs are read together.
const maxLogs = 2048

func newLogs(src Source, left map[string]string) *logs {
	l := &logs{src: src, left: left, reading: make(chan []compared, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for batch := range l.reading {
			if l.err == nil {
				l.err = l.read(batch)
			}
		}
	}()
	return l
}

// add has the logs of a pass compared.
func (l *logs) add(event int, of map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		r := recorded{name: name, id: l.left[name], event: event}
		delete(l.left, name)
		l.recorded = append(l.recorded, r)
		if c := (compared{recorded: r, hash: of[name]}); r.id != "" {
			l.batch = append(l.batch, c)
		} else {
			l.missing = append(l.missing, c)
		}
	}
	if len(l.batch) >= maxLogs {
		l.reading <- l.batch
		l.batch = nil
	}
}

// end waits until all were read.
func (l *logs) end() error {
	l.reading <- l.batch
	close(l.reading)
	<-l.done
	return l.err
}

func (l *logs) read(batch []compared) error {
	ids := make([]string, len(batch))
	for i := range batch {
		ids[i] = batch[i].id
	}
	err := l.src.blobs(ids, func(i int, data []byte) error {
		batch[i].is = ledger.Hash(data)
		return nil
	})
	var object *repo.ObjectError
	if errors.As(err, &object) {
		err = l.readEach(batch) // to say which
	}
	for _, r := range batch {
		if r.is != r.hash {
			l.wrong = append(l.wrong, r)
		}
	}
	return err
}

func (l *logs) readEach(batch []compared) error {
	for i := range batch {
		data, err := l.src.Objects.Blob(batch[i].id)
		var object *repo.ObjectError
		switch {
		case errors.As(err, &object):
			batch[i].is = object.Error()
		case err != nil:
			return err
		default:
			batch[i].is = ledger.Hash(data)
		}
	}
	return nil
}

// checkLogs says which logs are not what their passes recorded.
func (c *checker) checkLogs() error {
	if err := c.logs.end(); err != nil {
		return err
	}
	for _, r := range c.logs.missing {
		c.bad(lawLogs, "logs/"+r.name, "is missing, %s recorded it", c.at(r.event))
	}
	for _, r := range c.logs.wrong {
		c.bad(lawLogs, "logs/"+r.name, "has %s, %s recorded %s", r.is, c.at(r.event), r.hash)
	}
	for _, name := range slices.Sorted(maps.Keys(c.logs.left)) {
		c.bad(lawLogs, "logs/"+name, "was recorded by no pass")
	}
	c.logs.wrong = append(c.logs.wrong, c.logs.missing...)
	c.say(lawLogs, "%d files, each as its pass recorded it", len(c.logs.recorded))
	return nil
}
