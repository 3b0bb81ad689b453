package contract

import (
	"fmt"
	"strings"
)

// page writes what a person must know before confirming. Whatever comes from
// the draft or the machine stands in indented code blocks, where neither
// Markdown nor HTML means anything, with hidden characters escaped.
func page(b *strings.Builder, c *Contract, f Facts) {
	p := &pager{b: b}
	p.say("\n# Contract of a research-loop run\n\nThe lines above are what the program reads; this page says what people need to know.\nNothing here changes during the run. A repair needs a new tag.")
	p.block("Run", string(f.Tag), "level "+f.Level, "baseline "+f.Baseline, "frozen at "+f.Pinned)
	p.block("Goal", strings.Split(c.Goal, "\n")...)
	p.block("What an improvement must hold for", strings.Split(c.Population, "\n")...)
	p.block("How a candidate is judged", judged(c)...)
	p.block("What the sealed gate asks", asked(c, f)...)
	p.block("What the author may change", c.Scope.Writable...)
	p.block("What candidate code sees besides", orNone(c.Scope.Readable)...)
	p.block("What is frozen", frozenLines(c, f)...)
	p.block("How the candidate is launched", launched(c)...)
	p.block("When the run ends", ends(c.Limits)...)
	p.block("How the records are signed", signed(c.Keys)...)
	p.block("Exceptions", orNone(c.Exceptions)...)
	p.block("Checked and confirmed", "sandbox: "+f.Probe, "tool: "+f.Tool,
		"confirmed by "+f.ConfirmedBy, "how: "+f.ConfirmedHow, "at "+f.ConfirmedAt.Format(timeLayout))
	p.say("\n## How to check this seal\n\nThe digest of the contract is the SHA-256 of this whole file:\n\n    sha256sum " + sealedName +
		"\n\nIt must be the one that the run's records name, with sha256: before it. One\nchanged byte, here or above, and the program refuses the file.")
}

type pager struct{ b *strings.Builder }

func (p *pager) say(s string) { p.b.WriteString(s + "\n") }

// block writes a heading and lines that are shown as they are.
func (p *pager) block(heading string, lines ...string) {
	p.say("\n## " + heading + "\n")
	for _, line := range lines {
		p.say(strings.TrimRight("    "+visible(line), " "))
	}
}

func orNone(list []string) []string {
	if len(list) == 0 {
		return []string{"none"}
	}
	return list
}

func judged(c *Contract) []string {
	out := []string{
		fmt.Sprintf("%s, %s is better", c.Metric.Name, c.Metric.Direction),
		fmt.Sprintf("kept if it gains at least %s over the incumbent (%s)", writeNumber(c.Acceptance.MinDelta), c.Acceptance.Policy),
	}
	if len(c.Acceptance.TieBreakers) > 0 {
		out = append(out, "ties are decided by "+strings.Join(c.Acceptance.TieBreakers, ", then "))
	}
	for _, k := range c.Constraints {
		if k.AtMost != nil {
			out = append(out, fmt.Sprintf("%s at most %s", k.Metric, writeNumber(*k.AtMost)))
		}
		if k.AtLeast != nil {
			out = append(out, fmt.Sprintf("%s at least %s", k.Metric, writeNumber(*k.AtLeast)))
		}
	}
	for _, m := range c.Secondary {
		out = append(out, fmt.Sprintf("recorded besides: %s, %s is better", m.Name, m.Direction))
	}
	if c.Counterexamples != "" {
		out = append(out, "outputs that must stay: "+c.Counterexamples)
	}
	return out
}

func frozenLines(c *Contract, f Facts) []string {
	out := []string{fmt.Sprintf("%d frozen and %d readable files, each with its sums above", len(f.Frozen), len(f.Readable))}
	out = append(out, c.Harness.Paths...)
	if c.Specification != "" {
		out = append(out, c.Specification)
	}
	for _, s := range f.Splits {
		if s.Digest != "" {
			out = append(out, fmt.Sprintf("%s: %d cases, %s", s.Name, s.Cases, s.Digest))
			continue
		}
		out = append(out, fmt.Sprintf("%s: %d sealed cases, inputs %s", s.Name, s.Cases, s.Inputs), "  answers "+string(s.Answers))
	}
	return out
}

