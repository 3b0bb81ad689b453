package audit

import (
	"slices"
	"strings"
)

var ruleRunnerPlugin = rule{
	class: "path.runner-plugin",
	about: "Some names are loaded by interpreters, build tools and test runners unasked. Code there runs inside the measurement.",
	fix:   "delete the file; the evaluator's configuration is not the candidate's",
	tree: func(t *tree) []Finding {
		const message = "interpreters or test runners load this file unasked"
		own := func(c change) bool { return !c.isNew() && buildFile(c.path) }
		built := t.each(func(c change) (string, bool) {
			return message, !c.isGone() && own(c) && !t.a.byName(c.path)
		})
		for i := range built {
			built[i].Severity = Review
		}
		return append(built, t.each(func(c change) (string, bool) {
			return message, !c.isGone() && !own(c) && runnerPlugin(c.path) && !t.a.byName(c.path)
		})...)
	},
	patterns: []pattern{{severity: Invalid, re: expr(`(?m)^func TestMain\(\w+ \*testing\.M\)`), message: "a TestMain takes over the test runner"}},
}

// buildFile says that a file tells how its folder is built: where the contract
// lets such a file be changed that the baseline has, it may be part of the work.
func buildFile(path string) bool {
	return slices.Contains([]string{"makefile", "gnumakefile", "rakefile", "build.rs"}, strings.ToLower(base(path)))
}

func runnerPlugin(path string) bool {
	path = strings.ToLower(path)
	switch name := base(path); name {
	case "conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", "tox.ini", "setup.cfg", ".coveragerc", "noxfile.py", "pythonstartup.py", ".pythonrc",
		"makefile", "gnumakefile", "build.rs", ".npmrc", ".yarnrc", ".yarnrc.yml", ".babelrc", "phpunit.xml", "phpunit.xml.dist", ".rspec", "rakefile", ".envrc", ".env",
		"babel.config.js", "karma.conf.js", "ava.config.js", ".swcrc", "bunfig.toml":
		return true
	default:
		for _, tool := range []string{"jest.config.", "jest.setup.", "vitest.config.", "vite.config.", ".mocharc", "playwright.config.", "cypress.config."} {
			if strings.HasPrefix(name, tool) {
				return true
			}
		}
		return strings.HasSuffix(name, ".pth") || strings.HasSuffix(path, ".cargo/config.toml") || strings.HasSuffix(path, ".cargo/config") || strings.HasSuffix(path, "vendor/modules.txt")
	}
}
