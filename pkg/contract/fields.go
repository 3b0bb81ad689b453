package contract

// kind says what a value looks like.
type kind int

const (
	object    kind = iota // a mapping with known keys
	list                  // a list of one kind of item
	table                 // a mapping from environment names to text
	prose                 // text for people
	command               // text for a shell
	value                 // the value of an environment variable
	raw                   // any text; stands in the seal only
	label                 // the name of a metric
	program               // the name of a program on PATH
	variable              // the name of an environment variable
	revision              // HEAD or a full commit id
	commit                // a full commit id
	checksum              // a Digest
	moment                // a time in UTC, to the second
	slug                  // a Tag
	fileLine              // a File on one line
	file                  // the path of a file in the repository
	folder                // the path of a folder in the repository
	pattern               // a pattern of paths
	host                  // an absolute folder of the machine
	whole                 // a whole number
	number                // a finite number
	truth                 // true or false
	span                  // a duration
	size                  // bytes
	choice                // one of enum
	vkey                  // a verifier key of signed notes
	recipient             // an age recipient
	regex                 // an RE2 expression
)

// field is a row of the one table from which the parser, the schema and the
// sealed form are made.
type field struct {
	name     string
	kind     kind
	doc      string
	need     bool     // it must be there
	unset    string   // the value of an absent field, as YAML; "" for none
	enum     []string // what a choice may be; in an object, what may stand in its place
	later    []string // what a choice may be in a later version
	soon     bool     // the whole field belongs to a later version
	min, max float64  // of numbers, in bytes for sizes; max 0: not bounded
	fields   []field  // of an object
	item     *field   // of a list
}

// draftFields is the table of the draft.
func draftFields() []field {
	return []field{
		{name: "research_loop", kind: whole, need: true, doc: "Version of this format: 1."},
		{name: "goal", kind: prose, need: true, doc: "What the run is to reach, in one sentence."},
		{name: "population", kind: prose, need: true, doc: "What an improvement must hold for beyond the visible cases."},
		{name: "specification", kind: file, doc: "File that says what right behaviour is."},
		{name: "keys", kind: object, doc: "Public keys of the run, as keygen prints them; without them nothing is signed.", fields: keysFields()},
		{name: "baseline", kind: revision, unset: "HEAD", doc: "Where the run starts: HEAD of the default branch, or a full commit id."},
		{name: "harness", kind: object, need: true, doc: "The frozen files that measure.", fields: []field{
			{name: "paths", kind: list, need: true, doc: "Patterns of frozen files.", item: &field{kind: pattern}},
			{name: "source", kind: choice, enum: []string{"user"}, unset: "user", doc: "Who made the harness."},
		}},
		{name: "scope", kind: object, need: true, doc: "What the author may change and what candidate code may read.", fields: scopeFields()},
		{name: "candidate", kind: object, need: true, doc: "How a candidate is built and launched.", fields: candidateFields()},
		{name: "evaluation", kind: object, need: true, doc: "How outputs become metrics, and within which bounds.", fields: evaluationFields()},
		{name: "splits", kind: object, need: true, doc: "Folders of cases, each with inputs/ and answers/.", fields: []field{
			{name: "development", kind: folder, need: true, doc: "The visible cases."},
			{name: "validation", kind: folder, doc: "The sealed cases of the gate: a path to which .inputs.age and .answers.age are added."},
			{name: "final", kind: folder, doc: "The sealed cases that are used once, at close: a path likewise."},
		}},
		{name: "metric", kind: object, need: true, doc: "The metric to improve.", fields: metricFields()},
		{name: "secondary", kind: list, doc: "Metrics that are recorded beside it.", item: &field{kind: object, fields: metricFields()}},
		{name: "constraints", kind: list, doc: "Bounds that a candidate must keep.", item: &field{kind: object, fields: []field{
			{name: "metric", kind: label, need: true, doc: "A declared metric, or one that the supervisor measures."},
			{name: "at_most", kind: number, doc: "The largest value allowed."},
			{name: "at_least", kind: number, doc: "The smallest value allowed."},
		}}},
		{name: "counterexamples", kind: folder, doc: "Folder of cases whose outputs must stay as the incumbent's are."},
		{name: "acceptance", kind: object, need: true, doc: "When a candidate replaces the incumbent.", fields: acceptanceFields()},
		{name: "gate", kind: object, doc: "The sealed validation gate, which a candidate that gains on development must pass.", fields: gateFields()},
		{name: "limits", kind: object, need: true, doc: "When the run ends by itself.", fields: limitsFields()},
		{name: "shards", kind: whole, unset: "1", min: 1, max: 8, doc: "Machines that share a pass."},
		{name: "redact", kind: list, doc: "What is struck from every log.", item: &field{kind: object, fields: []field{
			{name: "pattern", kind: regex, need: true, doc: "RE2 expression whose matches are struck."},
		}}},
		{name: "exceptions", kind: list, doc: "Walls that this run does without; every report names them.", item: &field{kind: choice,
			enum: []string{BestEffortLimits, NoGate, ReusedGate, RepositorySecrets}, later: []string{"in-process", "network"}}},
	}
}

