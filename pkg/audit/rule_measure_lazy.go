package audit

var ruleLazy = rule{
	class: "measure.lazy",
	about: "A value that is computed when it is looked at is computed after the measurement.",
	fix:   "compute the value before returning it",
	patterns: []pattern{
		{severity: Review, message: "a lazy value stands in for the result", re: expr(`(?m)\b_make_(?:wrapper_)?subclass\b|\b__torch_(?:function|dispatch)__\b|\btorch\.Tensor\.__new__|` +
			`\(torch\.Tensor\)\s*:|class\s+\w+\(\s*(?:np|numpy)\.ndarray\s*\)`)},
	},
}
