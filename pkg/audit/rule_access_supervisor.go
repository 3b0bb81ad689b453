package audit

var ruleSupervisor = rule{
	class: "access.supervisor",
	about: "The change names what belongs to the supervisor: its records, the runner's files and tokens, the judge's results.",
	fix:   "leave the supervisor's files and variables alone",
	patterns: []pattern{
		{severity: Invalid, message: "something of the supervisor is named", prose: true, re: expr(`(?m)\.research-loop\b|\bRESEARCH_LOOP_(?:ANSWERS|LAUNCHES|JUDGE|DEPLOY_KEY)\b|` +
			`\bGITHUB_(?:TOKEN|STEP_SUMMARY|OUTPUT|ENV|PATH|STATE|EVENT_PATH|WORKSPACE)\b|` +
			`\bACTIONS_(?:RUNTIME_TOKEN|RUNTIME_URL|CACHE_URL|ID_TOKEN_REQUEST_TOKEN)\b|\bRUNNER_(?:TEMP|TOOL_CACHE)\b|` +
			`\beval_results?\.(?:json|txt|csv)\b|\bdisplay_(?:runtime|memory)\.txt`)},
	},
}
