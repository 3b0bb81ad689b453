package audit

var ruleStream = rule{
	class: "measure.stream",
	about: "Work on another stream or thread can go on after the clock has stopped.",
	fix:   "finish the work before returning",
	patterns: []pattern{
		{severity: Review, message: "work is moved to another stream or thread", re: expr(`(?m)\btorch\.cuda\.[Ss]tream\b|\bcudaStream(?:Create|NonBlocking)\w*|\bwait_stream\b|\brecord_stream\b|` +
			`\bcp\.cuda\.Stream\b|\bdaemon\s*=\s*True`)},
	},
}
