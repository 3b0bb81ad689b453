package audit

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// What python's base64.b85encode, base64.a85encode, zlib.compress,
// bz2.compress and int.from_bytes write of it.
const packedText = "the quick brown fox jumps"

func TestTextsOfBytes(t *testing.T) {
	tests := []struct{ name, text string }{
		{"base 85", `bZBKDadl~9Yan8BZ+C7WW^Z^PYISXJa{`},
		{"ascii85", `FD,5.EHPu*CER),Dg-(AAoDo:C3=B4Er`},
		{"zlib", `eJwryUhVKCzNTM5WSCrKL89TSMuvUMgqzS0oBgB6BgmD`},
		{"zlib in base 85", "c$_QANL45-%}mZ#NGi%N&r?XtuTaP;%`GSf0D1-qg8"},
		{"bzip2", `QlpoOTFBWSZTWYh9mREAAAoRgEAAG3v+wCAAIo0NGRoZqFMJpoDTEyoOyITwSkIbp8cCBL4u5IpwoSEQ+zIi`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if text, ok := newBudget().peel(tt.text); !ok || text != packedText {
				t.Errorf("got %q, %v", text, ok)
			}
		})
	}
	for _, honest := range []string{"a-long-hyphenated-name-of-a-file", "github.com/octo-org/widget/pkg/x", "eJwtokenThatBeginsLikeZlib", strings.Repeat("z", 64)} {
		if text, ok := decode85(honest); ok {
			t.Errorf("%s decodes to %q", honest, text)
		}
	}
}

func TestNumberTexts(t *testing.T) {
	number := "730703559901398923780828787199032049902763523380838845476979"
	for _, text := range []string{number, number + "n", number[:9] + "_" + number[9:]} {
		if got := numberTexts(text); len(got) != 2 || got[0] != packedText || got[1] != reverse(packedText) {
			t.Errorf("%s: %q", text, got)
		}
	}
	for _, text := range []string{"3.14159265358979", "10000000000000000", "1e400", strings.Repeat("9", maxNumber+1), "0x"} {
		if got := numberTexts(text); got != nil {
			t.Errorf("%.40s: %q", text, got)
		}
	}
}

// TestInflateIsBounded unpacks a bomb to the bound and no further.
func TestInflateIsBounded(t *testing.T) {
	bomb := packed(strings.Repeat("a", 4*maxInflated), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	room := maxInflated
	if text, ok := textOf(bomb, &room); !ok || len(text) != maxInflated || room != 0 {
		t.Errorf("%d bytes, %v, %d left", len(text), ok, room)
	}
	if text, ok := textOf(bomb, &room); ok {
		t.Errorf("%d bytes without room", len(text))
	}
	if os.Getenv("CI") != "true" {
		return // what follows works through a whole budget
	}
	b := newBudget()
	for i := 0; i < 64 && b.over == ""; i++ {
		b.peel(fmt.Sprintf("%x", bomb))
		if b.over != "" && i < 2 {
			t.Fatalf("over after %d", i)
		}
	}
	if b.over == "" {
		t.Error("64 bombs were unpacked")
	}
}

func TestRotatedReverse(t *testing.T) {
	x := newExample()
	x.file("base/src/slug.go", "package slug\n")
	x.section(t, "case a", "Forgotten windmills of Utrecht\n=> forgotten-windmills-of-utrecht\n")
	x.file("cand/src/slug.go", "package slug\n\nvar a = \""+rot13(reverse("Forgotten windmills of Utrecht"))+"\"\n")
	if r := Check(x.input()); !slices.Contains(r.Classes(), "leak.obfuscated") {
		t.Errorf("findings %v", r.Findings)
	}
}
