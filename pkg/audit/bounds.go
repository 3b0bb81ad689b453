package audit

import "fmt"

// The bounds of one Check. What exceeds one is an invalid finding of class
// audit.bounds. They are far above honest candidates and keep the worst case
// to seconds and to a few hundred megabytes.
const (
	maxCommits   = 20        // DESIGN: a candidate is the tip of at most 20 commits
	maxFile      = 2 << 20   // bytes of one changed file
	maxChanged   = 4 << 20   // bytes of all changed files of one tree
	maxFiles     = 2000      // changed files of one tree
	maxCaseBytes = 32 << 20  // bytes of all cases
	maxDecoded   = 16 << 20  // bytes of decoded readings
	maxWork      = 60e6      // comparisons of evidence
	nearBytes    = 256 << 10 // baseline bytes read at first
	farBytes     = 8 << 20   // baseline bytes read once there is something to weigh
	maxSpan      = 64        // tokens of a constant expression, pieces of a joined literal
)

// budget counts work. It is shared by all trees of a Check, so that twenty
// commits cost no more than one bound.
type budget struct {
	work, decoded int
	over          string
}

func newBudget() *budget { return &budget{work: maxWork, decoded: maxDecoded} }

// spend takes n units of work and says whether they were left.
func (b *budget) spend(n int) bool {
	if b.work -= n; b.work < 0 && b.over == "" {
		b.over = "comparing the change with the cases takes more work than the bound"
	}
	return b.work >= 0
}

// decode takes n bytes of decoded text and says whether they were left.
func (b *budget) decode(n int) bool {
	if b.decoded -= n; b.decoded < 0 && b.over == "" {
		b.over = fmt.Sprintf("the change decodes to more than %d MiB", maxDecoded>>20)
	}
	return b.decoded >= 0
}

func (b *budget) findings(t *tree) []Finding {
	found := t.bounds
	if b.over != "" {
		found = append(found, Finding{Severity: Invalid, Message: b.over})
	}
	return ruleBounds.name(found)
}
