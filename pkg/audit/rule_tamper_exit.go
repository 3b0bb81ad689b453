package audit

var ruleExit = rule{
	class: "tamper.exit",
	about: "The exit status or the end of the process is what the harness reads. A candidate that pins it passes whatever it computed.",
	fix:   "return an error; leave the end of the process to the caller",
	patterns: []pattern{
		{severity: Invalid, message: "the end of the process is taken over", re: expr(`(?m)\bos\._exit\s*\(|\bprocess\.(?:exit|reallyExit|abort|exitCode\s*=\s*0\s*;?\s*\}\s*,)\s*=[^=>]|` +
			`\bprocess\.(?:exit|reallyExit|abort)\s*=[^=]|defineProperty\(\s*process\s*,\s*["']exitCode|_fatalException|` +
			`\bsys\.exit\s*=[^=]|\bsys\.excepthook\s*=[^=]|\bbuiltins\.exit\s*=[^=]|\bSystem\.setSecurityManager|` +
			`Runtime\.getRuntime\(\)\.halt\(|^(?:void|extern)[^\n]*\b_?exit\s*\(\s*int[^;\n]*\{`)},
		{severity: Invalid, message: "whatever happened, the process ends in success", re: expr(`(?s)process\.on\(\s*["'\x60](?:exit|beforeExit)["'\x60].{0,200}?\bexitCode\s*=\s*0\b|` +
			`\btrap\s+["'][^"'\n]{0,80}\bexit\s+0\b[^"'\n]{0,80}["']\s+(?:EXIT|0|ERR)\b|\bat_exit\s*(?:do|\{).{0,80}?\bexit!?[\s(]*(?:0|true)\b`)},
		{severity: Invalid, message: "a file is written when the process ends, after the measurement", re: expr(`(?m)(?s)(?:\batexit\.register|\batexit\s*\(|addShutdownHook|process\.on\(\s*["'](?:exit|beforeExit)["']|std::at_quick_exit|register_shutdown_function|\bEND\s*\{).{0,300}?(?:ofstream|FileWriter|Files\.write|writeFile|write_text|open\([^)\n]*["'][wa]b?["']|fopen|file_put_contents|fwrite|os\.WriteFile)`)},
	},
}
