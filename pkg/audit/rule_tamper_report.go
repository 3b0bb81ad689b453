package audit

var ruleReport = rule{
	class: "tamper.report",
	about: "The change reaches into the test runner or its assertions, so that failures are reported as passes.",
	fix:   "leave test runners and assertions alone",
	patterns: []pattern{
		{severity: Invalid, message: "the test runner is taken over", re: expr(`(?m)pytest_(?:runtest_(?:makereport|logreport|protocol)|sessionfinish|collection_modifyitems|pyfunc_call|exception_interact)\b|` +
			`\.outcome\s*(?:,[^=\n]*)?=\s*["']passed|\bSTATUS_PASSED\b|\bAssertion\.prototype\b|` +
			`registerMock\(\s*["'](?:assert|chai)|` +
			`\bbuiltins\.(?:AssertionError|assert|print|open|sum|len|min|max|abs|round|sorted|isinstance|__import__)\s*=[^=]|` +
			`\bunittest\.(?:TestCase|TestResult|mock)\.\w+\s*=[^=]|\bexpect\.extend\(|` +
			`\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual|ok)\s*=[^=>]|\bsys\.settrace\(|\bsys\.setprofile\(|` +
			`\bsys\.exitfunc\b|addTestResultListener`)},
		{severity: Review, message: "the output of the process is taken over", re: expr(`\bconsole\.log\s*=[^=>]|\bprocess\.stdout\.write\s*=[^=>]|\bsys\.(?:stdout|stderr)\s*=[^=]`)},
	},
}
