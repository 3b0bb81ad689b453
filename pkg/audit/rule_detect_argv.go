package audit

var ruleDetectArgv = rule{
	class: "detect.argv",
	about: "The name of the running program tells the scorer from a user.",
	fix:   "behave alike whoever calls",
	patterns: []pattern{
		{severity: Invalid, message: "the code asks which program runs it", re: expr(`(?m)(?:os\.Args\[0\]|sys\.argv\[0\]|process\.argv\[1\]|\bargv\[0\]|\bargv0\b|current_exe\(\)|env::args\(\)\.(?:next|nth)|os\.Executable\(\)|__main__\.__file__|require\.main\.filename|sun\.java\.command)[^\n]{0,80}(?:\b|_)(?:tests?|bench\w*|scorer?|score\.\w+|evals?|evaluat\w*|grade\w*|judge|harness|pytest)\b|` +
			`\b(?:tests?|bench\w*|scorer?|score\.\w+|evals?|evaluat\w*|grade\w*|judge|harness|pytest)(?:\.\w+)?["'][^\n]{0,40}(?:\bin\b|==)\s*(?:sys\.argv\[0\]|os\.path\.basename\(\s*sys\.argv\[0\]|process\.argv\[1\]|os\.Args\[0\])`)},
	},
}
