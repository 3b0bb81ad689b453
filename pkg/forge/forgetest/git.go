package forgetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// preReceive refuses what the policy of this push names. A push by the
// repository's own path has none.
const preReceive = `#!/bin/sh
[ -n "$FORGE_POLICY" ] || exit 0
zero=0000000000000000000000000000000000000000
tab=$(printf '\t')
bad=0
refuse() { echo "error: $1"; bad=1; }
workflows() {
	git for-each-ref --format='%(refname)' refs/heads | while read -r b; do
		git ls-tree -r "$b" -- .github/workflows
	done >"$FORGE_POLICY.known"
	for c in $(git rev-list "$1" --not --branches); do
		git ls-tree -r "$c" -- .github/workflows
	done | sort -u | while read -r line; do
		grep -qxF -- "$line" "$FORGE_POLICY.known" || { echo "${line##*$tab}"; break; }
	done
}
while read -r old new ref; do
	while IFS=$tab read -r kind which message; do
		[ "$which" = "$ref" ] || continue
		case $kind in
		deny) refuse "$message" ;;
		straight)
			[ "$old" = $zero ] || [ "$new" = $zero ] || git merge-base --is-ancestor "$old" "$new" || refuse "$message" ;;
		workflows)
			[ "$new" = $zero ] && continue
			file=$(workflows "$new")
			[ -z "$file" ] || refuse "refusing to allow $message to create or update workflow $file without workflows permission" ;;
		esac
	done <"$FORGE_POLICY"
done
exit $bad
`

const zeros = "0000000000000000000000000000000000000000"

func (s *Server) initGit() {
	s.t.Helper()
	const config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[uploadpack]\n\tallowTipSHA1InWant = true\n\tallowReachableSHA1InWant = true\n[http]\n\treceivepack = true\n[receive]\n\tautogc = false\n"
	for _, dir := range []string{"objects", "refs/heads", "hooks"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/" + s.c.Default + "\n", "config": config, "hooks/pre-receive": preReceive} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	s.startReader()
}

// run asks git about the repository; "" where git says no.
func (s *Server) run(args ...string) string {
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", s.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// reader is one git that reads objects for as long as the server lives: starting
// one for every request would cost more than all else.
type reader struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *Server) startReader() {
	s.t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "-C", s.dir, "cat-file", "--batch")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("forgetest: git cat-file: %v", err)
	}
	s.t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	s.objects = &reader{in: in, out: bufio.NewReader(out)}
}

// read gives an object of a type by its id, ok is false where there is none.
func (r *reader) read(id, kind string) (data []byte, ok bool) {
	if len(id) != 40 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.in, id)
	header, err := r.out.ReadString('\n')
	f := strings.Fields(header)
	if err != nil || len(f) != 3 {
		return nil, false
	}
	size, err := strconv.Atoi(f[2])
	if err != nil {
		return nil, false
	}
	data = make([]byte, size+1) // and a line end
	if _, err := io.ReadFull(r.out, data); err != nil {
		return nil, false
	}
	return data[:size], f[1] == kind
}

// Branch gives the commit of a branch, "" where there is none.
func (s *Server) Branch(name string) string { return s.branch(name) }

func (s *Server) branch(name string) string { return s.heads()[name] }

func (s *Server) isCommit(id string) bool {
	_, ok := s.objects.read(id, "commit")
	return ok
}

// commitOf resolves what the API takes for a commit: an id, heads/NAME or NAME.
func (s *Server) commitOf(ref string) string {
	if s.isCommit(ref) {
		return ref
	}
	return s.branch(strings.TrimPrefix(ref, "heads/"))
}

// files gives the files of a commit whose paths begin with prefix.
func (s *Server) files(commit, prefix string) map[string]string {
	out := map[string]string{}
	if text, ok := s.objects.read(commit, "commit"); ok {
		tree, _, _ := strings.Cut(strings.TrimPrefix(string(text), "tree "), "\n")
		s.walk(tree, "", prefix, out)
	}
	return out
}

