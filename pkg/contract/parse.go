package contract

import (
	"bytes"
	"fmt"
	"time"

	"gopkg.in/yaml.v3"
)

// Parse reads a draft. Its error is *Faults with everything that is wrong:
// characters and syntax first, since nothing can be read behind them, then
// unknown keys, types, values and what does not fit together, all at once.
// file is the name that the faults bear.
func Parse(file string, data []byte) (*Contract, error) {
	r := &reader{}
	source := r.secrets(data)
	n := r.root(source, maxDraft, draftFields())
	var c *Contract
	if n != nil {
		c = n.contract()
		(&checker{reader: r, c: c, root: n}).draft()
	}
	if len(r.faults) > 0 {
		return nil, &Faults{File: file, Source: source, List: sorted(r.faults)}
	}
	return c, nil
}

// Locate gives faults that know only their Path, as those of CheckPaths, their
// place in the draft, and makes an error of them.
func Locate(file string, draft []byte, list []Fault) *Faults {
	r := &reader{}
	source := r.secrets(draft)
	placed := append([]Fault(nil), list...)
	if root := r.document(source, maxDraft); root != nil {
		places := map[string]*yaml.Node{}
		index(places, root, "$")
		for i, f := range placed {
			if y := places[f.Path]; y != nil && f.Line == 0 {
				placed[i].Line, placed[i].Column = y.Line, y.Column
			}
		}
	}
	return &Faults{File: file, Source: source, List: sorted(placed)}
}

func index(places map[string]*yaml.Node, y *yaml.Node, path string) {
	places[path] = y
	for i, child := range y.Content {
		switch {
		case y.Kind == yaml.SequenceNode:
			index(places, child, fmt.Sprintf("%s[%d]", path, i))
		case i%2 == 1:
			index(places, child, path+"."+keyName(y.Content[i-1]))
		}
	}
}

// root reads the whole document into a node, or returns nil with the faults.
func (r *reader) root(source []byte, most int, fields []field) *node {
	y := r.document(source, most)
	if y == nil {
		return nil
	}
	f := &field{kind: object, fields: fields}
	if y.Kind == yaml.MappingNode && r.newer(y) {
		return nil
	}
	return r.read(f, y, "$")
}

// newer reports whether the document says that it is of a later version. All
// other faults would then be noise, and are dropped.
func (r *reader) newer(y *yaml.Node) bool {
	for i := 0; i+1 < len(y.Content); i += 2 {
		value := y.Content[i+1]
		if y.Content[i].Value != "research_loop" || value.Kind != yaml.ScalarNode || !wholeShape().MatchString(value.Value) {
			continue
		}
		if value.Value == fmt.Sprint(Version) {
			return false
		}
		message, fix := fmt.Sprintf("there is no version %s of the contract, want %d", value.Value, Version), fmt.Sprintf("write research_loop: %d", Version)
		if value.Value[0] != '-' && value.Value != "0" {
			message, fix = fmt.Sprintf("version %s is newer than this program, which reads version %d", shorten(value.Value), Version), "install a newer research-loop"
			r.faults = nil
		}
		r.at(value, "$.research_loop", message, fix)
		return true
	}
	return false
}

// contract fills a Contract from the root node. What is absent or faulty is
// left zero.
func (n *node) contract() *Contract {
	return &Contract{
		Goal:          n.get("goal").string(),
		Population:    n.get("population").string(),
		Specification: n.get("specification").string(),
		Keys:          n.get("keys").keys(),
		Baseline:      n.get("baseline").string(),
		Harness:       Harness{Paths: n.get("harness", "paths").strings(), Source: n.get("harness", "source").string()},
		Scope:         n.get("scope").scope(),
		Candidate:     n.get("candidate").candidate(),
		Evaluation:    n.get("evaluation").evaluation(),
		Splits: Splits{
			Development: n.get("splits", "development").string(),
			Validation:  n.get("splits", "validation").string(), Final: n.get("splits", "final").string(),
		},
		Metric:          n.get("metric").metric(),
		Secondary:       each(n.get("secondary").items(), (*node).metric),
		Constraints:     each(n.get("constraints").items(), (*node).constraint),
		Counterexamples: n.get("counterexamples").string(),
		Acceptance:      n.get("acceptance").acceptance(),
		Gate:            n.get("gate").gate(Direction(n.get("metric", "direction").string())),
		Limits:          n.get("limits").limits(),
		Shards:          int(n.get("shards").int()),
		Redact:          each(n.get("redact").items(), (*node).redaction),
		Exceptions:      n.get("exceptions").strings(),
	}
}

// each returns what of makes of every item, nil for none.
func each[A, B any](list []A, of func(A) B) []B {
	var out []B
	for _, a := range list {
		out = append(out, of(a))
	}
	return out
}

