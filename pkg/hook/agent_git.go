package hook

import (
	"path"
	"strings"
)

// forbidden says why a command must not be run, "" if it may.
func forbidden(c command, depth int) string {
	for _, w := range c.words {
		if name, _, ok := strings.Cut(w, "="); ok && strings.HasPrefix(name, "GIT_CONFIG") {
			return "git is to be run with the configuration of this repository, not with GIT_CONFIG variables; see the contract of the run"
		}
	}
	words := plain(c.words)
	if len(words) == 0 {
		return ""
	}
	switch path.Base(words[0]) {
	case "sh", "bash", "dash", "zsh", "ksh", "eval":
		return forbiddenScript(words, depth)
	case "git":
		return forbiddenGit(words[1:])
	case "git-push", "git-replace", "git-send-pack":
		return forbiddenGit(append([]string{strings.TrimPrefix(path.Base(words[0]), "git-")}, words[1:]...))
	}
	return ""
}

// forbiddenScript looks into what a shell is given with -c, or eval.
func forbiddenScript(words []string, depth int) string {
	if depth > maxNesting {
		return "a script within a script within a script: write it plainly"
	}
	script := ""
	if path.Base(words[0]) == "eval" {
		script = strings.Join(words[1:], " ")
	}
	for i, w := range words[1:] {
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c") && i+2 < len(words) {
			script = words[i+2]
			break
		}
	}
	for _, inner := range splitCommands(script) {
		if reason := forbidden(inner, depth+1); reason != "" {
			return reason
		}
	}
	return ""
}

// plain drops what stands before a command without changing what it is:
// variables, and programs that run another one.
func plain(words []string) []string {
	for len(words) > 0 {
		switch w := path.Base(words[0]); {
		case strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "="), w == "{", w == "!", w == "then", w == "do", w == "else", w == "if", w == "while":
			words = words[1:]
		case w == "sudo", w == "env", w == "command", w == "exec", w == "nohup", w == "nice", w == "time", w == "timeout", w == "xargs", w == "setsid", w == "stdbuf":
			words = words[1:]
			for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Trim(words[0], "0123456789smhd.") == "") {
				words = words[1:]
			}
		default:
			return words
		}
	}
	return nil
}

// forbiddenGit judges the arguments of git.
func forbiddenGit(args []string) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, joined := strings.Cut(args[0], "=")
		takes := option == "-c" || option == "-C" || option == "--config-env" || option == "--git-dir" || option == "--work-tree" || option == "--namespace" || option == "--exec-path"
		if takes && !joined && len(args) > 1 && option != "--exec-path" {
			value = args[1]
			args = args[1:]
		}
		if (option == "-c" || option == "--config-env") && hookSetting(value) {
			return "hooks are not to be switched off: run git without -c " + value
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	verb, args := args[0], args[1:]
	switch verb {
	case "push":
		return forbiddenPush(args)
	case "send-pack", "http-push":
		return "git " + verb + " goes past the pre-push hook: use git push, which the supervisor's audit follows in any case"
	case "replace":
		if len(args) > 0 && !contains(args, "-l", "--list", "-d", "--delete") {
			return "git replace hides what is really pushed: the audit reads the true objects, so it helps nothing; undo it with git replace -d"
		}
	case "config":
		return forbiddenConfig(args)
	case "update-ref":
		for _, a := range args {
			if strings.HasPrefix(a, "refs/replace/") {
				return "refs/replace/ hides what is really pushed: the audit reads the true objects"
			}
		}
	}
	return ""
}

func forbiddenPush(args []string) string {
	for _, a := range args {
		// git takes any beginning of an option that no other option has.
		if len(a) >= len("--no-veri") && strings.HasPrefix("--no-verify", a) {
			return "push without --no-verify: what the hook finds the supervisor finds as well, and then the attempt is invalid"
		}
		if target := strings.TrimPrefix(a[strings.LastIndexByte(a, ':')+1:], heads); strings.Contains(a, ":") && strings.HasPrefix(target, "research-loop-state/") {
			return target + " holds the records of a run, which only the supervisor writes"
		}
	}
	return ""
}

// forbiddenConfig blocks changes of what decides which hooks run.
func forbiddenConfig(args []string) string {
	if contains(args, "--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list") {
		return ""
	}
	var words []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && a != "set" && a != "unset" {
			words = append(words, a)
		}
	}
	changes := len(words) > 1 || contains(args, "--unset", "--unset-all", "unset", "--remove-section", "remove-section")
	if changes && len(words) > 0 && hookSetting(words[0]) {
		return "hooks are not to be moved or switched off: leave " + words[0] + " as it is"
	}
	return ""
}

// hookSetting says whether "key" or "key=value" decides which hooks run.
func hookSetting(s string) bool {
	key, _, _ := strings.Cut(strings.ToLower(s), "=")
	return key == "core.hookspath" || key == "core" || strings.HasPrefix(key, "hook.") || key == "core.usereplacerefs"
}

func contains(args []string, any ...string) bool {
	for _, a := range args {
		for _, w := range any {
			if a == w {
				return true
			}
		}
	}
	return false
}
