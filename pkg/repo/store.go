package repo

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// store is the object database of a Clone, read and written with go-git. It
// does not see packs that arrived after it was opened: reopen it then.
type store struct {
	dir     string
	max     int64 // bytes of an object that is read
	storage *filesystem.Storage
}

func openStore(dir string) *store {
	s := &store{dir: dir, max: maxObject}
	s.open()
	return s
}

func (s *store) open() {
	s.storage = filesystem.NewStorageWithOptions(osfs.New(s.dir, osfs.WithBoundOS()),
		cache.NewObjectLRUDefault(), filesystem.Options{KeepDescriptors: true})
}

func (s *store) reopen() error {
	err := s.storage.Close()
	s.open()
	return err
}

func (s *store) object(id string) (string, []byte, error) {
	h := plumbing.NewHash(id)
	size, err := s.storage.EncodedObjectSize(h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return "", nil, &MissingError{ID: id}
	}
	if err != nil {
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	if size > s.max {
		return "", nil, &SizeError{ID: id, Bytes: size, Limit: s.max}
	}
	o, err := s.storage.EncodedObject(plumbing.AnyObject, h)
	if err != nil {
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	r, err := o.Reader()
	if err != nil {
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	defer r.Close()
	data := make([]byte, o.Size())
	if _, err := io.ReadFull(r, data); err != nil {
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	return o.Type().String(), data, nil
}

// write adds an object and returns its id.
func (s *store) write(kind plumbing.ObjectType, data []byte) (string, error) {
	o := s.storage.NewEncodedObject()
	o.SetType(kind)
	o.SetSize(int64(len(data)))
	w, err := o.Writer()
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", fmt.Errorf("%s of %d bytes: %w", kind, len(data), err)
	}
	h, err := s.storage.SetEncodedObject(o)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", kind, o.Hash(), err)
	}
	return h.String(), nil
}
