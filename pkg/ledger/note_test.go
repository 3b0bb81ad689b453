package ledger_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// The golden vector: an Ed25519 seed, and what a run of two lines signs with it.
const (
	goldenSeed     = "b354dd0cface27844a05bfa61cc8ccdda33d585f056af87a0dfe680ba4b59a99"
	goldenVerifier = "research-loop/acme/widget+0f6ce847+AVODpt9Sje4lOwuto3MbfEsl+Akuzi5ssYwqnVN7rKpN"
	goldenContract = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	goldenNote     = `research-loop/acme/widget/speedup
2
sE7ywsFemX1CI425gBnEYRbOKyLXawolIttmho3UVrY=
contract sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
results sha256:0000000000000000000000000000000000000000000000000000000000000000
gate 0/20

— research-loop/acme/widget D2zoR/rSG6F60OW/EQa+Etj9eOY4w+IbZzIFom44NlnAr5bvHbaKZrcbx+TfTAnLoEplblxzSG0Fy/VScMdsZuPTQAs=
`
)

func goldenCheckpoint() ledger.Checkpoint {
	return ledger.Checkpoint{
		Origin: "research-loop/acme/widget/speedup", Lines: 2,
		Head:     "sha256:b04ef2c2c15e997d42238db98019c46116ce2b22d76b0a2522db66868dd456b6",
		Contract: goldenContract, Results: ledger.ZeroHash, Budget: 20,
	}
}

func goldenVerdict() ledger.VerdictNote {
	return ledger.VerdictNote{
		Origin: "research-loop/acme/widget/speedup", Status: "keep", Iteration: 3,
		Commit: sha(2), Tree: sha(8), Lines: 40, Head: goldenCheckpoint().Head,
	}
}

