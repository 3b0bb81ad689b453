package contract

import (
	"bytes"
	"fmt"
	"time"
)

// SealError says that bytes are not the ones that were sealed. It is an
// integrity error: whoever meets it stops.
type SealError struct {
	Want, Got Digest
}

func (e *SealError) Error() string {
	return fmt.Sprintf("contract.md is not the one that was sealed: want %s, got %s", e.Want, e.Got)
}

// Open reads sealed bytes. want is the digest that the run is known by; with
// "" it is not compared, and Digest of the result says what it is. Whatever
// want is, the bytes must be exactly those that Seal writes for what they say.
// The error is *SealError, or *Faults if they do not say a contract.
func Open(data []byte, want Digest) (*Sealed, error) {
	got := Sum(data)
	if want != "" && got != want {
		return nil, &SealError{Want: want, Got: got}
	}
	front, ok := frontMatter(data)
	if !ok {
		return nil, &Faults{File: sealedName, List: []Fault{{Path: "$", Message: "no front matter between two lines of ---"}}}
	}
	r := &reader{}
	fields := append(draftFields(), field{name: "seal", kind: object, need: true, fields: sealFields()})
	n := r.root(front, maxSealed, fields)
	var s *Sealed
	if n != nil {
		c := n.contract()
		(&checker{reader: r, c: c, root: n}).draft()
		s = &Sealed{Contract: c, Facts: n.get("seal").facts(), Draft: Digest(n.get("seal", "draft").string()), Digest: got}
	}
	if s != nil {
		r.twice("$.seal.frozen", s.Facts.Frozen)
		r.twice("$.seal.readable", s.Facts.Readable)
	}
	if len(r.faults) > 0 {
		return nil, &Faults{File: sealedName, Source: front, List: sorted(r.faults)}
	}
	if again := render(s.Contract, sortedFacts(s.Facts), s.Draft); !bytes.Equal(again, data) {
		return nil, &SealError{Want: Sum(again), Got: got}
	}
	return s, nil
}

const sealedName = "contract.md"

// frontMatter returns the YAML of data, with the line that opens it and
// without the one that closes it.
func frontMatter(data []byte) ([]byte, bool) {
	const fence = "---\n"
	if !bytes.HasPrefix(data, []byte(fence)) {
		return nil, false
	}
	end := bytes.Index(data, []byte("\n"+fence))
	if end < len(fence) {
		return nil, false
	}
	return data[:end+1], true
}

// facts fills Facts from the block that Seal added.
func (n *node) facts() Facts {
	at, _ := time.Parse(timeLayout, n.get("confirmed_at").string()) // its shape has been checked
	return Facts{
		Tag:          Tag(n.get("tag").string()),
		Baseline:     n.get("baseline").string(),
		Pinned:       n.get("pinned").string(),
		Frozen:       each(n.get("frozen").items(), (*node).file),
		Readable:     each(n.get("readable").items(), (*node).file),
		Splits:       each(n.get("splits").items(), (*node).split),
		Level:        n.get("level").string(),
		Probe:        n.get("probe").string(),
		Tool:         n.get("tool").string(),
		ConfirmedBy:  n.get("confirmed_by").string(),
		ConfirmedHow: n.get("confirmed_how").string(),
		ConfirmedAt:  at,
	}
}

func (n *node) file() File {
	f, _ := parseFile(n.text) // its shape has been checked
	return f
}

func (n *node) split() SplitFact {
	return SplitFact{
		Name: n.get("name").string(), Cases: int(n.get("cases").int()), Digest: Digest(n.get("digest").string()),
		Inputs: Digest(n.get("inputs").string()), Answers: Digest(n.get("answers").string()),
		Asked: int(n.get("asked").int()), Marks: n.get("marks").strings(),
	}
}

// twice refuses a list of files that names one path twice.
func (r *reader) twice(path string, files []File) {
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.Path] {
			r.add(Fault{Path: path, Message: "the file " + shown(f.Path) + " stands in the list twice"})
		}
		seen[f.Path] = true
	}
}
