package vault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"filippo.io/age"
)

// canary stands in every content and name that no error may quote.
const canary = "xyzzycanary"

func files(n int) []File {
	out := make([]File, n)
	for i := range out {
		out[i] = File{fmt.Sprintf("%s-%04d.txt", canary, i), []byte(fmt.Sprintf("%s %d\n", canary, i*i))}
	}
	return out
}

func sealed(t testing.TB, kind Kind, name string, f []File, to ...Recipient) ([]byte, Bundle) {
	t.Helper()
	data, b, err := SealSplit(kind, name, f, to...)
	if err != nil {
		t.Fatal(err)
	}
	return data, b
}

// fault wants an *Error with a reason and a text, and no canary in it.
func fault(t *testing.T, name string, err error, want Reason, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Reason != want || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, want %q: %q", name, err, want, text)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("%s: %q quotes a case", name, err)
	}
}

func same(a, b []File) bool {
	return fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b)
}

func TestSplitRoundTrip(t *testing.T) {
	k := generate(t)
	want := files(100)
	shuffled := append(append([]File(nil), want[50:]...), want[:50]...)
	data, b := sealed(t, Inputs, "validation", shuffled, k.Judge.Recipient(), k.Execute.Recipient())
	if b.Kind != Inputs || b.Name != "validation" || b.Cases != 100 || b.Digest != Digest(data) {
		t.Errorf("bundle %+v", b)
	}
	for _, i := range []Identity{k.Judge.Identity, k.Execute} {
		for _, wanted := range []Bundle{b, {Label: Label{Kind: Inputs}}} {
			got, err := i.OpenSplit(data, wanted)
			if err != nil || !same(got, want) {
				t.Errorf("opened as %+v: %d files, %v", wanted, len(got), err)
			}
		}
	}
	if shuffled[0].ID != want[50].ID {
		t.Error("sealing sorted the caller's files")
	}
}

