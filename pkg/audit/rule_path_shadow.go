package audit

import (
	"strings"
)

var ruleModuleShadow = rule{
	class: "path.module-shadow",
	about: "A new module named like one that the scorer imports is found first and runs in its place.",
	fix:   "rename the module",
	tree: func(t *tree) []Finding {
		var harness map[string]bool
		return t.each(func(c change) (string, bool) {
			name, ok := t.newModule(c)
			if !ok {
				return "", false
			}
			if harness == nil {
				harness = t.a.harnessImports()
			}
			return "a new module takes the name of " + name + ", which others import", pythonModules[name] || harness[name]
		})
	},
}

// newModule names the top-level Python or Node module that a new file makes.
// Modules of a package that the baseline has are reached by its name only.
func (t *tree) newModule(c change) (string, bool) {
	if !c.isNew() || !strings.HasSuffix(c.path, ".py") && !strings.HasSuffix(c.path, ".so") {
		return "", false
	}
	dir, name := folder(c.path), strings.TrimSuffix(base(c.path), ".py")
	if name == "__init__" {
		name = base(strings.TrimSuffix(dir, "/"))
		dir = folder(strings.TrimSuffix(dir, "/"))
	}
	for _, e := range t.a.in.Baseline {
		if e.Path == dir+"__init__.py" {
			return "", false
		}
	}
	return name, name != ""
}

var importLine = expr(`(?m)^\s*(?:import|from)\s+([A-Za-z_]\w*)`)

// harnessImports are the modules that frozen Python files of the baseline
// import, without those of the baseline itself.
func (a *audit) harnessImports() map[string]bool {
	names := map[string]bool{}
	for _, e := range a.in.Baseline {
		if !strings.HasSuffix(e.Path, ".py") || !a.in.Scope.Frozen(e.Path) {
			continue
		}
		for _, m := range importLine.FindAllStringSubmatch(a.blob(e.ID).text, -1) {
			names[m[1]] = true
		}
	}
	return names
}

// pythonModules are the modules that scorers and runners import most.
var pythonModules = set(`abc argparse array ast asyncio atexit base64 bisect builtins calendar cmath codecs collections
	concurrent contextlib copy csv ctypes dataclasses datetime decimal difflib dis enum fnmatch fractions functools gc glob
	gzip hashlib heapq hmac html http importlib inspect io itertools json linecache logging lzma marshal math multiprocessing
	numbers operator os pathlib pickle platform pprint queue random re resource secrets select shutil signal site socket
	sqlite3 ssl stat statistics string struct subprocess sys tempfile textwrap threading time timeit tokenize traceback types
	typing unicodedata unittest urllib uuid warnings weakref xml zipfile zlib
	numpy pandas pytest scipy sklearn torch tensorflow jax requests yaml tqdm matplotlib hypothesis pluggy attr setuptools pip wheel`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
