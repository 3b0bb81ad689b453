package vault

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"teh":                     "teh",
		"  Teh\r\n\tQuick \n":     "teh quick",
		"ﬁne":                     "fine",
		"Ｆｕｌｌ":                    "full",
		"e\u0301":                 "é",
		"É":                       "é",
		"soft\u00adhy\u200bphen":  "softhyphen",
		"a\ufe0f":                 "a",
		"a\u00a0b":                "a b",
		"İ":                       "i",
		"":                        "",
		" \n":                     " \n",
		"\xff Binary":             "\xff Binary",
		"\u200b":                  "\u200b",
		"line one\n\n\n line two": "line one line two",
	} {
		if got := Fold([]byte(in)); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add([]byte("ﬁ Ｆ É e\u0301 İ \u200b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		once := Fold(data)
		if twice := Fold([]byte(once)); twice != once {
			t.Errorf("Fold(%q) = %q, folded again %q", data, once, twice)
		}
	})
}

func inputs(texts ...string) []Case {
	out := make([]Case, len(texts))
	for i, text := range texts {
		out[i] = Case{ID: fmt.Sprintf("%03d.txt", i), Input: []byte(text)}
	}
	return out
}

func TestBetween(t *testing.T) {
	a := inputs("one\n", "Two", "two", "three", "five", "five")
	b := inputs("five", "two ", "ONE", "three", "four", "three")
	for _, c := range []struct {
		a, b   []Case
		places string
	}{
		{a, b, "[000.txt:1 001.txt:1 002.txt:1 003.txt:1 005.txt:1]"},
		{b, a, "[000.txt:1 001.txt:1 002.txt:1 003.txt:1 004.txt:1 005.txt:1]"},
	} {
		o := Between(c.a, c.b)
		if o.Exact != 2 || o.Alike != 4 || fmt.Sprint(o.Places) != c.places || o.More != 0 {
			t.Errorf("%d exact, %d alike at %v", o.Exact, o.Alike, o.Places)
		}
		if left := o.Drop(a); len(left) != 0 {
			t.Errorf("left of a: %v", left)
		}
		if left := o.Drop(b); len(left) != 1 || string(left[0].Input) != "four" {
			t.Errorf("left of b: %v", left)
		}
	}
	if o := Between(a, nil); o.Alike != 0 || len(o.Drop(a)) != len(a) {
		t.Errorf("with nothing: %+v", o)
	}
}

// TestSpelling has the numbers that the three sets of words are known for.
func TestSpelling(t *testing.T) {
	split := func(name string) []Case {
		var out []Case
		for i, line := range strings.Split(strings.TrimSpace(shared(t, name+".tsv")), "\n") {
			wrong, right, _ := strings.Cut(line, "\t")
			out = append(out, Case{fmt.Sprintf("%04d.txt", i), []byte(wrong + "\n"), []byte(right + "\n")})
		}
		return out
	}
	development, validation, final := split("development"), split("validation"), split("final")
	for _, c := range []struct {
		name string
		a, b []Case
		want int
	}{
		{"development and validation", development, validation, 5},
		{"development and final", development, final, 13},
		{"validation and final", validation, final, 2},
	} {
		for _, o := range []*Overlap{Between(c.a, c.b), Between(c.b, c.a)} {
			if o.Exact != c.want || o.Alike != c.want {
				t.Errorf("%s: %d exact, %d alike, want %d", c.name, o.Exact, o.Alike, c.want)
			}
		}
	}
	validation = Between(development, validation).Drop(validation)
	final = Between(validation, final).Drop(Between(development, final).Drop(final))
	if len(validation) != 395 {
		t.Errorf("%d validation cases are left, want 395", len(validation))
	}
	for _, o := range []*Overlap{Between(development, validation), Between(development, final), Between(validation, final)} {
		if o.Alike != 0 || len(o.Places) != 0 {
			t.Errorf("after dropping %d are left", o.Alike)
		}
	}
	// Single words stand in a word list by chance; the list of pairs does not.
	f := NewFinder(validation)
	f.Search("words.tsv", []byte(shared(t, "words.tsv")))
	if f.Alike != 0 {
		t.Errorf("%d cases are found in the word counts, at %v", f.Alike, f.Places[:min(5, len(f.Places))])
	}
	different := map[string]bool{}
	for _, c := range validation {
		different[Fold(c.Input)] = true
	}
	f.Search("validation.tsv", []byte(shared(t, "validation.tsv")))
	if f.Alike != len(different) || f.Exact != len(different) {
		t.Errorf("%d of %d cases are found in their own list, %d exactly", f.Alike, len(different), f.Exact)
	}
}

