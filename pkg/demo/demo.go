// Package demo shows the whole product in a temporary folder, offline: a bare
// repository as the remote, a clone of it as an author has one, the real hook,
// the real sandbox, the real supervisor, and candidates of every kind. The
// author's side uses git and nothing else.
//
// Where no sandbox can be had the demo runs its own candidates unconfined: they
// are part of this program. It says which wall is missing and marks every
// verdict; a real run refuses there.
package demo

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/evaluate"
	"github.com/research-loop/research-loop/pkg/hook"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/repo"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/supervisor"
)

//go:embed task
var task embed.FS

const (
	tag    = contract.Tag("demo")
	branch = "research-loop/demo"
)

// Options say where the demo shows itself.
type Options struct {
	Out   io.Writer
	Color bool
	// Keep leaves the folder behind.
	Keep bool
	// Executable is this program, for the hook to call.
	Executable string
	Now        func() time.Time
	// Tool is the program's version, for the seal.
	Tool string
	// Unconfined runs the candidates without a sandbox even where one can be had.
	Unconfined bool
}

// demo is one showing.
type demo struct {
	Options
	dir  string
	env  []string
	mark string // what is said beside a verdict that no sandbox stands behind
	sup  *supervisor.Supervisor
}

// Run shows the demo. It gives the folder that it left, "" if it left none.
func Run(ctx context.Context, o Options) (string, error) {
	dir, err := os.MkdirTemp("", "research-loop-demo-")
	if err != nil {
		return "", err
	}
	d := &demo{Options: o, dir: dir}
	d.env = []string{
		"GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	}
	kept := dir
	if !o.Keep {
		kept = ""
		defer os.RemoveAll(dir)
	}
	return kept, d.show(ctx)
}

func (d *demo) show(ctx context.Context) error {
	launcher, probe, closeBox, err := d.confine()
	if err != nil {
		return err
	}
	defer closeBox()
	if err := d.project(ctx); err != nil {
		return err
	}
	clone, err := repo.OpenClone(ctx, filepath.Join(d.dir, "supervisor", "clone.git"), d.path("origin.git"))
	if err != nil {
		return err
	}
	defer clone.Close()
	d.sup = &supervisor.Supervisor{
		Clone: clone, Launcher: launcher, Tag: tag, Folder: filepath.Join(d.dir, "supervisor", "run"),
		Holder: supervisor.ThisProcess(), Alive: supervisor.Alive, Now: d.Now, Probe: probe, Level: "local",
	}
	if err := d.start(ctx, clone); err != nil {
		return err
	}
	for _, c := range candidates() {
		if err := d.try(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return d.end(ctx)
}

// prober is the probe of a supervisor.
type prober = func(context.Context) (ledger.Probed, error)

// confine sets up the sandbox, or what stands in for it here.
func (d *demo) confine() (evaluate.Launcher, prober, func() error, error) {
	nothing := func() error { return nil }
	if !d.Unconfined {
		box, err := sandbox.New(sandbox.Options{})
		if err == nil {
			d.say("sandbox: %s mode; limits: %s", box.Mode(), strings.Join(box.Limits(), ", "))
			return box, supervisor.ProbeOf(box), box.Close, nil
		}
		d.say("no sandbox on this machine: %v", err)
	}
	d.say("the demo's own candidates run UNCONFINED; a real run refuses to start here")
	d.mark = " (unconfined)"
	unproven := func(context.Context) (ledger.Probed, error) {
		return ledger.Probed{Mode: "unconfined", Limits: []string{}, Held: []string{}, Open: []string{}}, nil
	}
	return sandbox.NewUnconfined(), unproven, nothing, nil
}

// project makes the bare remote, the author's clone and its first commit.
func (d *demo) project(ctx context.Context) error {
	config := "[user]\n\tname = Ada Author\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(filepath.Join(d.dir, "gitconfig"), []byte(config), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "origin.git"},
		{"clone", "--quiet", "origin.git", "project"},
	} {
		if out, err := repo.Person(ctx, d.dir, d.env, args...); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	if err := d.unpack(); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"add", "--all"}, {"commit", "--quiet", "--message", "read Roman numerals"}, {"push", "--quiet", "origin", "HEAD:main"},
	} {
		if err := d.git(ctx, args...); err != nil {
			return err
		}
	}
	d.say("a bare repository %s, and a clone of it, %s", d.path("origin.git"), d.path("project"))
	return nil
}

// unpack writes the embedded task into the author's clone.
func (d *demo) unpack() error {
	return fs.WalkDir(task, "task", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := task.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "task/")
		if name == "contract.yml" {
			name = contract.DraftPath
		}
		return d.write(name, string(data))
	})
}

// start seals the contract, measures the baseline and installs the hook.
func (d *demo) start(ctx context.Context, clone *repo.Clone) error {
	if err := clone.Fetch(ctx); err != nil {
		return err
	}
	plan, err := supervisor.NewPlan(ctx, clone, "main", tag, "local", d.Tool, nil)
	if err != nil {
		return err
	}
	d.title("research-loop start demo")
	d.say("goal: %s", plan.Contract.Goal)
	err = d.sup.Seal(ctx, plan, func(*supervisor.Plan) (supervisor.Confirmation, error) {
		return supervisor.Confirmation{By: "the demo", How: "--confirm"}, nil
	})
	if err != nil {
		return err
	}
	if _, err := d.sup.Reconcile(ctx); err != nil {
		return err
	}
	if d.sup.Run.Opened == nil {
		return fmt.Errorf("the baseline failed: %s", d.sup.Run.Entries[0].Reason)
	}
	baseline := d.sup.Run.Entries[0]
	d.say("baseline %.12s: %s %.4g%s", baseline.Commit, baseline.PrimaryMetric, *baseline.PrimaryValue, d.mark)
	return d.install(ctx)
}

// install puts the hook into the author's clone.
func (d *demo) install(ctx context.Context) error {
	d.title("research-loop hook install")
	work, err := repo.OpenWork(ctx, d.path("project"))
	if err != nil {
		return err
	}
	defer work.Close()
	_, err = hook.Install(ctx, work, d.Executable)
	return err
}

// end prints the ledger as a table, and what may be claimed.
func (d *demo) end(ctx context.Context) error {
	step, err := d.sup.Peek(ctx)
	if err != nil {
		return err
	}
	d.title("research-loop log demo")
	if err := report.Log(d.Out, d.sup.Run, d.Color); err != nil {
		return err
	}
	d.title("research-loop status demo")
	report.Status(d.Out, d.sup.Run, step, d.Color)
	if d.mark != "" {
		d.say("every verdict above is unconfined: no wall stood between the candidates and this machine")
	}
	if d.Keep {
		d.say("\nkept: %s", d.dir)
	}
	return nil
}

// verdict prints what became of a pushed commit.
func (d *demo) verdict(commit string) error {
	v, ok := d.sup.Run.Verdict(commit)
	if !ok {
		return fmt.Errorf("%.12s has no verdict", commit)
	}
	d.say("=> %s%s: %s", report.Word(v.Status, d.Color), d.mark, report.Line(v.Reason))
	if v.Restore != "" {
		d.say("   %s is restored by %.12s", journal.RunBranch(tag), v.Restore)
	}
	return nil
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

func (d *demo) write(name, data string) error {
	path := filepath.Join(d.path("project"), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(data), 0o644)
}

// git runs a git command of the author's that must succeed.
func (d *demo) git(ctx context.Context, args ...string) error {
	out, err := repo.Person(ctx, d.path("project"), d.env, args...)
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

func (d *demo) title(command string) { fmt.Fprintf(d.Out, "\n$ %s\n", command) }
