package audit

import (
	"slices"
	"strings"
)

var ruleGitControl = rule{
	class: "path.git-control",
	about: "Files that steer git can hide a diff, rewrite files on checkout, hide files from status, or bring in hooks and other repositories.",
	fix:   "leave git's control files as the baseline has them",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			return "the file steers git", gitControl(c.path)
		})
	},
}

// gitControl finds the files by their folded names, because a file system may
// fold them too.
func gitControl(path string) bool {
	parts := strings.Split(fold(path), "/")
	name := parts[len(parts)-1]
	if slices.Contains([]string{".gitattributes", ".gitignore", ".gitmodules", ".mailmap", ".lfsconfig", ".gitconfig", ".git-blame-ignore-revs"}, name) {
		return true
	}
	first := parts[0]
	return len(parts) > 1 && (first == ".github" || first == ".husky" || first == ".githooks") || name == "lefthook.yml" || name == ".pre-commit-config.yaml"
}
