package contract

import (
	"fmt"
	"strings"
	"testing"
)

func files(pairs ...string) map[string][]byte {
	m := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = []byte(pairs[i+1])
	}
	return m
}

func TestNewSplit(t *testing.T) {
	s, err := NewSplit("development", files("inputs/b", "B", "answers/b", "2", "inputs/a", "A", "answers/a", ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cases) != 2 || s.Cases[0].ID != "a" || string(s.Cases[0].Input) != "A" || string(s.Cases[1].Answer) != "2" {
		t.Errorf("%+v", s)
	}
	const want = "sha256:934a4a36654dcafb145cf3ba0b0111edc6dd25e253c36309732c8b90156aa30b"
	if s.Digest != want {
		t.Errorf("digest %s, want %s", s.Digest, want)
	}
}

// TestSplitDigest moves bytes between name, input and answer: no two splits
// may share a digest.
func TestSplitDigest(t *testing.T) {
	seen := map[Digest]string{}
	for _, s := range []map[string][]byte{
		files("inputs/a", "xy", "answers/a", "z"), files("inputs/a", "x", "answers/a", "yz"), files("inputs/ax", "y", "answers/ax", "z"),
		files("inputs/a", "", "answers/a", "xyz"), files("inputs/a", "xyz", "answers/a", ""),
		files("inputs/a", "x", "answers/a", "", "inputs/b", "", "answers/b", ""), files("inputs/a", "", "answers/a", "x", "inputs/b", "", "answers/b", ""),
	} {
		split, err := NewSplit("x", s)
		if err != nil {
			t.Fatal(err)
		}
		if other := seen[split.Digest]; other != "" {
			t.Errorf("%q and %s share a digest", s, other)
		}
		seen[split.Digest] = fmt.Sprintf("%q", s)
	}
	a, _ := NewSplit("one", files("inputs/a", "x", "answers/a", "y"))
	b, _ := NewSplit("two", files("inputs/a", "x", "answers/a", "y"))
	if a.Digest != b.Digest {
		t.Error("the name of a split changes its digest")
	}
}

func TestNewSplitRefuses(t *testing.T) {
	many := map[string][]byte{}
	for i := range 30 {
		many[fmt.Sprintf("inputs/%02d", i)] = nil
	}
	for _, r := range []struct {
		name  string
		files map[string][]byte
		want  string
	}{
		{"none", nil, "split development: no case; want files of the same names below inputs/ and answers/"},
		{"no answer", files("inputs/a", "", "answers/a", "", "inputs/b", ""), `split development: "inputs/b": there is no "answers/b"`},
		{"no input", files("inputs/a", "", "answers/a", "", "answers/b", ""), `split development: "answers/b": there is no "inputs/b"`},
		{"both", files("inputs/a", "", "answers/b", ""), "split development: \"answers/b\": there is no \"inputs/b\"\nsplit development: \"inputs/a\": there is no \"answers/a\""},
		{"folder", files("inputs/a/b", "", "answers/a/b", ""), `"inputs/a/b": folders below inputs/ and answers/ are not allowed`},
		{"elsewhere", files("README.md", ""), `split development: "README.md": a split holds inputs/ and answers/ only`},
		{"no name", files("inputs/", "", "answers/", ""), `"inputs/": the name of a case has 1 to 200 bytes`},
		{"long", files("inputs/"+strings.Repeat("a", 201), ""), `the name of a case has 1 to 200 bytes`},
		{"hidden file", files("inputs/.keep", "", "answers/.keep", ""), `"inputs/.keep": hidden files are not allowed`},
		{"dots", files("inputs/..", "", "answers/..", ""), `"inputs/..": hidden files are not allowed`},
		{"control", files("inputs/a\nb", ""), `"inputs/a\nb": the name holds what cannot be seen or is not UTF-8`},
		{"bytes", files("inputs/\xff", ""), `"inputs/\xff": the name holds what cannot be seen or is not UTF-8`},
		{"LFS", files("inputs/a", "version https://git-lfs.github.com/spec/v1\noid sha256:0", "answers/a", ""), `"inputs/a": this is an LFS pointer, not the file itself`},
		{"large", map[string][]byte{"inputs/a": make([]byte, maxCaseBytes+1), "answers/a": nil}, `"inputs/a": 67108865 bytes, at most 64MiB are allowed`},
		{"many", many, "split development: and 20 more"},
	} {
		s, err := NewSplit("development", r.files)
		if err == nil || s != nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got %v, want %s", r.name, err, r.want)
		}
	}
}
