package audit

import (
	_ "embed"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// words.txt holds, a line, the bits of a group of words and the words: minus
// the binary logarithm of the unigram frequency in public READMEs, in steps of
// a quarter and at most 13.5, with the commonest words of calendar and counting
// put at the cap.
//
//go:embed words.txt
var wordsText string

// information measures how surprising an atom is, in bits.
type information struct{ words map[string]float64 }

func newInformation() information {
	info := information{make(map[string]float64, 6200)}
	for line := range strings.Lines(wordsText) {
		cost, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		b, _ := strconv.ParseFloat(cost, 64)
		for w := range strings.SplitSeq(words, " ") {
			info.words[w] = b
		}
	}
	return info
}

func (info information) atom(a atom) float64 {
	if a.num {
		return numberBits(a.text)
	}
	return info.word(a.text)
}

func (info information) atoms(list []atom) float64 {
	sum := 0.0
	for _, a := range list {
		sum += info.atom(a)
	}
	return sum
}

// word gives the bits of a folded word. An unknown word of n characters has
// 5 + 1.9 n: about what a second word list gives to words of that length.
func (info information) word(w string) float64 {
	if b, ok := info.words[w]; ok {
		return b
	}
	if b, ok := info.words[stem(w)]; ok {
		return b + 1
	}
	switch n := utf8.RuneCountInString(w); {
	case n == 1 && w >= "\u0e00":
		return 7
	case n == 1:
		return 4
	default:
		return math.Min(5+1.9*float64(n), 26)
	}
}

// unlisted says that a word is in no list of common words.
func (info information) unlisted(w string) bool {
	_, whole := info.words[w]
	_, cut := info.words[stem(w)]
	return !whole && !cut
}

// famous numbers stand in much code that has nothing to do with any case.
var famous = map[string]bool{
	"42": true, "200": true, "404": true, "500": true, "1024": true, "1337": true, "3600": true, "5381": true,
	"8080": true, "65535": true, "86400": true, "604800": true, "1664525": true, "16777619": true,
	"998244353": true, "1000000007": true, "1013904223": true, "2147483647": true, "2166136261": true,
	"2654435769": true, "3735928559": true, "3988292384": true, "4294967295": true, "1099511628211": true,
	"2305843009213693951": true, "6364136223846793005": true, "9223372036854775807": true,
	"11400714819323198485": true, "14695981039346656037": true, "18446744073709551615": true,
	"3.14159265359": true, "2.71828182846": true, "1.41421356237": true, "0.5": true, "1.5": true, "0.1": true,
}

// numberBits gives the bits of a canonical number: the least of its magnitude,
// its digits but for trailing zeros, and what it costs among the products of
// 2, 3, 5, 7 and among the neighbours of powers of two.
func numberBits(s string) float64 {
	if famous[s] {
		return 5
	}
	if strings.ContainsAny(s, ".e") {
		mantissa, _, _ := strings.Cut(s, "e")
		digits := len(strings.Trim(strings.ReplaceAll(mantissa, ".", ""), "0"))
		return math.Min(math.Max(3.3*float64(digits), 3), 40)
	}
	v, err := strconv.ParseUint(s, 10, 64)
	switch {
	case err != nil:
		return math.Min(3.3*float64(len(s)), 40)
	case v <= 4:
		return 1.5
	case v <= 16:
		return 2.5
	}
	round := 3.3*float64(len(strings.TrimRight(s, "0"))) + 2
	return min(math.Log2(float64(v)), round, smoothBits(v), powerBits(v))
}

// smoothBits is the logarithm of how many products of 2, 3, 5 and 7 there are
// up to v, if v is one.
func smoothBits(v uint64) float64 {
	rest := v
	for _, p := range []uint64{2, 3, 5, 7} {
		for rest%p == 0 {
			rest /= p
		}
	}
	if rest != 1 {
		return math.Inf(1)
	}
	// The count is about ln(v)^4 / (4! ln2 ln3 ln5 ln7).
	l := math.Log(float64(v))
	return math.Log2(l*l*l*l/(24*2.385)+2) + 0.5
}

func powerBits(v uint64) float64 {
	for _, w := range []uint64{v - 1, v, v + 1} {
		if bits.OnesCount64(w) == 1 {
			return 5
		}
	}
	return math.Inf(1)
}

// surplus raises thresholds of short evidence where many cases meet many
// lines: 13 bits are 60 cases against 130 lines, as the thresholds were
// measured, and a bit of chance costs 0.8 bits of evidence.
func (a *audit) surplus() float64 {
	return 0.8 * math.Max(0, a.chance-13)
}

// stem cuts an English ending, so that "dashes" and "dash" are one word.
func stem(word string) string {
	for _, end := range []string{"ing", "edly", "ies", "es", "ed", "ly", "s"} {
		if len(word) > len(end)+3 && strings.HasSuffix(word, end) {
			return strings.TrimSuffix(word, end)
		}
	}
	return word
}
