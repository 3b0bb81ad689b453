package audit

import "fmt"

var ruleShape = rule{
	class: "history.shape",
	about: "A candidate is the tip of at most 20 commits without merges, each the only child of the one before, the first on the run's recorded tip. Anything else can carry content past the audit.",
	fix:   "rebase the work onto the recorded tip as a straight line of at most 20 commits",
}

// checkShape finds what is wrong with the chain of commits.
func checkShape(in Input) []Finding {
	var found []Finding
	bad := func(id, format string, args ...any) {
		found = append(found, Finding{Severity: Invalid, Commit: id, Message: fmt.Sprintf(format, args...)})
	}
	if n := len(in.Commits); n > maxCommits {
		bad(in.Commits[n-1].ID, "%d commits are pushed at once, at most %d are one candidate", n, maxCommits)
	}
	parent := in.Recorded
	for _, c := range in.Commits {
		switch {
		case len(c.Parents) == 0:
			bad(c.ID, "the commit is a root: it stands on nothing")
		case len(c.Parents) > 1:
			bad(c.ID, "the commit is a merge of %d parents", len(c.Parents))
		case parent != "" && c.Parents[0] != parent:
			bad(c.ID, "the commit stands on %s, not on %s", short(c.Parents[0]), short(parent))
		}
		parent = c.ID
	}
	return ruleShape.name(found)
}
