// Package forgetest is a GitHub of one repository, for tests: as strict as the
// real one where we know how strict that is.
//
// # What makes it no mock
//
// Every request that reaches it and every answer that it gives is validated
// against GitHub's own description of its REST API (testdata/openapi.json.gz, cut
// by testdata/cut.go). A request that GitHub would not understand fails the test,
// and so does an answer that GitHub would not give. Answers begin as the
// description's own examples. Where the description is too weak, the rules
// measured on GitHub stand in rules.go: a completed check needs a conclusion, a
// check run belongs to the app that made it, the Actions app bypasses no ruleset,
// a pull request needs a commit, and so on.
//
// Git is git: `git http-backend` serves a bare repository, and a pre-receive hook
// refuses what the repository's rulesets and protected branches refuse.
//
// # Tokens
//
// A token is what its [Token] says: a kind, the login behind it and, for all kinds
// but the classic one, its permissions. A workflow's token starts no workflow by
// a push. [Server.JobToken] makes one with the permissions of one job.
//
// # Workflows
//
// The server runs none. It reads the workflow files that a commit holds, matches
// their triggers, and keeps a [Run] for each that GitHub would start, with its
// payload, which begins as a real delivery (testdata/webhooks.json.gz). A test
// takes the queued ones, runs them as it likes, and says how they ended.
//
// # Faults
//
// [Server.Fail] makes the next requests of a kind fail, before or after they took
// effect.
package forgetest
