package audit

var ruleHistory = rule{
	class: "access.git-history",
	about: "The history of the repository holds answers, harness and earlier attempts.",
	fix:   "work on the inputs that are given",
	patterns: []pattern{
		{severity: Invalid, message: "the history of the repository is read", re: expr(`(?m)\bgit["',\s]+(?:-C\s+\S+\s+)?(?:log|show|for-each-ref|cat-file|rev-list|reflog|stash|fetch|checkout|ls-tree|unpack-objects)\b|` +
			`\.git/(?:objects|refs|logs|packed-refs|HEAD|index)|\bpygit2\b|\bimport git\b|github\.com/go-git/go-git|\bgit\.Repo\(|\bgit2::`)},
	},
}
