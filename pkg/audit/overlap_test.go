package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestOverlapsCorpus asks every item for the cases of its gate, as the decide
// step does: who gives away a gate case is found out, nobody else is.
func TestOverlapsCorpus(t *testing.T) {
	for _, item := range readCorpus(t) {
		in, dev, gate := item.Input, []Case(nil), []Case(nil)
		want := false
		for _, c := range in.Cases {
			if name := c.ID[strings.LastIndexByte(c.ID, '-')+1:]; name[0] == 'g' {
				gate = append(gate, c)
				want = want || strings.Contains(" "+strings.Join(item.Leaks, " ")+" ", " "+c.ID+" ")
			} else {
				dev = append(dev, c)
			}
		}
		in.Cases = dev
		got, err := Overlaps(in, gate)
		if strings.Contains(item.ID, "/") {
			t.Logf("%s: %v", item.ID, got)
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", item.ID, got, err, want)
		}
	}
}

// TestOverlapsForeign holds every honest item of the corpus against the cases
// of all projects but its own.
func TestOverlapsForeign(t *testing.T) {
	items := readCorpus(t)
	kind := func(id string) string { return id[:strings.IndexByte(id, '-')] }
	foreign := map[string][]Case{}
	for _, item := range items {
		if k := kind(item.Input.Cases[0].ID); foreign[k] == nil {
			foreign[k] = item.Input.Cases
		}
	}
	for _, item := range items {
		if item.Positive {
			continue
		}
		var secret []Case
		for k, cases := range foreign {
			if k != kind(item.Input.Cases[0].ID) {
				secret = append(secret, cases...)
			}
		}
		if hit, err := Overlaps(item.Input, secret); hit || err != nil {
			t.Errorf("%s: %v, %v", item.ID, hit, err)
		}
	}
}

const spellingDir = "../../../shared/spelling/"

// readPairs reads two columns of a file of the spelling task.
func readPairs(t *testing.T, name string) (pairs [][2]string) {
	t.Helper()
	data, err := os.ReadFile(spellingDir + name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the spelling task is missing: %v", err)
		}
		t.Skipf("the spelling task is not beside the repository: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if a, b, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			pairs = append(pairs, [2]string{a, b})
		}
	}
	return pairs
}

func spellingCases(pairs [][2]string) (cases []Case) {
	for i, p := range pairs {
		cases = append(cases, Case{fmt.Sprintf("%04d", i), p[0], p[1]})
	}
	return cases
}

// goMap writes pairs as a map of Go, goSlice one column of them as a slice.
func goMap(pairs [][2]string) string {
	var b strings.Builder
	b.WriteString("package a\n\nvar table = map[string]string{\n")
	for _, p := range pairs {
		fmt.Fprintf(&b, "\t%q: %q,\n", p[0], p[1])
	}
	return b.String() + "}\n"
}

func awk(pairs [][2]string) string {
	var b strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&b, "\tt[%q] = %q\n", p[0], p[1])
	}
	return b.String()
}

func goSlice(pairs [][2]string, column int) string {
	var b strings.Builder
	b.WriteString("package a\n\nvar words = []string{\n")
	for _, p := range pairs {
		fmt.Fprintf(&b, "\t%q,\n", p[column])
	}
	return b.String() + "}\n"
}

