package audit

import "strings"

var ruleDependency = rule{
	class: "path.dependency",
	about: "A manifest or lock file decides which foreign code runs. It changes the machine that measures, not the idea that is measured.",
	fix:   "leave the manifest alone, or ask for a run whose contract lists it by name as writable",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "a dependency manifest or lock file changes", manifests[strings.ToLower(base(c.path))] && !t.a.byName(c.path)
		})
	},
}

// manifests by lower-case name.
var manifests = map[string]bool{
	"go.mod": true, "go.sum": true, "go.work": true, "go.work.sum": true,
	"package.json": true, "package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true, "pnpm-lock.yaml": true, "bun.lockb": true, "deno.json": true, "deno.lock": true,
	"cargo.toml": true, "cargo.lock": true, "rust-toolchain": true, "rust-toolchain.toml": true,
	"pyproject.toml": true, "requirements.txt": true, "setup.py": true, "pipfile": true, "pipfile.lock": true, "poetry.lock": true, "uv.lock": true, "environment.yml": true,
	"pom.xml": true, "build.gradle": true, "build.gradle.kts": true, "settings.gradle": true, "gradle.lockfile": true,
	"gemfile": true, "gemfile.lock": true, "composer.json": true, "composer.lock": true, "mix.exs": true, "mix.lock": true,
	"conanfile.txt": true, "conanfile.py": true, "vcpkg.json": true, "package.swift": true, "package.resolved": true,
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// byName says that the contract lists a path itself and not only what lies
// below a folder: a neighbour that nobody would name is not writable.
func (a *audit) byName(path string) bool {
	return a.in.Scope.Writable(path) && !a.in.Scope.Writable(folder(path)+"~no~such~neighbour~")
}
