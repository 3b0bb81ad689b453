package audit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHashes compares the hashes that are written here with published values.
func TestHashes(t *testing.T) {
	fox := []byte("The quick brown fox jumps over the lazy dog")
	for _, tt := range []struct {
		name      string
		got, want uint64
	}{
		{"murmur3 of nothing", uint64(murmur3(nil)), 0},
		{"murmur3", uint64(murmur3(fox)), 0x2e4ff723},
		{"xxh32 of nothing", uint64(xxh32(nil)), 0x02cc5d05},
		{"xxh32", uint64(xxh32(fox)), 0xe85ea4de},
		{"xxh64 of nothing", xxh64(nil), 0xef46db3751d8e999},
		{"xxh64", xxh64(fox), 0x0b242d361fda71bc},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %#x, want %#x", tt.name, tt.got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"":          "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce",
		"abc":       "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
		string(fox): "a8add4bdddfd93e4877d2746e62817b116364a1fa7bc148d95090bc7333b3673f82401cf7aa2e4cb1ecd90296e3f14cb5413f8ed77be73045b13914cdcd6a918",
	} {
		if got := hex.EncodeToString(blake2b([]byte(text), 64)); got != want {
			t.Errorf("blake2b of %q = %s", text, got)
		}
	}
}

// TestDigests writes one input's digest in every way and wants each found.
func TestDigests(t *testing.T) {
	text := "What the Łódź tram taught me"
	var literals []string
	for _, d := range byteDigests([]byte(text)) {
		h := hex.EncodeToString(d)
		literals = append(literals, `"`+h+`"`, `"`+h[:10]+`"`, `"`+h[len(h)-10:]+`"`, `"`+base64.StdEncoding.EncodeToString(d)+`"`,
			strconv.FormatUint(uint64(binary.BigEndian.Uint32(d)), 10))
	}
	for _, v := range numberDigests([]byte(strings.ToLower(text))) {
		literals = append(literals, strconv.FormatUint(v, 10), fmt.Sprintf("%#x", v))
	}
	for _, l := range literals {
		in := simple("package a\n", "package a\n\nvar x = "+l+"\n")
		in.Cases = []Case{{"slug-d03", text, "tram"}, {"slug-d04", "Köln", "koln"}}
		if r := Check(in); !slices.Contains(r.Classes(), "leak.digest") {
			t.Errorf("%s: %q", l, r.Classes())
		}
	}
}