func keysFields() []field {
	return []field{
		{name: "verifier", kind: vkey, need: true, doc: "Key that the signatures of the records are checked with."},
		{name: "judge", kind: recipient, doc: "age recipient of what admit and decide open."},
		{name: "execute", kind: recipient, doc: "age recipient of the inputs of validation passes."},
		{name: "final", kind: recipient, doc: "age recipient of the inputs of the final pass."},
		{name: "maintainer", kind: recipient, doc: "age recipient of the sealed gate values."},
	}
}

func scopeFields() []field {
	return []field{
		{name: "writable", kind: list, need: true, doc: "Patterns of the files that the author may change; all else is immutable.", item: &field{kind: pattern}},
		{name: "readable", kind: list, doc: "Patterns of the files that candidate code sees beside its writable files.", item: &field{kind: pattern}},
		{name: "generated", kind: list, doc: "Paths that builds and launches write.", item: &field{kind: object, fields: []field{
			{name: "path", kind: folder, need: true, doc: "A folder or file."},
			{name: "policy", kind: choice, need: true, enum: []string{string(GeneratedReset), string(GeneratedIsolate), string(GeneratedSnapshot)},
				doc: "reset: fresh for every launch; isolate: fresh for every arm and repetition; snapshot: filled from a frozen folder."},
			{name: "from", kind: folder, doc: "The frozen folder of policy snapshot."},
		}}},
	}
}

func candidateFields() []field {
	return []field{
		{name: "mode", kind: choice, need: true, enum: []string{string(ModeBatch), string(ModeCase), string(ModeDriver), string(ModeData)},
			doc: "batch: one launch reads /inputs and writes /outputs; case: one launch a case, stdin to stdout; driver: evaluation.driver asks for the launches; data: evaluation.driver reads the candidate's files, nothing of them is launched."},
		{name: "build", kind: object, doc: "What makes a candidate ready.", fields: []field{
			{name: "run", kind: command, need: true, doc: "Shell command."},
			{name: "timeout", kind: span, unset: "10m", doc: "Bound of the build."},
			{name: "temporary", kind: size, unset: "1GiB", min: 1 << 20, doc: "Room for temporary files."},
		}},
		{name: "run", kind: command, doc: "Shell command that launches the candidate; in mode driver the words of the call follow it."},
		{name: "directory", kind: folder, unset: ".", doc: "Folder where it runs."},
		{name: "toolchains", kind: list, doc: "Folders of the machine that are bound read-only beside /usr; their bin goes on PATH.", item: &field{kind: host}},
	}
}

func evaluationFields() []field {
	return []field{
		{name: "driver", kind: object, doc: "Frozen command of modes driver and data.", fields: []field{
			{name: "run", kind: command, need: true, doc: "Frozen shell command that reads /inputs and writes /outputs; in mode driver it launches the candidate by $RESEARCH_LOOP_CANDIDATE -- ARG…."},
			{name: "network", kind: truth, unset: "false", doc: "true: it sees the machine's network; mode data only."},
			{name: "secrets", kind: list, doc: "Variables of the supervisor's environment that it gets; mode data only.", item: &field{kind: variable}},
		}},
		{name: "score", kind: command, need: true, doc: "Frozen shell command that sees /inputs, /answers, /outputs and /launches.json and prints the metrics."},
		{name: "extract", kind: object, unset: "json", enum: []string{"json"}, doc: "How the scorer's output is read.", fields: []field{
			{name: "regex", kind: regex, need: true, doc: "RE2 expression with one group, the value of the only metric that the scorer prints."},
		}},
		{name: "timeout", kind: span, need: true, doc: "Bound of one launch."},
		{name: "total", kind: span, need: true, doc: "Bound of one arm on one split."},
		{name: "resources", kind: object, unset: "{}", doc: "Bounds of one launch.", fields: []field{
			{name: "memory", kind: size, unset: "512MiB", min: 4 << 20, doc: "Memory of the whole process tree."},
			{name: "pids", kind: whole, unset: "64", min: 1, max: 1 << 22, doc: "Processes and threads at one time."},
			{name: "cpus", kind: number, unset: "1", min: 0.01, max: 4096, doc: "Processors."},
			{name: "output", kind: size, unset: "16MiB", min: 1 << 10, doc: "Output, files and streams each."},
			{name: "temporary", kind: size, unset: "64MiB", min: 1 << 20, doc: "Room for temporary files."},
		}},
		{name: "environment", kind: table, doc: "Environment of every launch."},
		{name: "requires", kind: list, doc: "Programs that must be on PATH.", item: &field{kind: program}},
	}
}

