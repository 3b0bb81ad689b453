package contract

import (
	"strings"
	"testing"
)

func TestParseTag(t *testing.T) {
	for _, s := range []string{"a", "1", "spelling-1", "a-b-c", strings.Repeat("a", 40)} {
		if tag, err := ParseTag(s); err != nil || string(tag) != s {
			t.Errorf("ParseTag(%q) = %q, %v", s, tag, err)
		}
	}
	for s, want := range map[string]string{
		"":                      "tag is empty",
		strings.Repeat("a", 41): "tag has 41 bytes, at most 40 are allowed",
		"-a":                    `tag "-a": hyphens stand between words, one at a time`,
		"a-":                    `tag "a-": hyphens stand between words, one at a time`,
		"a--b":                  `tag "a--b": hyphens stand between words, one at a time`,
		"A":                     `tag "A": 'A' is not allowed, only a-z, 0-9 and single hyphens`,
		"a/b":                   `tag "a/b": '/' is not allowed, only a-z, 0-9 and single hyphens`,
		"a\n":                   `tag "a\n": '\n' is not allowed, only a-z, 0-9 and single hyphens`,
		"é":                     `tag "é": 'é' is not allowed, only a-z, 0-9 and single hyphens`,
		"\xff":                  `tag "\xff": '�' is not allowed, only a-z, 0-9 and single hyphens`,
	} {
		if _, err := ParseTag(s); err == nil || err.Error() != want {
			t.Errorf("ParseTag(%q): %v, want %s", s, err, want)
		}
	}
}

func TestNormalizeTag(t *testing.T) {
	for s, want := range map[string]string{
		"spelling-1": "spelling-1", " Spelling  Run #2! ": "spelling-run-2", "Größe_x": "", "Übung.é": "ubung-e", "--a__b--": "a-b", "ﬁne": "fine",
		"": "", "!!!": "", "日本": "", "a\xffb": "", strings.Repeat("a", 41): "", "K": "k",
	} {
		tag, err := NormalizeTag(s)
		if string(tag) != want || (err == nil) != (want != "") {
			t.Errorf("NormalizeTag(%q) = %q, %v", s, tag, err)
		}
	}
}

func TestParseDigest(t *testing.T) {
	if d, err := ParseDigest(string(Sum(nil))); err != nil || d != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("%s %v", d, err)
	}
	for _, s := range []string{"", "sha256:", strings.Repeat("0", 64), "sha256:" + strings.Repeat("0", 63), "sha256:" + strings.Repeat("G", 64), string(Sum(nil)) + "\n"} {
		if _, err := ParseDigest(s); err == nil {
			t.Errorf("ParseDigest(%q) is accepted", s)
		}
	}
}

func FuzzParseTag(f *testing.F) {
	for _, s := range []string{"a-b", "A b", "é", "", "a--b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := ParseTag(s)
		if err == nil && string(tag) != s {
			t.Errorf("ParseTag(%q) = %q", s, tag)
		}
		normal, err2 := NormalizeTag(s)
		if err == nil && (err2 != nil || normal != tag) {
			t.Errorf("NormalizeTag(%q) = %q, %v", s, normal, err2)
		}
		if err2 == nil {
			if again, err := ParseTag(string(normal)); err != nil || again != normal {
				t.Errorf("NormalizeTag(%q) = %q is no tag: %v", s, normal, err)
			}
		}
	})
}
