package audit

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/binary"
	"io"
	"strings"
)

// maxInflated bounds, in bytes, what the compressed words of one literal may
// hold together.
const maxInflated = 1 << 20

// textOf reads bytes as text, or as compressed text, of which it takes the
// bytes out of room. What is longer is cut: its beginning is evidence enough.
func textOf(data []byte, room *int) (string, bool) {
	if r := unpacker(data); r != nil && *room > 0 {
		text, _ := io.ReadAll(io.LimitReader(r, int64(*room))) // what came before the damage is text too
		*room -= len(text)
		if text, ok := printable(text); ok {
			return text, true
		}
	}
	return printable(data)
}

// unpacker tells by their first bytes what bytes are compressed with; nil if
// they are not.
func unpacker(data []byte) io.Reader {
	var (
		r   io.Reader
		err error
	)
	in := bytes.NewReader(data)
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b, 8}):
		r, err = gzip.NewReader(in)
	case bytes.HasPrefix(data, []byte("BZh")):
		r = bzip2.NewReader(in)
	case len(data) > 2 && data[0]&0x0f == 8 && binary.BigEndian.Uint16(data)%31 == 0:
		r, err = zlib.NewReader(in)
	}
	if err != nil {
		return nil
	}
	return r
}

// letters85 are the digits of the base 85 that programs write into quotes.
const letters85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// least85 is how long a literal must be that is read in base 85: a shorter one
// is text by chance.
const least85 = 20

// decode85 reads a literal that is one word in base 85, of either alphabet.
func decode85(s string) (string, bool) {
	if len(s) < least85 || strings.ContainsAny(s, " \n\t") {
		return "", false
	}
	room := maxInflated
	for _, text := range []string{translate85(s), s} {
		data := make([]byte, 4*len(text)) // a z stands for four bytes
		n, _, err := ascii85.Decode(data, []byte(text), true)
		if text == "" || err != nil {
			continue
		}
		if text, ok := textOf(data[:n], &room); ok {
			return text, true
		}
	}
	return "", false
}

// translate85 writes a word over letters85 in the digits of ascii85, "" if it
// is none.
func translate85(s string) string {
	out := make([]byte, len(s))
	for i := range len(s) {
		digit := strings.IndexByte(letters85, s[i])
		if digit < 0 {
			return ""
		}
		out[i] = '!' + byte(digit)
	}
	return string(out)
}
