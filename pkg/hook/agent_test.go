package hook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/research-loop/research-loop/pkg/repo"
)

func TestForbidden(t *testing.T) {
	block := []string{
		"git push --no-verify",
		"git push --no-veri origin HEAD",
		"git -C sub push origin HEAD:research-loop/x --no-verify",
		"cd x && git push --no-verify",
		"true; git push --no-verify &",
		"(git push --no-verify)",
		"echo $(git push --no-verify)",
		"echo \"a `git push --no-verify`\"",
		"if true; then git push --no-verify; fi",
		"sudo -E git push --no-verify",
		"timeout 30 git push --no-verify",
		"env A=b git push --no-verify",
		"A=b C=d /usr/bin/git push --no-verify",
		"'git' \"push\" --no-\"verify\"",
		"git pu\\\nsh --no-verify",
		"bash -c 'git push --no-verify'",
		"bash -lc \"sh -c 'git push --no-verify'\"",
		"eval git push --no-verify",
		"git -c core.hooksPath=/dev/null push",
		"git -c CORE.HOOKSPATH=x push",
		"git -c hook.research-loop.enabled=false push",
		"git --config-env=core.hooksPath=X push",
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=x git push",
		"git send-pack origin HEAD:refs/heads/research-loop/x",
		"git replace a b",
		"git replace --graft a",
		"git update-ref refs/replace/a b",
		"git config core.hooksPath /dev/null",
		"git config --global core.hooksPath /dev/null",
		"git config set core.hooksPath x",
		"git config --unset core.hooksPath",
		"git config --remove-section hook.research-loop",
		"git config core.useReplaceRefs true",
		"git push origin HEAD:research-loop-state/x",
		"git push origin :refs/heads/research-loop-state/x",
	}
	pass := []string{
		"", "git push", "git push origin HEAD:research-loop/x", "git push --no-tags --verify", "git commit -m 'push --no-verify'",
		"git commit --no-verify -m x", "echo git push --no-verify", "# git push --no-verify", "grep -r 'git replace' .",
		"git replace -l", "git replace", "git replace -d abc", "git config --get core.hooksPath", "git config core.hooksPath",
		"git config get core.hooksPath", "git config user.name core.hooksPath", "git log --oneline", "go test ./... 2>&1 | tail",
		"git -c user.name=x commit", "git push origin HEAD:main", "git", "git -C", "git -c", "'", "\"$(", "a\\", "> x", "bash -c", "$((1+2))",
	}
	blocked := func(script string) string {
		for _, c := range splitCommands(script) {
			if reason := forbidden(c, 0); reason != "" {
				return reason
			}
		}
		return ""
	}
	for _, script := range block {
		if blocked(script) == "" {
			t.Errorf("%q may be run: %q", script, splitCommands(script))
		}
	}
	for _, script := range pass {
		if reason := blocked(script); reason != "" {
			t.Errorf("%q may not be run: %s", script, reason)
		}
	}
}

func FuzzSplitCommands(f *testing.F) {
	f.Add("a \"$(b `c` 'd')\" >e 2>&1 | f; g & (h) # i\nj\\")
	f.Fuzz(func(t *testing.T, script string) {
		bytes := 0
		for _, c := range splitCommands(script) {
			if len(c.words)+len(c.writes) == 0 {
				t.Errorf("%q has an empty command", script)
			}
			for _, w := range append(c.words, c.writes...) {
				bytes += len(w)
			}
			forbidden(c, 0)
			changes(c)
		}
		if limit := (maxNesting + 2) * (len(script) + 1); bytes > limit {
			t.Errorf("%q became %d bytes", script, bytes)
		}
	})
}