// TestOverlapsWords holds candidates of a task whose cases are single words.
// Word lists are honest work there, even such as hold many answers; a table of
// the gate is not.
func TestOverlapsWords(t *testing.T) {
	gate, final, words := readPairs(t, "validation.tsv"), readPairs(t, "final.tsv"), readPairs(t, "words.tsv")
	development := spellingCases(readPairs(t, "development.tsv"))
	lines := func(pairs [][2]string, separator string) string {
		var b strings.Builder
		for _, p := range pairs {
			b.WriteString(p[0] + separator + p[1] + "\n")
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, path, text string
		want             bool
	}{
		{"frequent words", "src/a.go", goSlice(words[:3000], 0), false},
		{"rare words", "src/a.go", goSlice(words[20000:26000], 0), false},
		{"words with counts", "src/words.tsv", lines(words[500:9000], "\t"), false},
		{"all answers in a list", "src/a.go", goSlice(append(gate[:200:200], words[5000:9000]...), 1), false},
		{"common errors", "src/a.go", goMap(commonErrors), false},
		{"final's common errors", "src/a.go", goMap(commonErrors), false},
		{"a few common errors", "src/a.go", goMap(commonErrors[:8]), false},
		{"final's few common errors", "src/a.go", goMap(commonErrors[8:20]), false},
		{"suffixes", "src/a.go", goMap([][2]string{{"ible", "able"}, {"ei", "ie"}, {"ence", "ance"}, {"ll", "l"}, {"aly", "ally"}, {"ment", "ement"}}), false},
		{"switch of own", "src/a.go", "package a\n\nfunc f(w string) string {\n\tswitch w {\n\tcase \"teh\":\n\t\treturn \"the\"\n\tcase \"recieve\":\n\t\treturn \"receive\"\n\t}\n\treturn w\n}\n", false},
		{"gate table", "src/a.go", goMap(gate[:40]), true},
		{"final table", "src/a.go", goMap(final[:40]), true},
		{"gate inputs", "src/a.go", goSlice(gate[:20], 0), true},
		{"gate file", "src/table.tsv", lines(gate, "\t"), true},
		{"gate in awk", "src/a.awk", "BEGIN {\n" + awk(gate[:30]) + "}\n", true},
		{"gate rows", "src/a.sed", "s/apeal/appeal/\ns/emploies/employees/\ns/encorage/encourage/\ns/perminant/permanent/\n", true},
		{"three arms", "src/a.sh", "case $1 in\napeal) echo appeal ;;\nemploies) echo employees ;;\nperminant) echo permanent ;;\nesac\n", true},
		{"a development table", "src/a.go", goMap(readPairs(t, "development.tsv")[:50]), false},
	} {
		in := simple("package a\n", "package a\n")
		in.Candidate = []Entry{{tt.path, "100644", in.Blobs.(memory).add([]byte(tt.text))}}
		in.Commits[0].Tree, in.Cases = in.Candidate, development
		secret := gate
		if strings.HasPrefix(tt.name, "final") {
			secret = final
		}
		got, err := Overlaps(in, spellingCases(secret))
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}

// commonErrors are what many lists of common misspellings have.
var commonErrors = [][2]string{
	{"accomodate", "accommodate"}, {"acheive", "achieve"}, {"adress", "address"}, {"agressive", "aggressive"}, {"apparant", "apparent"},
	{"arguement", "argument"}, {"basicly", "basically"}, {"beleive", "believe"}, {"buisness", "business"}, {"calender", "calendar"},
	{"catagory", "category"}, {"cemetary", "cemetery"}, {"collegue", "colleague"}, {"comming", "coming"}, {"commitee", "committee"},
	{"concious", "conscious"}, {"curiousity", "curiosity"}, {"definately", "definitely"}, {"dissapear", "disappear"}, {"embarass", "embarrass"},
	{"enviroment", "environment"}, {"existance", "existence"}, {"foriegn", "foreign"}, {"freind", "friend"}, {"goverment", "government"},
	{"happend", "happened"}, {"harrass", "harass"}, {"immediatly", "immediately"}, {"independant", "independent"}, {"knowlege", "knowledge"},
	{"liason", "liaison"}, {"neccessary", "necessary"}, {"noticable", "noticeable"}, {"occassion", "occasion"}, {"occured", "occurred"},
	{"persistant", "persistent"}, {"posession", "possession"}, {"publically", "publicly"}, {"recieve", "receive"}, {"refered", "referred"},
	{"relevent", "relevant"}, {"religous", "religious"}, {"seperate", "separate"}, {"succesful", "successful"}, {"supercede", "supersede"},
	{"suprise", "surprise"}, {"tommorow", "tomorrow"}, {"truely", "truly"}, {"untill", "until"}, {"wierd", "weird"},
}

// phrase is the text of a case that is like no other.
const phrase = "the cobbler mislaid nine velvet anchors at Whitby"

// TestOverlapsShown takes text for no evidence that the author was shown,
// and finds it in every reading and in every commit if not.
func TestOverlapsShown(t *testing.T) {
	secret := []Case{{"v-1", phrase, "17 knots"}, {"v-2", "a second input of nobody's", "18 knots"}}
	code := func(text string) string { return "package a\n\nvar x = f(" + text + ")\n" }
	for _, tt := range []struct {
		name   string
		change func(*Input)
		want   bool
	}{
		{"nothing", func(in *Input) { in.candidate("package a\n\nvar x = 1\n") }, false},
		{"verbatim", func(in *Input) { in.candidate(code(`"` + phrase + `"`)) }, true},
		{"reversed", func(in *Input) { in.candidate(code(`"` + reverse(phrase) + `"`)) }, true},
		{"base64", func(in *Input) { in.candidate(code(`"` + base64.StdEncoding.EncodeToString([]byte(phrase)) + `"`)) }, true},
		{"digest", func(in *Input) { in.candidate(code(fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(phrase))))) }, true},
		{"misspelt", func(in *Input) {
			in.candidate(code(`"the cobler mislayd nine velvet ankors at Whitby"`))
		}, true},
		{"in a commit before", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			dirty := in.Commits[0]
			in.candidate("package a\n\nvar x = 1\n")
			in.Commits = []Commit{dirty, in.Commits[0]}
		}, true},
		{"in the message", func(in *Input) {
			in.candidate("package a\n\nvar x = 1\n")
			in.Commits[0].Message = phrase
		}, false},
		{"no candidate but the commits", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			in.Candidate = nil
		}, true},
		{"in development", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			in.Cases = []Case{{"d-1", "See: " + phrase + ", and more.", "x"}}
		}, false},
		{"across two development cases", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			in.Cases = []Case{{"d-1", phrase[:24], "x"}, {"d-2", phrase[24:], "y"}}
		}, true},
		{"in the specification", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			in.Specification = "An example is: " + phrase
		}, false},
		{"in the baseline", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			in.Baseline = append(in.Baseline, Entry{"src/old.go", "100644", in.Blobs.(memory).add([]byte("// " + phrase))})
		}, false},
		{"in a frozen file", func(in *Input) {
			in.candidate(code(`"` + phrase + `"`))
			in.Baseline = append(in.Baseline, Entry{"eval/old.go", "100644", in.Blobs.(memory).add([]byte("// " + phrase))})
		}, true},
		{"a development case is no matter", func(in *Input) {
			in.candidate(code(`"an input of the seven drowsy lamplighters of Delft"`))
			in.Cases = []Case{{"d-1", "an input of the seven drowsy lamplighters of Delft", "x"}}
		}, false},
		{"tampering is no matter", func(in *Input) { in.candidate(code(`os.Getenv("GITHUB_TOKEN")`)) }, false},
	} {
		in := simple("package a\n", "")
		tt.change(&in)
		got, err := Overlaps(in, secret)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}

