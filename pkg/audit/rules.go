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
	rulePathText,
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
