package audit

var ruleDynamic = rule{
	class: "dynamic.code",
	about: "Code that is made at run time, or comes out of an encoded blob, cannot be audited before.",
	fix:   "write the code out; keep data in plain text",
	patterns: []pattern{
		{severity: Review, message: "code or data is made at run time", re: expr(`(?m)(?:^|[^.\w])(?:exec|eval)\s*\(|\bmarshal\.loads|\bnew Function\(|\bvm\.runIn\w+\(|\b__import__\(|` +
			`\bimportlib\.(?:import_module|util)|\bzlib\.decompress|\blzma\.decompress|\bpickle\.loads?\(|` +
			`\bcodecs\.decode\(|\bcompile\([^)\n]*["']exec["']\)|\bdlopen\(|\bplugin\.Open\(|\bdefineClass\(|` +
			`\bClass\.forName\(`)},
	},
}
