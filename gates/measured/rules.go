package measured

// Rule is a rule of a gate other than lessons and patterns.
type Rule struct {
	ID      string
	InRun   string // its severity in a batch that does not ask for the change
	Outside string // its severity in gate and review without a plan
	Finds   string
}

// Rules lists the rules of the gates, by gate. A name with an asterisk at its end covers all rules with that prefix.
// Each rule needs a reason in gateReasons of internal/cli/setup.
func Rules() []Rule {
	return []Rule{
		{"protected/ci", "error", "info", "a change of CI configuration"},
		{"protected/runplan", "error", "info", "a change of runplan's own configuration"},
		{"protected/gates", "error", "info", "a change of the configuration of linters and test runners"},
		{"protected/listed", "error", "info", "a change of a file that the configuration lists"},
		{"protected/test", "warning", "info", "an existing test got weaker; info if it was only edited"},
		{"tamper/test-file-deleted", "error", "warning", "a test file was deleted and its tests did not move"},
		{"tamper/test-file-emptied", "error", "warning", "a test file has no tests left"},
		{"tamper/test-removed", "error", "warning", "a test was removed and not moved, merged or removed with its subject"},
		{"tamper/test-renamed", "info", "info", "another test has the body of a removed one"},
		{"tamper/test-emptied", "error", "error", "a test checks nothing"},
		{"tamper/fewer-assertions", "error", "warning", "a test has fewer assertions; without a plan, fewer than half"},
		{"tamper/test-skipped", "error", "warning", "an existing test is skipped"},
		{"tamper/new-test-skipped", "info", "info", "a new test is skipped"},
		{"tamper/new-test-empty", "error", "error", "a new test calls nothing that could fail"},
		{"tamper/new-test-asserts-nothing", "info", "info", "a new test has no assertion"},
		{"tamper/only-added", "error", "error", "a test turns off all others"},
		{"tamper/always-true", "error", "error", "an assertion that cannot fail replaces one"},
		{"tamper/new-always-true", "warning", "info", "a new assertion that cannot fail"},
		{"tamper/test-disabled", "error", "warning", "build tags, module-wide skips, hooks into the runner"},
		{"tamper/snapshot", "error", "info", "a recorded answer was rewritten"},
		{"tamper/type-ignore", "error", "info", "more comments against the type checker"},
		{"tamper/silenced", "error", "info", "more comments against linters"},
		{"tamper/knows-tests", "error", "info", "product code detects that it is tested"},
		{"tamper/equal-to-all", "error", "info", "an object that is equal to everything"},
		{"tamper/config", "error", "info", "a change in a section that controls checks, in a shared file"},
		{"tamper/too-large", "error", "info", "a shared file is too large to check"},
		{"link-outside", "error", "error", "a new or changed symbolic link that leads out of the tree"},
		{"secrets/*", "error", "error", "a known kind of key, a password, a file for secrets; info in fixtures"},
		{"security/*", "warning", "warning",
			"code that allows injection into queries, commands or pages; mostly errors in a review"},
		{"denied/*", "error", "error", "a destructive command in a script or in CI"},
		{"docs/dead-link", "error", "error", "a new link to a missing file"},
		{"docs/dead-path", "info", "info", "a new path in a code span to a missing file"},
		{"docs/old-dead-link", "info", "info", "an existing dead link"},
		{"license/copyleft", "error", "error", "a new dependency under a copyleft licence"},
		{"license/weak-copyleft", "warning", "warning", "a new dependency under LGPL, MPL and the like"},
		{"license/unknown", "info", "info", "a new dependency with an unreadable licence"},
		{"size/too-long", "error", "error", "a source file longer than allowed; off unless configured"},
		{"memory/low", "warning", "warning", "less free memory than required; off unless configured"},
		{"types/*", "warning", "warning", "a report of a type checker; an error in files of [gates] strict_types"},
		{"acceptance/failed", "error", "error", "a testscript of the project fails"},
		{"acceptance/no-scripts", "error", "error", "the configured folder has no testscripts"},
		{"prose/left-out", "-", "error", "a comment in place of omitted code"},
		{"prose/merge-marker", "-", "error", "a marker of a merge conflict"},
		{"prose/doc-name", "-", "warning", "a Go doc comment that begins with another name"},
		{"prose/doc-param", "-", "warning",
			"documentation of a parameter that does not exist; info in JavaScript"},
		{"names/gone", "-", "info", "removed public names"},
	}
}
