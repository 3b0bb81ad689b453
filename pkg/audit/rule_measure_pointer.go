package audit

var rulePointerKey = rule{
	class: "measure.pointer-key",
	about: "A cache keyed by address returns the answer of an earlier call when the harness reuses its buffer.",
	fix:   "key caches by content",
	patterns: []pattern{
		{severity: Review, message: "an address serves as a key", re: expr(`(?m)\.data_ptr\(\)\s*(?:\]|in\b|,|\))|\[\s*id\(\s*\w+\s*\)\s*\]|\bid\(\s*\w+\s*\)\s+in\s|` +
			`\bSystem\.identityHashCode\b|\breinterpret_cast<\s*(?:std::)?uintptr_t\s*>`)},
	},
}