// shared reads a file of the spelling task beside the repository.
func shared(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "spelling", name))
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skip("the spelling task does not lie beside the repository, at ../shared/spelling")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFinder(t *testing.T) {
	long := "What is the capital of the country that borders both?"
	cases := []Case{
		{"1", []byte("abouy\n"), []byte("about\n")},
		{"2", []byte(long), []byte("Bern")},
		{"3", []byte("12 + 3"), []byte("15")},
		{"4", []byte("x"), []byte("y")},
		{"5", []byte{0, 1, 2}, []byte("binary")},
		{"6", []byte("no answer"), nil},
		{"7", []byte("abouy"), []byte("a buoy")},
	}
	for _, c := range []struct {
		name, text   string
		exact, alike int
		places       string
	}{
		{"nothing", "About boys.\n", 0, 0, "[]"},
		{"pair in a line", "a\n\"abouy\": \"about\",\n", 1, 1, "[f:2]"},
		{"the other answer", "a buoy is no ABOUY", 0, 1, "[f:1]"},
		{"pair in two lines", "see abouy\nabout here\n", 0, 0, "[]"},
		{"inside a word", "xabouyx about", 0, 0, "[]"},
		{"as a line", "one\nabouy\ntwo\n", 1, 1, "[f:2]"},
		{"as the file", "abouy", 1, 1, "[f:1]"},
		{"a short one as the file", "x\n", 1, 1, "[f:1]"},
		{"a short one as a line", "one\nx\n", 0, 0, "[]"},
		{"a short pair", "x => y", 1, 1, "[f:1]"},
		{"a long one", "/* " + long + " */", 1, 1, "[f:1]"},
		{"a long one over lines", "# what is the\n# capital\n" + strings.ToUpper(strings.ReplaceAll(long, " ", "\n")), 0, 1, "[f:3]"},
		{"most of a long one", long[:len(long)-6], 0, 0, "[]"},
		{"a sum", "assert 12+3 == 15", 0, 1, "[f:1]"},
		{"another sum", "assert 12+34 == 15", 0, 0, "[]"},
		{"far away", "abouy" + strings.Repeat(" .", 70) + " about", 0, 0, "[]"},
		{"binary", "\x00\x01\x02", 1, 1, "[f:1]"},
		{"more binary", "\x00\x01\x02\x03", 0, 0, "[]"},
		{"without an answer", "it has no answer here", 0, 0, "[]"},
		{"two", "abouy about\nabouy about abouy\n12 + 3 = 15", 2, 2, "[f:1 f:2 f:3]"},
	} {
		f := NewFinder(cases)
		f.Search("f", []byte(c.text))
		if f.Exact != c.exact || f.Alike != c.alike || fmt.Sprint(f.Places) != c.places {
			t.Errorf("%s: %d exact, %d alike at %v, want %d, %d at %s", c.name, f.Exact, f.Alike, f.Places, c.exact, c.alike, c.places)
		}
		if left := f.Drop(cases); c.alike == 0 && len(left) != len(cases) || c.alike > 0 && len(left) >= len(cases) {
			t.Errorf("%s: %d of %d cases are left", c.name, len(left), len(cases))
		}
	}
}

