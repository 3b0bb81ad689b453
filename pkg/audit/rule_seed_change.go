package audit

var ruleSeed = rule{
	class: "seed.change",
	about: "A new fixed seed can be the one lucky draw of many. It is evaluated, but a gain must hold on the gate.",
	fix:   "keep the seed, or take it from the harness",
	patterns: []pattern{
		{severity: Review, always: true, message: "a fixed seed is set or changed", re: expr(`(?im)\b\w*(?:seed|random_state)\w*\s*(?::\s*\w+\s*)?[:=]\s*\d+|` +
			`\b(?:manual_seed(?:_all)?|random\.seed|rand\.(?:Seed|NewSource)|s?rand(?:om)?_?seed|srand|seed_all|set_seed|RandomState|default_rng|seed_from_u64|mt19937\w*(?:\s+\w+)?|new Random)\s*[\(\{]\s*\d+`)},
	},
}
