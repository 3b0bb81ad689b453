package verify

import (
	"errors"
	"maps"
	"slices"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
)

// recorded is a log as its pass recorded it.
type recorded struct {
	name, id, hash string
	event          int
	is             string // its hash, or what is wrong with it
}

// logs compares the logs of the state branch with what their passes recorded,
// while the replay goes on.
type logs struct {
	src     Source
	left    map[string]string // files below logs/ that no pass has recorded yet → blob
	batch   []recorded
	reading chan []recorded
	done    chan struct{}
	// What was found, once done.
	count int
	wrong []recorded
	err   error
}

// maxLogs is how many logs are read together.
const maxLogs = 2048

func newLogs(src Source, left map[string]string) *logs {
	l := &logs{src: src, left: left, reading: make(chan []recorded, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for batch := range l.reading {
			if l.err == nil {
				l.err = l.read(batch)
			}
			l.count += len(batch)
		}
	}()
	return l
}

// add has the logs of a pass compared; it gives the names of those that are missing.
func (l *logs) add(event int, of map[string]string) (missing []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		id, ok := l.left[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		delete(l.left, name)
		l.batch = append(l.batch, recorded{name: name, id: id, hash: of[name], event: event})
	}
	if len(l.batch) >= maxLogs {
		l.reading <- l.batch
		l.batch = nil
	}
	return missing
}

// end waits until all were read.
func (l *logs) end() error {
	l.reading <- l.batch
	close(l.reading)
	<-l.done
	return l.err
}

func (l *logs) read(batch []recorded) error {
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

func (l *logs) readEach(batch []recorded) error {
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
	for _, r := range c.logs.wrong {
		c.bad(lawLogs, "logs/"+r.name, "has %s, %s recorded %s", r.is, c.at(r.event), r.hash)
	}
	for _, name := range slices.Sorted(maps.Keys(c.logs.left)) {
		c.bad(lawLogs, "logs/"+name, "was recorded by no pass")
	}
	c.say(lawLogs, "%d files, each as its pass recorded it", c.logs.count)
	return nil
}
