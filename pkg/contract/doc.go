// Package contract holds what a run agreed to, and the seal that keeps it.
//
// # The draft
//
// A draft is one YAML document, UTF-8 with LF line ends, at most 256 KiB.
// [Parse] reads it over YAML's nodes and takes nothing for granted: unknown or
// doubled keys, anchors, aliases, merge keys, tags, directives, a second
// document, tabs, hidden characters, a number where text belongs, 1.5 for a
// whole number, yes for true, an empty value, text that runs on over lines
// without quotes, and credentials are faults. Every fault bears the place, the
// path of the value, and the cure, and all are reported at once. Only what
// keeps the rest from being read, a character or the syntax, stands alone.
//
//	durations  one whole number and a unit: 500ms, 60s, 5m, 24h
//	sizes      512KiB, 512MiB, 1GiB, 1TiB, or a whole number of bytes
//	numbers    decimal, finite: 3, 0.004, 1e-3
//	paths      slash paths inside the repository, without . and .. parts
//	patterns   paths in which a part may be ** (any number of folders) or hold
//	           *, ?, [a-z], [!a-z], {one,other}; a/ and a/** mean the files
//	           below a and not a itself; a bare name means that file only
//
// One table of fields (fields.go) drives the parser, the [Schema] for editors
// and the sealed form, so that they know the same keys.
//
// A contract that would not be worth its name is refused: a writable pattern
// that reaches the harness, what is readable, cases, specification,
// .research-loop/ or .github/, compared pattern with pattern, so that files
// which do not exist yet count; a pattern that names tests or fixtures; a rule
// that accepts noise or can never pass; a run without an end that nobody asked
// for. [Contract.CheckPaths] adds what only the files of the baseline can show.
// What a later version brings is refused by name as not available yet, never
// ignored. A value that still bears the [Inferred] tag is a guess and refused.
//
// # The seal
//
// [Seal] writes contract.md:
//
//	---
//	research_loop: 1
//	…                      the contract in its one form, every default written out
//	seal:
//	  tag: "spelling-1"
//	  draft: "sha256:…"    of the draft's bytes
//	  …                    what start found out
//	  frozen:
//	    - "100644 <blob> <sha256> <size> evaluation/score.py"
//	---
//	# Contract of a research-loop run
//	…                      the same for people
//
// Text stands between double quotes on one line, lists of files are in the
// order of their paths, times in UTC to the second. The [Digest] of a contract
// is the SHA-256 of all these bytes. [Open] refuses every byte string that
// Seal would not write: it reads the front matter as strictly as a draft,
// seals it again and compares. A different version of the format would begin
// with a different value of research_loop, which older programs refuse.
//
// The package is free of effects: it knows no file, clock or network.
package contract
