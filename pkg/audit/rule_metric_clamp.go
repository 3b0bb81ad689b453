package audit

var ruleClamp = rule{
	class: "metric.clamp",
	about: "A metric that is cut off at a constant shows the constant, not the result.",
	fix:   "report the metric as it is",
	patterns: []pattern{
		{severity: Invalid, unless: harmlessClamp, message: "a metric is cut off at a constant", re: expr(`(?m)(?i)\b(?:min|max|clamp|fmin|fmax|clip|minimum|maximum)\(\s*(?:\w+\.)*\w*(?:score|evaluat|metric|loss|accuracy|reward|bpc|perplexity)\w*\s*(?:\([^()\n]*\))?\s*,\s*-?[\d.]+(?:e-?\d+)?[fFdD]?\s*[,\)]|` +
			`\b(?:min|max|clamp|fmin|fmax|clip)\(\s*-?\d[\d.]*[fFdD]?\s*,\s*(?:\w+\.)*\w*(?:score|evaluat|metric|accuracy|reward|bpc)\w*\s*(?:\([^()\n]*\))?\s*\)`)},
	},
}

// harmlessClamp keeps a metric in its range or away from zero.
var harmlessClamp = expr(`[(,]\s*-?(?:0(?:\.0*)?|1(?:\.0*)?|100(?:\.0*)?|[\d.]+e-\d+)[fFdD]?\s*[,)]`)
