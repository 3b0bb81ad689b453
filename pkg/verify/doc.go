// Package verify derives a run's records again, from git alone and without secrets.
//
// There are two readers. [Read] is what every command does before it believes a
// run: it opens the newest records and refuses those that the key on the default
// branch did not sign, or that do not go on from a checkpoint that was seen
// before. [Run] checks everything that the records say, law by law, over every
// commit of the state branch:
//
//	seal        contract.md is the draft on the default branch at the pinned
//	            commit, and every frozen file, readable file and split is as it
//	            was sealed
//	chain       every journal line is in its one form and names the one before
//	results     the results are the entries that the journal finalized
//	branch      every commit of the state branch stands on one before it, has
//	            no other parents but commits that its lines name, and only adds:
//	            lines to journal and results, files to logs
//	signatures  every commit's checkpoint, and every published verdict, is
//	            signed over what the records were at that point
//	anchors     the records go on from every checkpoint seen before
//	order       every event may follow those before it: one finalized entry an
//	            attempt, no decision computed twice, no pass retried too often
//	tip         the run branch holds every kept commit and every restore
//	leases      every claim ends when the contract says, and was taken over
//	            only from a holder who could be known to be gone
//	limits      no attempt was opened past a stop condition
//	candidates  every candidate is the tree, the line of commits and the message
//	            that the records say, and was not judged before
//	decisions   every decision follows from the evidence, every entry from the
//	            decision
//	restores    every restore commit has the incumbent's tree and keeps what was
//	            judged
//	logs        every log is the one that its pass recorded
//
// What is not derived: that the measured values are what the candidate does,
// which the sandbox's machine alone saw, and that the audit says again what it
// said.
//
// A journal line is covered by the signed head of every later commit, so the
// newest commit binds the whole past. Older commits of the state branch are
// checked all the same, so that a damaged one is named: all where there are at
// most 2,000 or Source.All asks, else the newest thousand and a spread of those
// before; the report says how many were left out.
package verify
