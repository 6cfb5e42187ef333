// Package agentsmoke runs the real command-line agents from npm through runplan, with their presets, against a local
// model server. It contains only tests: make agents-smoke.
//
// Other scripts replay recorded behaviour of a CLI. Only the CLI itself shows its current behaviour, so run these tests
// after you raise a version in versions.txt.
package agentsmoke
