package audit

var ruleClock = rule{
	class: "tamper.clock",
	about: "The change replaces or intercepts the clock that the measurement reads, so that time stands still.",
	fix:   "leave clocks and synchronisation alone; make the code faster",
	patterns: []pattern{
		{severity: Invalid, message: "a clock is replaced", re: expr(`(?m)\b(?:time|_time|_t)\.(?:perf_counter|monotonic|process_time|thread_time|clock)(?:_ns)?\s*=[^=]|` +
			`\btime\.time(?:_ns)?\s*=[^=]|\btimeit\.\w+\s*=[^=]|torch\.cuda\.(?:synchronize|Event(?:\.\w+)?)\s*=[^=]|` +
			`\bcuda\.Event\.\w+\s*=[^=]|\bDate\.now\s*=[^=>]|` +
			`\bperformance(?:\.now|\.mark|\.measure)?\s*=\s*(?:\(|function|\{|async|\w+\s*=>)|` +
			`\bprocess\.hrtime(?:\.bigint)?\s*=[^=>]|\bDate\s*=\s*(?:class|function)`)},
		{severity: Invalid, message: "a clock is intercepted", re: expr(`(?m)setattr\(\s*[\w.]+\s*,\s*["'](?:time|perf_counter|monotonic|process_time|synchronize|elapsed_time|record)(?:_ns)?["']|` +
			`defineProperty\(\s*(?:performance|Date|process|globalThis)\s*,\s*["'](?:now|hrtime|performance|Date)["']|` +
			`\bpatch(?:\.object)?\(\s*["']time\.|freeze_time\(|` +
			`go:linkname\s+\w+\s+(?:time|runtime)\.(?:now|nanotime|walltime|Now)|` +
			`^(?:extern\s+"C"\s+)?(?:int|clock_t|time_t)\s+(?:clock_gettime|gettimeofday|clock|time)\s*\([^;]*\{`)},
	},
}