func metricFields() []field {
	return []field{
		{name: "name", kind: label, need: true, doc: "What the scorer calls it, or wall_seconds, cpu_seconds, peak_memory_bytes or code_lines, which the supervisor measures."},
		{name: "direction", kind: choice, need: true, enum: []string{string(Higher), string(Lower)}, doc: "Which values are better."},
	}
}

func acceptanceFields() []field {
	return []field{
		{name: "policy", kind: choice, need: true, enum: []string{Deterministic}, later: []string{"paired"}, doc: "deterministic: one launch, compared with the incumbent's record."},
		{name: "min_delta", kind: number, need: true, doc: "The smallest gain that counts, above zero, in the metric's own unit."},
		{name: "tie_breakers", kind: list, doc: "Metrics that decide between equal values.", item: &field{kind: label}},
		{name: "scale", kind: choice, soon: true, doc: "Part of policy paired."},
		{name: "method", kind: choice, soon: true, doc: "Part of policy paired."},
		{name: "explore", kind: object, soon: true, doc: "Part of policy paired."},
		{name: "confirm", kind: object, soon: true, doc: "Part of policy paired."},
		{name: "multiplicity", kind: object, soon: true, doc: "Part of policy paired."},
		{name: "calibration", kind: object, soon: true, doc: "Part of policy paired."},
	}
}

func gateFields() []field {
	return []field{
		{name: "queries", kind: whole, need: true, min: 2, max: 10_000, doc: "How often the gate may be asked in all, the baseline's query included."},
		{name: "rule", kind: choice, need: true, enum: []string{"non_inferior", "improve"},
			doc: "non_inferior: losses - wins <= margin; improve: wins - losses >= margin, against the best gate result of any kept commit."},
		{name: "margin", kind: number, need: true, doc: "A whole number of cases above zero; of workloads, a fraction of the reference's value."},
		{name: "seconds", kind: whole, need: true, min: 1, max: 86_400, doc: "How long the launches of a query take, and its scoring likewise, whatever they really take."},
		{name: "cases", kind: choice, need: true, enum: []string{"user", "untouched-split", "generated"}, doc: "Where the cases come from; only an untouched split is a sample."},
		{name: "direction", kind: choice, enum: []string{string(Higher), string(Lower)}, doc: "Which score of a case is better; that of the metric where it is absent."},
		{name: "workloads", kind: truth, unset: "false", doc: "true: every case is a workload, and each must pass by itself."},
	}
}

func limitsFields() []field {
	return []field{
		{name: "attempts", kind: whole, min: 1, max: 1e6, doc: "Candidates that are judged."},
		{name: "wall", kind: span, doc: "Time from the opening."},
		{name: "target", kind: object, doc: "Value of the metric at which the run ends.", fields: []field{
			{name: "value", kind: number, need: true, doc: "The value."},
			{name: "split", kind: choice, unset: "development", enum: []string{"development"}, doc: "Where it is measured; a stop on a sealed split would tell its value."},
		}},
		{name: "setup_retries", kind: whole, unset: "3", min: 0, max: 10, doc: "Harmless attempts to find what the baseline requires."},
		{name: "open_ended", kind: truth, unset: "false", doc: "true: neither attempts nor wall, on purpose."},
	}
}

// sealFields is the table of the block that Seal adds.
func sealFields() []field {
	return []field{
		{name: "tag", kind: slug, need: true},
		{name: "draft", kind: checksum, need: true},
		{name: "baseline", kind: commit, need: true},
		{name: "pinned", kind: commit, need: true},
		{name: "level", kind: choice, need: true, enum: []string{"protected", "signed", "open", "local"}},
		{name: "probe", kind: raw, need: true},
		{name: "tool", kind: raw, need: true},
		{name: "confirmed_by", kind: raw, need: true},
		{name: "confirmed_how", kind: raw, need: true},
		{name: "confirmed_at", kind: moment, need: true},
		{name: "splits", kind: list, item: &field{kind: object, fields: []field{
			{name: "name", kind: choice, need: true, enum: []string{"development", "validation", "final", "counterexamples"}},
			{name: "cases", kind: whole, need: true, min: 1},
			{name: "digest", kind: checksum},
			{name: "inputs", kind: checksum},
			{name: "answers", kind: checksum},
			{name: "asked", kind: whole, min: 0},
			{name: "marks", kind: list, item: &field{kind: raw}},
		}}},
		{name: "frozen", kind: list, item: &field{kind: fileLine}},
		{name: "readable", kind: list, item: &field{kind: fileLine}},
	}
}
