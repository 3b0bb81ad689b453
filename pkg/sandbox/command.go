package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// lookup finds a command as a shell would, by the PATH of its own environment.
func lookup(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	search := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			search = v
		}
	}
	for _, d := range strings.Split(search, ":") {
		if !strings.HasPrefix(d, "/") {
			continue // never from the working folder, which is the candidate's
		}
		if info, err := os.Stat(d + "/" + name); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return d + "/" + name, nil
		}
	}
	return "", fmt.Errorf("not found in %s", search)
}

// explainExec turns the errno of a failed exec of path into words.
func explainExec(path string, err error) error {
	info, gone := os.Stat(path)
	switch {
	case gone != nil:
		return errors.New("there is no such file in the sandbox")
	case info.IsDir():
		return errors.New("it is a folder")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("its interpreter or loader is not in the sandbox")
	case errors.Is(err, syscall.ENOEXEC):
		return errors.New("it is no program: neither a binary of this machine nor a script with a #! line")
	case errors.Is(err, fs.ErrPermission) && info.Mode()&0o111 == 0:
		return errors.New("it is not executable")
	}
	return err
}

func commandError(name string, err error) error {
	return &SetupError{What: "command " + name, Why: err.Error(), Fix: "name a program that exists inside the sandbox", err: ErrCommand}
}
