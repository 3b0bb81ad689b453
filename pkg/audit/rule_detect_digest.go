package audit

import (
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
			if len(k.hex) < 12 || !strings.ContainsAny(k.hex, "abcdef") {
				continue
			}
			if counts[k.file]++; counts[k.file] == tableSize && hashCall.MatchString(k.file.code) {
				found = append(found, k.file.at(k.line, Review, "a table of digests stands beside a hash function"))
			}
		}
		return found
	},
}

var hashCall = expr(`(?i)sha_?(?:1|224|256|384|512)|md5|hashlib|crc32|crc64|fnv|digest|hash\w*\(|blake2|xxhash|murmur`)