func signer(t testing.TB) *ledger.Signer {
	t.Helper()
	seed, err := hex.DecodeString(goldenSeed)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ledger.NewSigner("research-loop/acme/widget", seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func verifier(t testing.TB) *ledger.Verifier {
	t.Helper()
	v, err := ledger.ParseVerifier(goldenVerifier)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGoldenCheckpoint(t *testing.T) {
	// The two lines of the vector hash to the head, whatever their data say.
	line0 := `{"v":1,"seq":0,"prev":"` + ledger.ZeroHash + `","time":"2026-01-01T00:00:00Z","run":"speedup","iteration":0,"event":"sealed","data":{"contract_sha256":"` + goldenContract + `"}}` + "\n"
	line1 := `{"v":1,"seq":1,"prev":"` + ledger.Hash([]byte(line0)) + `","time":"2026-01-01T00:00:01Z","run":"speedup","iteration":0,"event":"prepared","data":{"incumbent_commit":"1111111111111111111111111111111111111111"}}` + "\n"
	if got := ledger.Hash([]byte(line1)); got != goldenCheckpoint().Head {
		t.Errorf("head %s, want %s", got, goldenCheckpoint().Head)
	}
	s := signer(t)
	if s.Verifier().String() != goldenVerifier {
		t.Errorf("verifier %s, want %s", s.Verifier(), goldenVerifier)
	}
	got, err := s.Checkpoint(goldenCheckpoint())
	if err != nil || string(got) != goldenNote {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, goldenNote)
	}
	back, err := verifier(t).Checkpoint([]byte(goldenNote))
	if err != nil || back != goldenCheckpoint() {
		t.Errorf("got %+v, %v", back, err)
	}
	if _, err := verifier(t).Verdict([]byte(goldenNote)); err == nil {
		t.Error("a checkpoint is taken for a verdict")
	}
	// Any reader of signed notes opens it.
	v, err := note.NewVerifier(goldenVerifier)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open([]byte(goldenNote), note.VerifierList(v)); err != nil {
		t.Error(err)
	}
}

func TestVerdictNote(t *testing.T) {
	for _, want := range []ledger.VerdictNote{goldenVerdict(), {
		Origin: "research-loop/local/my%20project/a-b", Status: "superseded", Iteration: -1,
		Commit: strings.Repeat("a", 64), Tree: strings.Repeat("b", 64), Lines: 1, Head: ledger.ZeroHash,
	}} {
		data, err := signer(t).Verdict(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := verifier(t).Verdict(data)
		if err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if _, err := verifier(t).Checkpoint(data); err == nil {
			t.Error("a verdict is taken for a checkpoint")
		}
	}
	text, err := goldenVerdict().Format()
	want := "research-loop/acme/widget/speedup\nverdict keep\niteration 3\ncommit " + sha(2) + "\ntree " + sha(8) + "\njournal 40 " + goldenCheckpoint().Head + "\n"
	if err != nil || text != want {
		t.Errorf("got %q, %v; want %q", text, err, want)
	}
}

// TestNoteRefuses changes one thing in a signed note at a time.
func TestNoteRefuses(t *testing.T) {
	other, err := ledger.NewSigner("research-loop/acme/widget", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := other.Checkpoint(goldenCheckpoint())
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]struct{ data, want string }{
		"empty":             {"", "malformed"},
		"text alone":        {strings.Split(goldenNote, "\n\n")[0] + "\n", "malformed"},
		"another key":       {string(forged), "not signed by"},
		"two signatures":    {goldenNote + strings.Split(string(forged), "\n\n")[1], "not in the form"},
		"signature twice":   {goldenNote + strings.Split(goldenNote, "\n\n")[1], "not in the form"},
		"another budget":    {strings.Replace(goldenNote, "0/20", "0/21", 1), "is not one of"},
		"a trailing bit":    {strings.Replace(goldenNote, "QAs=", "QAt=", 1), "not in the form"},
		"no newline":        {strings.TrimSuffix(goldenNote, "\n"), "malformed"},
		"a line more":       {goldenNote + "\n", "malformed"},
		"carriage returns":  {strings.ReplaceAll(goldenNote, "\n", "\r\n"), "malformed"},
		"not UTF-8":         {goldenNote + "\xff", "malformed"},
		"longer than notes": {strings.Repeat("a", 65<<10), "at most"},
	}
	for name, c := range table {
		if got, err := verifier(t).Checkpoint([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", name, got, err, c.want)
		}
	}
}

// TestEveryFlipOfANote flips every bit of a signed checkpoint.
func TestEveryFlipOfANote(t *testing.T) {
	v := verifier(t)
	for i := range len(goldenNote) * 8 {
		data := []byte(goldenNote)
		data[i/8] ^= 1 << (i % 8)
		if got, err := v.Checkpoint(data); err == nil {
			t.Fatalf("bit %d: %q is read as %+v", i, data, got)
		}
	}
}

func TestParseCheckpointRefuses(t *testing.T) {
	text := strings.SplitAfter(goldenNote, "\n\n")[0]
	text = strings.TrimSuffix(text, "\n")
	if _, err := ledger.ParseCheckpoint(text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to string }{
		{"research-loop/acme/widget/speedup", "research-loop/acme/widget"},
		{"research-loop/acme/widget/speedup", "research-loop/acme/wid get/speedup"},
		{"research-loop/acme/widget/speedup", "research-loop/acme/widget/Speed"},
		{"\n2\n", "\n02\n"}, {"\n2\n", "\n+2\n"}, {"\n2\n", "\n0\n"}, {"\n2\n", "\n-1\n"}, {"\n2\n", "\n\n"}, {"\n2\n", "\n99999999999999999999\n"},
		{"VrY=", "VrZ="}, {"sE7y", ""}, {"VrY=", "VrY"}, {"sE7y", "sE7y\r"},
		{"contract sha256:e", "contract sha256:E"}, {"contract ", "contract"}, {"contract sha256:e3", "contract sha256:e"},
		{"results ", "result "}, {"0/20", "21/20"}, {"0/20", "0/020"}, {"0/20", "-1/20"}, {"0/20", "0"}, {"gate 0/20\n", "gate 0/20"},
		{"gate 0/20\n", "gate 0/20\n\n"}, {"gate 0/20\n", ""}, {"gate 0/20", "gate 0/20 "},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Errorf("%q changes nothing", c.from)
		}
		if got, err := ledger.ParseCheckpoint(changed); err == nil {
			t.Errorf("%q → %q: read as %+v", c.from, c.to, got)
		}
	}
	for _, c := range []ledger.Checkpoint{{}, {Origin: "research-loop/a/b/c", Lines: 1, Head: "x", Contract: ledger.ZeroHash, Results: ledger.ZeroHash}} {
		if _, err := signer(t).Checkpoint(c); err == nil {
			t.Errorf("%+v is signed", c)
		}
	}
}

func TestParseVerdictRefuses(t *testing.T) {
	text, err := goldenVerdict().Format()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to string }{
		{"acme", "../acme"}, {"verdict keep", "verdict "}, {"verdict keep", "verdict Keep"}, {"verdict keep", "2"},
		{"iteration 3", "iteration 03"}, {"iteration 3", "iteration -1"}, {"iteration 3", "iteration x"}, {"iteration 3", "iteration "},
		{"commit 0", "commit "}, {"commit 0", "commit A"}, {"tree ", "tree  "}, {"journal 40", "journal 040"}, {"journal 40", "journal 0"},
		{"sha256:b", "sha256:B"}, {"journal 40 sha256:", "journal 40 "}, {"\njournal", "\n\njournal"},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Errorf("%q changes nothing", c.from)
		}
		if got, err := ledger.ParseVerdict(changed); err == nil {
			t.Errorf("%q → %q: read as %+v", c.from, c.to, got)
		}
	}
	if _, err := signer(t).Verdict(ledger.VerdictNote{}); err == nil {
		t.Error("an empty verdict is signed")
	}
}

func TestKeys(t *testing.T) {
	skey, vkey, err := note.GenerateKey(zeros{}, "example.com")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ledger.NewSigner("example.com", make([]byte, 32))
	if err != nil || s.Verifier().String() != vkey || s.Verifier().Name() != "example.com" {
		t.Errorf("got %v, %v; want %s", s, err, vkey)
	}
	upper := strings.Replace(goldenVerifier, "0f6ce847", "0F6CE847", 1)
	for _, bad := range []string{"", "a", skey, upper, goldenVerifier + "\n", goldenVerifier + "=", "a+00000000+", strings.Replace(goldenVerifier, "acme", "acne", 1)} {
		if _, err := ledger.ParseVerifier(bad); err == nil {
			t.Errorf("verifier %q is read", bad)
		}
	}
	for _, name := range []string{"", "a b", "a+b"} {
		if _, err := ledger.NewSigner(name, make([]byte, 32)); err == nil {
			t.Errorf("name %q is taken", name)
		}
	}
	if _, err := ledger.NewSigner("a", make([]byte, 31)); err == nil {
		t.Error("a short seed is taken")
	}
}

// TestSignerHidesItsKey prints a signer in every way.
func TestSignerHidesItsKey(t *testing.T) {
	seed := []byte("0123456789abcdefghijklmnopqrstuv")
	s, err := ledger.NewSigner("example.com", seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{s, *s, []any{s}} {
			text := fmt.Sprintf(verb, v)
			for _, form := range []string{string(seed), hex.EncodeToString(seed), strings.Trim(fmt.Sprint(seed), "[]")} {
				if strings.Contains(text, form) {
					t.Errorf("%s prints the seed", verb)
				}
			}
		}
	}
}

// zeros is a source of bytes that are no secret.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestOriginShape holds what a note may be of.
func TestOriginShape(t *testing.T) {
	c := ledger.Checkpoint{Lines: 1, Head: ledger.ZeroHash, Contract: ledger.ZeroHash, Results: ledger.ZeroHash}
	for origin, want := range map[string]bool{
		"research-loop/a/b/c": true, "research-loop/Ac-me/w.i_d%20get/a1-b-2": true,
		"": false, "research-loop": false, "research-loop/a/b": false, "research-loop/a/b/": false, "research-loop//b/c": false, "research-loop/a//c": false,
		"research-loop/a/b/c/d": false, "research-loop/a/b/C": false, "research-loop/a/b/-c": false, "research-loop/a/b/c-": false,
		"research-loop/a/b/c--d": false, "research-loop/a/b/-": false, "research-loop/a b/c/d": false, "research-loop/a/b\n/c": false,
		"research-loop/a/é/c": false, "other/a/b/c": false, "research-loop/a/b/c\n": false, "research-loop/a/b/c.d": false,
	} {
		c.Origin = origin
		if _, err := c.Format(); (err == nil) != want {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

func TestOrigin(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/octo-org/widget":                  "octo-org/widget",
		"https://github.com/Octo-Org/Widget.git":              "octo-org/widget",
		"https://user:secret@github.com/octo-org/widget.git/": "octo-org/widget",
		"git@github.com:octo-org/widget.git":                  "octo-org/widget",
		"ssh://git@github.com/octo-org/widget.git":            "octo-org/widget",
		"ssh://git@ssh.github.com:443/octo-org/widget.git":    "octo-org/widget",
		"https://ghe.example.com/Octo-Org/widget":             "octo-org/widget",
		"https://ghe.example.com:8443/octo-org/widget.git":    "octo-org/widget",
		"ssh://git@ghe.example.com:122/octo-org/widget.git":   "octo-org/widget",
		"http://127.0.0.1:8080/octo-org/widget.git":           "octo-org/widget",
		"https://example.com/widget.git":                      "local/widget",
		"git@example.com:widget.git":                          "local/widget",
		"https://example.com/github.com/octo-org/widget":      "local/widget",
		"https://example.com/octo-org/widget.git?x=1":         "octo-org/widget",
		"git@example.com:octo-org/widget.git":                 "octo-org/widget",
		"/srv/git/widget.git":                                 "local/widget",
		"/home/ada/widget/.git":                               "local/widget",
		"/home/ada/My Project":                                "local/My%20Project",
		"file:///srv/git/widget.git":                          "local/widget",
		"../widget.git":                                       "local/widget",
		`C:\git\widget.git`:                                   "local/widget",
		"/srv/ä\n.git":                                        "local/%C3%A4%0A",
	} {
		got, err := ledger.Origin(remote, "speedup")
		if err != nil || got != "research-loop/"+want+"/speedup" {
			t.Errorf("%s: got %s, %v; want %s", remote, got, err, want)
		}
	}
	for _, bad := range []string{"", "/", "https://github.com", "/.git"} {
		if got, err := ledger.Origin(bad, "speedup"); err == nil {
			t.Errorf("%q: got %s", bad, got)
		}
	}
	if got, err := ledger.Origin("/srv/widget.git", "Speed Up"); err == nil {
		t.Errorf("got %s", got)
	}
}

// What is opened is what would be signed.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte(goldenNote))
	f.Add([]byte("research-loop/a/b/c\n1\n\ncontract \nresults \ngate 0/0\n\n— a AAAA\n"))
	v, s := verifier(f), signer(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		text, _, _ := strings.Cut(string(data), "\n\n")
		if c, err := ledger.ParseCheckpoint(text + "\n"); err == nil {
			if again, err := c.Format(); err != nil || again != text+"\n" {
				t.Errorf("%q is written as %q (%v)", text, again, err)
			}
		}
		c, err := v.Checkpoint(data)
		if err != nil {
			return
		}
		if again, err := s.Checkpoint(c); err != nil || string(again) != string(data) {
			t.Errorf("%q is signed as %q (%v)", data, again, err)
		}
	})
}

func FuzzVerdict(f *testing.F) {
	text, err := goldenVerdict().Format()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(strings.Replace(text, "iteration 3", "iteration none", 1))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ledger.ParseVerdict(text)
		if err != nil {
			return
		}
		if again, err := v.Format(); err != nil || again != text {
			t.Errorf("%q is written as %q (%v)", text, again, err)
		}
	})
}
