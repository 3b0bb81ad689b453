//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	for _, mode := range []Mode{Root, User} {
		s, err := New(Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		os.Chmod(out, 0o755)
		arm := t.TempDir()
		os.Chmod(arm, 0o755)
		os.WriteFile(arm+"/x", []byte("hello"), 0o644)
		r, err := s.Run(context.Background(), Spec{
			Argv:    []string{"sh", "-c", "id; cat /arm/x; ls -la / /dev /arm;  echo hi >/out/a; mkdir /out/d; ln -s a /out/l; echo yo >/arm/build/deep/f; head -c 10 /dev/zero | wc -c; echo >/dev/null"},
			Binds:   []Bind{{arm, "/arm"}},
			Scratch: []Scratch{{Target: "/out", Bytes: 1 << 20, Collect: out}, {Target: "/arm/build/deep", Bytes: 1 << 20}},
			Limits:  Limits{Wall: 5 * time.Second, Output: 1 << 20, Temporary: 1 << 20, Memory: 64 << 20, Pids: 16, CPUs: 1},
		})
		out1, err1 := r.Stdout, r.Stderr
		r.Stdout, r.Stderr = nil, nil
		t.Logf("%v\n%s\n%s\n%+v", err, out1, err1, r)
		s.Close()
	}
}
