package audit

var ruleDetectEnv = rule{
	class: "detect.env",
	about: "Behaviour that depends on being tested, or on running in continuous integration, is not what users get.",
	fix:   "behave alike everywhere",
	patterns: []pattern{
		{severity: Invalid, message: "the code asks whether it is being tested", re: expr(`(?m)\bPYTEST_(?:CURRENT_TEST|RUNNING|VERSION|XDIST_\w+)\b|\bGITHUB_ACTIONS\b|\bCONTINUOUS_INTEGRATION\b|` +
			`\bTEAMCITY_VERSION\b|\bTRAVIS\b|\bCIRCLECI\b|\bGITLAB_CI\b|\bJENKINS_URL\b|\bBUILDKITE\b|\bAPPVEYOR\b|` +
			`\bJEST_WORKER_ID\b|\bnpm_lifecycle_event\b|\bVITEST(?:_WORKER_ID|_POOL_ID)?\b|\bCARGO_TARGET_TMPDIR\b|\bNEXTEST\b|["']is-ci["']|` +
			`["']ci-info["']|\btesting\.Testing\(\)|\bflag\.Lookup\(\s*"test\.|` +
			`["'](?:pytest|unittest|_pytest|doctest|nose)["']\s+(?:not\s+)?in\s+sys\.modules|` +
			`sys\.modules\.get\(\s*["'](?:pytest|unittest)|` +
			`(?:getenv|environ(?:\.get)?|process\.env|env::var|env::var_os|Getenv|LookupEnv|System\.getenv|ENV)\s*[\(\[.]\s*["']?CI\b|` +
			`["']CI["']\s+(?:not\s+)?in\s+os\.environ|\bNODE_ENV\b[^\n]{0,20}["']test["']|` +
			`import\.meta\.env\.(?:TEST|VITEST)\b|\bRAILS_ENV\b[^\n]{0,20}test`)},
		{severity: Review, message: "the code may ask whether it is being tested", re: expr(`\bcfg!\(test\)|\bBENCHMARK_MODE\b|\bUNDER_TEST\b|\bIS_(?:TEST|EVAL|BENCHMARK)\b`)},
	},
}
