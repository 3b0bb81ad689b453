// Package evaluate runs one pass: it builds the arms, launches them on a
// split, has the frozen scorer turn their outputs into metrics, and says what
// happened.
//
// # Three kinds of no
//
// An error of Run means that the machine could not do its work: no sandbox, no
// proof that a process is dead, a full disk, a missing tool. It is never a
// score. A Failure in a Measurement means that an arm has no value: its build
// or a launch failed, took too long, left nothing readable, or the scorer did
// not print exactly what was asked. A violation means that something that must
// not change did: the attempt is invalid, whatever else was measured, and
// nothing is launched any more in this pass.
//
// # What a launch sees
//
// The arm stands read-only at /arm, the inputs at /inputs under names drawn
// anew for every pass, so that neither a name nor an order tells a case. In
// mode batch one launch reads RESEARCH_LOOP_INPUTS and leaves one file for each
// of them, under the same name, in RESEARCH_LOOP_OUTPUTS. In mode case every
// input is the stdin of a launch of its own, and its stdout is the output.
// {seed} in the command and RESEARCH_LOOP_SEED are a number that stays the same
// all through a run. Answers, harness, the other arm and the ledger are not
// there to be found.
//
// evaluation.timeout bounds one launch, evaluation.total the launches of one
// arm on one split in one repetition, wall time from exec to exit; the build has
// its own time, the scorer that of one launch.
// evaluation.resources bounds memory, processes, processors, output and room for
// temporary files; a launch is kept on its processors, so CPU time is bounded by
// wall time. Files in /tmp (16384) and open files a process (1024) are the
// sandbox's own.
//
// An arm is built once a pass, by a shell in /arm, with HOME, XDG_CACHE_HOME
// and GOCACHE in /cache: an overlay whose lower layer is the warm cache. Only
// the baseline's build fills that cache; what any other writes there is thrown
// away.
//
// # Drivers
//
// In modes driver and data the frozen command evaluation.driver.run works on the
// split, in /harness, as a batch launch would: RESEARCH_LOOP_INPUTS,
// RESEARCH_LOOP_OUTPUTS, one file of the same name for each input. It never sees
// answers. Its exit code must be 0, and all that it does ends with
// evaluation.total. Beyond the contract's resources it has room for its clients.
//
// In mode driver it does not see the arm. $RESEARCH_LOOP_CANDIDATE -- ARG… has
// the supervisor launch candidate.run with these words behind it (the words
// alone where the contract has no run), in a sandbox of its own, with the
// contract's limits for one launch; standard streams and exit code pass
// through, 122 stands for too much output, 123 for memory, 124 for time, 125 for
// no launch. The variable is one path, so that it can be called without a shell
// too. A client reads its standard input ahead, as ssh does: give it </dev/null
// where it must not eat a loop's. Killing the client ends the launch, and no
// launch outlives the driver. Eight run at a time and more wait; with a path to
// isolate it is one. What a launch does is the driver's to judge; each is
// recorded with the number of its call, and the scorer is told of all.
//
// In mode data nothing of the arm is launched or built. The driver reads it at
// RESEARCH_LOOP_CANDIDATE_DIR, and may have the machine's network and named
// secrets of the supervisor's environment, whose values are struck from logs
// and records as designated secrets are.
//
// # Generated paths
//
// They are the only part of an arm that is writable, in a layer of its own
// that never reaches the arm's folder. What the build leaves there is
// where every launch (reset), or the first launch of every repetition on every
// split (isolate), starts from; with isolate a launch sees what the one before
// it wrote. With snapshot every launch, the build included, starts from a
// frozen folder and nothing is kept. Only plain files come along, here and in
// the cache: what else a build leaves is named in its log and left out.
//
// # Scoring
//
// The scorer is launched in the same sandbox, in /harness, and sees
// RESEARCH_LOOP_INPUTS, RESEARCH_LOOP_ANSWERS, RESEARCH_LOOP_OUTPUTS and
// RESEARCH_LOOP_LAUNCHES under the cases' own names. Nothing that a candidate
// prints is ever read for a metric; its outputs reach the scorer as files,
// links and other oddities already left out. A missing output is a missing
// file.
//
// # State check
//
// Before and after every launch the contract's digest, the harness, the arm
// and the generated state are compared with what they must be. Every byte is
// read before an arm's first launch and after the pass's last; between them
// size, mode, mtime, ctime and inode tell.
//
// # Logs
//
// Every launch has a log, redacted before it is cut and before it leaves this
// package.
package evaluate
