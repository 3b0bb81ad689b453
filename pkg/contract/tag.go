package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Tag names a run: lower-case ASCII letters and digits in words joined by
// single hyphens, at most 40 characters.
type Tag string

const maxTag = 40

// ParseTag returns s as a Tag, or an error that says what is wrong with it.
func ParseTag(s string) (Tag, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("tag is empty")
	case len(s) > maxTag:
		return "", fmt.Errorf("tag has %d bytes, at most %d are allowed", len(s), maxTag)
	}
	for _, word := range strings.Split(s, "-") {
		if word == "" {
			return "", fmt.Errorf("tag %q: hyphens stand between words, one at a time", s)
		}
		for _, r := range word {
			if !tagRune(r) {
				return "", fmt.Errorf("tag %q: %q is not allowed, only a-z, 0-9 and single hyphens", s, r)
			}
		}
	}
	return Tag(s), nil
}

func tagRune(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }

// NormalizeTag makes a Tag of what a person typed: upper case becomes lower
// case, letters lose their accents, and whatever stands between ASCII letters
// and digits becomes one hyphen. Letters and digits of other scripts are
// refused, and so is what stays longer than a Tag may be: nothing is cut off.
func NormalizeTag(s string) (Tag, error) {
	if len(s) > 4096 {
		return "", fmt.Errorf("tag has %d bytes, at most %d are allowed", len(s), maxTag)
	}
	var words strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		switch {
		case tagRune(r):
			if gap && words.Len() > 0 {
				words.WriteByte('-')
			}
			gap = false
			words.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		case r == unicode.ReplacementChar:
			return "", fmt.Errorf("tag %q is not UTF-8", s)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			return "", fmt.Errorf("tag %q: %q has no ASCII spelling, write the tag with a-z, 0-9 and hyphens", s, r)
		default:
			gap = true
		}
	}
	if words.Len() == 0 {
		return "", fmt.Errorf("tag %q has no letter and no digit", s)
	}
	return ParseTag(words.String())
}

// Digest is a SHA-256 as "sha256:" and 64 lower-case hexadecimal digits.
type Digest string

var digestShape = shape(`^sha256:[0-9a-f]{64}$`)

// Sum returns the Digest of data.
func Sum(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// ParseDigest returns s as a Digest, or an error.
func ParseDigest(s string) (Digest, error) {
	if !digestShape().MatchString(s) {
		return "", fmt.Errorf("digest %q: want sha256: and 64 lower-case hexadecimal digits", shorten(s))
	}
	return Digest(s), nil
}

// shape is a regular expression that is compiled when it is first used: every
// start of the program would pay for all, and so would every sandbox's init.
func shape(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
