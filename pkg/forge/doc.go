// Package forge speaks with GitHub about one repository, and with the runner
// that a job runs on.
//
// # What is believed
//
// Nothing that GitHub tells decides a verdict. A check, a comment or a dispatch
// is a notice: whoever holds a token with the right scope can make one that
// looks like ours. What counts stands on the state branch, signed. So this
// package posts, reads back and wakes, and its readers verify the note that a
// check carries.
//
// # One effect, however often it is asked for
//
// A caller may be killed at any point and asks again. Every effect therefore has
// a key, and is looked up before it is made: a check run by commit, name and
// external id, a comment by its hidden marker and writer, a pull request by its
// branches. Where an answer was lost, the look-up comes again before the next
// try, because the lost answer may have been a yes. Dispatches have no key; they
// only wake a reconciler, which a second one does not harm.
//
// A check run of our key that another app made cannot be changed by us. It is
// passed over and an own one made beside it.
//
// # Patience
//
// Every request goes through one transport. It waits out primary and secondary
// rate limits as the answer's headers say, and tries again after 5xx and broken
// connections where that is harmless. It never waits beyond the context's
// deadline, but says at once until when GitHub wants to be left alone. Clock and
// sleep are the caller's.
//
// # The token
//
// It travels in one header, to the one host that it is for, never over a
// redirect, and without TLS to this machine only. No error, log line, URL or
// argument holds it; what a server says is searched for it.
//
// # The runner
//
// [Runner] writes what a job hands on: outputs and the summary into the runner's
// files, between delimiters that nobody can guess, and annotations and masks as
// commands. Text of candidates never reaches the runner's own streams but through
// [Quote], after which no line of it is a command.
package forge
