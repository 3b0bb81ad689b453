package hook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkHook audits a candidate of one file in a repository of 57,000, and
// for comparison reads the same change with git's plumbing. The bar is 0.3 s
// and twice the plumbing.
func BenchmarkHook(b *testing.B) {
	dir, base, tip := largeRepository(b, 57000)
	line := "HEAD " + tip + " refs/heads/research-loop/x " + strings.Repeat("0", 40) + "\n"
	b.Run("audit", func(b *testing.B) {
		for b.Loop() {
			var said bytes.Buffer
			err := PrePush(context.Background(), Call{Dir: dir, Args: []string{"origin", dir}, Stdin: strings.NewReader(line), Stderr: &said})
			if err != nil || !strings.Contains(said.String(), "audited 1 commit: pass") {
				b.Fatal(err, said.String())
			}
		}
	})
	b.Run("plumbing", func(b *testing.B) {
		for b.Loop() {
			script := fmt.Sprintf("git diff-tree -r -z --raw --no-renames %s %s | tr '\\0' '\\n' | sed -n 's/^:[0-9]* [0-9]* \\([0-9a-f]*\\) \\([0-9a-f]*\\).*/\\1\\n\\2/p' | git cat-file --batch", base, tip)
			cmd := exec.Command("sh", "-c", script)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("blob")) {
				b.Fatal(err, string(out))
			}
		}
	})
}

// largeRepository makes a repository of n files with a contract, and a commit
// that changes one of them.
func largeRepository(b *testing.B, n int) (dir, base, tip string) {
	b.Helper()
	dir = b.TempDir()
	var in bytes.Buffer
	data := func(text string) { fmt.Fprintf(&in, "data %d\n%s\n", len(text), text) }
	commit := func(branch, message, from string) {
		fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Someone <someone@example.com> 1800000000 +0000\n", branch)
		data(message)
		in.WriteString(from)
	}
	commit("main", "baseline", "")
	for name, text := range baseline() {
		fmt.Fprintf(&in, "M 100644 inline %s\n", name)
		data(text)
	}
	for i := range n {
		fmt.Fprintf(&in, "M 100644 inline corrector/d%02d/e%02d/f%03d.txt\n", i%57, i/57%20, i)
		data(fmt.Sprintf("rule %d of %d\n", i*7919%n, n))
	}
	commit("work", "change one file\n\n"+template+"\n", "from refs/heads/main\n")
	in.WriteString("M 100644 inline corrector/d07/e03/more.txt\n")
	data("drop the second of doubled letters\n")
	in.WriteString("reset refs/remotes/origin/main\nfrom refs/heads/main\n\n")
	git := func(stdin []byte, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(nil, "init", "--quiet", "--initial-branch=main")
	git(nil, "remote", "add", "origin", filepath.Join(dir, "nowhere"))
	git(in.Bytes(), "fast-import", "--quiet")
	git(nil, "read-tree", "main")
	return dir, git(nil, "rev-parse", "main"), git(nil, "rev-parse", "work")
}
