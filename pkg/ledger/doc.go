// Package ledger defines the records of a run, byte by byte.
//
// # Journal
//
// The journal is the one truth of a run. It is a sequence of lines, each one
// JSON object in UTF-8 ended by a newline, cut into one segment an attempt
// (journal/000/0.jsonl, journal/000/1.jsonl, …, a hundred to a folder) so that a
// growing run does not make its repository grow with the square of its length.
// The keys of a line stand in this order and there are no others:
//
//	v          1
//	seq        0, 1, 2, … over all segments
//	prev       "sha256:" and the hash of the previous line with its newline; zeros for seq 0
//	time       RFC 3339, UTC
//	run        the tag
//	iteration  the attempt that the event belongs to, or the latest one
//	event      the kind
//	data       an object whose form the kind decides (see the types that implement Data)
//
// # Results
//
// The results are a projection of the journal: one [Entry] in a file of its own
// (results/000/0.json, …) for each baseline or candidate attempt, the bytes of the
// entry in its finalized event and a newline.
//
// # Notes
//
// A [Checkpoint] is the head of the records, a [VerdictNote] one verdict about
// one commit. In a run whose contract has keys both are signed, as C2SP signed
// notes with one Ed25519 signature: the checkpoint at every durable point, the
// note with every verdict. Their origin names repository and run, so that
// neither can be shown as that of another.
//
// # Reading
//
// A reader accepts exactly what this package writes. A line is decoded and
// written again; if the bytes differ, the line is refused. So unknown keys,
// doubled keys, another order of keys, other spellings of a number and other
// white space are all refused, and no two readers can disagree about a line.
// A decoder that knows that one form saves the writing: what it takes is what
// would be written, and what it does not take is compared.
// The hash chain runs over the bytes as they stand, never over a
// re-serialisation. A later version of the format announces itself by another
// v, which this version refuses by name. What is refused is a [CorruptError]:
// it names segment and line, and stops the run.
package ledger
