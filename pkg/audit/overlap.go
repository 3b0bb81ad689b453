package audit

import (
	"errors"
	"strconv"
	"strings"
)

// caseRules are the rules that weigh text against cases. The length of a
// secret input is not among what they look at: every length is that of some
// case where there are hundreds.
var caseRules = []rule{
	ruleCaseID,
	ruleObfuscated,
	ruleSplitLiteral,
	ruleVerbatim,
	ruleField,
	ruleLiteral,
	ruleValue,
	ruleDigest,
	ruleNear,
	rulePair,
	ruleCoverage,
	ruleFragment,
	ruleProse,
}

// The errors of Overlaps say nothing of any case, whatever went wrong.
var (
	errStumbled   = errors.New(stumbled)
	errTooLarge   = errors.New("the cases are larger than the audit's bound of 32 MiB; use fewer or shorter ones")
	errUnreadable = errors.New("an object of the candidate or the baseline cannot be read")
)

// Overlaps says whether a candidate holds text of secret cases, those of the
// gate or of the final split, by the rules and thresholds of [Check]. What the
// author was shown is no evidence: the baseline, the specification and
// in.Cases, which are the development cases. in.Names and in.Numbers are not
// looked at, nor are messages, because a message runs nothing.
//
// The one bit is all there is to know: no finding, place or count leaves, and
// no error quotes a case. A change that is too much work to compare is an
// overlap, never a skip. The time it takes may tell more than the bit; the
// caller hides it. An error says that nothing was decided.
func Overlaps(in Input, secret []Case) (hit bool, err error) {
	// A trace would hold the text of a case.
	defer func() {
		if recover() != nil {
			hit, err = false, errStumbled
		}
	}()
	if tooLargeCases(secret) {
		return false, errTooLarge
	}
	shown := in.Cases
	in.Cases, in.Names, in.Numbers, in.Gate = nil, nil, nil, true
	if n := len(in.Commits); in.Candidate == nil && n > 0 {
		in.Candidate = in.Commits[n-1].Tree
	}
	a := newAudit(in, farBytes)
	a.rules = caseRules
	var texts []string
	for _, c := range shown {
		texts = append(texts, c.Input, c.Answer, c.ID)
	}
	a.novel.state(texts...)
	a.index(a.unseen(secret))
	hit = a.overlaps(in.Candidate)
	for _, c := range in.Commits[:min(len(in.Commits), maxCommits)] {
		if !sameTree(c.Tree, in.Candidate) {
			hit = a.overlaps(c.Tree) || hit
		}
	}
	if a.broken != nil {
		return false, errUnreadable
	}
	return hit, nil
}

func tooLargeCases(list []Case) bool {
	size := 0
	for _, c := range list {
		size += len(c.Input) + len(c.Answer)
	}
	return size > maxCaseBytes
}

// unseen gives the cases without what the author was shown of them. An answer
// that was shown still counts beside an input that was not.
func (a *audit) unseen(secret []Case) []Case {
	var list []Case
	for i, c := range secret {
		if a.shown(c.ID) {
			c.ID = "#" + strconv.Itoa(i) // one word: no rule on ids takes it
		}
		if a.shown(c.Input) {
			c.Input = ""
		}
		if c.Input == "" && a.shown(c.Answer) {
			continue
		}
		list = append(list, c)
	}
	return list
}

// shown says that a text stands in the baseline, the specification or a
// development case as a row of words.
func (a *audit) shown(text string) bool {
	var b strings.Builder
	join(&b, atoms(text))
	return a.novel.of(b.String()) != nowhere
}

// overlaps applies the rules on cases to one tree. A case of two words at most
// is met by chance where somebody writes a list of a language, so one or two
// of them are nothing.
func (a *audit) overlaps(entries []Entry) bool {
	brief := map[string]bool{}
	for _, c := range a.cases.list {
		if len(c.in.ids) <= 1 && len(c.out.ids) <= 1 && (c.in.words || c.out.words) {
			brief[c.id] = true
		}
	}
	met := map[string]bool{}
	for _, f := range a.run(a.tree(entries)) {
		switch {
		case f.Severity != Invalid:
		case f.Case != "" && brief[f.Case]:
			met[f.Case] = true
		default:
			return true
		}
	}
	return len(met) >= listedInputs
}
