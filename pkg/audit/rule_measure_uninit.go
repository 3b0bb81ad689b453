package audit

var ruleUninit = rule{
	class: "measure.uninit",
	about: "Memory that was never written may still hold the right answer of an earlier call.",
	fix:   "write every element that is returned",
	patterns: []pattern{
		{severity: Review, message: "memory is returned that may not be written", re: expr(`(?m)\btorch(?:::|\.)empty(?:_like)?\(|\bnp\.empty(?:_like)?\(|\bnumpy\.empty(?:_like)?\(|\bMaybeUninit\b|` +
			`\bset_len\(|\bmem::uninitialized\(|\bmake_unique_for_overwrite\b|\bUninitializedArray\b`)},
	},
}
