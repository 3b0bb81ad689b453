package audit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// digestSurplus is how many bits a digest must have beyond what tokens times
// digests give by chance.
const digestSurplus = 8

var ruleDigest = rule{
	class: "leak.digest",
	about: "A literal is the digest of a case's text: the case is recognised without its words. Three digests beside a hash function are a table of them.",
	fix:   "remove the digests; treat all inputs by one rule",
	total: func(t *tree) []Finding {
		var tokens []digestToken
		for _, f := range t.files {
			tokens = append(tokens, f.digestTokens()...)
		}
		if len(tokens) == 0 {
			return nil
		}
		table := t.a.digestTable()
		chance := math.Log2(float64(len(tokens))*float64(table.n+1)) + digestSurplus
		var found []Finding
		for _, k := range tokens {
			if c, bits := table.find(k); c != "" && bits >= chance {
				finding := k.file.at(k.line, Invalid, "the literal is a digest of the text of case "+c)
				finding.Case = c
				found = append(found, finding)
			}
		}
		return append(found, digestTables(tokens)...)
	},
}

// digestTables reports files with three long digests and a hash function.
func digestTables(tokens []digestToken) []Finding {
	var found []Finding
	for i := 0; i < len(tokens); {
		f, n, line := tokens[i].file, 0, tokens[i].line
		for ; i < len(tokens) && tokens[i].file == f; i++ {
			n += boolInt(len(tokens[i].hex) >= 12 && strings.ContainsAny(tokens[i].hex, "abcdef"))
		}
		if n >= 3 && hashCall.MatchString(f.code) {
			found = append(found, f.at(line, Review, "a table of digests stands beside a hash function"))
		}
	}
	return found
}

var (
	hashCall   = regexp.MustCompile(`(?i)sha_?(?:1|224|256|384|512)|md5|hashlib|crc32|crc64|fnv|digest|hash\w*\(|blake2|xxhash|murmur`)
	hexToken   = regexp.MustCompile(`\b[0-9a-fA-F]{8,128}\b`)
	plainToken = regexp.MustCompile(`[A-Za-z0-9+/_-]{11,88}`)
)

// digestToken is a literal that may be a digest.
type digestToken struct {
	file   *file
	line   int
	hex    string // of the bytes, or ""
	number string // canonical, or ""
}

// digestTokens lists the hex words, base64 words and large numbers of the
// added code, each once.
func (f *file) digestTokens() []digestToken {
	if f.added == 0 || len(f.a.cases.list) == 0 {
		return nil
	}
	f.read()
	var list []digestToken
	seen := map[string]bool{}
	add := func(line int, digest, number string) {
		if key := digest + "#" + number; !seen[key] {
			seen[key] = true
			list = append(list, digestToken{f, line, digest, number})
		}
	}
	for _, s := range f.texts {
		for _, p := range s.pieces {
			if p.num {
				if len(p.text) >= 6 && strings.IndexByte(p.text, '.') < 0 {
					add(p.line, "", p.text)
				}
				continue
			}
			for _, word := range hexToken.FindAllString(p.text, 1000) {
				if strings.ContainsAny(word, "0123456789") {
					add(p.line, strings.ToLower(word), "")
				}
			}
			if s.kind == stringKind {
				for _, word := range plainToken.FindAllString(p.text, 1000) {
					if data := base64Bytes(word); len(data) >= 8 {
						add(p.line, hex.EncodeToString(data), "")
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b digestToken) int { return a.line - b.line })
	return list
}

func base64Bytes(word string) []byte {
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err := code.DecodeString(word); err == nil && len(data) <= 64 {
			return data
		}
	}
	return nil
}

// digestTable finds cases by digests of their texts.
type digestTable struct {
	heads, tails map[string][]digestOf // by the first and last eight hex digits
	numbers      map[string]string
	n            int
}

type digestOf struct{ hex, id string }

// digestTable hashes the texts of all cases, once.
func (a *audit) digestTable() *digestTable {
	if a.digests != nil {
		return a.digests
	}
	t := &digestTable{map[string][]digestOf{}, map[string][]digestOf{}, map[string]string{}, 0}
	a.digests = t
	for _, c := range a.in.Cases[:len(a.cases.list)] {
		for _, text := range []string{c.Input, c.Answer} {
			if len(strings.TrimSpace(text)) < 2 {
				continue
			}
			for _, v := range variants(text) {
				if !a.budget.spend(8 + len(v)) {
					return t
				}
				t.add(c.ID, []byte(v))
			}
		}
	}
	return t
}

func (t *digestTable) add(id string, data []byte) {
	for _, d := range byteDigests(data) {
		h := hex.EncodeToString(d)
		t.heads[h[:8]] = append(t.heads[h[:8]], digestOf{h, id})
		t.tails[h[len(h)-8:]] = append(t.tails[h[len(h)-8:]], digestOf{h, id})
		t.n++
		for _, v := range []uint64{
			uint64(binary.BigEndian.Uint32(d)), uint64(binary.LittleEndian.Uint32(d)), binary.BigEndian.Uint64(d), binary.LittleEndian.Uint64(d),
		} {
			t.number(v, id)
		}
	}
	for _, v := range numberDigests(data) {
		t.number(v, id)
		h := strconv.FormatUint(v, 16)
		if h = strings.Repeat("0", max(0, 8-len(h))) + h; len(h) > 8 {
			h = strings.Repeat("0", max(0, 16-len(h))) + h
		}
		t.heads[h[:8]] = append(t.heads[h[:8]], digestOf{h, id})
	}
}

func (t *digestTable) number(v uint64, id string) {
	if v >= 1<<20 {
		t.numbers[strconv.FormatUint(v, 10)] = id
		t.n++
	}
}

// find names the case that a token is a digest of, with the bits of the token.
func (t *digestTable) find(k digestToken) (id string, bits float64) {
	if k.number != "" {
		return t.numbers[k.number], 3.32 * float64(len(k.number))
	}
	if len(k.hex) < 8 {
		return "", 0
	}
	for _, d := range t.heads[k.hex[:8]] {
		if strings.HasPrefix(d.hex, k.hex) || strings.HasPrefix(k.hex, d.hex) {
			return d.id, 4 * float64(min(len(k.hex), len(d.hex)))
		}
	}
	for _, d := range t.tails[k.hex[len(k.hex)-8:]] {
		if strings.HasSuffix(d.hex, k.hex) {
			return d.id, 4 * float64(len(k.hex))
		}
	}
	return "", 0
}
