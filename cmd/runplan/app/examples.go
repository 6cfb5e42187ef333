package app

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples holds examples for the commands that do not define one with their flags. The key is the path of the command
// without the name of the program. TestEachCommandHasExample parses them.
const examples = `
approve                   runplan approve 1f0c2a7b/2 --reason "as agreed"
ask                       runplan ask "why did batch 3 fail twice?"
audit                     runplan audit --json
blueprint check           runplan blueprint check orders
blueprint generate        runplan blueprint generate orders
blueprint journal         runplan blueprint journal --json
blueprint queue           runplan blueprint queue
blueprint queue close     runplan blueprint queue close 3fa2c1 --approve --signature ada --reason "known"
blueprint review          runplan blueprint review orders --by-hand
blueprint summarize       runplan blueprint summarize orders/
cancel                    runplan cancel 1f0c2a7b
check                     runplan check plan.md
completion bash           source <(runplan completion bash)
completion fish           runplan completion fish >~/.config/fish/completions/runplan.fish
completion powershell     runplan completion powershell | Out-String | Invoke-Expression
completion zsh            runplan completion zsh >"${fpath[1]}/_runplan"
config                    runplan config --keys
config set                runplan config set run.max_attempts 5
config unset              runplan config unset run.max_attempts
context                   runplan context plan.md 2
critical                  runplan critical "the release branch is broken"
demo                      runplan demo
demote                    runplan demote --to-tier 0 --reason "it pushed to the wrong branch"
discard                   runplan discard 1f0c2a7b
doctor                    runplan doctor --agent claude
egress                    runplan egress
enrich                    runplan enrich
explain                   runplan explain tamper/test-removed
feedback                  runplan feedback "the total leaves out the last price" --severity high
gate                      runplan gate --base main
gc                        runplan gc
inbox                     runplan inbox
inbox done                runplan inbox done 4
inbox escalate            runplan inbox escalate 4
inbox process             runplan inbox process
inbox show                runplan inbox show 4
index                     runplan index
init                      runplan init
introspect                runplan introspect --mermaid
lessons check             runplan lessons check internal/*.go
lessons import            runplan lessons import ~/lessons
lessons list              runplan lessons list
lessons new               runplan lessons new "Errors are never swallowed"
lessons show              runplan lessons show 0001
lessons summary           runplan lessons summary
log                       runplan log --follow
maintain                  runplan maintain
note                      runplan note "the old endpoint goes in May"
notify test               runplan notify test
outline                   runplan outline docs/design.md
parse                     runplan parse plan.md --coverage
patterns discover         runplan patterns discover
patterns generate         runplan patterns generate
patterns list             runplan patterns list
patterns scan             runplan patterns scan src
plan                      runplan plan "add a --json flag to the list command"
promote                   runplan promote --to-tier 2 --reason "clean runs" --signature ada
resume                    runplan resume 1f0c2a7b
retrieve                  runplan retrieve "where are prices rounded?" --no-model
review                    runplan review --base main
route                     runplan route plan.md
run                       runplan run plan.md --agent claude
self-fix approve          runplan self-fix approve total
self-fix close            runplan self-fix close total --reason "not a fault"
self-fix deny             runplan self-fix deny total
self-fix list             runplan self-fix list
self-fix process          runplan self-fix process
self-fix record           runplan self-fix record total --pr https://github.com/acme/shop/pull/9
self-fix show             runplan self-fix show total
self-fix tool             runplan self-fix tool
serve                     runplan serve
solve                     runplan solve "rename Total to Sum in the package shop"
spend                     runplan spend
standup                   runplan standup --since 72h
status                    runplan status
trace                     runplan trace internal/shop/cart.go:12
training adapters         runplan training adapters
training adapters deploy  runplan training adapters deploy code-architect@3
training bootstrap        runplan training bootstrap .
training corpus           runplan training corpus
training corpus build     runplan training corpus build
training corpus status    runplan training corpus status
training curate           runplan training curate --plan plan.toml --in data --out set
training export           runplan training export --format trl-chat --in set --out for-trl --base-model acme/coder
training graduation       runplan training graduation
training outcomes sync    runplan training outcomes sync
training pairs            runplan training pairs
training plan             runplan training plan --in data --out plan.toml
training tasks            runplan training tasks . --out tasks --max 5
training train            runplan training train --adapter code-architect --yes
training trajectories     runplan training trajectories --out runs
training validate         runplan training validate --adapter code-architect
trust                     runplan trust --bootstrap --owner ada --channel mail
trust audit               runplan trust audit
trust check               runplan trust check draft_change
trust config              runplan trust config --show
trust identity            runplan trust identity
undo                      runplan undo 1f0c2a7b
`

// addExamples gives each command without an example the one of [examples], and puts examples first in the help.
func addExamples(root *cobra.Command) {
	all := map[string]string{}
	for line := range strings.Lines(examples) {
		if path, example, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			all[path] = "  " + strings.TrimSpace(example)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if path := strings.TrimPrefix(c.CommandPath(), root.Name()+" "); c.Example == "" {
			c.Example = all[path]
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	root.SetHelpTemplate(`{{with .Example}}{{.}}

{{end}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`)
	usageTemplate := root.UsageTemplate()
	root.SetUsageTemplate(strings.Replace(usageTemplate, "{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}", "", 1))
}
