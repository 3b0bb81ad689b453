package audit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	hexToken   = expr(`\b[0-9a-fA-F]{8,128}\b`)
	plainToken = expr(`[A-Za-z0-9+/_-]{11,88}`)
)

// minNumber is how many digits a number has that may be a hash.
const minNumber = 7

// digestToken is a literal that may be a digest.
type digestToken struct {
	file   *file
	line   int
	hex    string // of the bytes, or ""
	number string // canonical, or ""
	word   string // that is hex as base64, or ""
}

func (k digestToken) key() string { return k.hex + "#" + k.number }

// digestTokens lists those of all files of a tree.
func (t *tree) digestTokens() []digestToken {
	var tokens []digestToken
	for _, f := range t.files {
		tokens = append(tokens, f.digestTokens()...)
	}
	return tokens
}

// digestTokens lists the hex words, base64 words and large numbers of the
// added code, each once.
func (f *file) digestTokens() []digestToken {
	if f.added == 0 || f.a.cases.empty() {
		return nil
	}
	f.read()
	var list []digestToken
	seen := map[string]bool{}
	add := func(line int, digest, number, word string) {
		if key := digest + "#" + number; !seen[key] {
			seen[key] = true
			list = append(list, digestToken{f, line, digest, number, word})
		}
	}
	for _, s := range f.texts {
		for _, p := range s.news() {
			if p.num {
				if len(p.text) >= minNumber && strings.IndexByte(p.text, '.') < 0 {
					add(p.line, "", p.text, "")
				}
				continue
			}
			for _, word := range hexToken.FindAllString(p.text, 1000) {
				if strings.ContainsAny(word, "0123456789") && varied(word) {
					add(p.line, strings.ToLower(word), "", "")
				}
			}
			if s.kind == stringKind {
				for _, word := range plainToken.FindAllString(p.text, 1000) {
					if data := base64Bytes(word); len(data) >= 8 {
						add(p.line, hex.EncodeToString(data), "", word)
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b digestToken) int { return a.line - b.line })
	return list
}

// varied says that a word has as many different digits as a digest has: not
// 10000000.
func varied(word string) bool {
	seen := map[rune]bool{}
	for _, c := range strings.ToLower(word) {
		seen[c] = true
	}
	return len(seen) >= 5
}

func base64Bytes(word string) []byte {
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err := code.DecodeString(word); err == nil && len(data) <= 64 {
			return data
		}
	}
	return nil
}

// wanted are the tokens of a tree by what a digest must begin or end with.
type wanted struct {
	heads, tails map[string][]int // eight hex digits to tokens
	numbers      map[uint64][]int
	tokens       []digestToken
	hits         map[int]digestHit
	tried        int // digests that were compared
}

// digestHit is a token that is a digest of a case, with the bits that agree.
type digestHit struct {
	id   string
	bits float64
}

func want(tokens []digestToken) *wanted {
	w := &wanted{map[string][]int{}, map[string][]int{}, map[uint64][]int{}, tokens, map[int]digestHit{}, 0}
	for i, k := range tokens {
		if n := len(k.hex); n >= 8 {
			w.heads[k.hex[:8]] = append(w.heads[k.hex[:8]], i)
			w.tails[k.hex[n-8:]] = append(w.tails[k.hex[n-8:]], i)
		}
		if v, err := strconv.ParseUint(k.number, 10, 64); err == nil {
			w.numbers[v] = append(w.numbers[v], i)
		}
	}
	return w
}

// digests looks tokens up among the digests of all texts of the cases. What
// an earlier tree asked for is remembered, so that twenty commits with the same
// literals hash once.
func (a *audit) digests(tokens []digestToken) (hits map[string]digestHit, tried int) {
	if a.digestHits == nil {
		a.digestHits, a.digestAsked = map[string]digestHit{}, map[string]bool{}
	}
	var fresh []digestToken
	for _, k := range tokens {
		if !a.digestAsked[k.key()] {
			a.digestAsked[k.key()] = true
			fresh = append(fresh, k)
		}
	}
	if len(fresh) > 0 {
		w := want(fresh)
		w.hash(a)
		for i, hit := range w.hits {
			a.digestHits[fresh[i].key()] = hit
		}
		a.digestTried = w.tried
	}
	return a.digestHits, a.digestTried
}

// hash compares the digests of all texts of the cases with the tokens.
func (w *wanted) hash(a *audit) {
	for _, c := range a.in.Cases[:len(a.cases.list)] {
		for _, text := range []string{c.Input, c.Answer} {
			if len(strings.TrimSpace(text)) < 2 {
				continue
			}
			for _, v := range variants(text) {
				if !a.budget.spend(8 + len(v)/8) {
					return
				}
				w.try(c.ID, []byte(v))
			}
		}
	}
}

func (w *wanted) try(id string, data []byte) {
	for _, d := range byteDigests(data) {
		w.tried++
		w.bytes(id, hex.EncodeToString(d))
		if len(w.numbers) > 0 {
			w.number(id, uint64(binary.BigEndian.Uint32(d)))
			w.number(id, uint64(binary.LittleEndian.Uint32(d)))
			w.number(id, binary.BigEndian.Uint64(d))
			w.number(id, binary.LittleEndian.Uint64(d))
		}
	}
	for _, v := range numberDigests(data) {
		w.tried++
		w.number(id, v)
		if v < 1<<32 {
			w.head(id, fmt.Sprintf("%08x", v))
		} else {
			w.head(id, fmt.Sprintf("%016x", v))
		}
	}
}

func (w *wanted) number(id string, v uint64) {
	for _, i := range w.numbers[v] {
		w.hits[i] = digestHit{id, 1.1 * numberBits(w.tokens[i].number)}
	}
}

// bytes compares a digest in hex: a token may be its head or its tail.
func (w *wanted) bytes(id, digest string) {
	w.head(id, digest)
	for _, i := range w.tails[digest[len(digest)-8:]] {
		if k := w.tokens[i].hex; strings.HasSuffix(digest, k) {
			w.hits[i] = digestHit{id, 4 * float64(len(k))}
		}
	}
}

func (w *wanted) head(id, digest string) {
	for _, i := range w.heads[digest[:8]] {
		if k := w.tokens[i].hex; strings.HasPrefix(digest, k) || len(digest) >= 16 && strings.HasPrefix(k, digest) {
			w.hits[i] = digestHit{id, 4 * float64(min(len(k), len(digest)))}
		}
	}
}