func TestOpenRefuses(t *testing.T) {
	k := generate(t)
	to := []Recipient{k.Judge.Recipient()}
	data, b := sealed(t, Inputs, "validation", files(30), to...)
	answers, ab := sealed(t, Answers, "validation", files(30), to...)
	other, ob := sealed(t, Inputs, "final", files(30), to...)
	outcome, err := SealOutcome("validation", nil, 1000, to[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(data)
	changed[len(changed)-100] ^= 1
	loose := func(l Label) Bundle { return Bundle{Label: l} }
	for _, c := range []struct {
		name   string
		data   []byte
		want   Bundle
		reason Reason
		text   string
	}{
		{"another file", other, b, Swapped, "the contract has " + b.Digest + ", these bytes are " + ob.Digest},
		{"one bit", changed, b, Swapped, "the contract has"},
		{"one bit, no digest", changed, loose(b.Label), Damaged, "changed or cut short"},
		{"answers for inputs", answers, loose(b.Label), Swapped, "inputs of validation: swapped: these are the answers of validation"},
		{"another split", other, loose(b.Label), Swapped, "these are the inputs of final"},
		{"an outcome", outcome, loose(b.Label), Swapped, "these are the outcome of validation"},
		{"count", data, loose(Label{Inputs, "validation", 31}), Swapped, "these are 30 cases, want 31"},
		{"empty", nil, loose(b.Label), Damaged, "0 bytes that are no whole age file"},
		{"no age file", []byte(canary), loose(b.Label), Damaged, "11 bytes that are no whole age file"},
		{"another kind wanted", data, Bundle{Label: Label{Value, "validation", 30}, Digest: b.Digest}, Unfit, "inputs and answers"},
	} {
		_, err := k.Judge.OpenSplit(c.data, c.want)
		fault(t, c.name, err, c.reason, c.text)
	}
	_, err = k.Execute.OpenSplit(answers, ab)
	fault(t, "wrong key", err, WrongKey, "answers of validation: wrong key: they are sealed to other keys than this one")
}

// TestEveryTruncation cuts a bundle at every place of its header and at many of
// its body.
func TestEveryTruncation(t *testing.T) {
	k := generate(t)
	data, b := sealed(t, Inputs, "validation", files(3), k.Judge.Recipient())
	b.Digest = ""
	for n := 0; n < len(data); n++ {
		if n > 400 && n < len(data)-40 && n%1021 != 0 {
			continue
		}
		if _, err := k.Judge.OpenSplit(data[:n], b); err == nil {
			t.Fatalf("%d of %d bytes are opened", n, len(data))
		} else if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != Damaged {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	if _, err := k.Judge.OpenSplit(append(bytes.Clone(data), 0), b); err == nil {
		t.Error("a bundle with a byte behind it is opened")
	}
}

func TestSealRefuses(t *testing.T) {
	to := golden(t).Recipient()
	one := func(id string) []File { return []File{{id, nil}} }
	half := make([]byte, maxBundle/2) // never read
	big := []File{{"a", half}, {"b", half}}
	for _, c := range []struct {
		name   string
		kind   Kind
		split  string
		files  []File
		reason Reason
		text   string
	}{
		{"no case", Inputs, "validation", nil, Unfit, "there is no case"},
		{"kind", Value, "validation", files(1), Unfit, "inputs and answers"},
		{"no name", Inputs, "", files(1), Unfit, "a name has 1 to 200 characters"},
		{"name", Inputs, "a b", files(1), Unfit, "a name has"},
		{"line", Inputs, "a\nb", files(1), Unfit, "a name has"},
		{"not ASCII", Inputs, "é", files(1), Unfit, "a name has"},
		{"long name", Inputs, strings.Repeat("a", 201), files(1), Unfit, "a name has"},
		{"twice", Inputs, "v", append(files(2), files(1)...), Unfit, "have the same name"},
		{"slash", Inputs, "v", one("a/" + canary), Unfit, "file 1 of 1"},
		{"back slash", Inputs, "v", one(`a\b`), Unfit, "file 1 of 1"},
		{"up", Inputs, "v", one(".."), Unfit, "file 1 of 1"},
		{"hidden", Inputs, "v", one("." + canary), Unfit, "file 1 of 1"},
		{"no file name", Inputs, "v", one(""), Unfit, "file 1 of 1"},
		{"long file name", Inputs, "v", one(strings.Repeat("a", 201)), Unfit, "file 1 of 1"},
		{"control", Inputs, "v", one("a\x1b[0m"), Unfit, "file 1 of 1"},
		{"NUL", Inputs, "v", one("a\x00"), Unfit, "file 1 of 1"},
		{"bidi", Inputs, "v", one("a\u202eb"), Unfit, "file 1 of 1"},
		{"not UTF-8", Inputs, "v", one("a\xff"), Unfit, "file 1 of 1"},
		{"large file", Inputs, "v", []File{{canary, make([]byte, maxFile+1)}}, TooLarge, "file 1 of 1 has 67108865 bytes"},
		{"large bundle", Inputs, "v", big, TooLarge, "with padding"},
		{"many", Inputs, "v", make([]File, maxCases+1), Unfit, ""},
	} {
		_, _, err := SealSplit(c.kind, c.split, c.files, to)
		fault(t, c.name, err, c.reason, c.text)
	}
	_, _, err := SealSplit(Inputs, "v", files(1))
	fault(t, "no keys", err, Unfit, "no key to seal them to")
}

func TestSizeClass(t *testing.T) {
	for n, want := range map[int]int{
		0: 64 << 10, 1: 64 << 10, 64 << 10: 64 << 10, 64<<10 + 1: 72 << 10, 72 << 10: 72 << 10, 72<<10 + 1: 80 << 10,
		120<<10 + 1: 128 << 10, 128 << 10: 128 << 10, 128<<10 + 1: 144 << 10, 1 << 30: 1 << 30, 1<<30 + 1: 1<<30 + 1<<27,
	} {
		if got := sizeClass(n); got != want {
			t.Errorf("sizeClass(%d) = %d, want %d", n, got, want)
		}
	}
}

// TestLengthsTellNothing: contents of one class, and values and outcomes of
// any length, have one sealed length.
func TestLengthsTellNothing(t *testing.T) {
	k := generate(t)
	a, b := k.Judge.Recipient(), k.Maintainer.Recipient()
	lengths := map[string]map[int]bool{}
	note := func(what string, data []byte, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if lengths[what] == nil {
			lengths[what] = map[int]bool{}
		}
		lengths[what][len(data)] = true
	}
	for _, n := range []int{1, 10, 1000} {
		data, _, err := SealSplit(Inputs, "validation", files(n), a, b)
		note("splits", data, err)
	}
	for _, value := range []string{"", "{}", strings.Repeat("1 ", 500), strings.Repeat(canary, 1<<16)} {
		data, err := SealValue("run/1", 100, []byte(value), a, b)
		note("values", data, err)
		data, err = SealOutcome("run/1", []byte(value), 1<<20, a)
		note("outcomes", data, err)
	}
	for what, seen := range lengths {
		if len(seen) != 1 {
			t.Errorf("%s have the lengths %v", what, seen)
		}
	}
}

func TestValues(t *testing.T) {
	k := generate(t)
	value := []byte(`{"cases": [{"id": "` + canary + `", "score": 1}]}`)
	data, err := SealValue("spelling/7", 400, value, k.Judge.Recipient(), k.Maintainer.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []Identity{k.Judge.Identity, k.Maintainer} {
		if got, err := i.OpenValue(data, "spelling/7", 400); err != nil || !bytes.Equal(got, value) {
			t.Errorf("opened: %q, %v", got, err)
		}
	}
	_, err = k.Judge.OpenValue(data, "spelling/8", 400)
	fault(t, "another iteration", err, Swapped, "these are the value of spelling/7")
	_, err = k.Judge.OpenValue(data, "spelling/7", 399)
	fault(t, "another count", err, Swapped, "400 cases, want 399")
	_, err = k.Judge.OpenValue(data, "spelling/7", 0)
	fault(t, "no count", err, Swapped, "400 cases, want 0")
	_, err = k.Judge.OpenValue(data, "", 400)
	fault(t, "no name", err, Unfit, "a name has")
	_, err = k.Execute.OpenValue(data, "spelling/7", 400)
	fault(t, "wrong key", err, WrongKey, "value of spelling/7")
	_, err = SealValue("v", -1, nil, k.Judge.Recipient())
	fault(t, "negative count", err, Unfit, "-1 cases")

	noise := make([]byte, 8000) // does not compress
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	_, err = SealValue("v", 100, noise, k.Judge.Recipient())
	fault(t, "too large", err, TooLarge, "at most 7296 are allowed")
	_, err = SealValue("v", 100, make([]byte, maxValue+1), k.Judge.Recipient())
	fault(t, "much too large", err, TooLarge, "16777217 bytes")
}

// TestDamagedValue seals values whose compressed form is not what it should be.
func TestDamagedValue(t *testing.T) {
	j := golden(t)
	for name, content := range map[string][]byte{
		"empty": {}, "cut short": {0x2a}, "no stream": []byte("\xff\xff\xff"), "followed": {0x03, 0x00, 0x00},
	} {
		data, err := seal(Label{Value, "v", 1}, content, 4096, []Recipient{j.Recipient()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.OpenValue(data, "v", 1)
		fault(t, name, err, Damaged, "compressed value")
	}
}

func TestOutcomes(t *testing.T) {
	k := generate(t)
	data, err := SealOutcome("spelling/7/lease-1", []byte(canary), 11, k.Judge.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Judge.OpenOutcome(data, "spelling/7/lease-1"); err != nil || string(got) != canary {
		t.Errorf("opened: %q, %v", got, err)
	}
	_, err = k.Judge.OpenOutcome(data, "spelling/7/lease-2")
	fault(t, "another lease", err, Swapped, "these are the outcome of spelling/7/lease-1")
	_, err = k.Judge.OpenOutcome(data, "")
	fault(t, "no name", err, Unfit, "a name has")
	_, err = k.Execute.OpenOutcome(data, "spelling/7/lease-1")
	fault(t, "wrong key", err, WrongKey, "")
	_, err = SealOutcome("v", []byte(canary), 10, k.Judge.Recipient())
	fault(t, "too large", err, TooLarge, "11 bytes, at most 10 are allowed")
	for _, size := range []int{-1, maxSize, int(^uint(0) >> 1)} {
		_, err = SealOutcome("v", nil, size, k.Judge.Recipient())
		fault(t, "size", err, TooLarge, "a size of")
	}
}

// TestUnpadRefuses changes what is inside, where age cannot help.
func TestUnpadRefuses(t *testing.T) {
	j := golden(t)
	good, err := pad(Label{Inputs, "validation", 2}, pack(files(2)), minSize)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
	for name, plain := range map[string][]byte{
		"empty":            {},
		"short":            good[:headerSize-1],
		"no content":       good[:headerSize],
		"version":          replaced("/v1", "/v2"),
		"kind":             replaced("inputs", "inputx"),
		"name":             replaced("validation", "validatio\x00"),
		"leading zero":     replaced(" 2 ", " 02 "),
		"sign":             replaced(" 2 ", " +2 "),
		"negative":         replaced(" 2 ", " -2 "),
		"two spaces":       replaced(" 2 ", "  2 "),
		"no line end":      replaced("\n", " "),
		"header padding":   append(append(bytes.Clone(good[:headerSize-1]), 1), good[headerSize:]...),
		"content padding":  append(bytes.Clone(good[:len(good)-1]), 1),
		"count":            replaced(" 2 ", " 3 "),
		"length too large": replaced(fmt.Sprintf(" %d\n", len(pack(files(2)))), " 99999999\n"),
		"length too short": replaced(fmt.Sprintf(" %d\n", len(pack(files(2)))), " 1\n"),
		"overflow":         replaced(" 2 ", " 99999999999999999999 "),
		"cut content":      append(bytes.Clone(good[:headerSize+40]), make([]byte, 1000)...),
	} {
		_, err := j.OpenSplit(encrypt(t, plain, j), Bundle{Label: Label{Kind: Inputs}})
		fault(t, name, err, Damaged, "")
	}
	if _, err := j.OpenSplit(encrypt(t, good, j), Bundle{Label: Label{Kind: Inputs}}); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

func encrypt(t *testing.T, plain []byte, j Judge) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := age.Encrypt(&out, j.Recipient().x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTooLargeInside(t *testing.T) {
	j := golden(t)
	data := encrypt(t, make([]byte, 1001), j)
	_, err := j.decrypt(data, Label{Inputs, "validation", 1}, 1000)
	fault(t, "too large", err, TooLarge, "inputs of validation: too large: more than 1000 bytes")
	if plain, err := j.decrypt(data, Label{Inputs, "validation", 1}, 1001); err != nil || len(plain) != 1001 {
		t.Errorf("%d bytes, %v", len(plain), err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	whole := pack(files(2))
	for n := 1; n < len(whole); n++ {
		got, err := unpack(whole[:n])
		if err == nil && len(got) != 1 {
			t.Errorf("%d of %d bytes are %d files", n, len(whole), len(got))
		}
	}
	huge := []byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a'}
	if got, err := unpack(huge); err == nil {
		t.Errorf("a file of 2^64 bytes is read as %v", got)
	}
}

// TestGoldenBundle opens a bundle that stays as it is for ever, since gates
// lie on default branches.
func TestGoldenBundle(t *testing.T) {
	data, err := os.ReadFile("testdata/inputs.age")
	if err != nil {
		t.Fatal(err)
	}
	got, err := golden(t).OpenSplit(data, Bundle{Label{Inputs, "validation", 2}, "sha256:c6a646908ade31a2272aa721f658e33f6fe754cf908f58bf7d1c0d604e8a390e"})
	want := []File{{"a.txt", []byte("teh\n")}, {"b.txt", []byte{0, 0xff}}}
	if err != nil || !same(got, want) {
		t.Errorf("opened: %q, %v", got, err)
	}
	packed := "\x00\x05\x00\x00\x00\x00\x00\x00\x00\x04a.txtteh\n\x00\x05\x00\x00\x00\x00\x00\x00\x00\x02b.txt\x00\xff"
	if string(pack(want)) != packed {
		t.Errorf("packed: %q", pack(want))
	}
	plain, err := pad(Label{Inputs, "validation", 2}, []byte(packed), 1024)
	if err != nil || !strings.HasPrefix(string(plain), "research-loop/vault/v1 inputs validation 2 36\n\x00") || string(plain[512:548]) != packed {
		t.Errorf("padded: %q, %v", plain, err)
	}
}

func TestJoin(t *testing.T) {
	in, answers := files(3), files(3)
	cases, err := Join("validation", in, answers)
	if err != nil || len(cases) != 3 || cases[2].ID != in[2].ID || !bytes.Equal(cases[2].Answer, answers[2].Data) {
		t.Errorf("joined: %v, %v", cases, err)
	}
	_, err = Join("validation", in, answers[:2])
	fault(t, "count", err, Swapped, "answers of validation: swapped: 2 answers for 3 inputs")
	answers[1].ID = canary
	_, err = Join("validation", in, answers)
	fault(t, "names", err, Swapped, "the answers to other inputs")
}

func FuzzUnpad(f *testing.F) {
	good, err := pad(Label{Inputs, "validation", 2}, pack(files(2)), 1024)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:600])
	f.Fuzz(func(t *testing.T, plain []byte) {
		l, content, err := unpad(plain)
		if err != nil {
			return
		}
		if again, err := pad(l, content, len(plain)); err != nil || !bytes.Equal(again, plain) {
			t.Errorf("%+v is written differently: %v", l, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(files(2)))
	f.Fuzz(func(t *testing.T, content []byte) {
		if got, err := unpack(content); err == nil && !bytes.Equal(pack(got), content) {
			t.Error("the files are written differently")
		}
	})
}

func FuzzOpen(f *testing.F) {
	j := golden(f)
	data, b, err := SealSplit(Inputs, "validation", files(2), j.Recipient())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:300])
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := j.OpenSplit(data, Bundle{Label: b.Label}); err == nil && len(got) != 2 {
			t.Errorf("opened %d files", len(got))
		}
	})
}