// TestOverlapTellsNoCase prints all that an Overlap shows.
func TestOverlapTellsNoCase(t *testing.T) {
	cases := []Case{{"7", []byte(canary), []byte("answer")}}
	f := NewFinder(cases)
	f.Search("old/list.txt", []byte("\n"+canary+"\n"))
	if text := fmt.Sprint(f.Exact, f.Alike, f.Places, f.More); text != "1 1 [old/list.txt:2] 0" {
		t.Errorf("shown: %s", text)
	}
}

// TestManyPlaces: a common input fills no memory, and the same places are kept
// in whatever order the files come.
func TestManyPlaces(t *testing.T) {
	cases := inputs("common")
	var names []string
	for i := range 1500 {
		names = append(names, fmt.Sprintf("%04d", i))
	}
	search := func() []Place {
		f := NewFinder(cases)
		for _, name := range names {
			f.Search(name, []byte("common"))
		}
		if f.Alike != 1 || len(f.Places) != maxPlaces || f.More != 500 {
			t.Fatalf("%d alike, %d places and %d more", f.Alike, len(f.Places), f.More)
		}
		return f.Places
	}
	forward := search()
	slices.Reverse(names)
	if !slices.Equal(forward, search()) {
		t.Error("other places in another order")
	}
}

// TestFinderIsFast looks for a thousand cases that begin alike in a large file
// of a single line that is full of their first words.
func TestFinderIsFast(t *testing.T) {
	var cases []Case
	for i := range 1000 {
		cases = append(cases, Case{fmt.Sprint(i), []byte(fmt.Sprintf(`{"id": %d, "x": "y"}`, i)), []byte("no")})
	}
	cases = append(cases, Case{"a", []byte("a"), []byte("b")})
	text := []byte(strings.Repeat(`{"id": a `, 50_000))
	f := NewFinder(cases)
	start := time.Now()
	f.Search("line.json", text)
	if took := time.Since(start); took > 20*time.Second || f.Alike != 0 {
		t.Errorf("%v for %d bytes, %d found", took, len(text), f.Alike)
	}
}

func FuzzFinder(f *testing.F) {
	f.Add([]byte("abouy\n"), []byte("about"), []byte("x abouy about"))
	f.Add([]byte("{}"), []byte(""), []byte("{\n}"))
	f.Fuzz(func(t *testing.T, input, answer, text []byte) {
		cases := []Case{{"1", input, answer}}
		find := NewFinder(cases)
		find.Search("f", text)
		if find.Exact > find.Alike || find.Alike > 1 || (find.Alike == 0) != (len(find.Places) == 0) {
			t.Errorf("%+v", find.Overlap)
		}
		if find = NewFinder(cases); len(input) > 0 {
			if find.Search("f", input); find.Alike != 1 {
				t.Errorf("the input %q is not found in itself", input)
			}
		}
	})
}

func TestMarks(t *testing.T) {
	j := golden(t)
	marks := func(j Judge, texts ...string) []string {
		t.Helper()
		var in []File
		for _, text := range texts {
			in = append(in, File{"x", []byte(text)})
		}
		got, err := j.Marks(in)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := fmt.Sprint(marks(j, "teh\n")); got != "[50c6f07da3e91e466132c5fcf947becb]" {
		t.Errorf("golden mark %s", got)
	}
	first := marks(j, "one", "two", "three")
	if !slices.IsSorted(first) || slices.Equal(first, marks(j, "one", "two", "four")) || !slices.Equal(first, marks(j, "three", "one", "two")) {
		t.Errorf("marks %v", first)
	}
	for want, second := range map[int][]string{
		0: marks(j, "four", "five"),
		1: marks(j, "four", "ONE \n"),
		3: marks(j, " three", "Two", "one"),
	} {
		if got := Reused(second, first); got != want {
			t.Errorf("%d reused, want %d", got, want)
		}
	}
	if Reused(marks(generate(t).Judge, "one", "two", "three"), first) != 0 {
		t.Error("marks under another key are the same")
	}
}
