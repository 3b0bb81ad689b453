package setup

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/forge"
)

// Fix sends the requests of every row that has some, after showing each, and
// examines the repository again. Done twice it gives the same. It stops at the
// first request that GitHub refuses.
func Fix(ctx context.Context, c *forge.Client, want Wanted, show func(forge.Request)) (Diagnosis, error) {
	d, err := Diagnose(ctx, c, want)
	if err != nil {
		return d, err
	}
	sent := false
	for _, row := range d.Rows {
		for _, r := range row.Requests {
			show(r)
			if _, err := c.Do(ctx, r); err != nil {
				return d, err
			}
			sent = true
		}
	}
	if !sent {
		return d, nil
	}
	return Diagnose(ctx, c, want)
}

// Place writes a file of this version into a work tree, by its path in the
// repository. The same bytes are left as they are; others are an *ExistsError.
func Place(top, name string, data []byte) error {
	path := filepath.Join(top, filepath.FromSlash(name))
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return create(path, data, 0o644)
}
