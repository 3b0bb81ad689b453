package audit

import (
	"fmt"
	"math/rand"
	"runtime"
	"strings"
	"testing"
	"time"
)

// generated builds an input of cases and added lines from a fixed seed.
func generated(cases, words, lines int) Input {
	rng := rand.New(rand.NewSource(7))
	vocab := make([]string, 20000)
	for i := range vocab {
		b := make([]byte, 3+rng.Intn(8))
		for k := range b {
			b[k] = byte('a' + rng.Intn(26))
		}
		vocab[i] = string(b)
	}
	common := strings.Fields("the of and to in is for with from this that on it if be not are by as use can code an return value key data")
	text := func(n int) string {
		var list []string
		for range n {
			if rng.Intn(3) == 0 {
				list = append(list, common[rng.Intn(len(common))])
			} else {
				list = append(list, vocab[rng.Intn(len(vocab))])
			}
		}
		return strings.Join(list, " ")
	}
	store := memory{}
	in := Input{Scope: prefixes{writable: []string{"src/"}}, Blobs: store, Specification: text(200), Gate: true}
	for i := range cases {
		in.Cases = append(in.Cases, Case{fmt.Sprintf("case-%04d", i), text(words), text(5)})
	}
	var before, after strings.Builder
	for range 500 {
		fmt.Fprintf(&before, "x := f(%q, %d)\n", text(6), rng.Intn(1e6))
	}
	after.WriteString(before.String())
	for i := range lines {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&after, "\tif strings.Contains(s, %q) { return %d }\n", text(2), rng.Intn(1e6))
		case 1:
			fmt.Fprintf(&after, "\ttable[%q] = %q // %s\n", text(3), text(2), text(5))
		case 2:
			fmt.Fprintf(&after, "\tx = append(x, %d, %d, %d*%d)\n", rng.Intn(1e6), rng.Intn(300), rng.Intn(99), rng.Intn(99))
		default:
			fmt.Fprintf(&after, "\t// %s\n", text(10))
		}
	}
	in.Baseline = []Entry{{"src/a.go", "100644", store.add([]byte(before.String()))}}
	in.Candidate = []Entry{{"src/a.go", "100644", store.add([]byte(after.String()))}}
	return in
}

func BenchmarkOrdinary(b *testing.B) { // bar: 1 s
	in := generated(200, 100, 500)
	for b.Loop() {
		Check(in)
	}
}

func BenchmarkLarge(b *testing.B) { // bar: 2 s, 300 MB
	in := generated(1000, 100, 10000)
	for b.Loop() {
		Check(in)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "MB-sys")
}

func hostile() map[string]string {
	return map[string]string{
		"one line of 10 MB":        strings.Repeat("a 1 \"b\" ", 10<<20/8),
		"one line under the bound": strings.Repeat("a 1 \"b\" ", maxFile/8-1),
		"100,000 nested brackets":  strings.Repeat("(", 100000) + "1+1" + strings.Repeat(")", 100000),
		"adversarial base64":       `x = "` + strings.Repeat("QUFBQQ==QUFBQUFBQUFBQUFBQUFBQQ", maxFile/32) + `"`,
		"escaped quotes":           strings.Repeat(`\"`, maxFile/2-8),
		"open quotes":              strings.Repeat(`'"`, maxFile/2-8),
		"regular expressions":      strings.Repeat(`(/`, maxFile/2-8),
		"numbers":                  strings.Repeat("1,", maxFile/2-8),
		"sums":                     strings.Repeat("1+", maxFile/2-8) + "1",
		"strings":                  strings.Repeat(`"ab",`, maxFile/5-8),
		"percent":                  `"` + strings.Repeat("%2541", maxFile/5-8) + `"`,
		"short lines":              strings.Repeat("x\n", maxFile/2-8),
		"case words":               strings.Repeat("if s == \"the of and to\" { return 1 }\n", maxFile/40),
		"open block comments":      strings.Repeat("/*", maxFile/2-8),
		"combining marks":          strings.Repeat("e\u0301\u0301\u0301\u0301", maxFile/12),
		"tag characters":           strings.Repeat("\U000e0061", maxFile/5),
		"keywords":                 strings.Repeat("seed exec ", maxFile/10-1),
		"shapes of digests":        strings.Repeat("0123456789abcdef ", maxFile/17-1),
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile() {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			in := generated(200, 100, 1)
			store := in.Blobs.(memory)
			in.Candidate = []Entry{{"src/a.js", "100644", store.add([]byte(text))}}
			for b.Loop() {
				start := time.Now()
				Check(in)
				if d := time.Since(start); d > 20*time.Second {
					b.Fatal(d)
				}
			}
		})
	}
}
