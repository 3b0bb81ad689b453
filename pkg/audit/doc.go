// Package audit looks for leakage and tampering in a candidate's trees.
//
// It decides what may be evaluated at all. [Check] is a pure function from raw
// tree entries, blob bytes, the contract's scope, the specification and the
// cases that the caller may show, to findings. It knows no clock, file, network
// or git, executes nothing, and gives the same bytes for the same input.
//
// # The stages
//
// A. Tree facts are exact and read from raw entries, never from a rendered
// patch, which attributes can turn into "Binary files differ": what stands
// outside the writable paths, symbolic links, submodules, modes, control files
// of git, plugins of test runners, shadowed modules, colliding or hostile
// names, ignored, generated and binary files, and the shape of the commits.
//
// B. Text becomes atoms. A scanner for families of languages finds literals,
// numbers, comments and words with their lines. Atoms are folded words and
// canonical numbers. Every literal has further readings: escapes, base64, base
// 85, hex, percent, HTML and UTF-16 decoded, inflated, reversed, rot13,
// character codes, the bytes of a long number, joined neighbours and folded
// constants. Only added lines count, and the names of new files with them.
//
// C. Evidence is measured in bits: how surprising an atom is (a word by its
// frequency, a number by its form), less what many cases share. An atom run
// that stands in the sealed baseline or in the specification is no evidence.
// Leaks, guards (a comparison or table entry beside its answer), probes and
// rules in prose each have a threshold, derived in the rule's file.
//
// D. Patterns name code that tampers, detects or reaches where it must not.
//
// # Novelty and pushes
//
// The verdict is that of the baseline against the candidate, so that a table
// built in three pushes is seen whole; a finding that the incumbent has too is
// marked Inherited. Every commit of the push is audited, not the tip alone. A
// What is read of the baseline are the few megabytes nearest to the change, and
// only a little of them until there is a finding of text: trees may leave out
// the folders that nobody changed. A
// case that the specification itself states is no finding but the note
// [SpecScenario], and a review finding where the run has no gate.
//
// # Secret cases
//
// Cases of the gate are asked for by [Overlaps] alone, on the supervisor's
// side, with the same rules: one bit comes out, and what the author was shown
// is no evidence.
//
// # Bounds
//
// Work is bounded by counts, not clocks. What is too large to be audited is the
// invalid finding audit.bounds, never a skip.
//
// # Rules
//
// A rule is a class, a sentence, a cure and a check; each stands in one file
// rule_*.go, the list in rules.go, a flagged and a passing example of each in
// testdata. No message quotes more than three words of a case.
package audit
