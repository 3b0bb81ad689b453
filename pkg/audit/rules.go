package audit

// rule is one thing that the audit looks for. It has one kind of check, or
// patterns, or both.
type rule struct {
	class string
	about string // what it means and why it matters, for people
	fix   string // what the author does about it

	tree     func(*tree) []Finding              // facts of one tree
	file     func(*file) []Finding              // one changed text file
	total    func(*tree) []Finding              // what the files of a tree show together
	marks    bool                               // run takes ids and names, not the text of cases
	run      func(*audit, run) (Severity, bool) // a row of atoms of a case; the first rule that holds takes it
	patterns []pattern                          // code of added lines
}

// name fills in what all findings of a rule have in common.
func (r rule) name(found []Finding) []Finding {
	for i := range found {
		if found[i].Class == "" {
			found[i].Class, found[i].Fix = r.class, r.fix
		}
	}
	return found
}

// rules is every rule. Of the rules with a run the first that holds takes it.
var rules = []rule{
	ruleOutside,
	ruleImmutable,
	ruleSymlink,
	ruleSubmodule,
	ruleMode,
	ruleGitControl,
	ruleName,
	ruleCollision,
	ruleIgnored,
	ruleGenerated,
	ruleBinary,
	ruleEncoding,
	rulePointer,
	ruleDependency,
	ruleRunnerPlugin,
	ruleModuleShadow,
	ruleBidi,
	ruleZeroWidth,
	ruleMixedScript,
	ruleCaseID,
	ruleListedName,
	ruleListedNumber,
	ruleObfuscated,
	ruleSplitLiteral,
	ruleVerbatim,
	ruleField,
	ruleLiteral,
	rulePartial,
	ruleValue,
	ruleDigest,
	ruleDigestTable,
	ruleNear,
	rulePair,
	ruleCoverage,
	ruleFragment,
	ruleProse,
	ruleProtectedPath,
	ruleLengthProbe,
	ruleMessage,
	ruleVariant,
	ruleClock,
	ruleEquality,
	ruleExit,
	ruleReport,
	ruleModule,
	ruleFrames,
	ruleProcess,
	ruleNative,
	ruleHistory,
	ruleSupervisor,
	ruleDetectEnv,
	ruleDetectArgv,
	ruleDetectSeed,
	ruleClamp,
	ruleNetwork,
	ruleDynamic,
	ruleStream,
	ruleLazy,
	ruleUninit,
	rulePointerKey,
	rulePersist,
	ruleSeed,
	ruleAdmission,
}

var ruleBounds = rule{
	class: "audit.bounds",
	about: "The change is too large, or costs too much, to be audited whole. Nothing is skipped: what cannot be audited cannot be evaluated.",
	fix:   "push a smaller change; keep data files out of the writable paths",
}

var ruleShape = rule{
	class: "history.shape",
	about: "A candidate is the tip of at most 20 commits without merges, each the only child of the one before, the first on the run's recorded tip. Anything else can carry content past the audit.",
	fix:   "rebase the work onto the recorded tip as a straight line of at most 20 commits",
}

var ruleSpecScenario = rule{
	class: SpecScenario,
	about: "The change spells out a case that the specification itself states. With a gate it is a note, because the gate tells a rule from a memory; in a run without a gate nothing does, so it is marked.",
	fix:   "none is needed if the rule is general; say so in the Mechanism trailer",
}
