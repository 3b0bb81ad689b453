package contract

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// hidden reports whether a reader cannot see r or may see something else in
// its place: controls, formatting, bidirectional overrides, fillers, tags,
// noncharacters and the replacement character. The ranges stand here, and not
// in the unicode package, so that sealed bytes do not change with Go.
func hidden(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r <= 0xa0, r == 0xad, r == 0x34f, r == 0x61c,
		r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		0x180b <= r && r <= 0x180f, 0x200b <= r && r <= 0x200f,
		0x2028 <= r && r <= 0x202f, 0x205f <= r && r <= 0x206f,
		r == 0x3164, 0xd800 <= r && r <= 0xf8ff, 0xfe00 <= r && r <= 0xfe0e,
		r == 0xfeff, r == 0xffa0, 0xfff0 <= r && r <= 0xffff,
		0x1d173 <= r && r <= 0x1d17a, r >= 0xe0000, r&0xfffe == 0xfffe:
		return true
	}
	return false
}

// visible returns s with every hidden character and every byte that is not
// UTF-8 escaped, so that it can be shown on one line.
func visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case hidden(r):
			b.WriteString(escape(r))
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// escape returns r as YAML's double-quoted style and Go both read it.
func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// quote returns s between double quotes as a YAML scalar on one line. Bytes
// that are not UTF-8 become replacement characters.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case hidden(r):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// shorten cuts s so that a message stays readable.
func shorten(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// shown quotes s for a message.
func shown(s string) string { return `"` + visible(shorten(s)) + `"` }

// nearest returns the one of names that a slip of the fingers turns into s,
// or "".
func nearest(s string, names []string) string {
	best, least := "", min(2, 1+len(s)/4)+1
	if len(s) > 64 {
		return ""
	}
	for _, name := range names {
		d := distance(strings.ToLower(s), name)
		if strings.HasPrefix(name, s) && len(s) >= 3 {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the insertions, deletions and substitutions between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// didYouMean is the end of a message about the unknown s.
func didYouMean(s string, names []string) string {
	if near := nearest(s, names); near != "" {
		return "; did you mean " + shown(near) + "?"
	}
	return ""
}
