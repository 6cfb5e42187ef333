// Package doctor holds the command doctor, which checks an installation before a run needs it: git, the configured agents
// and whether they can sign in, the sandbox, the models, and the tools of each gate. Each check has a result and, if
// something is missing, the command that repairs it. On request it also tries an agent or the sandbox.
package doctor
