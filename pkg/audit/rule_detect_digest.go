package audit

import (
	"slices"
	"strings"
)

// tableSize is how many long digests are a table.
const tableSize = 3

var ruleDigestTable = rule{
	class: "detect.digest-table",
	about: "A table of digests beside a hash function recognises inputs without naming them.",
	fix:   "say what the digests are of, or remove them",
	total: func(t *tree) []Finding {
		var found []Finding
		counts := map[*file]int{}
		for _, k := range t.digestTokens() {
			if len(k.hex) < 12 || !strings.ContainsAny(k.hex, "abcdef") || k.word != "" && !mixed(k.word, len(k.hex)/2) {
				continue
			}
			if counts[k.file]++; counts[k.file] == tableSize && hashCall.MatchString(k.file.code) {
				found = append(found, k.file.at(k.line, Review, "a table of digests stands beside a hash function"))
			}
		}
		return found
	},
}

// mixed says that a base64 word looks like a digest of n bytes and not like a
// long word of a language.
func mixed(word string, n int) bool {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	return slices.Contains([]int{16, 20, 28, 32, 48, 64}, n) &&
		strings.ContainsAny(word, lower) && strings.ContainsAny(word, upper) && strings.ContainsAny(word, digits)
}

var hashCall = expr(`(?i)sha_?(?:1|224|256|384|512)|md5|hashlib|crc32|crc64|fnv|digest|hash\w*\(|blake2|xxhash|murmur`)
