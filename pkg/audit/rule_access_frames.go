package audit

var ruleFrames = rule{
	class: "access.frames",
	about: "Walking the stack or the heap reaches the caller: the grader, its inputs and its answers.",
	fix:   "take everything that is needed as an argument",
	patterns: []pattern{
		{severity: Invalid, message: "the caller is inspected", re: expr(`(?m)\bsys\._getframe\b|\bsys\._current_frames\b|` +
			`\binspect\.(?:currentframe|stack|getouterframes|getinnerframes|trace)\b|\.f_(?:back|locals|globals)\b|` +
			`\btb_frame\b|\bgc\.get_(?:objects|referrers|referents)\b|\bStackWalker\b|currentThread\(\)\.getStackTrace|` +
			`new (?:Error|Throwable)\(\)\.(?:stack|getStackTrace)|\bError\.prepareStackTrace\b|` +
			`\barguments\.callee\.caller`)},
		// Loggers and error types do this honestly.
		{severity: Review, message: "the caller is inspected", re: expr(`\bruntime\.(?:Callers?|CallersFrames)\(|\bError\.captureStackTrace\(`)},
	},
}
