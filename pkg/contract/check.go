package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// checker looks for what does not fit together in a contract whose single
// values have been read.
type checker struct {
	*reader
	c    *Contract
	root *node
}

// draft runs every check.
func (k *checker) draft() {
	k.metrics()
	k.constraints()
	k.acceptance()
	k.extract()
	k.limits()
	k.times()
	k.commands()
	k.modes()
	k.scope()
	k.generated()
	k.folders()
	k.keys()
	k.gate()
}

// bad adds a fault at n. An absent value has had its fault already.
func (k *checker) bad(n *node, message, fix string) {
	if n != nil {
		k.add(Fault{Line: n.line, Column: n.column, Path: n.path, Message: message, Fix: fix})
	}
}

// metrics checks names and directions of the primary and secondary metrics.
func (k *checker) metrics() {
	primary := k.root.get("metric", "name")
	seen := map[string]bool{}
	for _, n := range append([]*node{k.root.get("metric")}, k.root.get("secondary").items()...) {
		name := n.get("name").string()
		if name != "" && seen[name] {
			k.bad(n.get("name"), "the metric "+shown(name)+" is declared twice", "keep one of them")
		}
		seen[name] = true
		if k.c.Measured(name) && n.get("direction").string() == string(Higher) {
			k.bad(n.get("direction"), "lower is better for "+name+", which the supervisor measures", "write direction: lower")
		}
	}
	if k.c.Acceptance.Policy == Deterministic && Noisy(k.c.Metric.Name) {
		k.bad(primary, "policy deterministic cannot judge "+k.c.Metric.Name+": two launches of the same code give two values",
			"choose a metric without noise, such as code_lines or a count that the scorer prints")
	}
}

