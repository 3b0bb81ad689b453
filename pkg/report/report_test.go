package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/journal"
	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// hostile is what an author may write where he is quoted.
var hostile = "\x1b[2J\x1b]0;owned\a| <img src=x onerror=alert(1)> [x](https://example.com) @octo-org/all #1 GH-2\r\n# Title\n- [ ] `code` **bold** $x$ \u202egnp.exe\u2066 \xff\xfe &amp; www.example.com ~~no~~"

// entry is attempt i with a status.
func entry(i int, status ledger.Status, value *float64) ledger.Entry {
	commit := strings.Repeat("0123456789abcdef"[i:i+1], 40)
	e := ledger.Entry{
		Iteration: i, Role: ledger.RoleCandidate, Commit: commit, Status: status, Reason: "because of " + string(status),
		PrimaryMetric: "accuracy", PrimaryValue: value, DurationSeconds: 1.25 * float64(i), Hypothesis: "hypothesis of " + string(status),
		LeakageAudit: ledger.LeakageAudit{Verdict: "pass"},
	}
	if status != ledger.Keep {
		e.RollbackCommit = ptr(strings.Repeat("f", 40))
	}
	return e
}

// run is a run in which everything happened.
func run() *journal.Run {
	r := &journal.Run{
		Tag: "speedup", SealedAt: start, OpenedAt: start, Opened: &ledger.Opened{}, Retries: 2,
		Contract: &contract.Sealed{
			Contract: &contract.Contract{
				Goal: "Correct more words.", Population: "Single lower-case words.",
				Evaluation: contract.Evaluation{Score: "sh evaluation/score.sh"},
				Metric:     contract.Metric{Name: "accuracy", Direction: contract.Higher}, Exceptions: []string{"no-gate", "best-effort-limits"},
			},
			Facts: contract.Facts{Level: "local"}, Digest: contract.Digest("sha256:" + strings.Repeat("ab", 32)),
		},
	}
	r.Entries = []ledger.Entry{
		entry(0, ledger.Keep, ptr(0.75)), entry(1, ledger.Keep, ptr(0.7666666667)), entry(2, ledger.Discard, ptr(0.5)),
		entry(3, ledger.Crash, nil), entry(4, ledger.Timeout, nil), entry(5, ledger.Invalid, nil),
	}
	r.Entries[0].Role = ledger.RoleBaseline
	r.Entries[5].LeakageAudit = ledger.LeakageAudit{Verdict: "invalid", Classes: []string{"leak-literal", "scope"}}
	for i := range r.Entries {
		r.History = append(r.History, journal.Judged{Time: start, Entry: &r.Entries[i]})
	}
	r.History = append(r.History, journal.Judged{Time: start, Superseded: &ledger.Superseded{
		Tip: strings.Repeat("6", 40), Reason: "the tree of attempt 2 again", Of: ptr(2), Restore: strings.Repeat("7", 40),
	}})
	r.Incumbent = journal.Standing{Iteration: 1, Commit: r.Entries[1].Commit}
	r.Tip, r.Iteration = strings.Repeat("7", 40), 5
	return r
}

