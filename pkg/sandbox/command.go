package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// lookup finds a command as a shell would, by the PATH of its own environment.
func lookup(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, d := range searchPath(env) {
		if info, err := os.Stat(d + "/" + name); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return d + "/" + name, nil
		}
	}
	return "", notFound(env)
}

func notFound(env []string) error {
	return fmt.Errorf("not found in %s", strings.Join(searchPath(env), ":"))
}

// searchPath is where commands are looked for: never in the working folder,
// which is the candidate's.
func searchPath(env []string) []string {
	search := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			search = v
		}
	}
	return slices.DeleteFunc(strings.Split(search, ":"), func(d string) bool { return !strings.HasPrefix(d, "/") })
}

// explainExec turns the errno of a failed exec into words; mode is of what
// stands there, 0 for nothing.
func explainExec(mode fs.FileMode, there bool, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && !there:
		return errors.New("there is no such file in the sandbox")
	case there && mode.IsDir():
		return errors.New("it is a folder")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("its interpreter or loader is not in the sandbox")
	case errors.Is(err, syscall.ENOEXEC):
		return errors.New("it is no program: neither a binary of this machine nor a script with a #! line")
	case errors.Is(err, fs.ErrPermission) && there && mode&0o111 == 0:
		return errors.New("it is not executable")
	}
	return err
}

func commandError(name string, err error) error {
	return &SetupError{What: "command " + name, Why: err.Error(), Fix: "name a program that exists inside the sandbox", err: ErrCommand}
}
