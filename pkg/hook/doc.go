// Package hook audits candidates on the author's machine: before they are
// pushed, and before a coding agent does what would hide one.
//
// It is early feedback and no boundary: a push with --no-verify, by another
// client or from another clone passes it by, so the supervisor repeats the
// whole audit and only its word counts. What the hook can do is say the same
// thing at once, in the same words.
//
// # PrePush
//
// git tells a pre-push hook on its standard input which object it will send to
// which ref. PrePush reads all of it, keys on the remote ref, and audits the
// very objects named there: not HEAD, not the index, not a rendered patch. It
// writes to standard error only, changes nothing, asks nothing, needs no
// network, and ends within Deadline.
//
//   - refs/heads/research-loop/<tag> is a run branch: it is audited. It cannot
//     be deleted or rewritten.
//   - refs/heads/research-loop-state/* are the supervisor's records: refused.
//   - Everything else passes in silence.
//
// What is audited against comes from the tracking ref of the run's state
// branch: the sealed contract, the recorded tip, the incumbent. Where a clone
// has none, the draft on the remote's default branch stands in for it, and the
// hook says so; where there is neither it refuses and says what to fetch.
//
// # Install
//
// One shell file, package hooks, is what git runs. It calls the program only
// for run branches, so a program that is gone cannot stop other pushes, and it
// runs the hook that stood there before. Another program's hook is never
// overwritten: what one hook manager owns is a *ManagedError that says which
// line to paste where.
//
// # Agent
//
// Agent reads what a coding agent is about to do and blocks what would go past
// the hook or change what is frozen. It is a convenience: there are other ways
// to write a file.
package hook
