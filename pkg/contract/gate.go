package contract

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"
)

// SealedSplit is a split of which the repository holds only sealed bytes.
type SealedSplit struct {
	Name string // validation or final
	Path string // as the contract names it
}

// Inputs is the file with the sealed inputs.
func (s SealedSplit) Inputs() string { return s.Path + ".inputs.age" }

// Answers is the file with the sealed answers.
func (s SealedSplit) Answers() string { return s.Path + ".answers.age" }

// SealedSplits lists the sealed splits that the contract names, validation
// first.
func (c *Contract) SealedSplits() []SealedSplit {
	var out []SealedSplit
	for _, s := range []SealedSplit{{"validation", c.Splits.Validation}, {"final", c.Splits.Final}} {
		if s.Path != "" {
			out = append(out, s)
		}
	}
	return out
}

// maxSealedOutput bounds, in bytes, what a launch may leave in a run with
// sealed splits: its outcome has one size, that of the largest output.
const maxSealedOutput = 64 << 20

// gate checks what a gate and sealed splits need of the rest of the contract.
// What only the sealed cases can show, package gate refuses at start.
func (k *checker) gate() {
	n, g := k.root.get("gate"), k.c.Gate
	for _, split := range k.c.SealedSplits() {
		k.sealed(k.root.get("splits", split.Name), split)
	}
	if k.c.Evaluation.Extract.Regex != nil && (n != nil || len(k.c.SealedSplits()) > 0) {
		k.bad(k.root.get("evaluation", "extract"), "a sealed split counts wins and losses case by case, and a regex reads no cases",
			"write extract: json and let the scorer print {\"metrics\": {…}, \"cases\": [{\"id\": …, \"score\": …}]}")
	}
	if output := k.root.get("evaluation", "resources", "output"); len(k.c.SealedSplits()) > 0 && k.c.Evaluation.Resources.Output > maxSealedOutput {
		k.bad(output, "at most "+writeSize(maxSealedOutput)+" where splits are sealed: every outcome has the size of the largest", "")
	}
	if n == nil {
		k.ungated()
		return
	}
	if k.c.Splits.Validation == "" && !k.faulty("$.splits") {
		k.bad(n, "a gate needs sealed cases, and splits.validation names none", "add validation: to splits, and seal them with research-loop gate seal")
	}
	if k.c.Exception(NoGate) {
		k.bad(n, "the contract has a gate and the exception "+NoGate, "delete one of them")
	}
	k.margin(n.get("margin"), g)
	if e := k.c.Evaluation; g.Window > 0 && e.Timeout > g.Window {
		k.bad(n.get("seconds"), fmt.Sprintf("less than the timeout of one launch, %s", writeSpan(e.Timeout)),
			fmt.Sprintf("write at least %d: whatever takes longer fails the gate", int(math.Ceil(e.Timeout.Seconds()))))
	}
}

// ungated checks a contract without a gate: it says so, and seals no cases for one.
func (k *checker) ungated() {
	if k.faulty("$.gate") || k.faulty("$.exceptions") {
		return
	}
	if v := k.root.get("splits", "validation"); v != nil {
		k.bad(v, "there is no gate that asks these cases", "add gate:, or delete it")
		return
	}
	if !k.c.Exception(NoGate) {
		k.missing(k.root, "gate", "seal cases with research-loop gate seal and add gate:, or write exceptions: ["+NoGate+"], which every report names: what gains on visible cases alone may be fitted to them")
	}
}

// margin checks what can be said of a margin before the cases are known.
func (k *checker) margin(n *node, g *Gate) {
	switch {
	case n == nil:
	case g.Margin <= 0:
		k.bad(n, "want more than 0, got "+writeNumber(g.Margin)+": without a margin luck in the gate decides, and every keep raises the bar by it",
			"write half the root of the number of cases; of workloads a fraction such as 0.02")
	case !g.Workloads && g.Margin != math.Trunc(g.Margin):
		k.bad(n, "want a whole number of cases, got "+writeNumber(g.Margin), "or write workloads: true where every case must pass by itself")
	case g.Workloads && g.Margin >= 1:
		k.bad(n, "the margin of workloads is a fraction of a value, got "+writeNumber(g.Margin), "write a fraction such as 0.02")
	}
}

// sealed checks that the keys for a sealed split are there.
func (k *checker) sealed(n *node, split SealedSplit) {
	if path.Base(split.Path) != split.Name {
		k.bad(n, shown(split.Path)+" does not end in "+split.Name+", as the files of gate seal do", "write "+path.Join(path.Dir(split.Path), split.Name))
	}
	if k.c.Keys == nil {
		if !k.faulty("$.keys") {
			k.bad(n, "sealed cases need keys, and the contract has none", "research-loop gate keygen --out DIR prints the block keys:")
		}
		return
	}
	var missing []string
	needs := map[string]string{"judge": k.c.Keys.Judge, "execute": k.c.Keys.Execute}
	if split.Name == "final" {
		needs = map[string]string{"judge": k.c.Keys.Judge, "final": k.c.Keys.Final}
	}
	for _, name := range []string{"judge", "execute", "final"} {
		if key, needed := needs[name]; needed && key == "" && !k.faulty("$.keys."+name) {
			missing = append(missing, "keys."+name)
		}
	}
	if len(missing) > 0 {
		k.bad(n, "sealed cases need "+strings.Join(missing, " and "), "put the whole block that gate keygen printed into keys")
	}
}

// Held is how long the steps of a validation pass take by contract: its
// launches and its scoring fill gate.seconds each.
func (g *Gate) Held() time.Duration { return 2 * g.Window }
