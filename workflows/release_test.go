package workflows_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// recipe is what .goreleaser.yaml makes a release of.
type recipe struct {
	Builds []struct {
		Main, Binary                 string
		Env, Flags, Ldflags, Targets []string
	}
	Archives []struct {
		Formats []string
		Name    string `yaml:"name_template"`
	}
	Checksum struct {
		Name      string `yaml:"name_template"`
		Algorithm string
	}
	Release struct{ Draft bool }
}

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestReleaseRecipes: goreleaser, .ci/release and the action build the same program
// with the same flags and give it the same name, or its checksum would not be the
// one that stands in action.yml.
func TestReleaseRecipes(t *testing.T) {
	var r recipe
	if err := yaml.Unmarshal([]byte(readText(t, "../.goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	script, action := readText(t, "../.ci/release"), readText(t, "../action.yml")
	if len(r.Builds) != 1 || len(r.Archives) != 1 || !slices.Equal(r.Archives[0].Formats, []string{"binary"}) || !r.Release.Draft {
		t.Fatalf("%+v", r)
	}
	b := r.Builds[0]
	flags := strings.Join(b.Flags, " ")
	if !strings.Contains(action, "GOFLAGS: "+flags+"\n") || !strings.Contains(script, "go build "+flags+" ") {
		t.Errorf("flags %s are not those of action.yml or .ci/release", flags)
	}
	for _, variable := range b.Env {
		name, value, _ := strings.Cut(variable, "=")
		if !regexp.MustCompile(`(?m)^ *`+name+`: "?`+value+`"?$`).MatchString(action) || !strings.Contains(script, variable+" ") {
			t.Errorf("%s is not that of action.yml or .ci/release", variable)
		}
	}
	ldflags := strings.Join(b.Ldflags, " ")
	stripped, _, _ := strings.Cut(ldflags, " -X ")
	if !strings.Contains(script, `"`+strings.ReplaceAll(ldflags, "{{ .Tag }}", "$version")+`"`) || !strings.Contains(action, "-ldflags '"+stripped+"'") {
		t.Errorf("ldflags %s are not those of action.yml or .ci/release", ldflags)
	}
	name := strings.NewReplacer("{{ .Os }}", "linux", "{{ .Arch }}", "$arch").Replace(r.Archives[0].Name)
	if !strings.Contains(script, "/"+name+`" `+b.Main) || !strings.Contains(action, "/$RELEASE/"+name+`"`) {
		t.Errorf("action.yml or .ci/release have another name than %s", name)
	}
	for _, target := range []string{"linux_amd64", "linux_arm64"} {
		if !slices.Contains(b.Targets, target) {
			t.Errorf("%s is not built", target)
		}
	}
	if r.Checksum.Algorithm != "sha256" || !strings.Contains(readText(t, "../.github/workflows/release.yml"), "subject-checksums: dist/"+r.Checksum.Name+"\n") {
		t.Errorf("checksums: %+v", r.Checksum)
	}
}

// maker plays go: a program is the words that it was built with. fetcher plays curl:
// what GitHub would give is below $RELEASES.
const (
	maker   = "#!/bin/sh\ncase $1 in\nenv) echo go1.26.8 ;;\nbuild) while [ $# -gt 1 ]; do [ \"$1\" = -o ] && to=$2; shift; done; echo \"$GOOS $GOARCH $CGO_ENABLED\" >\"$to\"; cp \"$to\" \"$RELEASES/${to##*/}\" ;;\nesac\n"
	fetcher = "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --output) to=$2 ;; https://*) from=$1 ;; esac; shift; done\necho \"$from\" >>\"$RELEASES/asked\"\ncp \"$RELEASES/${from##*/}\" \"$to\"\n"
)

// press is a folder in which a release is made, with go and curl played.
type press struct {
	t             *testing.T
	dir, releases string
}

func newPress(t *testing.T) *press {
	t.Helper()
	for _, tool := range []string{"bash", "sha256sum", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	p := &press{t, t.TempDir(), t.TempDir()}
	for name, text := range map[string]string{
		".ci/release": readText(t, "../.ci/release"), "action.yml": readText(t, "../action.yml"), "bin/go": maker, "bin/curl": fetcher,
	} {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := p.run(nil, "git", "init", "--quiet"); err != nil {
		t.Fatal(out)
	}
	return p
}

func (p *press) run(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(p.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + p.dir, "RELEASES=" + p.releases, "TMPDIR=" + p.t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// downloads runs the action of the release commit on a runner without a program.
func (p *press) downloads(first step, arch, name string) {
	p.t.Helper()
	env := []string{"RUNNER_TEMP=" + p.t.TempDir(), "GITHUB_OUTPUT=" + filepath.Join(p.t.TempDir(), "output"), "RUNNER_ARCH=" + arch, "PROGRAM=", "PROGRAM_SHA256=", "COMMAND=admit"}
	for variable, value := range first.Env {
		if strings.HasPrefix(variable, "RELEASE") {
			env = append(env, variable+"="+value)
		}
	}
	if out, err := p.run(env, "bash", "-c", first.Run); err != nil {
		p.t.Errorf("%s: %v: %s", arch, err, out)
	}
	if asked := readText(p.t, filepath.Join(p.releases, "asked")); !strings.Contains(asked, "https://github.com/research-loop/research-loop/releases/download/v0.1.0/"+name+"\n") {
		p.t.Errorf("%s: asked for %s", arch, asked)
	}
}

// TestRelease makes a release commit with .ci/release in a folder of its own. The
// action of that commit then downloads the program by its name and believes it by
// its checksum, the release is built with the same Go, and --check tells other bytes.
func TestRelease(t *testing.T) {
	p := newPress(t)
	for _, bad := range []string{"0.1.0", "v0.1", "v0.1.0; id", ""} {
		if out, err := p.run(nil, ".ci/release", bad); err == nil {
			t.Errorf("version %q: %s", bad, out)
		}
	}
	if out, err := p.run(nil, ".ci/release", "v0.1.0"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var a action
	if err := yaml.Unmarshal([]byte(readText(t, filepath.Join(p.dir, "action.yml"))), &a); err != nil {
		t.Fatal(err)
	}
	first := a.Runs.Steps[0]
	if first.Env["RELEASE"] != "v0.1.0" || first.Env["RELEASE_GO"] != "1.26.8" || first.Env["RELEASE_SHA256_X64"] == first.Env["RELEASE_SHA256_ARM64"] {
		t.Fatalf("%v", first.Env)
	}
	p.downloads(first, "X64", "research-loop_linux_amd64")
	p.downloads(first, "ARM64", "research-loop_linux_arm64")
	var w struct {
		Jobs map[string]struct{ Steps []step }
	}
	if err := yaml.Unmarshal([]byte(readText(t, "../.github/workflows/release.yml")), &w); err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["release"].Steps
	at := slices.IndexFunc(steps, func(s step) bool { return s.ID == "go" })
	output := filepath.Join(t.TempDir(), "output")
	if out, err := p.run([]string{"GITHUB_OUTPUT=" + output}, "bash", "-c", steps[at].Run); err != nil || readText(t, output) != "version=1.26.8\n" {
		t.Errorf("%v: %s%s", err, out, readText(t, output))
	}
	if out, err := p.run(nil, ".ci/release", "--check", p.releases); err != nil {
		t.Errorf("--check: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(p.releases, "research-loop_linux_arm64"), []byte("others"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := p.run(nil, ".ci/release", "--check", p.releases); err == nil || !strings.Contains(out, "arm64: action.yml says") {
		t.Errorf("--check of other bytes: %v: %s", err, out)
	}
}
