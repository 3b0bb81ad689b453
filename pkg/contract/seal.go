package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// File is one file of the baseline as start found it. Path is raw bytes.
type File struct {
	Path, Mode, Blob, SHA256 string // Mode "100644" or "100755", the sums in hexadecimal
	Size                     int64  // bytes
}

// SplitFact says which cases a split had at start.
type SplitFact struct {
	Name   string
	Cases  int
	Digest Digest // of a split that everybody sees, else ""
	// Inputs and Answers are the digests of a sealed split's two files.
	Inputs, Answers Digest
	// Asked is how many queries earlier runs had been charged on these cases.
	Asked int
	// Marks are by what a later run recognises the cases of a sealed split.
	Marks []string
}

// Facts are what start found out: everything beside the draft that is sealed.
type Facts struct {
	Tag                       Tag
	Baseline, Pinned          string // full commit ids
	Frozen, Readable          []File // sealed in the order of their paths
	Splits                    []SplitFact
	Level                     string // protected, signed, open or local
	Probe                     string // what the probe of the sandbox found
	Tool                      string // the program and its version
	ConfirmedBy, ConfirmedHow string
	ConfirmedAt               time.Time // sealed in UTC, to the second
}

// Sealed is a contract that has been opened.
type Sealed struct {
	*Contract
	Facts  Facts
	Draft  Digest // of the draft's bytes
	Digest Digest // of the sealed bytes
}

// Seal returns contract.md: between two lines of --- the contract in its one
// form, with every default written out, and the facts; then a page for people.
// The same arguments give the same bytes, and Open accepts no others. c must
// come from Parse of draft.
func Seal(draft []byte, c *Contract, f Facts) []byte {
	return render(c, sortedFacts(f), Sum(draft))
}

func sortedFacts(f Facts) Facts {
	byPath := func(a, b File) int { return strings.Compare(a.Path, b.Path) }
	f.Frozen = slices.SortedStableFunc(slices.Values(f.Frozen), byPath)
	f.Readable = slices.SortedStableFunc(slices.Values(f.Readable), byPath)
	f.ConfirmedAt = f.ConfirmedAt.UTC().Truncate(time.Second)
	return f
}

func render(c *Contract, f Facts, draft Digest) []byte {
	w := &writer{}
	w.line("---")
	w.contract(c)
	w.seal(f, draft)
	w.line("---")
	page(&w.b, c, f)
	return []byte(w.b.String())
}

// writer writes YAML in one form: block style, two spaces a level, every text
// between double quotes.
type writer struct {
	b      strings.Builder
	indent string
}

func (w *writer) line(s string) { w.b.WriteString(w.indent + s + "\n") }

func (w *writer) text(key, value string) {
	if value != "" {
		w.line(key + ": " + quote(value))
	}
}

func (w *writer) number(key string, value float64) { w.line(key + ": " + writeNumber(value)) }

func (w *writer) int(key string, value int) { w.line(key + ": " + strconv.Itoa(value)) }

func (w *writer) span(key string, value time.Duration) { w.line(key + ": " + writeSpan(value)) }

func (w *writer) size(key string, value int64) { w.line(key + ": " + writeSize(value)) }

// object writes a mapping below key.
func (w *writer) object(key string, body func()) {
	w.line(key + ":")
	w.deeper(body)
}

func (w *writer) deeper(body func()) {
	outer := w.indent
	w.indent += "  "
	body()
	w.indent = outer
}

// texts writes a list below key, or nothing for an empty one.
func (w *writer) texts(key string, values []string) {
	if len(values) == 0 {
		return
	}
	w.object(key, func() {
		for _, v := range values {
			w.line("- " + quote(v))
		}
	})
}

// list writes n mappings below key, or nothing for none.
func (w *writer) list(key string, n int, body func(i int)) {
	if n == 0 {
		return
	}
	w.object(key, func() {
		for i := range n {
			w.line("-")
			w.deeper(func() { body(i) })
		}
	})
}

