package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

// Where things stand inside the sandbox.
const (
	armDir      = "/arm"
	cacheDir    = "/cache"
	inputsDir   = "/inputs"
	outputsDir  = "/outputs"
	answersDir  = "/answers"
	harnessDir  = "/harness"
	launchesDoc = "/launches.json"
)

// arm is an Arm that was built.
type arm struct {
	Arm
	tree   *watch // nil where only its outputs are at hand
	built  state  // what the build left in the generated paths
	failed bool
}

// state maps a generated path to the folder that it starts from; a path that
// starts empty is absent.
type state map[string]*watch

// watches is everything of the arm that must stay as it is.
func (a *arm) watches() []*watch {
	var out []*watch
	if a.tree != nil {
		out = append(out, a.tree)
	}
	return slices.AppendSeq(out, maps.Values(a.built))
}

// build builds an arm. Where that fails the arm has its measurement already.
func (p *pass) build(ctx context.Context, spec Arm) (*arm, error) {
	a := &arm{Arm: spec, tree: expect("arm "+string(spec.Name), spec.Dir, spec.Snapshot), built: state{}}
	if p.broken() {
		return a, nil
	}
	fail, err := p.inTheWay(a), error(nil)
	if fail == nil && p.job.Contract.Candidate.Build != nil {
		fail, err = p.launchBuild(ctx, a)
	}
	if fail != nil {
		p.conclude(a, ledger.Measurement{Arm: a.Name, Commit: a.Commit, Failure: fail})
	}
	return a, err
}

// inTheWay says where a commit has a file in the place of a generated folder.
func (p *pass) inTheWay(a *arm) *ledger.Failure {
	for _, g := range p.job.Contract.Scope.Generated {
		at := ""
		for name := range strings.SplitSeq(g.Path, "/") {
			at = path.Join(at, name)
			info, err := os.Lstat(filepath.Join(a.Dir, filepath.FromSlash(at)))
			if err == nil && !info.IsDir() {
				return p.failure(ledger.Crash, "build", fmt.Sprintf("generated path %s: %q is a file in this commit", g.Path, at))
			}
		}
	}
	return nil
}

// buildPids is the least number of tasks that a build may have: a compiler
// starts threads for every core, and the contract's number is the candidate's.
const buildPids = 512

// How many files the build cache and a generated path may hold, what they
// start from included. Generated paths are collected, at a cost for each file.
const (
	cacheInodes     = 1 << 18
	generatedInodes = 1 << 16
)

func (p *pass) launchBuild(ctx context.Context, a *arm) (*ledger.Failure, error) {
	b := p.job.Contract.Candidate.Build
	layers, err := p.layers(a, a.built, b.Temporary, true)
	if err != nil {
		return nil, err
	}
	cache, filled, err := p.cacheLayer(b.Temporary)
	if err != nil {
		return nil, err
	}
	l := p.armLaunch(a, ledger.Build, b.Run)
	l.spec.Scratch = append(layers.scratch, cache)
	l.spec.Env = environment(p.job.Contract.Contract, map[string]string{
		"HOME": cacheDir, "XDG_CACHE_HOME": cacheDir, "GOCACHE": cacheDir + "/go-build", "GOTOOLCHAIN": "local",
	}, nil)
	// A tmpfs counts as memory, so what the build may write comes on top.
	limits := &l.spec.Limits
	limits.Wall, limits.Temporary = b.Timeout, b.Temporary
	if limits.Memory > 0 {
		limits.Memory += int64(1+len(l.spec.Scratch)) * b.Temporary
	}
	limits.Pids = max(limits.Pids, buildPids)
	l.settle = func(sandbox.Result) (notes []string, err error) {
		a.built, err = layers.settle(a, a.built)
		return nil, err
	}
	res, fail, err := p.launch(ctx, a, l)
	if fail == nil && err == nil {
		fail = p.judge("build", res)
	}
	return fail, errors.Join(err, p.keepCache(filled, fail == nil && err == nil))
}

// keepCache puts a filled cache in its place, or throws it away.
func (p *pass) keepCache(filled string, keep bool) error {
	if filled == "" {
		return nil
	}
	if !keep {
		return os.RemoveAll(filled)
	}
	if err := os.Remove(p.job.Cache); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(filled, p.job.Cache)
}

// cacheLayer is the build cache: the warm one below, all that is written
// thrown away. A baseline that finds it empty collects it beside its place,
// where filled says, so that it comes into being whole or not at all.
func (p *pass) cacheLayer(bytes int64) (layer sandbox.Scratch, filled string, err error) {
	layer = sandbox.Scratch{Target: cacheDir, Bytes: bytes, Inodes: cacheInodes, Partial: true}
	if p.job.Cache == "" {
		return layer, "", nil
	}
	entries, err := os.ReadDir(p.job.Cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return layer, "", err
	}
	switch {
	case len(entries) > 0:
		layer.Lower = p.job.Cache
	case p.job.FillCache:
		filled = filepath.Join(filepath.Dir(p.job.Cache), opaqueName())
		layer.Collect = filled
		err = os.Mkdir(filled, 0o755)
	}
	return layer, filled, err
}

// layers is the generated paths of one launch: what is mounted, and what
// becomes of it.
type layers struct {
	scratch []sandbox.Scratch
	after   map[string]string // generated path -> folder that collects it
}

// layers mounts the generated paths on what they start from. A build keeps what
// it leaves in all of them but snapshots, a launch in those to isolate.
func (p *pass) layers(a *arm, from state, bytes int64, build bool) (*layers, error) {
	l := &layers{after: map[string]string{}}
	for _, g := range p.job.Contract.Scope.Generated {
		s := sandbox.Scratch{Target: path.Join(armDir, g.Path), Bytes: bytes, Inodes: generatedInodes, Partial: true}
		if w := from[g.Path]; w != nil {
			s.Lower = w.dir
		}
		if g.Policy == contract.GeneratedSnapshot {
			lower, err := p.frozenFolder(a, g)
			if err != nil {
				return nil, err
			}
			s.Lower = lower
		} else if build || g.Policy == contract.GeneratedIsolate {
			dir, err := p.shop.folder()
			if err != nil {
				return nil, err
			}
			s.Collect, l.after[g.Path] = dir, dir
		}
		l.scratch = append(l.scratch, s)
	}
	return l, nil
}

// settle is the state after a launch that started from before.
func (l *layers) settle(a *arm, before state) (state, error) {
	now := maps.Clone(before)
	for generated, dir := range l.after {
		w, err := newWatch(fmt.Sprintf("generated state %s of arm %s", generated, a.Name), dir)
		if err != nil {
			return nil, err
		}
		now[generated] = w
	}
	return now, nil
}

// frozenFolder finds where a snapshot starts from: in the harness, or among
// the arm's readable files.
func (p *pass) frozenFolder(a *arm, g contract.Generated) (string, error) {
	for _, root := range []string{p.job.Harness, a.Dir} {
		dir := filepath.Join(root, filepath.FromSlash(g.From))
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return "", err
		}
	}
	return "", fmt.Errorf("generated path %s: its snapshot %s is no frozen folder", g.Path, g.From)
}