// known returns the metrics of the contract: declared and measured ones.
func (k *checker) known() []string {
	names := measured()
	for _, m := range append([]Metric{k.c.Metric}, k.c.Secondary...) {
		if m.Name != "" && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

func (k *checker) unknownMetric(n *node) bool {
	name := n.string()
	if name == "" || slices.Contains(k.known(), name) {
		return false
	}
	k.bad(n, "the metric "+shown(name)+" is not declared"+didYouMean(name, k.known()),
		"declare it as metric or below secondary; the supervisor measures "+strings.Join(measured(), ", "))
	return true
}

func (k *checker) constraints() {
	least, most := map[string]float64{}, map[string]float64{}
	for _, n := range k.root.get("constraints").items() {
		name, atMost, atLeast := n.get("metric").string(), n.get("at_most").float(), n.get("at_least").float()
		k.unknownMetric(n.get("metric"))
		if (atMost == nil) == (atLeast == nil) {
			k.bad(n, "want one of at_most and at_least", "write two constraints for two bounds")
			continue
		}
		bounds, value := most, atMost
		if atLeast != nil {
			bounds, value = least, atLeast
		}
		if _, twice := bounds[name]; twice {
			k.bad(n, "the metric "+shown(name)+" has this bound already", "keep one of them")
		}
		bounds[name] = *value
		if low, ok := least[name]; ok && mostBelow(most, name, low) {
			k.bad(n, fmt.Sprintf("no value of %s is at least %s and at most %s", name, writeNumber(low), writeNumber(most[name])), "")
		}
	}
}

func mostBelow(most map[string]float64, name string, low float64) bool {
	high, ok := most[name]
	return ok && high < low
}

func (k *checker) acceptance() {
	if delta := k.root.get("acceptance", "min_delta"); delta != nil && delta.number <= 0 {
		k.bad(delta, "want more than 0, got "+writeNumber(delta.number)+": a gain of nothing is no gain",
			"write the smallest gain that counts; 1 for a count")
	}
	for _, n := range k.root.get("acceptance", "tie_breakers").items() {
		switch name := n.string(); {
		case k.unknownMetric(n):
		case name == k.c.Metric.Name:
			k.bad(n, "the metric itself cannot break a tie of its own", "name another metric")
		case k.c.Acceptance.Policy == Deterministic && Noisy(name):
			k.bad(n, "the tie-breaker "+name+" is noisy: it would decide by chance", "name a metric without noise, such as code_lines")
		}
	}
}

// extract checks that a regex has the one group, and that it is the only way
// to the only metric of the scorer.
func (k *checker) extract() {
	n := k.root.get("evaluation", "extract", "regex")
	if n == nil || n.regex == nil {
		return
	}
	if groups := n.regex.NumSubexp(); groups != 1 {
		k.bad(n, fmt.Sprintf("want exactly one group, the value; the expression has %d", groups), "write (?:…) for groups that hold no value")
	}
	names := k.scored()
	if len(names) != 1 {
		k.bad(n, fmt.Sprintf("a regex reads one metric of the scorer, this contract has %d: %s", len(names), strings.Join(names, ", ")),
			"write extract: json and let the scorer print {\"metrics\": {…}}")
	}
}

// scored returns the metrics that the scorer must print.
func (k *checker) scored() []string {
	var names []string
	for _, m := range append([]Metric{k.c.Metric}, k.c.Secondary...) {
		if m.Name != "" && !k.c.Measured(m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

func (k *checker) limits() {
	n, l := k.root.get("limits"), k.c.Limits
	bounded := n.get("attempts") != nil || n.get("wall") != nil
	switch {
	case n == nil:
	case l.OpenEnded && bounded:
		k.bad(n.get("open_ended"), "an open-ended run has neither attempts nor wall", "delete open_ended, or both limits")
	case !l.OpenEnded && !bounded && !k.faulty(n.path):
		k.bad(n, "want attempts, wall or open_ended: true", "bound the run, such as attempts: 50, or say open_ended: true")
	}
	if k.c.Shards > 1 {
		k.bad(k.root.get("shards"), "more than one shard is not available yet", "write shards: 1, or delete it")
	}
}

// faulty reports whether a fault lies at path or below it.
func (k *checker) faulty(path string) bool {
	return slices.ContainsFunc(k.faults, func(f Fault) bool {
		return f.Path == path || strings.HasPrefix(f.Path, path+".") || strings.HasPrefix(f.Path, path+"[")
	})
}

func (k *checker) times() {
	if e := k.c.Evaluation; e.Total > 0 && e.Timeout > e.Total {
		k.bad(k.root.get("evaluation", "total"), fmt.Sprintf("total %s is less than the timeout of one launch, %s", writeSpan(e.Total), writeSpan(e.Timeout)),
			"total bounds all launches of one arm on one split")
	}
	for _, part := range []*node{k.root.get("evaluation", "timeout"), k.root.get("evaluation", "total"), k.root.get("candidate", "build", "timeout")} {
		if part != nil && time.Duration(part.whole) > 24*time.Hour {
			k.bad(part, "at most 24h is allowed", "")
		}
	}
}

// commands checks the shell commands.
func (k *checker) commands() {
	const seed = "{seed}"
	for _, n := range []*node{k.root.get("candidate", "build", "run"), k.root.get("evaluation", "score")} {
		if strings.Contains(n.string(), seed) {
			k.bad(n, seed+" is filled in candidate.run and evaluation.driver.run only", "delete it")
		}
	}
	for _, c := range []struct{ who, at, command string }{
		{"scorer", "score", k.c.Evaluation.Score}, {"driver", "driver", k.c.driver()},
	} {
		for _, word := range words(c.command) {
			if k.c.Writable(word) {
				k.bad(k.root.get("evaluation", c.at), "the author may change the "+c.who+"'s file "+shown(word), "keep the "+c.who+" outside scope.writable")
			}
		}
	}
}

// words returns the words of a command that may be paths in the repository:
// those with a slash or a dot.
func words(command string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \n;&|<>()'\"=", r) }) {
		if strings.ContainsAny(word, "/.") {
			out = append(out, strings.TrimPrefix(word, "./"))
		}
	}
	return out
}

// region is something that a pattern must not reach.
type region struct {
	patterns []string
	what     string
}

// tree are the patterns of a folder and all below it.
func tree(folder string) []string { return []string{folder, folder + "/**"} }

// cases are the regions of the folders of cases.
func (k *checker) caseRegions() []region {
	var out []region
	for _, name := range [][]string{{"splits", "development"}, {"counterexamples"}} {
		if n := k.root.get(name...); n != nil {
			out = append(out, region{tree(n.text), "the cases in " + n.text})
		}
	}
	for _, sealed := range k.c.SealedSplits() {
		out = append(out, region{[]string{sealed.Inputs(), sealed.Answers()}, "the sealed cases of " + sealed.Name})
	}
	return append(out,
		region{tree(".research-loop"), ".research-loop"},
		region{tree(".github"), ".github"})
}

// frozenRegions are the regions of all that Frozen names.
func (k *checker) frozenRegions() []region {
	out := k.caseRegions()
	for _, p := range k.c.Harness.Paths {
		out = append(out, region{[]string{p}, "the harness " + p})
	}
	if k.c.Specification != "" {
		out = append(out, region{[]string{k.c.Specification}, "the specification " + k.c.Specification})
	}
	return out
}

// scope checks patterns against patterns, so that files which do not exist yet
// are covered.
func (k *checker) scope() {
	protected := k.frozenRegions()
	for _, p := range k.c.Scope.Readable {
		protected = append(protected, region{[]string{p}, "the readable " + p})
	}
	for _, n := range k.root.get("scope", "writable").items() {
		k.reaches(n, protected, "the author could change")
		if namesTest(n.text) {
			k.bad(n, "the author could change tests or fixtures: "+shown(n.text)+" names them", "let scope.writable name the code alone")
		}
	}
	for _, n := range k.root.get("scope", "readable").items() {
		k.reaches(n, k.caseRegions(), "candidate code could read")
	}
}

// reaches refuses the pattern n if it meets a region.
func (k *checker) reaches(n *node, protected []region, deed string) {
	var hit []string
	for _, region := range protected {
		if slices.ContainsFunc(region.patterns, func(p string) bool { return overlap(n.text, p) }) {
			hit = append(hit, visible(shorten(region.what)))
		}
	}
	if len(hit) > 0 {
		k.bad(n, deed+" "+listing(hit)+": "+shown(n.text)+" reaches it", "narrow the pattern, or move the files apart")
	}
}

func (k *checker) generated() {
	items := k.root.get("scope", "generated").items()
	for i, n := range items {
		path, policy, from := n.get("path"), n.get("policy").string(), n.get("from")
		if path != nil {
			for _, region := range k.frozenRegions() {
				if slices.ContainsFunc(region.patterns, func(p string) bool { return overlap(path.text, p) || overlap(path.text+"/**", p) }) {
					k.bad(path, "launches would write over "+visible(region.what), "choose a path of its own")
				}
			}
		}
		for _, other := range items[:i] {
			if a, b := path.string(), other.get("path").string(); a != "" && b != "" && (inside(a, b) || inside(b, a)) {
				k.bad(path, shown(a)+" and "+shown(b)+" lie inside one another", "keep the outer one")
			}
		}
		switch {
		case policy == string(GeneratedSnapshot) && from == nil && !k.faulty(n.path):
			k.bad(n, "policy snapshot wants from, the frozen folder that fills it", "add from: a folder that harness.paths covers")
		case policy != string(GeneratedSnapshot) && policy != "" && from != nil:
			k.bad(from, "from belongs to policy snapshot only", "delete it")
		case from != nil && k.root.get("harness", "paths") != nil && !k.c.Frozen(from.text+"/x"):
			k.bad(from, shown(from.text)+" is not frozen", "let harness.paths cover it: "+from.text+"/**")
		}
	}
}

// folders checks that no folder of cases lies inside another.
func (k *checker) folders() {
	named := [][]string{{"splits", "development"}, {"splits", "validation"}, {"splits", "final"}, {"counterexamples"}}
	for i, name := range named {
		for _, before := range named[:i] {
			a, b := k.root.get(before...).string(), k.root.get(name...).string()
			if a != "" && b != "" && (inside(a, b) || inside(b, a)) {
				k.bad(k.root.get(name...), shown(b)+" and the "+before[len(before)-1]+" cases in "+shown(a)+" lie inside one another", "give each a place of its own")
			}
		}
	}
}

// keys refuses a recipient that stands for two: what is sealed for one would
// be open to the other.
func (k *checker) keys() {
	seen := map[string]string{}
	for _, n := range k.root.get("keys").items() {
		if other := seen[n.text]; other != "" {
			k.bad(n, "is the key of "+other+" again", "make one key for each")
		}
		seen[n.text] = n.field.name
	}
}