// contract writes the draft's fields in the order of their table.
func (w *writer) contract(c *Contract) {
	w.int("research_loop", Version)
	w.text("goal", c.Goal)
	w.text("population", c.Population)
	w.text("specification", c.Specification)
	if c.Keys != nil {
		w.object("keys", func() { w.keys(*c.Keys) })
	}
	w.text("baseline", c.Baseline)
	w.object("harness", func() {
		w.texts("paths", c.Harness.Paths)
		w.text("source", c.Harness.Source)
	})
	w.object("scope", func() { w.scope(c.Scope) })
	w.object("candidate", func() { w.candidate(c.Candidate) })
	w.object("evaluation", func() { w.evaluation(c.Evaluation) })
	w.object("splits", func() {
		w.text("development", c.Splits.Development)
		w.text("validation", c.Splits.Validation)
		w.text("final", c.Splits.Final)
	})
	w.object("metric", func() { w.metric(c.Metric) })
	w.list("secondary", len(c.Secondary), func(i int) { w.metric(c.Secondary[i]) })
	w.list("constraints", len(c.Constraints), func(i int) { w.constraint(c.Constraints[i]) })
	w.text("counterexamples", c.Counterexamples)
	w.object("acceptance", func() {
		w.text("policy", c.Acceptance.Policy)
		w.number("min_delta", c.Acceptance.MinDelta)
		w.texts("tie_breakers", c.Acceptance.TieBreakers)
	})
	if c.Gate != nil {
		w.object("gate", func() { w.gate(*c.Gate) })
	}
	w.object("limits", func() { w.limits(c.Limits) })
	w.int("shards", c.Shards)
	w.list("redact", len(c.Redact), func(i int) { w.text("pattern", c.Redact[i].Pattern.String()) })
	w.texts("exceptions", c.Exceptions)
}

func (w *writer) keys(k Keys) {
	w.text("verifier", k.Verifier)
	w.text("judge", k.Judge)
	w.text("execute", k.Execute)
	w.text("final", k.Final)
	w.text("maintainer", k.Maintainer)
}

func (w *writer) scope(s Scope) {
	w.texts("writable", s.Writable)
	w.texts("readable", s.Readable)
	w.list("generated", len(s.Generated), func(i int) {
		w.text("path", s.Generated[i].Path)
		w.text("policy", string(s.Generated[i].Policy))
		w.text("from", s.Generated[i].From)
	})
}

func (w *writer) candidate(c Candidate) {
	w.text("mode", string(c.Mode))
	if c.Build != nil {
		w.object("build", func() {
			w.text("run", c.Build.Run)
			w.span("timeout", c.Build.Timeout)
			w.size("temporary", c.Build.Temporary)
		})
	}
	w.text("run", c.Run)
	w.text("directory", c.Directory)
	w.texts("toolchains", c.Toolchains)
}

func (w *writer) evaluation(e Evaluation) {
	if e.Driver != nil {
		w.object("driver", func() {
			w.text("run", e.Driver.Run)
			w.line("network: " + strconv.FormatBool(e.Driver.Network))
			w.texts("secrets", e.Driver.Secrets)
		})
	}
	w.text("score", e.Score)
	w.extract(e.Extract.Regex)
	w.span("timeout", e.Timeout)
	w.span("total", e.Total)
	w.object("resources", func() {
		w.size("memory", e.Resources.Memory)
		w.int("pids", e.Resources.Pids)
		w.number("cpus", e.Resources.CPUs)
		w.size("output", e.Resources.Output)
		w.size("temporary", e.Resources.Temporary)
	})
	if len(e.Environment) > 0 {
		w.object("environment", func() {
			for _, name := range slices.Sorted(maps.Keys(e.Environment)) {
				w.line(quote(name) + ": " + quote(e.Environment[name]))
			}
		})
	}
	w.texts("requires", e.Requires)
}

func (w *writer) extract(re *regexp.Regexp) {
	if re == nil {
		w.text("extract", "json")
		return
	}
	w.object("extract", func() { w.text("regex", re.String()) })
}

func (w *writer) metric(m Metric) {
	w.text("name", m.Name)
	w.text("direction", string(m.Direction))
}

