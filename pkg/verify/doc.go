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
//	branch      the first commit of the state branch holds the seal alone; every
//	            other one stands on the one before it, has no further parents
//	            but commits that its lines name, and only adds: lines to
//	            journal and results, files to logs
//	signatures  every commit's checkpoint, and every published verdict, is
//	            signed over what the records were at that point
//	anchors     the records go on from every checkpoint seen before
//	order       every event may follow those before it: one finalized entry an
//	            attempt, no decision computed twice, no pass retried too often
//	tip         the run branch holds every kept commit and every restore
//	leases      every claim ends when the contract says, and was taken over
//	            only from a holder who could be known to be gone
//	limits      no attempt was opened past a stop condition
//	gate        every query of the sealed gate is charged once, with the pass
//	            that asks it, within its budget; what the gate answered is known
//	            by its signature only
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
// # What binds what
//
// The checkpoint of the newest commit signs the number of journal lines, the hash
// of the last and the hash of all results. Every line holds the hash of the one
// before, and the line that ends a pass holds the hashes of its logs. So one
// signature binds every byte that a reader is shown, and whoever lacks the key
// can change, drop or add none of it, however long the run is. That signature,
// the chain, the results, every log, every event and every decision are checked
// always.
//
// What stood on the state branch before its newest commit binds nobody any more:
// a reader who saw it keeps its checkpoint as an anchor. It is checked all the
// same, commit by commit, so that one that was damaged, or pushed by another hand
// and covered up by the next, is named. A commit gives its checkpoint in its
// message, and with it the number of its journal lines. What it must hold follows
// from that number and the newest records: a segment was a beginning of what it is
// now; entry and logs came with the line that names them. That makes a tree, and a
// tree has one id. So nothing of the commit is read but the commit: the id is
// computed, of the open segment and the folders above it alone, and compared with
// the one that the commit names. Only where they differ is the commit looked into,
// to say what it is.
//
// The journal is read once, segment by segment, and with each the trees of the
// commits that it grew by and its attempt's logs. So what is in memory grows by
// attempts and commits alone, some hundred bytes each, and never by the
// repetitions of a pass.
//
// What every checkpoint and every verdict note says is derived and compared
// always. Their own signatures, over bytes that the newest one covers once more,
// are checked where there are at most 1,000 of a kind or Source.All asks, else of
// the newest 500 and an even spread of 500 before them: an Ed25519 signature
// costs as much as all the rest of a commit. The report says how many were left
// out. In a run without keys nothing is signed: whoever may write the state
// branch may change its whole past.
//
// # Shallow clones
//
// Where history was cut off when the repository was fetched, the newest records
// are checked as ever: chain, results, signature, order, leases, limits,
// decisions and logs need no older commit. A law about commits that are not here
// is not checked, which is no finding, and the report says so: see Report.Cut.
package verify