// attacked is the same run with a hostile author and a hostile draft.
func attacked() *journal.Run {
	r := run()
	r.Contract.Goal, r.Contract.Population, r.Contract.Evaluation.Score = hostile, hostile, "sh score\n"+hostile
	r.Contract.Metric.Name = "accuracy"
	for i := range r.Entries {
		r.Entries[i].Reason, r.Entries[i].Hypothesis = hostile, hostile
		r.Entries[i].LeakageAudit.Classes = []string{hostile}
	}
	r.History[6].Superseded.Reason = hostile
	return r
}

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// rendered is everything that this package writes of a run.
func rendered(t *testing.T, r *journal.Run) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	write := func(name string, do func(*bytes.Buffer) error) {
		var b bytes.Buffer
		if err := do(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	write("status", func(b *bytes.Buffer) error { report.Status(b, r, journal.Step{Do: journal.Idle}, false); return nil })
	write("log", func(b *bytes.Buffer) error { return report.Log(b, r, false) })
	write("color", func(b *bytes.Buffer) error { return report.Log(b, r, true) })
	write("terminal", func(b *bytes.Buffer) error { return report.Terminal(b, r, false) })
	write("markdown", func(b *bytes.Buffer) error { return report.Markdown(b, r) })
	return out
}

func TestGolden(t *testing.T) {
	for name, r := range map[string]*journal.Run{"run": run(), "attacked": attacked()} {
		for kind, text := range rendered(t, r) {
			golden(t, name+"."+kind+".golden", text)
		}
	}
}

var codes = regexp.MustCompile("\x1b\\[[0-9]+m")

// Colour changes nothing but colour.
func TestColor(t *testing.T) {
	for name, r := range map[string]*journal.Run{"run": run(), "attacked": attacked()} {
		out := rendered(t, r)
		if plain := codes.ReplaceAll(out["color"], nil); !bytes.Equal(plain, out["log"]) {
			t.Errorf("%s: without its colours the log is\n%s\nwant\n%s", name, plain, out["log"])
		}
	}
	words := map[string]string{"keep": "32", "discard": "31", "crash": "31", "timeout": "31", "invalid": "35", "superseded": "33"}
	for word, code := range words {
		if got := report.Word(word, true); got != "\x1b["+code+"m"+word+"\x1b[0m" {
			t.Errorf("%s: %q", word, got)
		}
		if got := report.Word(word, false); got != word {
			t.Errorf("%s: %q", word, got)
		}
	}
}

// Whatever an author writes, no control byte comes out, and every record takes
// one line.
func TestHostileText(t *testing.T) {
	plain, spoilt := rendered(t, run()), rendered(t, attacked())
	for kind, text := range spoilt {
		if kind == "color" {
			text = codes.ReplaceAll(text, nil)
		}
		if !utf8.Valid(text) {
			t.Errorf("%s is not UTF-8", kind)
		}
		for _, r := range string(text) {
			if r < ' ' && r != '\n' || r == 0x202e || r == 0x2066 || r == utf8.RuneError {
				t.Errorf("%s holds %U", kind, r)
			}
		}
		// The rejected shortcuts of the attacked run are one class, not two.
		lines := bytes.Count(plain[kind], []byte("\n"))
		if got := bytes.Count(text, []byte("\n")); got != lines && !(kind == "terminal" || kind == "markdown") || got > lines {
			t.Errorf("%s has %d lines, want %d", kind, got, lines)
		}
	}
	for _, mark := range []string{"<img", "x](https", "https://", "@octo-org", "#1", "GH-2", "**bold**", "`code`", "~~no~~", "&amp;", "www.example", "$x$"} {
		if bytes.Contains(spoilt["markdown"], []byte(mark)) {
			t.Errorf("the Markdown holds %q", mark)
		}
	}
	for line := range strings.Lines(string(spoilt["markdown"])) {
		if cells := strings.Count(line, "|") - strings.Count(line, `\|`); strings.HasPrefix(line, "| ") && cells != 3 && cells != 8 {
			t.Errorf("a row of %d cells: %s", cells-1, line)
		}
	}
}

func TestStatus(t *testing.T) {
	closed := func(r *journal.Run) {
		r.Closing, r.Closed = &ledger.Closing{Reason: "x"}, &ledger.Closed{Reason: "enough " + hostile + strings.Repeat("x", 1000)}
	}
	young := func(r *journal.Run) {
		r.Opened, r.Entries, r.History, r.Incumbent = nil, nil, nil, journal.Standing{}
	}
	failed := func(r *journal.Run) {
		r.Opened, r.Incumbent = nil, journal.Standing{}
		r.Entries = r.Entries[3:4]
		r.Closed = &ledger.Closed{Reason: "baseline failed"}
	}
	tests := []struct {
		name        string
		change      func(*journal.Run)
		step        journal.Step
		first, last string
	}{
		{"open", func(*journal.Run) {}, journal.Step{Do: journal.Idle}, "run speedup: open", "next       push a candidate to research-loop/speedup"},
		{"something due", func(*journal.Run) {}, journal.Step{Do: journal.Claim}, "run speedup: open", "next       research-loop reconcile speedup"},
		{"waiting", func(*journal.Run) {}, journal.Step{Do: journal.Wait, Reason: "process 1 on \x1bhost\nx"}, "run speedup: open", `next       wait: process 1 on \u001bhost\u000ax`},
		{"halted", func(r *journal.Run) { r.Halted = &ledger.Halted{Reason: hostile} }, journal.Step{Do: journal.Stopped}, `run speedup: halted: \u001b[2J`, "next       a maintainer looks at it, then: research-loop reconcile speedup --authorise '<reason>'"},
		{"closing", func(r *journal.Run) { r.Closing = &ledger.Closing{Reason: "enough"} }, journal.Step{Do: journal.Sweep}, "run speedup: closing: enough", "next       research-loop reconcile speedup"},
		{"closed", closed, journal.Step{Do: journal.Done}, `run speedup: closed: enough \u001b[2J`, "next       research-loop report speedup"},
		{"young", young, journal.Step{Do: journal.Claim}, "run speedup: setting up", "next       research-loop reconcile speedup"},
		{"baseline failed", failed, journal.Step{Do: journal.Done}, "run speedup: closed: baseline failed", "next       research-loop report speedup"},
		{"hostile", func(r *journal.Run) { *r = *attacked() }, journal.Step{Do: journal.Idle}, "run speedup: open", "next       push a candidate to research-loop/speedup"},
	}
	for _, tt := range tests {
		r := run()
		tt.change(r)
		var b bytes.Buffer
		report.Status(&b, r, tt.step, false)
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) > 15 || !strings.HasPrefix(lines[0], tt.first) || lines[len(lines)-1] != tt.last {
			t.Errorf("%s:\n%s", tt.name, b.String())
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > 220 {
				t.Errorf("%s: a line of %d characters: %s", tt.name, n, line)
			}
		}
		// The same run as a report.
		rendered(t, r)
	}
}