// walk reads a tree, as far as it holds what begins with prefix.
func (s *Server) walk(tree, folder, prefix string, out map[string]string) {
	data, _ := s.objects.read(tree, "tree")
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || len(rest) < 20 {
			return
		}
		mode, name, _ := strings.Cut(string(head), " ")
		id := hex.EncodeToString(rest[:20])
		data = rest[20:]
		path := folder + name
		switch {
		case mode == "40000" && (strings.HasPrefix(path+"/", prefix) || strings.HasPrefix(prefix, path+"/")):
			s.walk(id, path+"/", prefix, out)
		case mode != "40000" && strings.HasPrefix(path, prefix):
			text, _ := s.objects.read(id, "blob")
			out[path] = string(text)
		}
	}
}

// Commit puts a commit with these files on top of a branch, past every rule and
// without an event, and gives its id. A file without text is taken away.
func (s *Server) Commit(branch string, files map[string]string) string {
	s.t.Helper()
	s.mu.Lock()
	when := 1700000000 + s.next()
	s.mu.Unlock()
	var b strings.Builder
	message := "change " + strings.Join(sortedKeys(files), ", ")
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter root <root@example.com> %d +0000\ndata %d\n%s\n", branch, when, len(message), message)
	if tip := s.branch(branch); tip != "" {
		fmt.Fprintf(&b, "from %s\n", tip)
	}
	for _, name := range sortedKeys(files) {
		if text := files[name]; text != "" {
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
		} else {
			fmt.Fprintf(&b, "D %s\n", name)
		}
	}
	cmd := exec.Command("git", "-c", "safe.directory=*", "-C", s.dir, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("forgetest: git fast-import: %v: %s", err, out)
	}
	return s.branch(branch)
}

func (s *Server) ahead(base, head string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(s.run("rev-list", "--count", "refs/heads/"+base+"..refs/heads/"+head)))
	return n
}

// heads gives the branches: those that git has packed, and over them the loose ones.
func (s *Server) heads() map[string]string {
	out := map[string]string{}
	packed, _ := os.ReadFile(filepath.Join(s.dir, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(ref, "refs/heads/") {
			out[strings.TrimPrefix(ref, "refs/heads/")] = id
		}
	}
	top := filepath.Join(s.dir, "refs", "heads")
	filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return nil
		}
		name, _ := filepath.Rel(top, path)
		if id, err := os.ReadFile(path); err == nil && len(id) >= 40 {
			out[filepath.ToSlash(name)] = string(id[:40])
		}
		return nil
	})
	return out
}

// message gives the message of a commit.
func (s *Server) message(id string) string {
	text, _ := s.objects.read(id, "commit")
	_, message, _ := strings.Cut(string(text), "\n\n")
	return message
}

// GitEnv is the environment that makes git send a token to this server, as the
// checkout action does, and ask nobody.
func (s *Server) GitEnv(token string) []string {
	return []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=http." + s.URL + "/.extraheader",
		"GIT_CONFIG_VALUE_0=Authorization: Basic " + basic(token),
	}
}

// git serves the repository over HTTP.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	who := s.who(r)
	reads, writes := s.may(who, "contents:read"), s.may(who, "contents:write")
	s.mu.Unlock()
	pushes := strings.HasSuffix(r.URL.Path, "/git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
	switch {
	case who.Kind == "" && (pushes || !reads || r.Header.Get("Authorization") != ""):
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Authentication required", http.StatusUnauthorized)
		return
	case pushes && !writes:
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
		return
	case !reads:
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	}
	if !pushes {
		s.fetch(w, r)
		return
	}
	if r.Method != http.MethodPost {
		s.backend(w, r, nil)
		return
	}
	s.push.Lock()
	defer s.push.Unlock()
	s.receive(w, r, who)
}

// fetch answers what a fetch asks, or breaks it.
func (s *Server) fetch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.fault("FETCH", r.URL.Path)
	s.mu.Unlock()
	if f != nil {
		f.answer(w)
		return
	}
	s.backend(w, r, nil)
}

// receive takes a push under the repository's rules and starts what it starts.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, who Token) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	before := s.heads()
	s.mu.Lock()
	lines := s.policy(who, commands(body))
	f := s.fault("PUSH", r.URL.Path)
	s.mu.Unlock()
	if f != nil && !f.After {
		f.answer(w)
		return
	}
	file := filepath.Join(s.hook, "policy")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Errorf("forgetest: %v", err)
		return
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if f != nil {
		s.backend(discard{http.Header{}}, r, []string{"FORGE_POLICY=" + file})
	} else {
		s.backend(w, r, []string{"FORGE_POLICY=" + file})
	}
	s.mu.Lock()
	s.pushed(who, before, s.heads())
	s.mu.Unlock()
	if f != nil {
		f.answer(w)
	}
}

