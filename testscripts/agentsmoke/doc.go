// Package agentsmoke runs the real command-line agents from npm through runplan, with their presets, against a local
// model server. It contains only tests: make agents-smoke.
//
// Other scripts replay recorded behaviour of a CLI. Only the CLI itself shows its present behaviour, so run these
// tests when a version in versions.txt is raised.
package agentsmoke
