package measured

// Rule is a rule of a gate that is neither a lesson nor a pattern.
type Rule struct {
	ID      string
	InRun   string // its severity in a batch that does not ask for the change
	Outside string // its severity in gate and review without a plan
	Finds   string
}

// Rules lists the rules of the gates, by gate. A name with an asterisk at its end covers all rules with that prefix.
func Rules() []Rule {
	return []Rule{
		{"protected/ci", "error", "info", "a change of what runs in CI"},
		{"protected/runplan", "error", "info", "a change of runplan's own configuration"},
		{"protected/gates", "error", "info", "a change of the configuration of linters and test runners"},
		{"protected/listed", "error", "info", "a change of a file that the configuration lists"},
		{"protected/test", "warning", "info", "a test that was there before and got weaker; info where it was only edited"},
		{"tamper/test-file-deleted", "error", "warning", "a test file is gone, and its tests are nowhere else"},
		{"tamper/test-file-emptied", "error", "warning", "a test file has no tests left"},
		{"tamper/test-removed", "error", "warning", "a test is gone, and did not move, merge or go with what it tests"},
		{"tamper/test-renamed", "info", "info", "another test has the body of one that is gone"},
		{"tamper/test-emptied", "error", "error", "a test is there and checks nothing"},
		{"tamper/fewer-assertions", "error", "warning", "a test has fewer assertions; outside of a plan, fewer than half"},
		{"tamper/test-skipped", "error", "warning", "a test that ran is skipped"},
		{"tamper/new-test-skipped", "info", "info", "a new test is skipped"},
		{"tamper/new-test-empty", "error", "error", "a new test calls nothing that could fail it"},
		{"tamper/new-test-asserts-nothing", "info", "info", "a new test has no assertion"},
		{"tamper/only-added", "error", "error", "a test turns off all others"},
		{"tamper/always-true", "error", "error", "an assertion that cannot fail took the place of one"},
		{"tamper/new-always-true", "warning", "info", "a new assertion that cannot fail"},
		{"tamper/test-disabled", "error", "warning", "build tags, module-wide skips, hooks into the runner"},
		{"tamper/snapshot", "error", "info", "a recorded answer was rewritten"},
		{"tamper/type-ignore", "error", "info", "more comments against the type checker"},
		{"tamper/silenced", "error", "info", "more comments against linters"},
		{"tamper/knows-tests", "error", "info", "code of the product asks whether it is tested"},
		{"tamper/equal-to-all", "error", "info", "an object that is equal to everything"},
		{"tamper/config", "error", "info", "a section of a shared file that decides what is checked"},
		{"tamper/too-large", "error", "info", "such a file is too large to check"},
		{"secrets/*", "error", "error", "a key of a known shape, a password, a file made for secrets; info in fixtures"},
		{"security/*", "warning", "warning",
			"code that lets others write queries, commands or pages; in review most are errors"},
		{"denied/*", "error", "error", "a command that destroys, in a script or in CI"},
		{"docs/dead-link", "error", "error", "a new link to a file that is not there"},
		{"docs/dead-path", "info", "info", "a new path in a code span that is not there"},
		{"docs/old-dead-link", "info", "info", "a dead link that was there before"},
		{"license/copyleft", "error", "error", "a new dependency under a licence that asks to publish"},
		{"license/weak-copyleft", "warning", "warning", "a new dependency under LGPL, MPL and the like"},
		{"license/unknown", "info", "info", "a new dependency whose licence cannot be read here"},
		{"size/too-long", "error", "error", "a source file that is longer than allowed; off unless configured"},
		{"memory/low", "warning", "warning", "less free memory than asked for; off unless configured"},
		{"prose/left-out", "-", "error", "a comment that stands for code that was left out"},
		{"prose/merge-marker", "-", "error", "a marker of a merge conflict"},
		{"prose/doc-name", "-", "warning", "a Go doc comment about something else"},
		{"prose/doc-param", "-", "warning",
			"documentation of a parameter that the function does not have; info in JavaScript"},
		{"names/gone", "-", "info", "public names that are gone"},
	}
}
