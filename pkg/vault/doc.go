// Package vault keeps what an author must not see: it makes keys, seals named
// bytes to them with age, opens them again, and finds gate cases where they
// must not be. It writes no file and logs nothing; where opened data may lie is
// the caller's care.
//
// # Keys
//
// [Generate] makes an Ed25519 signing key and four age identities. Secrets
// have two text forms. That of the judge is two lines,
//
//	research-loop-signing-key:<seed, 32 bytes, base64 without padding>
//	AGE-SECRET-KEY-1…
//
// every other one is a line with an age identity. Empty lines and lines that
// begin with # are skipped. Values that hold a secret print, format and
// marshal as "(secret)", also as part of another value; only Reveal gives the
// text. No error quotes what it was given.
//
// # Sealed bytes
//
// Everything sealed is an age file over one form:
//
//	research-loop/vault/v1 <kind> <name> <cases> <length>\n
//	zeros up to byte 512
//	the content, <length> bytes
//	zeros up to the size
//
// The size is a function of what an author may know, so that the length of the
// file tells nothing else: for the inputs or answers of a split a power of two
// or one of seven steps up to the next, at least 64 KiB; for a value it
// follows from the number of cases; for an outcome the caller sets it, always
// the same. What does not fit is refused. Opening checks the digest of the
// file, kind, name and count, and refuses a header, names or padding that
// sealing would not write. age does not say who sealed a file: its digest must stand in
// something that is signed or sealed itself, or the file in a signed record.
//
// The content of a split's bundle is its files in the order of their names:
//
//	length of the name, 2 bytes · length of the data, 8 bytes, big endian · name · data
//
// That of a value is compressed (DEFLATE), that of an outcome any bytes.
//
// # Cases in two places
//
// [Fold] is the one normal form: two cases are alike if their inputs fold
// alike. [Between] compares two splits, a [Finder] looks for cases in files.
// Both tell how many and where, and never quote a case. [Judge.Marks] are
// digests under the signing key by which a later run recognises cases.
package vault
