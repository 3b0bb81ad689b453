package contract

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edited returns the draft spelling.yml with old replaced by new.
func edited(t testing.TB, old, new string) string {
	t.Helper()
	base := string(read(t, "spelling.yml"))
	if strings.Count(base, old) != 1 {
		t.Fatalf("%q stands %d times in spelling.yml", old, strings.Count(base, old))
	}
	return strings.Replace(base, old, new, 1)
}

func mustParse(t testing.TB, draft string) *Contract {
	t.Helper()
	c, err := Parse("contract.yml", []byte(draft))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// faultsOf returns "line:column path: message" of every fault of a draft.
func faultsOf(t testing.TB, draft string) []string {
	t.Helper()
	c, err := Parse("contract.yml", []byte(draft))
	if err == nil {
		return nil
	}
	var faults *Faults
	if !errors.As(err, &faults) || c != nil || len(faults.List) == 0 {
		t.Fatalf("Parse = %v, %T %v", c, err, err)
	}
	return linesOf(faults)
}

func linesOf(faults *Faults) []string {
	var out []string
	head := regexp.MustCompile(`(?m)^contract\.(?:yml|md):(.*)$`)
	for _, m := range head.FindAllStringSubmatch(faults.Error(), -1) {
		out = append(out, strings.Replace(m[1], ": ", " ", 1))
	}
	return out
}

func bound(v float64) *float64 { return &v }

func TestParseAccepts(t *testing.T) {
	got := mustParse(t, string(read(t, "spelling.yml")))
	want := &Contract{
		Goal: "Correct more misspelt English words.", Population: "Single lower-case words as English writers misspell them.",
		Specification: "docs/spelling.md", Baseline: "HEAD",
		Harness: Harness{Paths: []string{"evaluation/**"}, Source: "user"},
		Scope: Scope{Writable: []string{"corrector/**"}, Readable: []string{"data/words.tsv", "go.mod"},
			Generated: []Generated{{"build", GeneratedIsolate, ""}, {"cache", GeneratedSnapshot, "evaluation/cache"}}},
		Candidate: Candidate{Mode: ModeBatch, Build: &Build{"go build -o build/corrector ./corrector", 5 * time.Minute, 1 << 30},
			Run: "build/corrector data/words.tsv", Directory: ".", Toolchains: []string{"/usr/local/go"}},
		Evaluation: Evaluation{Score: "python3 evaluation/score.py", Timeout: time.Minute, Total: 10 * time.Minute,
			Resources: Resources{512 << 20, 64, 1, 16 << 20, 64 << 20}, Environment: map[string]string{"LANG": "C.UTF-8"}, Requires: []string{"go", "python3"}},
		Splits: Splits{Development: "evaluation/development"}, Metric: Metric{"accuracy", Higher},
		Secondary: []Metric{{CPUSeconds, Lower}}, Constraints: []Constraint{{Metric: PeakMemoryBytes, AtMost: bound(268435456)}},
		Counterexamples: "evaluation/counterexamples",
		Acceptance:      Acceptance{Deterministic, 0.004, []string{CodeLines}},
		Limits:          Limits{Attempts: 200, Wall: 24 * time.Hour, Target: &Target{0.8, "development"}, SetupRetries: 3},
		Shards:          1, Redact: []Redaction{{regexp.MustCompile("sk-[a-z0-9]+")}}, Exceptions: []string{NoGate},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseDefaults(t *testing.T) {
	c := mustParse(t, string(read(t, "least.yml")))
	if c.Baseline != "HEAD" || c.Harness.Source != "user" || c.Candidate.Directory != "." || c.Candidate.Build != nil ||
		c.Evaluation.Resources != (Resources{512 << 20, 64, 1, 16 << 20, 64 << 20}) || c.Evaluation.Environment == nil ||
		c.Shards != 1 || c.Limits.SetupRetries != 3 || !c.Limits.OpenEnded || c.Limits.Target != nil {
		t.Errorf("defaults: %+v", c)
	}
	if re := c.Evaluation.Extract.Regex; re == nil || re.String() != `^steps: ([0-9]+)$` {
		t.Errorf("regex = %v", re)
	}
}

// TestParseAcceptsForms holds what a strict reader may still be asked to read.
func TestParseAcceptsForms(t *testing.T) {
	for _, edit := range [][2]string{
		{"goal: Correct more misspelt English words.", "\"goal\": 'Correct: more'"},
		{"goal: Correct more misspelt English words.", "goal: >\n  Correct more\n  misspelt words.\n"},
		{"goal: Correct more misspelt English words.", "goal: |\n  Correct.\n\n  And \"more\".\n"},
		{"goal: Correct more misspelt English words.", "goal: Größer, 更好, أفضل, 🙂"},
		{"goal: Correct more misspelt English words.", "goal: yes"},
		{"baseline: HEAD", "baseline: '0123456789012345678901234567890123456789'"},
		{"memory: 512MiB", "memory: 536870912"},
		{"memory: 512MiB", "memory: \"512MiB\""},
		{"min_delta: 0.004", "min_delta: 4e-3"},
		{"cpus: 1", "cpus: 1.5"},
		{"timeout: 60s", "timeout: 1500ms"},
		{"writable: [corrector/**]", "writable: ['corrector/[a-c]?/{x,y}*.go', corrector/sub/, main.go]"},
		{"exceptions: [no-gate]", "exceptions: [best-effort-limits, no-gate]"},
		{"environment: {LANG: C.UTF-8}", "environment: {PYTHONHASHSEED: '0', EMPTY: ''}"},
		{"peak_memory_bytes, at_most: 268435456}", "accuracy, at_least: -0.5}, {metric: accuracy, at_most: 1}"},
		{"redact: [", "redact: [{pattern: '(a|b)+?'}, "},
		{"# The contract", "---\n# The contract"},
	} {
		if faults := faultsOf(t, edited(t, edit[0], edit[1])); faults != nil {
			t.Errorf("%q: %q", edit[1], faults)
		}
	}
}

// refusals are edits of spelling.yml and what Parse then says.
var refusals = []struct {
	old, new string
	want     []string
}{
	// YAML itself
	{"baseline: HEAD", "baseline: [HEAD", []string{`6:1 $: not YAML: did not find expected ',' or ']'`}},
	{"baseline: HEAD", "baseline: &a HEAD", []string{`6:11 $.baseline: anchors and aliases are not allowed`}},
	{"baseline: HEAD", "baseline: *a", []string{`6:11 $: anchors and aliases are not allowed`}},
	{"baseline: HEAD", "baseline: !!str HEAD", []string{`6:11 $.baseline: the tag "!!str" is not allowed`}},
	{"baseline: HEAD", "baseline: !x HEAD", []string{`6:11 $.baseline: the tag "!x" is not allowed`}},
	{"baseline: HEAD", "<<: {baseline: HEAD}", []string{`6:1 $."<<": merge keys are not allowed`, `6:1 $: unknown key "<<"`}},
	{"baseline: HEAD", "baseline: HEAD\nbaseline: HEAD", []string{`7:1 $: "baseline" is set twice, first on line 6`}},
	{"baseline: HEAD", "? [a]\n: b", []string{`6:3 $: a key must be text, got a list`}},
	{"exceptions: [no-gate]", "exceptions: [no-gate]\n---\ngoal: x", []string{`42:1 $: a second document begins here, only one is allowed`}},
	{"exceptions: [no-gate]", "exceptions: [no-gate]\n...\ngoal: x", []string{`43:1 $: not YAML: the document has ended before this`}},
	{"exceptions: [no-gate]", "exceptions: [no-gate]\n...\n[", []string{`43:1 $: not YAML: the document has ended before this`}},
	{"# The contract", "%TAG ! x\n---\n#", []string{`1:1 $: YAML directives are not allowed`}},
	{"baseline: HEAD", "baseline:\tHEAD", []string{`6:10 $: a tab`}},
	{"baseline: HEAD", "baseline: HEAD\r", []string{`6:15 $: a carriage return`}},
	{"# The contract", "\ufeff# The contract", []string{`1:1 $: the file begins with a byte order mark`}},
	{"baseline: HEAD", "baseline: \xff\xfe", []string{`6:11 $: a byte that is not UTF-8, here and in 1 more places`}},
	{"goal: Correct", "goal: Cor\u202erect", []string{`3:10 $: the hidden character U+202E`}},
	{"goal: Correct", "goal: Cor\x1brect", []string{`3:10 $: the hidden character U+001B`}},
	{"goal: Correct more misspelt English words.", `goal: "a\u200bb"`, []string{`3:7 $.goal: the text holds the hidden character U+200B`}},
	{"goal: Correct more", "goal: Correct\n  more", []string{`3:7 $.goal: the text runs over several lines without a sign`}},
	{"  writable: [corrector/**]", "  writable:\n   - a\n    - b", []string{`10:6 $.scope.writable[0]: the text runs over several lines without a sign`}},

	// keys and types
	{"research_loop: 1", "", []string{`3:1 $.research_loop: missing`}},
	{"research_loop: 1", "research_loop: 0", []string{`2:16 $.research_loop: there is no version 0 of the contract, want 1`}},
	{"research_loop: 1", "research_loop: 2\nnews: 1", []string{`2:16 $.research_loop: version 2 is newer than this program, which reads version 1`}},
	{"research_loop: 1", "research_loop: '1'", []string{`2:16 $.research_loop: want a whole number, got the text "1"`}},
	{"goal: Correct more misspelt English words.", "goal:", []string{`3:6 $.goal: has no value, want text`}},
	{"goal: Correct more misspelt English words.", "goal: ~", []string{`3:7 $.goal: has no value, want text`}},
	{"goal: Correct more misspelt English words.", "goal: ' '", []string{`3:7 $.goal: the text is empty`}},
	{"goal: Correct more misspelt English words.", "goal: 2026-01-01", []string{`3:7 $.goal: want text, got the date 2026-01-01`}},
	{"goal: Correct more misspelt English words.", "goal: true", []string{`3:7 $.goal: want text, got true`}},
	{"goal: Correct more misspelt English words.", "goal: [a]", []string{`3:7 $.goal: want text, got a list`}},
	{"goal: Correct more", "gaol: Correct more", []string{`2:1 $.goal: missing`, `3:1 $: unknown key "gaol"; did you mean "goal"?`}},
	{"shards: 1", "timeout: 1m", []string{`39:1 $: unknown key "timeout"; it stands below candidate.build and evaluation`}},
	{"shards: 1", "open_ended: true", []string{`39:1 $: unknown key "open_ended"; it belongs below limits`}},
	{"shards: 1", `"a\e": 1`, []string{`39:1 $: unknown key "a\x1b"`}},
	{"shards: 1", "1: 1", []string{`39:1 $: unknown key "1"`}},
	{"harness: {paths: [evaluation/**], source: user}", "harness: evaluation", []string{`7:10 $.harness: want a mapping, got the text "evaluation"`}},
	{"paths: [evaluation/**]", "paths: evaluation/**", []string{`7:18 $.harness.paths: want a list, got the text "evaluation/**"`}},
	{"paths: [evaluation/**]", "paths: []", []string{`7:18 $.harness.paths: the list is empty, want at least one item`}},
	{"paths: [evaluation/**]", "paths: [evaluation/**, 5]", []string{`7:34 $.harness.paths[1]: want a path as text, got the whole number 5`}},
	{"requires: [go, python3]", "requires: [go, go]", []string{`27:18 $.evaluation.requires[1]: "go" stands in the list twice, first on line 27`}},
	{"requires: [go, python3]", "requires: [/bin/sh]", []string{`27:14 $.evaluation.requires[0]: want the name of a program, without a folder, got "/bin/sh"`}},
	{"toolchains: [/usr/local/go]", "toolchains: [usr/local/go, /, /usr/../etc]", []string{
		`19:16 $.candidate.toolchains[0]: want an absolute folder of the machine such as /usr/local/go, got "usr/local/go"`,
		`19:30 $.candidate.toolchains[1]: want an absolute folder of the machine such as /usr/local/go, got "/"`,
		`19:33 $.candidate.toolchains[2]: want an absolute folder of the machine such as /usr/local/go, got "/usr/../etc"`}},
	{"attempts: 200", "attempts: 1.5", []string{`35:13 $.limits.attempts: want a whole number, got the number 1.5`}},
	{"attempts: 200", "attempts: 0x10", []string{`35:13 $.limits.attempts: want a whole number, got the whole number 0x10`}},
	{"attempts: 200", "attempts: 010", []string{`35:13 $.limits.attempts: want a whole number, got the whole number 010`}},
	{"attempts: 200", "attempts: 1_000", []string{`35:13 $.limits.attempts: want a whole number, got the whole number 1_000`}},
	{"attempts: 200", "attempts: 0", []string{`35:13 $.limits.attempts: want at least 1, got 0`}},
	{"attempts: 200", "attempts: 99999999999999999999", []string{`35:13 $.limits.attempts: the number is too large`}},
	{"attempts: 200", "attempts: null", []string{`35:13 $.limits.attempts: has no value, want a whole number`}},
	{"setup_retries: 3", "setup_retries: 3\n  open_ended: yes", []string{`39:15 $.limits.open_ended: want true or false, got the text "yes"`}},
	{"min_delta: 0.004", "min_delta: .nan", []string{`33:48 $.acceptance.min_delta: want a finite decimal number, got the number .nan`}},
	{"min_delta: 0.004", "min_delta: -.inf", []string{`33:48 $.acceptance.min_delta: want a finite decimal number, got the number -.inf`}},
	{"min_delta: 0.004", "min_delta: 1e999", []string{`33:48 $.acceptance.min_delta: the number is too large`}},
	{"min_delta: 0.004", "min_delta: '0.004'", []string{`33:48 $.acceptance.min_delta: want a finite decimal number, got the text "0.004"`}},
	{"timeout: 60s", "timeout: 60", []string{`23:12 $.evaluation.timeout: want a duration such as 60s, 5m or 24h, got the whole number 60`}},
	{"timeout: 60s", "timeout: 1h30m", []string{`23:12 $.evaluation.timeout: want a duration such as 60s, 5m or 24h, got "1h30m"`}},
	{"timeout: 60s", "timeout: 0s", []string{`23:12 $.evaluation.timeout: want a duration such as 60s, 5m or 24h, got "0s"`}},
	{"wall: 24h", "wall: 99999999h", []string{`36:9 $.limits.wall: at most 8760h is allowed, got "99999999h"`}},
	{"memory: 512MiB", "memory: 512MB", []string{`25:23 $.evaluation.resources.memory: want a size such as 512MiB or 1GiB, or a whole number of bytes, got "512MB"; did you mean "512MiB"?`}},
	{"memory: 512MiB", "memory: 512", []string{`25:23 $.evaluation.resources.memory: want at least 4MiB, got 512`}},
	{"memory: 512MiB", "memory: 99999999TiB", []string{`25:23 $.evaluation.resources.memory: the size is too large`}},
	{"cpus: 1", "cpus: 0", []string{`25:47 $.evaluation.resources.cpus: want at least 0.01, got 0`}},
	{"direction: higher", "direction: hihger", []string{`29:37 $.metric.direction: want one of higher, lower, got "hihger"; did you mean "higher"?`}},
	{"metric: {name: accuracy, direction: higher}", "metric: {}", []string{`29:9 $.metric.name: missing`, `29:9 $.metric.direction: missing`}},
	{"extract: json", "extract: yaml", []string{`22:12 $.evaluation.extract: want json, or a mapping with the key regex, got the text "yaml"`}},
	{"extract: json", "extract: {regex: '('}", []string{"22:20 $.evaluation.extract.regex: not an RE2 expression: missing closing ): `(`"}},
	{"pattern: 'sk-[a-z0-9]+'", "pattern: '(?=a)'", []string{"40:20 $.redact[0].pattern: not an RE2 expression: invalid or unsupported Perl syntax: `(?=`"}},
	{"pattern: 'sk-[a-z0-9]+'", "pattern: 'a*'", []string{"40:20 $.redact[0].pattern: the expression matches the empty text, and so every log"}},
	{"baseline: HEAD", "baseline: main", []string{`6:11 $.baseline: want HEAD or a full commit id of 40 or 64 lower-case hexadecimal digits, got "main"`}},
	{"baseline: HEAD", "baseline: 1234567", []string{`6:11 $.baseline: want text, got the whole number 1234567`}},

	// the environment
	{"{LANG: C.UTF-8}", "{A: 1}", []string{`26:20 $.evaluation.environment.A: want text, got the whole number 1`}},
	{"{LANG: C.UTF-8}", "{A: x, A: y}", []string{`26:23 $.evaluation.environment: "A" is set twice, first on line 26`}},
	{"{LANG: C.UTF-8}", "{PATH: x, HOME: x, TMPDIR: x}", []string{
		`26:17 $.evaluation.environment.PATH: the sandbox sets PATH`,
		`26:26 $.evaluation.environment.HOME: the sandbox sets HOME`,
		`26:35 $.evaluation.environment.TMPDIR: the sandbox sets TMPDIR`}},
	{"{LANG: C.UTF-8}", "{RESEARCH_LOOP_SEED: x}", []string{`26:17 $.evaluation.environment.RESEARCH_LOOP_SEED: names that begin with RESEARCH_LOOP_ belong to the supervisor`}},
	{"{LANG: C.UTF-8}", "{LD_PRELOAD: x}", []string{`26:17 $.evaluation.environment.LD_PRELOAD: LD_PRELOAD changes what every program of a launch does`}},
	{"{LANG: C.UTF-8}", "{'A=B': x}", []string{`26:17 $.evaluation.environment."A=B": want the name of an environment variable, letters, digits and _, got "A=B"`}},
	{"{LANG: C.UTF-8}", `{A: "a\0b"}`, []string{`26:20 $.evaluation.environment.A: the text holds the hidden character U+0000`}},

	// paths and patterns
	{"specification: docs/spelling.md", "specification: /docs/a", []string{`5:16 $.specification: the path "/docs/a" is absolute, want one relative to the repository's top`}},
	{"specification: docs/spelling.md", "specification: ../a", []string{`5:16 $.specification: the path "../a" leaves its folder with ..`}},
	{"specification: docs/spelling.md", "specification: ''", []string{`5:16 $.specification: the path is empty`}},
	{"specification: docs/spelling.md", "specification: ./a", []string{`5:16 $.specification: the path "./a" has an empty part or a single dot`}},
	{"specification: docs/spelling.md", `specification: a\b`, []string{`5:16 $.specification: the path "a\b" holds a backslash, folders are separated by /`}},
	{"specification: docs/spelling.md", "specification: .GIT/x", []string{`5:16 $.specification: the path ".GIT/x" lies inside .git`}},
	{"specification: docs/spelling.md", "specification: docs/*.md", []string{`5:16 $.specification: want a path, got the pattern "docs/*.md"`}},
	{"writable: [corrector/**]", "writable: [/a/**]", []string{`9:14 $.scope.writable[0]: the pattern "/a/**" is absolute, want one relative to the repository's top`}},
	{"writable: [corrector/**]", "writable: [a/../b]", []string{`9:14 $.scope.writable[0]: the pattern "a/../b" leaves its folder with ..`}},
	{"writable: [corrector/**]", "writable: ['a/{.,b}./c']", []string{`9:14 $.scope.writable[0]: the pattern "a/../c" leaves its folder with ..`}},
	{"writable: [corrector/**]", "writable: ['a[b', 'a{b', 'a}', '{a,{b}}', 'a**', '[z-a]', '[]a]', '{a/b,c}']", []string{
		`9:14 $.scope.writable[0]: the pattern "a[b" is not closed or has an empty or turned range`,
		`9:21 $.scope.writable[1]: the pattern "a{b" does not close its brace`,
		`9:28 $.scope.writable[2]: the pattern "a}" closes a brace that is not open`,
		`9:34 $.scope.writable[3]: the pattern "{a,{b}}" has braces inside braces`,
		`9:45 $.scope.writable[4]: the pattern "a**" has ** beside other text, it must stand alone between slashes`,
		`9:52 $.scope.writable[5]: the pattern "[z-a]" is not closed or has an empty or turned range`,
		`9:61 $.scope.writable[6]: the pattern "[]a]" is not closed or has an empty or turned range`,
		`9:69 $.scope.writable[7]: the pattern "{a/b,c}" has / * or [ inside braces`}},
	{"writable: [corrector/**]", "writable: ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}1', '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}2', '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}3', '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}4', x]", []string{
		`9:13 $.scope.writable: the list stands for 257 patterns, at most 256 are allowed`}},
	{"writable: [corrector/**]", "writable: ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b,c}']", []string{
		`9:14 $.scope.writable[0]: the pattern "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b,c}" stands for too many patterns, write them out`}},

	// what the author could change
	{"writable: [corrector/**]", "writable: [evaluation/score.py]", []string{
		`9:14 $.scope.writable[0]: the author could change the harness evaluation/**: "evaluation/score.py" reaches it`,
		`21:10 $.evaluation.score: the author may change the scorer's file "evaluation/score.py"`}},
	{"writable: [corrector/**]", "writable: [corrector/**, '*/score.py']", []string{
		`9:28 $.scope.writable[1]: the author could change .research-loop, .github, the harness evaluation/**: "*/score.py" reaches it`,
		`21:10 $.evaluation.score: the author may change the scorer's file "evaluation/score.py"`}},
	{"writable: [corrector/**]", "writable: [data/]", []string{`9:14 $.scope.writable[0]: the author could change the readable data/words.tsv: "data/" reaches it`}},
	{"writable: [corrector/**]", "writable: ['docs/*']", []string{`9:14 $.scope.writable[0]: the author could change the specification docs/spelling.md: "docs/*" reaches it`}},
	{"writable: [corrector/**]", "writable: ['.git*/**']", []string{`9:14 $.scope.writable[0]: the author could change .github: ".git*/**" reaches it`}},
	{"writable: [corrector/**]", "writable: [.github]", []string{`9:14 $.scope.writable[0]: the author could change .github: ".github" reaches it`}},
	{"writable: [corrector/**]", "writable: ['.research-loo?/x']", []string{`9:14 $.scope.writable[0]: the author could change .research-loop: ".research-loo?/x" reaches it`}},
	{"writable: [corrector/**]", "writable: [corrector/tests/**]", []string{`9:14 $.scope.writable[0]: the author could change tests or fixtures: "corrector/tests/**" names them`}},
	{"writable: [corrector/**]", "writable: ['corrector/*_test.go', src/Fixtures/a, conftest.py, 'a/{x,spec}/b']", []string{
		`9:14 $.scope.writable[0]: the author could change tests or fixtures: "corrector/*_test.go" names them`,
		`9:37 $.scope.writable[1]: the author could change tests or fixtures: "src/Fixtures/a" names them`,
		`9:53 $.scope.writable[2]: the author could change tests or fixtures: "conftest.py" names them`,
		`9:66 $.scope.writable[3]: the author could change tests or fixtures: "a/{x,spec}/b" names them`}},
	{"readable: [data/words.tsv, go.mod]", "readable: [evaluation/**]", []string{
		`10:14 $.scope.readable[0]: candidate code could read the cases in evaluation/development, the cases in evaluation/counterexamples: "evaluation/**" reaches it`}},
	{"path: build/, policy: isolate", "path: evaluation/out, policy: isolate", []string{`12:14 $.scope.generated[0].path: launches would write over the harness evaluation/**`}},
	{"path: build/, policy: isolate", "path: build, policy: snapshot", []string{`12:7 $.scope.generated[0]: policy snapshot wants from, the frozen folder that fills it`}},
	{"path: build/, policy: isolate", "path: build, policy: reset, from: evaluation/a", []string{`12:42 $.scope.generated[0].from: from belongs to policy snapshot only`}},
	{"from: evaluation/cache/", "from: stuff", []string{`13:45 $.scope.generated[1].from: "stuff" is not frozen`}},
	{"path: build/, policy: isolate", "path: cache/a, policy: isolate", []string{`13:14 $.scope.generated[1].path: "cache" and "cache/a" lie inside one another`}},
	{"counterexamples: evaluation/counterexamples", "counterexamples: evaluation/development/x", []string{
		`32:18 $.counterexamples: "evaluation/development/x" and the development cases in "evaluation/development" lie inside one another`}},

	// metrics and rules
	{"metric: {name: accuracy, direction: higher}", "", []string{`2:1 $.metric: missing`}},
	{"metric: {name: accuracy, direction: higher}", "metric: {name: wall_seconds, direction: lower}", []string{
		`29:16 $.metric.name: policy deterministic cannot judge wall_seconds: two launches of the same code give two values`}},
	{"metric: {name: accuracy, direction: higher}", "metric: {name: code_lines, direction: higher}", []string{
		`29:39 $.metric.direction: lower is better for code_lines, which the supervisor measures`,
		`33:70 $.acceptance.tie_breakers[0]: the metric itself cannot break a tie of its own`}},
	{"secondary: [{name: cpu_seconds, direction: lower}]", "secondary: [{name: accuracy, direction: lower}]", []string{`30:20 $.secondary[0].name: the metric "accuracy" is declared twice`}},
	{"metric: peak_memory_bytes, at_most: 268435456", "metric: peak_memory, at_most: 1", []string{
		`31:24 $.constraints[0].metric: the metric "peak_memory" is not declared; did you mean "peak_memory_bytes"?`}},
	{"at_most: 268435456", "at_most: 1, at_least: 0", []string{`31:15 $.constraints[0]: want one of at_most and at_least`}},
	{", at_most: 268435456", "", []string{`31:15 $.constraints[0]: want one of at_most and at_least`}},
	{"peak_memory_bytes, at_most: 268435456}", "accuracy, at_most: 1}, {metric: accuracy, at_most: 2}", []string{`31:47 $.constraints[1]: the metric "accuracy" has this bound already`}},
	{"peak_memory_bytes, at_most: 268435456}", "accuracy, at_most: 1}, {metric: accuracy, at_least: 2}", []string{`31:47 $.constraints[1]: no value of accuracy is at least 2 and at most 1`}},
	{"min_delta: 0.004", "min_delta: 0", []string{`33:48 $.acceptance.min_delta: want more than 0, got 0: a gain of nothing is no gain`}},
	{"min_delta: 0.004", "min_delta: -1", []string{`33:48 $.acceptance.min_delta: want more than 0, got -1: a gain of nothing is no gain`}},
	{", min_delta: 0.004", "", []string{`33:13 $.acceptance.min_delta: missing`}},
	{"tie_breakers: [code_lines]", "tie_breakers: [speed]", []string{`33:70 $.acceptance.tie_breakers[0]: the metric "speed" is not declared`}},
	{"tie_breakers: [code_lines]", "tie_breakers: [cpu_seconds]", []string{`33:70 $.acceptance.tie_breakers[0]: the tie-breaker cpu_seconds is noisy: it would decide by chance`}},
	{"extract: json", "extract: {regex: 'score'}", []string{`22:20 $.evaluation.extract.regex: want exactly one group, the value; the expression has 0`}},
	{"extract: json", "extract: {regex: '(a)(b)'}", []string{`22:20 $.evaluation.extract.regex: want exactly one group, the value; the expression has 2`}},
	{"extract: json\n", "extract: {regex: 'a(b)'}\n  driver: {run: x}\n", []string{`23:11 $.evaluation.driver: a driver belongs to modes driver and data, this is mode batch`}},
	{"total: 10m", "total: 30s", []string{`24:10 $.evaluation.total: total 30s is less than the timeout of one launch, 1m`}},
	{"timeout: 5m", "timeout: 100h", []string{`16:66 $.candidate.build.timeout: at most 24h is allowed`}},
	{"setup_retries: 3", "open_ended: true", []string{`38:15 $.limits.open_ended: an open-ended run has neither attempts nor wall`}},
	{"  attempts: 200\n  wall: 24h\n", "", []string{`35:3 $.limits: want attempts, wall or open_ended: true`}},

	// what a later version brings
	{"baseline: HEAD", "gate: {queries: 20}", []string{
		`6:7 $.gate.rule: missing`, `6:7 $.gate.margin: missing`, `6:7 $.gate.seconds: missing`, `6:7 $.gate.cases: missing`,
		`6:7 $.gate: a gate needs sealed cases, and splits.validation names none`,
		`6:7 $.gate: the contract has a gate and the exception no-gate`}},
	{"splits: {development: evaluation/development}", "splits: {development: evaluation/development, validation: a, final: b}", []string{
		`28:59 $.splits.validation: "a" does not end in validation, as the files of gate seal do`,
		`28:59 $.splits.validation: sealed cases need keys, and the contract has none`,
		`28:59 $.splits.validation: there is no gate that asks these cases`,
		`28:69 $.splits.final: "b" does not end in final, as the files of gate seal do`,
		`28:69 $.splits.final: sealed cases need keys, and the contract has none`}},
	{"policy: deterministic", "policy: paired, explore: {pairs: 8}", []string{
		`33:22 $.acceptance.policy: "paired" is not available yet, want deterministic`, `33:39 $.acceptance.explore: not available yet`}},
	{"split: development", "split: validation", []string{`37:32 $.limits.target.split: want development, got "validation"`}},
	{"shards: 1", "shards: 2", []string{`39:9 $.shards: more than one shard is not available yet`}},
	{"shards: 1", "shards: 9", []string{`39:9 $.shards: want at most 8, got 9`}},
	{"exceptions: [no-gate]", "exceptions: [network, in-process, reused-gate, repository-secrets]", []string{
		`41:14 $.exceptions[0]: "network" is not available yet, want one of best-effort-limits, no-gate, reused-gate, repository-secrets`,
		`41:23 $.exceptions[1]: "in-process" is not available yet, want one of best-effort-limits, no-gate, reused-gate, repository-secrets`}},
	{"exceptions: [no-gate]", "exceptions: []", []string{
		`2:1 $.gate: missing`}},
	{"exceptions: [no-gate]", "exceptions: [nogate, no-gate, no-gate]", []string{
		`41:14 $.exceptions[0]: want one of best-effort-limits, no-gate, reused-gate, repository-secrets, got "nogate"; did you mean "no-gate"?`,
		`41:31 $.exceptions[2]: "no-gate" stands in the list twice, first on line 41`}},

	// guesses
	{"baseline: HEAD", "baseline: !inferred HEAD", []string{`6:11 $.baseline: still bears !inferred: it is a guess that nobody has confirmed`}},
	{"timeout: 60s", "timeout: !inferred 60", []string{
		`23:12 $.evaluation.timeout: still bears !inferred: it is a guess that nobody has confirmed`,
		`23:12 $.evaluation.timeout: want a duration such as 60s, 5m or 24h, got the whole number 60`}},
	{"writable: [corrector/**]", "writable: !inferred [!inferred corrector/**]", []string{
		`9:13 $.scope.writable: still bears !inferred: it is a guess that nobody has confirmed`,
		`9:24 $.scope.writable[0]: still bears !inferred: it is a guess that nobody has confirmed`}},
}

func TestParseRefuses(t *testing.T) {
	for _, r := range refusals {
		if got := faultsOf(t, edited(t, r.old, r.new)); !reflect.DeepEqual(got, r.want) {
			t.Errorf("%q\n got %s\nwant %s", r.new, strings.Join(got, "\n     "), strings.Join(r.want, "\n     "))
		}
	}
}

func TestParseRefusesWholes(t *testing.T) {
	for _, r := range []struct{ name, draft, want string }{
		{"empty", "", "1:1 $: the document is empty"},
		{"comment", "# nothing\n", "1:1 $: the document is empty"},
		{"null", "~\n", "1:1 $: want a mapping, got nothing"},
		{"list", "- a\n", "1:1 $: want a mapping, got a list"},
		{"text", "contract\n", `1:1 $: want a mapping, got the text "contract"`},
		{"binary", "\x00\x01\x02", "1:1 $: the hidden character U+0000"},
		{"huge", strings.Repeat("#", maxDraft+1), "1:1 $: the file has 262145 bytes, at most 262144 are allowed"},
		{"deep", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "1:34 $" + strings.Repeat("[0]", 33) + ": nested deeper than 32 levels"},
		{"bomb", "goal: &a [x]\npopulation: &b [*a, *a]\nmetric: [*b, *b]\n", "1:7 $.goal: anchors and aliases are not allowed"},
		{"open brackets", strings.Repeat("[", 200_000), "1:1 $: not YAML: exceeded max depth of 10000"},
	} {
		start := time.Now()
		if got := faultsOf(t, r.draft); !slices.Contains(got, r.want) {
			t.Errorf("%s: got %.300q, want %q", r.name, got, r.want)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s took %v", r.name, d)
		}
	}
}

// TestErrorShows is the golden form of an error, places, carets and cures.
func TestErrorShows(t *testing.T) {
	draft := "research_loop: 1\ngaol: é \"x\"\nlimits: {attempts: 1.5}\nlong: " + strings.Repeat("abc ", 40) + "\n"
	_, err := Parse("bad\nname.yml", []byte(draft))
	golden(t, "errors.golden", []byte(err.Error()+"\n"))
}

func TestSecrets(t *testing.T) {
	for _, s := range []string{
		"ghp_" + strings.Repeat("a1B2", 9), "github_pat_" + strings.Repeat("a1", 20), "AKIA" + strings.Repeat("Z", 16),
		"sk-proj-" + strings.Repeat("a1", 12), "xoxb-1234567890-abc", "AGE-SECRET-KEY-1" + strings.Repeat("Q", 58),
		"-----BEGIN OPENSSH PRIVATE KEY-----", "PRIVATE+KEY+example.com+00000000+abcdefgh",
		"research-loop-signing-key:" + strings.Repeat("ab+/", 10) + "abc", "https://me:hunter22@example.com/x",
		"eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "glpat-" + strings.Repeat("x", 20),
	} {
		draft := edited(t, "goal: Correct", "goal: Use "+s+" to correct")
		_, err := Parse("contract.yml", []byte(draft))
		if err == nil || !strings.Contains(err.Error(), "contract.yml:3:11: $: this looks like a") {
			t.Errorf("%s: %v", s, err)
		} else if strings.Contains(err.Error(), s) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
	for _, s := range []string{"task-management-of-a-long-name-2024", "sk-learn", "https://example.com:8080/a@b", "sk-short-of-words-and-nothing-else"} {
		if got := faultsOf(t, edited(t, "goal: Correct", "goal: Use "+s+" to correct")); got != nil {
			t.Errorf("%s: %q", s, got)
		}
	}
	pem := "goal: |\n  -----BEGIN RSA PRIVATE KEY-----\n  MIIEowIBAAKCAQEA\n  -----END RSA PRIVATE KEY-----\n#"
	_, err := Parse("contract.yml", []byte(edited(t, "goal:", pem)))
	if err == nil || strings.Contains(err.Error(), "MIIE") {
		t.Errorf("PEM: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(read(f, "spelling.yml"))
	f.Add(read(f, "least.yml"))
	for _, r := range refusals {
		f.Add([]byte(edited(f, r.old, r.new)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("contract.yml", data)
		if err != nil {
			var faults *Faults
			if !errors.As(err, &faults) || len(faults.List) == 0 || err.Error() == "" {
				t.Fatalf("error %T %v", err, err)
			}
			return
		}
		// Whatever is accepted can be sealed, opened, and means the same.
		sealed := Seal(data, c, someFacts())
		s, err := Open(sealed, Sum(sealed))
		if err != nil {
			t.Fatalf("Open: %v\n%s", err, sealed)
		}
		if !reflect.DeepEqual(s.Contract, c) {
			t.Fatalf("opened %+v\nparsed %+v", s.Contract, c)
		}
	})
}

// TestParseHostileSizes gives Parse what grows faster than its source.
func TestParseHostileSizes(t *testing.T) {
	patterns := strings.Repeat("'**/{a,b}*{c,d}*{e,f}/**/x', ", 900)
	for name, draft := range map[string]string{
		"keys":     strings.Repeat("k: 1\n", 50_000),
		"braces":   "a: " + strings.Repeat("{a: ", 9000),
		"question": strings.Repeat("? ", 100_000),
		"dashes":   strings.Repeat("- ", 100_000),
		"anchors":  strings.Repeat("&a ", 80_000),
		"line":     "goal: " + strings.Repeat("x", 250_000),
		"escapes":  `goal: "` + strings.Repeat(`\n`, 120_000) + `"`,
		"patterns": "harness: {paths: [" + patterns + "z]}\nscope: {writable: [" + strings.ReplaceAll(patterns, "x'", "y'") + "z]}",
		"break":    strings.Repeat("goal: ["+strings.Repeat("a, ", 30)+"]\n", 140) + "x: 'a' b\n" + strings.Repeat("goal: [a]\n", 140),
	} {
		start := time.Now()
		_, err := Parse("contract.yml", []byte(draft))
		if err == nil || len(err.Error()) > 64<<10 {
			t.Errorf("%s: %.100v", name, err)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}