// discard is a client that gets no answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// execPath is where git keeps its programs.
var execPath = sync.OnceValue(func() string {
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		panic("forgetest: git --exec-path: " + err.Error())
	}
	return strings.TrimSpace(string(where))
})

// backend hands a request to git http-backend.
func (s *Server) backend(w http.ResponseWriter, r *http.Request, env []string) {
	if len(r.TransferEncoding) > 0 { // cgi refuses chunks, and git sends them
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r = r.Clone(context.WithoutCancel(r.Context()))
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	h := cgi.Handler{
		Path: filepath.Join(execPath(), "git-http-backend"), Root: "/" + s.c.Owner, Dir: s.dir,
		Stderr: io.Discard,
		Env: append([]string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(s.dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=git", "PATH=" + os.Getenv("PATH"),
			"GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		}, env...),
	}
	h.ServeHTTP(w, r)
}

// command is one ref that a push wants to move.
type command struct{ old, new, ref string }

func (c command) creates() bool { return c.old == zeros }
func (c command) deletes() bool { return c.new == zeros }

// commands reads what a push asks for, before its pack.
func commands(body []byte) []command {
	var out []command
	for len(body) >= 4 {
		n, err := strconv.ParseUint(string(body[:4]), 16, 32)
		if err != nil || n < 4 || int(n) > len(body) {
			break
		}
		line, _, _ := strings.Cut(strings.TrimRight(string(body[4:n]), "\n"), "\x00")
		body = body[n:]
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && len(f[0]) == 40 && len(f[1]) == 40 {
			out = append(out, command{f[0], f[1], f[2]})
		}
	}
	return out
}

// policy says what the hook refuses of a push, one line each: a kind, a ref and
// a message.
func (s *Server) policy(who Token, all []command) []string {
	var out []string
	add := func(kind string, c command, format string, args ...any) {
		out = append(out, kind+"\t"+c.ref+"\t"+fmt.Sprintf(format, args...))
	}
	for _, c := range all {
		branch, ok := strings.CutPrefix(c.ref, "refs/heads/")
		if !ok {
			continue
		}
		for _, r := range s.binding(branch, who) {
			s.policyOf(r, c, add)
		}
		if p := s.state.protections[branch]; p != nil && !(s.atLeast(who.Login, "admin") && !enforced(p)) {
			add("deny", c, "GH006: Protected branch update failed for %s.", c.ref)
		}
		if who.Kind != DeployKey && who.Permissions["workflows"] == "" && !slices.Contains(who.ClassicScopes, "workflow") {
			add("workflows", c, "%s", map[bool]string{true: "an OAuth App", false: "a GitHub App"}[who.Kind == Classic])
		}
	}
	return out
}

// policyOf is what one rule says to one ref.
func (s *Server) policyOf(r rule, c command, add func(kind string, c command, format string, args ...any)) {
	const head = "GH013: Repository rule violations found for %s: %s"
	changes := !c.creates() && !c.deletes()
	switch {
	case r.kind == "creation" && c.creates():
		add("deny", c, head, c.ref, "Cannot create ref due to creations being restricted.")
	case r.kind == "update" && changes:
		add("deny", c, head, c.ref, "Cannot update this protected ref.")
	case r.kind == "deletion" && c.deletes():
		add("deny", c, head, c.ref, "Cannot delete this branch")
	case r.kind == "non_fast_forward":
		add("straight", c, head, c.ref, "Cannot force-push to this branch")
	case r.kind == "pull_request" && changes:
		add("deny", c, head, c.ref, "Changes must be made through a pull request.")
	case r.kind == "required_signatures" && !c.deletes():
		add("deny", c, head, c.ref, "Commits must have verified signatures.")
	case r.kind == "required_status_checks" && changes:
		add("deny", c, head, c.ref, "Required status check is expected.")
	}
}

// pushed starts the workflows that listen to what a push changed. A workflow's
// token starts none.
func (s *Server) pushed(who Token, before, after map[string]string) {
	if who.Kind == Workflow {
		return
	}
	for _, name := range sortedKeys(after) {
		if id := after[name]; before[name] != id {
			s.startPush(who, name, or(before[name], zeros), id)
		}
	}
}