func (w *writer) constraint(c Constraint) {
	w.text("metric", c.Metric)
	if c.AtMost != nil {
		w.number("at_most", *c.AtMost)
	}
	if c.AtLeast != nil {
		w.number("at_least", *c.AtLeast)
	}
}

func (w *writer) gate(g Gate) {
	w.int("queries", g.Queries)
	w.text("rule", g.Rule)
	w.number("margin", g.Margin)
	w.int("seconds", int(g.Window/time.Second))
	w.text("cases", g.Cases)
	w.text("direction", string(g.Direction))
	w.line("workloads: " + strconv.FormatBool(g.Workloads))
}

func (w *writer) limits(l Limits) {
	if l.Attempts > 0 {
		w.int("attempts", l.Attempts)
	}
	if l.Wall > 0 {
		w.span("wall", l.Wall)
	}
	if l.Target != nil {
		w.object("target", func() {
			w.number("value", l.Target.Value)
			w.text("split", l.Target.Split)
		})
	}
	w.int("setup_retries", l.SetupRetries)
	w.line("open_ended: " + strconv.FormatBool(l.OpenEnded))
}

func (w *writer) seal(f Facts, draft Digest) {
	w.object("seal", func() {
		w.line("tag: " + quote(string(f.Tag)))
		w.line("draft: " + quote(string(draft)))
		w.line("baseline: " + quote(f.Baseline))
		w.line("pinned: " + quote(f.Pinned))
		w.line("level: " + quote(f.Level))
		w.line("probe: " + quote(f.Probe))
		w.line("tool: " + quote(f.Tool))
		w.line("confirmed_by: " + quote(f.ConfirmedBy))
		w.line("confirmed_how: " + quote(f.ConfirmedHow))
		w.line("confirmed_at: " + quote(f.ConfirmedAt.Format(timeLayout)))
		w.list("splits", len(f.Splits), func(i int) {
			w.text("name", f.Splits[i].Name)
			w.int("cases", f.Splits[i].Cases)
			w.text("digest", string(f.Splits[i].Digest))
			w.text("inputs", string(f.Splits[i].Inputs))
			w.text("answers", string(f.Splits[i].Answers))
			if f.Splits[i].Asked > 0 {
				w.int("asked", f.Splits[i].Asked)
			}
			w.texts("marks", f.Splits[i].Marks)
		})
		w.texts("frozen", each(f.Frozen, writeFile))
		w.texts("readable", each(f.Readable, writeFile))
	})
}

// writeFile writes a File on one line: mode, blob, SHA-256, size, path. A path
// of other than visible ASCII stands between double quotes, escaped as in Go,
// so that every byte of it comes back.
func writeFile(f File) string {
	path := f.Path
	if quoted := strconv.QuoteToASCII(path); quoted != `"`+path+`"` || path == "" {
		path = quoted
	}
	return fmt.Sprintf("%s %s %s %d %s", f.Mode, f.Blob, f.SHA256, f.Size, path)
}

var fileShape = shape(`^(100644|100755) ([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{64}) (0|[1-9][0-9]{0,17}) (.+)$`)

// parseFile reads what writeFile writes.
func parseFile(s string) (File, error) {
	parts := fileShape().FindStringSubmatch(s)
	if parts == nil {
		return File{}, fmt.Errorf("want mode, blob, SHA-256, size and path, got %s", shown(s))
	}
	size, err := strconv.ParseInt(parts[4], 10, 64)
	if err != nil {
		return File{}, fmt.Errorf("the size %s is too large", parts[4])
	}
	f := File{Path: parts[5], Mode: parts[1], Blob: parts[2], SHA256: parts[3], Size: size}
	if strings.HasPrefix(f.Path, `"`) {
		if f.Path, err = strconv.Unquote(f.Path); err != nil {
			return File{}, fmt.Errorf("the path of %s is not quoted as Go does", shown(s))
		}
	}
	if writeFile(f) != s || !clean(f.Path) {
		return File{}, fmt.Errorf("the path of %s is not one that a tree may hold", shown(s))
	}
	return f, nil
}