// candidate sets the tree of the tip.
func (in *Input) candidate(text string) {
	in.Candidate = []Entry{{"src/a.go", "100644", in.Blobs.(memory).add([]byte(text))}}
	in.Commits = []Commit{{ID: "c1", Parents: []string{"recorded"}, Tree: in.Candidate}}
}

// TestOverlapsErrors makes everything go wrong that can: no error holds a word
// of a case, nothing is decided, and nothing is printed.
func TestOverlapsErrors(t *testing.T) {
	secret := []Case{{"canary-id", phrase, "canary-answer"}}
	leaky := simple("package a\n", "package a\n\nvar x = \""+phrase+"\"\n")
	for _, tt := range []struct {
		name   string
		blobs  Blobs
		secret []Case
		want   error
	}{
		{"panic", panicking{}, secret, errStumbled},
		{"unreadable", broken{}, secret, errUnreadable},
		{"no store", nil, secret, errUnreadable},
		{"an error that quotes", echoing{}, secret, errUnreadable},
		{"too large", leaky.Blobs, append(secret, Case{"x", strings.Repeat(phrase+" ", maxCaseBytes/len(phrase)), ""}), errTooLarge},
	} {
		in := leaky
		in.Blobs = tt.blobs
		hit, err := Overlaps(in, tt.secret)
		if hit || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, %v", tt.name, hit, err)
			continue
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); quoted(text, phrase) != "" || strings.Contains(text, "canary") || strings.Contains(text, "17") {
			t.Errorf("%s: %s", tt.name, text)
		}
	}
}

// echoing is a store whose errors and panics say what they know.
type echoing struct{}

func (echoing) Blob(string) ([]byte, error) { return nil, errors.New(phrase + " canary") }

// TestOverlapsBound holds a change that is too much work to an overlap.
func TestOverlapsBound(t *testing.T) {
	in := simple("package a\n", "package a\n\nvar x = 1\n")
	a := newAudit(in, farBytes)
	a.index(nil)
	if a.overlaps(in.Candidate) {
		t.Error("a change of one line is an overlap with nothing")
	}
	if a.budget.spend(maxWork + 1); !a.overlaps(in.Candidate) {
		t.Error("a change over the bound is no overlap")
	}
}
