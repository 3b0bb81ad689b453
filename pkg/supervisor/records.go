package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/verify"
)

// records is the state branch as it was read, and what is held back for it.
type records struct {
	// Run is what the records say, held back events included.
	Run *journal.Run
	// Head is the commit of the state branch that was read.
	Head string

	chain   ledger.Chain
	changed map[string][]byte // whole files below the run's folder, to be pushed
	base    map[string][]byte // files as they stand at Head, read on demand
	events  int               // events held back
	named   []string          // commits of the run branch that they name
}

// NoRunError says that there is no state branch for the tag, or for any, where
// Tag is empty.
type NoRunError struct{ Tag, Remote string }

func (e *NoRunError) Error() string {
	if e.Tag == "" {
		return fmt.Sprintf("no run in %s: there is no branch %s", e.Remote, journal.StateBranch("*"))
	}
	return fmt.Sprintf("no run %s in %s: there is no branch %s", e.Tag, e.Remote, journal.StateBranch(contract.Tag(e.Tag)))
}

// reload fetches and reads the records anew; what was held back is dropped.
func (s *Supervisor) reload(ctx context.Context) error {
	if err := s.Clone.Fetch(ctx); err != nil {
		return err
	}
	s.fresh = true
	src, err := s.Source(ctx)
	if err != nil {
		return err
	}
	r, err := verify.Read(src)
	if err != nil {
		return err
	}
	s.records = records{Run: r.Run, Head: src.State, chain: r.Chain, base: r.Files, changed: map[string][]byte{}}
	return s.remember()
}

// hold appends events to the records in memory; flush makes them durable.
func (s *Supervisor) hold(data ...ledger.Data) error {
	for _, d := range data {
		iteration := max(s.Run.Iteration, 0)
		if d.Kind() == ledger.KindPrepared {
			iteration = s.Run.Iteration + 1
		}
		if err := s.append(ledger.Event{Time: s.Now().UTC().Truncate(0), Run: string(s.Tag), Iteration: iteration, Data: d}); err != nil {
			return err
		}
	}
	return nil
}

// append adds an event to the records in memory.
func (s *Supervisor) append(event ledger.Event) error {
	chain, text, err := s.chain.Append(event)
	if err != nil {
		return err
	}
	// The fold sees what a reader of the bytes would see.
	if err := s.Run.Apply(chain.Events[len(chain.Events)-1]); err != nil {
		return err
	}
	s.chain = chain
	s.named = append(s.named, journal.Naming(event.Data)...)
	s.extend(ledger.Segment(event.Iteration), text)
	if f, ok := event.Data.(*ledger.Finalized); ok {
		line, err := ledger.FormatEntry(f.Entry)
		if err != nil {
			return err
		}
		s.extend(ledger.Results(f.Entry.Iteration), line)
	}
	s.events++
	return nil
}

// extend appends text to a file below the run's folder.
func (s *Supervisor) extend(name string, text []byte) {
	old, ok := s.changed[name]
	if !ok {
		old = s.base[name]
	}
	s.changed[name] = append(bytes.Clone(old), text...)
}

// flush makes what is held back durable, by one commit. A *repo.LostRace means
// that nothing of it was.
func (s *Supervisor) flush(ctx context.Context) error {
	if s.events == 0 {
		return nil
	}
	id, err := s.commitHeld(ctx)
	if refusedAsSecret(err) {
		if err := s.withhold(); err != nil {
			return err
		}
		id, err = s.commitHeld(ctx)
	}
	if err != nil {
		return err
	}
	maps.Copy(s.base, s.changed)
	s.Head, s.events, s.changed, s.named = id, 0, map[string][]byte{}, nil
	return s.remember()
}

// commitHeld pushes one commit with what is held back.
func (s *Supervisor) commitHeld(ctx context.Context) (string, error) {
	put := map[string][]byte{}
	for name, data := range s.changed {
		put[journal.Folder(s.Tag)+name] = data
	}
	if err := s.sign(put); err != nil {
		return "", err
	}
	last := s.chain.Events[len(s.chain.Events)-1]
	return s.commitRecords(ctx, s.Head, put, fmt.Sprintf("%s: %s of iteration %d", s.Tag, last.Data.Kind(), last.Iteration))
}

// commitRecords puts files on the state branch on top of parent; "" makes the
// branch. Commits of the run branch that are named for the first time become
// further parents: an author who forces his branch elsewhere cannot make the
// remote forget what was judged, and a clone made afterwards still has the
// incumbent.
func (s *Supervisor) commitRecords(ctx context.Context, parent string, put map[string][]byte, title string) (string, error) {
	tree, err := s.Clone.WriteTree(parent, put)
	if err != nil {
		return "", err
	}
	var parents []string
	if parent != "" {
		parents = []string{parent}
	}
	for _, id := range slices.Backward(s.named) {
		held, err := s.heldBy(parents[min(1, len(parents)):], id)
		if err != nil {
			return "", err
		}
		if !held {
			parents = append(parents, id)
		}
	}
	message := journal.Message(title, put[journal.Folder(s.Tag)+checkpoint])
	id, err := s.Clone.WriteCommit(tree, parents, message, s.Now())
	if err != nil {
		return "", err
	}
	return id, s.push(ctx, journal.StateBranch(s.Tag), id, parent)
}

// keepLogs adds the logs of a pass to what is held back, and writes them whole
// to the run folder. It gives the hash of each file as it is stored.
func (s *Supervisor) keepLogs() (map[string]string, error) {
	kept := map[string]string{}
	for _, log := range s.outcome.Logs {
		packed, err := pack(log.Data)
		if err != nil {
			return nil, err
		}
		s.changed["logs/"+log.Name+".gz"] = packed
		kept[log.Name+".gz"] = ledger.Hash(packed)
		path := filepath.Join(s.Folder, "logs", filepath.FromSlash(log.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, log.Data, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return kept, nil
}