// asked says what a candidate must show on sealed cases.
func asked(c *Contract, f Facts) []string {
	var out []string
	if g := c.Gate; g == nil {
		out = append(out, "nothing: there is no gate, and a gain is shown on cases that the author sees")
	} else {
		out = append(out, fmt.Sprintf("%s with margin %s, against the best gate result of any kept commit", g.Rule, writeNumber(g.Margin)),
			fmt.Sprintf("at most %d queries, the baseline's included; cases: %s", g.Queries, g.Cases),
			fmt.Sprintf("each query lasts %s for its launches and as long for its scoring", writeSpan(g.Window)))
	}
	for _, s := range f.Splits {
		if s.Asked > 0 {
			out = append(out, fmt.Sprintf("earlier runs asked these cases %d times, which counts", s.Asked))
		}
	}
	if c.Splits.Final == "" {
		return append(out, "no final test")
	}
	return append(out, "a final test at close, once: baseline and best commit, exact sign test, p at most 0.05")
}

func launched(c *Contract) []string {
	var out []string
	if c.Candidate.Build != nil {
		out = append(out, titled("build: ", c.Candidate.Build.Run)...)
	}
	if run := c.Candidate.Run; run != "" {
		out = append(out, titled("run ("+string(c.Candidate.Mode)+"): ", run)...)
	}
	out = append(out, driverLines(c)...)
	out = append(out, titled("score: ", c.Evaluation.Score)...)
	if len(c.Candidate.Toolchains) > 0 {
		out = append(out, "with "+strings.Join(c.Candidate.Toolchains, ", "))
	}
	r := c.Evaluation.Resources
	return append(out, fmt.Sprintf("each launch: at most %s, memory %s, %d processes, %s processors, output %s, temporary %s",
		writeSpan(c.Evaluation.Timeout), writeSize(r.Memory), r.Pids, writeNumber(r.CPUs), writeSize(r.Output), writeSize(r.Temporary)),
		"each arm on a split: at most "+writeSpan(c.Evaluation.Total))
}

// driverLines says what the frozen driver does and may do.
func driverLines(c *Contract) []string {
	d := c.Evaluation.Driver
	if d == nil {
		return nil
	}
	out := titled("driver ("+string(c.Candidate.Mode)+"): ", d.Run)
	if d.Network {
		out = append(out, "the driver sees the machine's network")
	}
	if len(d.Secrets) > 0 {
		out = append(out, "the driver gets the secrets "+strings.Join(d.Secrets, ", "))
	}
	return out
}

// titled returns the lines of text, the first behind a title.
func titled(title, text string) []string {
	lines := strings.Split(text, "\n")
	lines[0] = title + lines[0]
	for i := range lines[1:] {
		lines[i+1] = "  " + lines[i+1]
	}
	return lines
}

func signed(k *Keys) []string {
	if k == nil {
		return []string{"not at all: the contract has no keys, whoever may write the state branch may change them"}
	}
	return []string{"by " + k.Verifier}
}

func ends(l Limits) []string {
	var out []string
	if l.Attempts > 0 {
		out = append(out, fmt.Sprintf("after %d candidates", l.Attempts))
	}
	if l.Wall > 0 {
		out = append(out, "after "+writeSpan(l.Wall)+" from the opening")
	}
	if l.Target != nil {
		out = append(out, fmt.Sprintf("when the metric reaches %s on %s", writeNumber(l.Target.Value), l.Target.Split))
	}
	if l.OpenEnded {
		out = append(out, "open-ended, on purpose: nothing else ends it but close")
	}
	return out
}
