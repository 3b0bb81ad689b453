package evaluate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/research-loop/research-loop/pkg/ledger"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

const (
	// excerpt is how many bytes of a stream's head, and of its tail, a log keeps.
	excerpt = 32 << 10
	// margin is how much more than an excerpt is redacted before it is cut, so
	// that a secret across the cut is seen whole.
	margin = 64 << 10
	// logsBytes bounds the logs of one pass together: a split of many cases
	// must not fill the state branch. Launches beyond it get no streams.
	logsBytes = 8 << 20
)

// A Log is what one launch printed, redacted: the head and the tail of each
// stream, with a note of what was cut.
type Log struct {
	Name string // slash path below logs/: <hundreds>/<iteration>/<arm>[-repetition][.kind][-case].log
	Data []byte
}

// logged appends the log of one launch and returns its name.
func (p *pass) logged(r ledger.Launch, res sandbox.Result, notes []string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s of arm %s at %s, repetition %d", r.Kind, r.Arm, r.Commit, r.Repetition)
	if r.Case != "" {
		fmt.Fprintf(&b, ", case %q", r.Case)
	}
	if r.Call > 0 {
		fmt.Fprintf(&b, ", call %d", r.Call)
	}
	fmt.Fprintf(&b, "\noutcome %s, exit %d, signal %d, wall %.3f s\n", r.Outcome, r.Exit, r.Signal, r.WallSeconds)
	for _, n := range notes {
		n = p.redactor.String(n)
		fmt.Fprintf(&b, "note: %s\n", n)
		if !slices.Contains(p.notes, n) {
			p.notes = append(p.notes, n)
		}
	}
	if p.logBytes < logsBytes {
		p.stream(&b, "stdout", res.Stdout, res.StdoutBytes)
		p.stream(&b, "stderr", res.Stderr, res.StderrBytes)
	} else {
		fmt.Fprintf(&b, "note: streams left out, the logs of this pass hold %d bytes already\n", p.logBytes)
	}
	p.logBytes += b.Len()
	log := Log{Name: ledger.Folder(p.job.Iteration) + "/" + logName(r) + ".log", Data: b.Bytes()}
	p.logs = append(p.logs, log)
	return log.Name
}

// stream writes one stream: its whole, or its head and tail.
func (p *pass) stream(b *bytes.Buffer, name string, kept []byte, total int64) {
	fmt.Fprintf(b, "== %s: %d bytes\n", name, total)
	b.Write(p.redactor.excerpt(kept, total))
	if len(kept) > 0 && !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}
}

// excerpt is a stream's redacted head and tail, with a note between them.
// total is the stream's length where less was kept.
func (r *Redactor) excerpt(kept []byte, total int64) []byte {
	cut := total > int64(len(kept))
	if len(kept) <= 2*excerpt {
		out := r.window(kept, false, cut)
		if cut {
			out = fmt.Appendf(out, "\n[%d bytes were not kept]\n", total-int64(len(kept)))
		}
		return out
	}
	head := r.window(kept[:min(len(kept), excerpt+margin)], false, true)
	tail := r.window(kept[max(0, len(kept)-excerpt-margin):], true, cut)
	out := bytes.Clone(head[:min(len(head), excerpt)])
	out = fmt.Appendf(out, "\n[%d bytes cut here; %d of %d bytes were kept, their sha256 is %x]\n",
		len(kept)-2*excerpt, len(kept), total, sha256.Sum256(kept))
	return append(out, tail[max(0, len(tail)-excerpt):]...)
}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`) })

// logName tells every launch of a pass from every other: what follows the
// repetition is "." and a kind, which a measured launch does not have, and then
// "-" and a case, or "-call-" and a number in a mode that has no cases.
func logName(r ledger.Launch) string {
	name := fmt.Sprintf("%s-%d", r.Arm, r.Repetition)
	if r.Kind == ledger.Build {
		name = string(r.Arm) // built once for all repetitions
	}
	if r.Kind != ledger.Measure {
		name += "." + string(r.Kind)
	}
	switch {
	case r.Call > 0:
		return fmt.Sprintf("%s-call-%06d", name, r.Call)
	case r.Case == "":
		return name
	case plainName().MatchString(r.Case):
		return name + "-" + r.Case
	}
	return fmt.Sprintf("%s-sha256-%x", name, sha256.Sum256([]byte(r.Case)))
}