func TestClaim(t *testing.T) {
	r := run()
	if got := report.Claim(r); !strings.HasPrefix(got, "visible-harness score improved; population: Single lower-case words (level local;") {
		t.Error(got)
	}
	r.Contract.Exceptions = nil
	r.Contract.Gate = &contract.Gate{Queries: 16, Rule: "non_inferior", Margin: 5, Cases: "user", Direction: contract.Higher}
	r.Contract.Facts.Splits = []contract.SplitFact{{Name: "validation", Cases: 100, Asked: 3}}
	if got := report.Claim(r); !strings.HasPrefix(got, "visible-harness score improved;") || !strings.Contains(got, "3 of 16 gate queries used") ||
		!strings.Contains(got, "hand-written gate: not a sample") {
		t.Error(got)
	}
	r.Final = &ledger.FinalResult{Answer: ledger.Fail, P: 0.3}
	if got := report.Claim(r); !strings.HasPrefix(got, "final test failed: general improvement not demonstrated;") {
		t.Error(got)
	}
	r.Entries = nil
	if got := report.Claim(r); !strings.HasPrefix(got, "no improvement: no candidate was kept;") {
		t.Error(got)
	}
}

func TestLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain text, ~!@#$%^&*()", "plain text, ~!@#$%^&*()"},
		{"naïve 日本 → …", "naïve 日本 → …"},
		{"a\nb\r\tc", `a\u000ab\u000d\u0009c`},
		{"\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		{"\x9b31m\u009b", `\ufffd31m\u009b`},
		{"\x00\x7f", `\u0000\u007f`},
		{"\xff\xc0\xaf", `\ufffd\ufffd\ufffd`},
		{"\ufffd", `\ufffd`},
		{"a\u202eb\u2066c\u200bd\u200fe\ufefff\u00adg", `a\u202eb\u2066c\u200bd\u200fe\ufefff\u00adg`},
		{"\u2028\u2029\u0085\u00a0", `\u2028\u2029\u0085\u00a0`},
		{"\U000e0041\U000f0000", `\U000e0041\U000f0000`},
	}
	for _, tt := range tests {
		if got := report.Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain text. 0.75 → 0.76, two-word", "plain text. 0.75 → 0.76, two-word"},
		{"a|b", `a\|b`},
		{`a\|b`, `a\\\|b`},
		{"<b>&amp;", "&#60;b&#62;&#38;amp;"},
		{"[x](https://example.com)", `\[x\](https:&#8203;//example.com)`},
		{"![x](y)", `!\[x\](y)`},
		{"**b** _i_ ~s~ `c`", "\\*\\*b\\*\\* \\_i\\_ \\~s\\~ \\`c\\`"},
		{"# title", `\#&#8203; title`},
		{"fixes #12", `fixes \#&#8203;12`},
		{"octo-org/widget#1", `octo-org/widget\#&#8203;1`},
		{"GH-7 gh-8", "GH-&#8203;7 gh-&#8203;8"},
		{"@octo-org/all", "@&#8203;octo-org/all"},
		{"me@example.com", "me@&#8203;example.com"},
		{"www.example.com", "www.&#8203;example.com"},
		{"- item", `\- item`},
		{"  - item", `\- item`},
		{"+ item", `\+ item`},
		{"1. item", `1\. item`},
		{"12.", `12\.`},
		{"1) item", `1\) item`},
		{"(1) item", "(1) item"},
		{"version 2.", "version 2."},
		{"research-loop/speedup sha256:ab high-5", "research-loop/speedup sha256:ab high-5"},
		{"0.5", "0.5"},
		{"-0.5", `\-0.5`},
		{"---", `\---`},
		{"===", `\===`},
		{"> quote", "&#62; quote"},
		{"    code", "code"},
		{"$x$", `\$x\$`},
		{":+1:", `:+1:`},
		{"a\nb", `a\\u000ab`},
		{"\x1b[1m", `\\u001b\[1m`},
		{"\u202e", `\\u202e`},
		{"{{x}}", `{{x}}`},
	}
	for _, tt := range tests {
		if got := report.Escape(tt.in); got != tt.want {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Escaped text is one line of visible characters, whatever it was.
func FuzzEscape(f *testing.F) {
	f.Add(hostile)
	f.Add("1. @a #b")
	f.Fuzz(func(t *testing.T, s string) {
		for _, text := range []string{report.Line(s), report.Escape(s)} {
			if !utf8.ValidString(text) || report.Line(text) != text {
				t.Errorf("%q becomes %q", s, text)
			}
		}
		if text := report.Escape(s); regexp.MustCompile("(^|[^\\\\])[|<>`*_]").MatchString(strings.ReplaceAll(text, `\\`, "")) {
			t.Errorf("%q becomes %q", s, text)
		}
	})
}
