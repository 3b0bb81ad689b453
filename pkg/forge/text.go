package forge

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fence puts text that a candidate wrote into a code block of Markdown: in it
// nothing is markup, a link, a mention or a reference. The fence is longer than
// any run of backticks in the text; control characters are spelt out.
func Fence(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(plain(line) + "\n")
	}
	return fence + "text\n" + b.String() + fence + "\n"
}

// Quote makes text that a candidate wrote safe on a runner's streams: each of
// its lines, however they end, stands behind "| ", control characters are spelt
// out and the old form of a command, which counts anywhere in a line, is broken.
func Quote(text string) string {
	var b strings.Builder
	split := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n")
	for line := range strings.SplitSeq(strings.TrimRight(split.Replace(strings.ToValidUTF8(text, "\ufffd")), "\n"), "\n") {
		b.WriteString("| " + strings.ReplaceAll(plain(line), "##[", "#\u200b#[") + "\n")
	}
	return b.String()
}

// plain makes text one line without control characters, invisible characters
// that change its direction, and broken bytes; each is spelt as Go spells it.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) || r == '\u2028' || r == '\u2029' || r == '\ufeff':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// shorten keeps the beginning of a Markdown text within most bytes and says
// honestly what is missing. Bytes, because GitHub counts characters in one place
// and bytes in another, and bytes are never fewer.
func shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= most {
		return text
	}
	note := func(kept int) string {
		return fmt.Sprintf("\n\n… cut here: %d of %d bytes are shown, the state branch holds the rest.\n", kept, len(text))
	}
	kept := cutBytes(text, most-len(note(len(text))))
	return kept + note(len(kept))
}

// cutBytes keeps at most n bytes of whole characters.
func cutBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)]
}
