package audit

var ruleEquality = rule{
	class: "tamper.equality",
	about: "An object that is equal to everything passes every comparison that a scorer makes.",
	fix:   "compare what the values hold",
	patterns: []pattern{
		{severity: Invalid, message: "an object is made equal to everything", re: expr(`(?m)def __(?:eq|le|ge|lt|gt|contains|bool)__\(\s*self[^)]*\)(?:\s*->\s*[\w.]+)?:\s*(?:(?:"""[^"]*"""|'[^'\n]*'|"[^"\n]*")\s*)?return True\b|` +
			`def __ne__\(\s*self[^)]*\)(?:\s*->\s*[\w.]+)?:\s*return False\b|__eq__\s*=\s*lambda[^:\n]*:\s*True\b`)},
		{severity: Review, message: "objects of a type are all made equal", re: expr(`(?m)operator\s*==\s*\([^)]*\)[^{;]*\{\s*return\s+(?:true|1)\s*;|` +
			`boolean\s+equals\(\s*(?:final\s+)?Object\s+\w+\s*\)\s*\{\s*return\s+true|` +
			`fn\s+eq\(&self,[^)]*\)\s*->\s*bool\s*\{\s*true|` +
			`bool\s+Equals\(\s*object\??\s+\w+\s*\)\s*(?:=>\s*true|\{\s*return\s+true)|` +
			`func\s+==\s*\([^)]*\)\s*->\s*Bool\s*\{\s*(?:return\s+)?true`)},
	},
}
