package audit

import "strings"

var ruleGenerated = rule{
	class: "path.generated",
	about: "Build products carry logic that no diff shows. They are made again in the sandbox; a committed one is either useless or in place of the source.",
	fix:   "delete the build product and commit its source",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "a generated file is committed", !c.isGone() && (generatedName(c.path) || t.a.in.Scope.Generated(c.path))
		})
	},
}

func generatedName(path string) bool {
	path = fold(path)
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "__pycache__", "node_modules", ".pytest_cache", ".mypy_cache", ".tox", ".venv", ".eggs", ".gradle", ".next":
			return true
		}
		if strings.HasSuffix(part, ".egg-info") || strings.HasSuffix(part, ".dist-info") {
			return true
		}
	}
	for _, end := range []string{".pyc", ".pyo", ".pyd", ".so", ".o", ".a", ".obj", ".dll", ".dylib", ".exe", ".class", ".jar", ".wasm", ".whl", ".egg", ".rlib", ".gch", ".node"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return strings.Contains(path, ".so.")
}