func (n *node) keys() *Keys {
	if n == nil {
		return nil
	}
	return &Keys{
		Verifier: n.get("verifier").string(),
		Judge:    n.get("judge").string(), Execute: n.get("execute").string(),
		Final: n.get("final").string(), Maintainer: n.get("maintainer").string(),
	}
}

func (n *node) scope() Scope {
	return Scope{
		Writable:  n.get("writable").strings(),
		Readable:  n.get("readable").strings(),
		Generated: each(n.get("generated").items(), (*node).generated),
	}
}

func (n *node) generated() Generated {
	return Generated{Path: n.get("path").string(), Policy: Policy(n.get("policy").string()), From: n.get("from").string()}
}

func (n *node) candidate() Candidate {
	c := Candidate{
		Mode:       Mode(n.get("mode").string()),
		Run:        n.get("run").string(),
		Directory:  n.get("directory").string(),
		Toolchains: n.get("toolchains").strings(),
	}
	if b := n.get("build"); b != nil {
		c.Build = &Build{Run: b.get("run").string(), Timeout: time.Duration(b.get("timeout").int()), Temporary: b.get("temporary").int()}
	}
	return c
}

func (n *node) evaluation() Evaluation {
	e := Evaluation{
		Score:       n.get("score").string(),
		Timeout:     time.Duration(n.get("timeout").int()),
		Total:       time.Duration(n.get("total").int()),
		Environment: map[string]string{},
		Requires:    n.get("requires").strings(),
	}
	if d := n.get("driver"); d != nil {
		e.Driver = &Driver{Run: d.get("run").string(), Network: d.get("network").is(), Secrets: d.get("secrets").strings()}
	}
	e.Extract.Regex = n.get("extract", "regex").expression()
	for _, variable := range n.get("environment").items() {
		e.Environment[variable.field.name] = variable.text
	}
	r := n.get("resources")
	e.Resources = Resources{Memory: r.get("memory").int(), Pids: int(r.get("pids").int()), Output: r.get("output").int(), Temporary: r.get("temporary").int()}
	if cpus := r.get("cpus").float(); cpus != nil {
		e.Resources.CPUs = *cpus
	}
	return e
}

func (n *node) metric() Metric {
	return Metric{Name: n.get("name").string(), Direction: Direction(n.get("direction").string())}
}

func (n *node) constraint() Constraint {
	return Constraint{Metric: n.get("metric").string(), AtMost: n.get("at_most").float(), AtLeast: n.get("at_least").float()}
}

func (n *node) redaction() Redaction { return Redaction{Pattern: n.get("pattern").expression()} }

func (n *node) acceptance() Acceptance {
	a := Acceptance{Policy: n.get("policy").string(), TieBreakers: n.get("tie_breakers").strings()}
	if delta := n.get("min_delta").float(); delta != nil {
		a.MinDelta = *delta
	}
	return a
}

// gate fills a Gate; usual is the direction that it has where it names none.
func (n *node) gate(usual Direction) *Gate {
	if n == nil {
		return nil
	}
	g := &Gate{
		Queries: int(n.get("queries").int()), Rule: n.get("rule").string(),
		Window: time.Duration(n.get("seconds").int()) * time.Second, Cases: n.get("cases").string(),
		Direction: Direction(n.get("direction").string()),
	}
	if g.Direction == "" {
		g.Direction = usual
	}
	if margin := n.get("margin").float(); margin != nil {
		g.Margin = *margin
	}
	if w := n.get("workloads"); w != nil {
		g.Workloads = w.truth
	}
	return g
}

func (n *node) limits() Limits {
	l := Limits{
		Attempts:     int(n.get("attempts").int()),
		Wall:         time.Duration(n.get("wall").int()),
		SetupRetries: int(n.get("setup_retries").int()),
	}
	l.OpenEnded = n.get("open_ended").is()
	if value := n.get("target", "value").float(); value != nil {
		l.Target = &Target{Value: *value, Split: n.get("target", "split").string()}
	}
	return l
}

// mask hides what looks like a secret in source, so that no message and no
// source line can show it. Line ends stay.
func mask(source []byte, from, to int) {
	for i := from; i < to; i++ {
		if source[i] != '\n' {
			source[i] = 'x'
		}
	}
}

// secrets reports what looks like a secret in data and returns data with it
// masked.
func (r *reader) secrets(data []byte) []byte {
	if len(data) > maxDraft {
		return data
	}
	source := bytes.Clone(data)
	for _, s := range findSecrets(data) {
		before := data[:s.from]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
		r.add(Fault{Line: line, Column: column, Path: "$", Message: "this looks like " + s.what + "; a contract is public",
			Fix: "delete it, revoke it where it was issued, and hand it to the run as an environment secret"})
		mask(source, s.from, s.to)
	}
	return source
}