// agentProject makes a clone that knows the records of a run.
func agentProject(t *testing.T) string {
	t.Helper()
	for key, value := range map[string]string{"HOME": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		t.Setenv(key, value)
	}
	ctx := context.Background()
	project, remote := t.TempDir(), filepath.Join(t.TempDir(), "origin.git")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = project
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	for name, text := range baseline() {
		name = filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet", "-b", "main")
	git("add", "--all")
	git("commit", "--quiet", "-m", "baseline")
	git("clone", "--quiet", "--bare", ".", remote)
	git("remote", "add", "origin", remote)
	clone, err := repo.OpenClone(ctx, filepath.Join(t.TempDir(), "clone"), remote)
	if err != nil {
		t.Fatal(err)
	}
	defer clone.Close()
	if err := clone.Fetch(ctx); err != nil {
		t.Fatal(err)
	}
	head, _ := clone.Branch("main")
	if err := appendRecords(ctx, clone, "x", "sealed", []string{head}); err != nil {
		t.Fatal(err)
	}
	git("fetch", "--quiet", "origin")
	return project
}

func TestAgent(t *testing.T) {
	project := agentProject(t)
	outside := t.TempDir()
	if err := os.Symlink(filepath.Join(project, "evaluation"), filepath.Join(outside, "link")); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	call := func(tool, key string, value any) string {
		return text(map[string]any{"tool_name": tool, "cwd": project, "tool_input": map[string]any{key: value}, "session_id": "x", "more": []int{1}})
	}
	tests := []struct {
		name, stdin, blocked string // part of the reason, "" passes, "!" another error
	}{
		{"shell", call("Bash", "command", "go test ./..."), ""},
		{"no verify", call("Bash", "command", "git push --no-verify"), "--no-verify"},
		{"words", call("shell", "command", []string{"bash", "-lc", "git push --no-verify"}), "--no-verify"},
		{"writable", call("Write", "file_path", project+"/corrector/new.txt"), ""},
		{"new folder", call("Write", "file_path", project+"/corrector/a/b/c.txt"), ""},
		{"frozen", call("Edit", "file_path", project+"/evaluation/score.sh"), "frozen by the contract"},
		{"frozen, relative", call("Edit", "file_path", "evaluation/score.sh"), "frozen by the contract"},
		{"frozen, with dots", call("Edit", "file_path", project+"/corrector/../evaluation/score.sh"), "frozen by the contract"},
		{"frozen, by a link", call("Edit", "file_path", outside+"/link/score.sh"), "frozen by the contract"},
		{"case", call("Write", "file_path", project+"/evaluation/development/inputs/9.txt"), "frozen by the contract"},
		{"contract", call("MultiEdit", "file_path", project+"/.research-loop/contract.yml"), "frozen by the contract"},
		{"notebook", call("NotebookEdit", "notebook_path", project+"/evaluation/score.sh"), "frozen by the contract"},
		{"path", call("write_file", "path", project+"/evaluation/score.sh"), "frozen by the contract"},
		{"reading", call("Read", "file_path", project+"/evaluation/score.sh"), ""},
		{"searching", call("Grep", "path", project+"/evaluation"), ""},
		{"shell redirect", call("Bash", "command", "echo x >> evaluation/score.sh"), "frozen by the contract"},
		{"shell edit", call("Bash", "command", "sed -i s/a/b/ evaluation/score.sh"), "frozen by the contract"},
		{"shell read", call("Bash", "command", "sed -n 1p evaluation/score.sh 2>/dev/null"), ""},
		{"shell remove", call("Bash", "command", "cd .; rm -rf evaluation/development/answers/1.txt"), "frozen by the contract"},
		{"hook file", call("Bash", "command", "rm .git/hooks/pre-push"), "belongs to git"},
		{"hook file by tool", call("Write", "file_path", project+"/.git/hooks/pre-push"), "belongs to git"},
		{"attributes", call("Bash", "command", "echo '* -diff' > .git/info/attributes"), "belongs to git"},
		{"index lock", call("Bash", "command", "rm -f .git/index.lock"), ""},
		{"outside", call("Write", "file_path", outside+"/evaluation/score.sh"), ""},
		{"outside any repository", text(map[string]any{"tool_name": "Write", "cwd": outside, "tool_input": map[string]any{"file_path": "evaluation/score.sh"}}), ""},
		{"another tool", text(map[string]any{"tool_name": "WebFetch", "tool_input": map[string]any{"url": "https://example.com"}}), ""},
		{"no JSON", "hello", "!"},
		{"empty", "", "!"},
		{"wrong type", `{"tool_input": {"command": 5}}`, "!"},
		{"wrong shape", `{"tool_input": []}`, "!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Agent(context.Background(), project, strings.NewReader(tt.stdin))
			var blocked *BlockedError
			switch {
			case tt.blocked == "" && err != nil:
				t.Errorf("stopped: %v", err)
			case tt.blocked == "!" && (err == nil || errors.As(err, &blocked)):
				t.Errorf("got %v", err)
			case tt.blocked != "" && tt.blocked != "!" && (!errors.As(err, &blocked) || !strings.Contains(err.Error(), tt.blocked)):
				t.Errorf("got %v", err)
			}
		})
	}
	if err := Agent(context.Background(), project, endless{}); err == nil {
		t.Error("endless input is taken")
	}
}
