package audit

var ruleProcess = rule{
	class: "access.process",
	about: "The change looks into processes, descriptors or memory that are not its own business: there the measurement lives.",
	fix:   "work on the inputs that are given",
	patterns: []pattern{
		{severity: Invalid, message: "another process or its memory is looked into", re: expr(`(?m)/proc/(?:self|\d+|%[ds]|\$|\{|\*|\?|\[)[^"'\s]*/?(?:mem|maps|fd|environ|cmdline|root|cwd)\b|` +
			`\bptrace\b|\bmprotect\b|\bLD_PRELOAD\b|\bLD_LIBRARY_PATH\b|\bDYLD_INSERT_LIBRARIES\b|` +
			`\bprocess_vm_(?:read|write)v\b|\bdl_iterate_phdr\b|\bdlsym\(\s*RTLD_NEXT|` +
			`\bPR_SET_\w+`)},
		// C asks files for their size like this; only a pipe to the harness is odd.
		{severity: Review, message: "a descriptor is asked whether it is a pipe", re: expr(`\bS_ISFIFO\b|\bis_fifo\(`)},
	},
}
