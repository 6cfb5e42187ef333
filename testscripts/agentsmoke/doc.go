// Package agentsmoke runs the command-line agents themselves, as npm has them, each against a model server on this
// machine, through runplan and with the presets that it ships with. It is all tests: make agents-smoke.
//
// Scripts elsewhere replay what a CLI was seen to do. What a CLI does today only the CLI can tell, so this one is to be
// run when a version is raised in versions.txt.
package agentsmoke
