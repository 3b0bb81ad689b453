package audit

var ruleDetectSeed = rule{
	class: "detect.seed",
	about: "A comparison with one seed recognises the measured run.",
	fix:   "treat all seeds alike",
	patterns: []pattern{
		{severity: Invalid, sums: true, need: "seed", message: "the code compares with a seed", re: expr(`(?m)(?i)\b\w*seed\w*(?:\(\))?\s*(?:===?|!==?|\bin\b|\bnot in\b)\s*[\(\[\{]?\s*\d+|\b\d+\s*===?\s*\w*seed\w*|` +
			`\b\w*seed\w*\s*\.(?:equals|contains)\(\s*\d+|\[[\d,\s]+\]\.(?:includes|contains)\(\s*&?\w*seed|` +
			`\bcontains\(&\s*\w*seed`)},
	},
}
