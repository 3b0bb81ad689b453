package audit

var rulePersist = rule{
	class: "state.persist",
	about: "State that outlives the process makes later measurements warm.",
	fix:   "keep state in the process, or ask for a run that declares it",
	patterns: []pattern{
		{severity: Review, message: "state is kept outside the process", re: expr(`(?m)\btempfile\.(?:gettempdir|mkdtemp|mkstemp|NamedTemporaryFile|TemporaryFile)\b|expanduser\(\s*["']~|` +
			`\bPath\.home\(\)|\bos\.(?:UserCacheDir|UserHomeDir|TempDir|MkdirTemp|CreateTemp)\b|\bshelve\.|\bdiskcache\b|` +
			`\bjoblib\.Memory|\bsqlite3\.connect|\bos\.tmpdir\(\)|\bos\.homedir\(\)|\benv::temp_dir\(\)|` +
			"\\bjava\\.io\\.tmpdir\\b|\\bFiles\\.createTemp\\w+\\(|[\"'`]/(?:tmp|var/tmp|dev/shm)\\b|\\blocalStorage\\b|\\bshm_open\\(|" +
			`\bSharedMemory\(|\bmultiprocessing\.shared_memory\b|` +
			`["']\.?\w*cache\w*\.(?:json|pkl|pickle|db|sqlite|txt|bin|npy)["']`)},
	},
}
