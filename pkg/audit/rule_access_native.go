package audit

var ruleNative = rule{
	class: "access.native",
	about: "Native calls from a managed language leave the rules that the language keeps; memory of the caller is within reach.",
	fix:   "use the language; ask for a run that allows native code",
	patterns: []pattern{
		{severity: Review, message: "native code is called", re: expr(`(?m)\bctypes\.(?:CDLL|PyDLL|pythonapi|memmove|memset|cast|string_at|c_void_p|POINTER|addressof|util)|` +
			`\bimport ctypes\b|\bfrom ctypes\b|\bcffi\b|\bcudaMemset\w*\(|\bcudaMalloc\w*\(|\bsun\.misc\.Unsafe\b|` +
			`\bffi\.(?:dlopen|cdef)\b|\bprocess\.binding\(`)},
	},
}
