package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/vault"
)

// maxFolder bounds the files that are read of one split, in bytes: more than
// its two bundles may hold.
const maxFolder = 256 << 20

// folderForm is the cure for a folder that holds no split.
const folderForm = "put one file a case into inputs/ and its answer, under the same name, into answers/"

// readFolder reads the cases in inputs/ and answers/ of a folder that lies in
// no repository. What lies beside the two is not looked at. Links are refused:
// they would lead out of the place that was checked.
func readFolder(name, dir string) ([]vault.Case, error) {
	if err := outside(dir, "cases of a gate"); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, placed(dir, "", err)
	}
	defer root.Close()
	files := map[string][]byte{}
	left := int64(maxFolder)
	for _, half := range []string{"inputs", "answers"} {
		if err := readHalf(root, half, files, &left); err != nil {
			return nil, placed(dir, half, err)
		}
	}
	split, err := contract.NewSplit(name, files)
	if err != nil {
		return nil, refuse(dir, err.Error(), folderForm)
	}
	return toVault(split), nil
}

// toVault gives the cases of a split as vault compares and seals them.
func toVault(split *contract.Split) []vault.Case {
	out := make([]vault.Case, len(split.Cases))
	for i, c := range split.Cases {
		out[i] = vault.Case{ID: c.ID, Input: c.Input, Answer: c.Answer}
	}
	return out
}

func readHalf(root *os.Root, half string, files map[string][]byte, left *int64) error {
	info, err := root.Lstat(half)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("is no folder")
	}
	entries, err := fs.ReadDir(root.FS(), half)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			return fmt.Errorf("%+q is no plain file", e.Name())
		}
		data, err := readFile(root, filepath.Join(half, e.Name()), *left)
		if err != nil {
			return err
		}
		*left -= int64(len(data))
		files[half+"/"+e.Name()] = data
	}
	return nil
}

// readFile reads a plain file of at most so many bytes.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the files of a split have more than %d bytes", int64(maxFolder))
	}
	return data, err
}

// placed names the folder of a fault.
func placed(dir, half string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return refuse(filepath.Join(dir, half), err.Error(), folderForm)
}
