package audit

var ruleAdmission = rule{
	class: "review.admission",
	about: "A comment or a name says that the code was written for the tests.",
	fix:   "make the code general, or take the remark back",
	patterns: []pattern{
		{severity: Review, message: "the text says that it is made for the tests", comments: true, re: expr(`(?m)(?i)(?:hard.?cod\w*|special.?cas\w*|tailor\w*|cheat\w*|\bhack\w*|workaround|overfit\w*|memori[sz]e\w*)[^\n]{0,60}\b(?:tests?|cases?|eval\w*|benchmark\w*|judge|grader|scorer|assert\w*|fixture\w*|leaderboard)\b|` +
			`\b(?:to|for|so that it|just) (?:pass|satisfy|match|please|fool)\w* (?:the )?(?:given |provided |failing |visible |hidden |dev(?:elopment)? )*(?:tests?|cases?|assert\w*|examples?|eval\w*|grader|scorer|judge|benchmark)\b|` +
			`\b(?:failing|provided|known|visible|hidden) tests?\b[^\n]{0,30}\b(?:expects?|wants?|only|case)|` +
			`\b(?:test|dev|eval) (?:cases?|set) (?:only|expects?|wants?)\b|` +
			`\bonly the (?:test|dev|eval\w*|benchmark) (?:set|cases?|inputs?)\b`)},
	},
}
