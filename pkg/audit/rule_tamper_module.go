package audit

var ruleModule = rule{
	class: "tamper.module",
	about: "The change puts its own module in the place of one that others load.",
	fix:   "import modules by their own names and leave them as they are",
	patterns: []pattern{
		{severity: Invalid, message: "a module is replaced in the loader", re: expr(`(?m)\bsys\.modules\s*\[[^\]\n]+\]\s*=[^=]|\bsys\.modules\.(?:update|setdefault|__setitem__)\(|\brequire\.cache\b|` +
			`\bModule\._(?:load|resolveFilename|extensions)\b|\bsys\.(?:meta_path|path_hooks)\.(?:insert|append)|` +
			`\bopen\(\s*["'](?:torch|numpy|pytest|time|random|json)\.py["']\s*,\s*["']w|\bimport_hook\b`)},
	},
}
